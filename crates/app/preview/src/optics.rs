//! Light at a smooth water surface and inside water.

use fluvial_foundation::Vec3;

/// Refractive index of water in visible light.
pub const IOR_WATER: f32 = 1.333;

/// Reflected share of unpolarised light at a smooth dielectric (Fresnel's equations) and the cosine of the
/// refracted ray. `cos_in` is the cosine to the normal on the incoming side, `eta` = n_in / n_out.
/// (1, 0) beyond the critical angle.
pub fn fresnel(cos_in: f32, eta: f32) -> (f32, f32) {
    let sin2_out = eta * eta * (1.0 - cos_in * cos_in);
    if sin2_out >= 1.0 {
        return (1.0, 0.0);
    }
    let cos_out = (1.0 - sin2_out).sqrt();
    let parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    let perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    (0.5 * (parallel * parallel + perpendicular * perpendicular), cos_out)
}

/// Mirror direction; `normal` is on the incoming side.
pub fn reflect(direction: Vec3, normal: Vec3) -> Vec3 {
    direction - 2.0 * direction.dot(normal) * normal
}

/// Snell's direction: `normal` on the incoming side, `cos_in` and `cos_out` positive as from [`fresnel`].
pub fn refract(direction: Vec3, normal: Vec3, eta: f32, cos_in: f32, cos_out: f32) -> Vec3 {
    (eta * direction + (eta * cos_in - cos_out) * normal).normalize()
}

/// What water does to light on its way: Beer and Lambert's absorption, and a little light scattered in.
#[derive(Clone, Copy, Debug)]
pub struct WaterColor {
    /// Absorption per metre for red, green, blue.
    pub absorption: Vec3,
    /// Colour that fills in what is absorbed, linear.
    pub scattered: Vec3,
}

impl WaterColor {
    /// The look of clear water over 1 m, stretched to a body of `size` metres: so that a centimetre drop and
    /// a harbour are both readable. True water absorbs (0.35, 0.05, 0.02) a metre.
    pub fn for_size(size: f32) -> WaterColor {
        WaterColor {
            absorption: Vec3::new(3.4, 0.75, 0.30) / size.max(1e-9),
            scattered: Vec3::new(0.004, 0.045, 0.085),
        }
    }

    /// Share of light left after `length` metres.
    pub fn transmittance(&self, length: f32) -> Vec3 {
        let x = -length * self.absorption;
        Vec3::new(x.x.exp(), x.y.exp(), x.z.exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresnel_has_its_textbook_values() {
        let normal_incidence = ((IOR_WATER - 1.0) / (IOR_WATER + 1.0)).powi(2);
        assert!((fresnel(1.0, 1.0 / IOR_WATER).0 - normal_incidence).abs() < 1e-6);
        assert!((fresnel(1.0, IOR_WATER).0 - normal_incidence).abs() < 1e-6);
        assert!(fresnel(1e-4, 1.0 / IOR_WATER).0 > 0.999);
        // Brewster's angle: only the perpendicular half is reflected, R = ((n^2-1)/(n^2+1))^2 / 2.
        let brewster = IOR_WATER.atan();
        let n2 = IOR_WATER * IOR_WATER;
        let expected = 0.5 * ((n2 - 1.0) / (n2 + 1.0)).powi(2);
        assert!((fresnel(brewster.cos(), 1.0 / IOR_WATER).0 - expected).abs() < 1e-6);
        // Total internal reflection begins at 48.6 degrees.
        let critical = (1.0 / IOR_WATER).asin();
        assert!(fresnel((critical - 0.01).cos(), IOR_WATER).0 < 1.0);
        assert_eq!(fresnel((critical + 0.01).cos(), IOR_WATER), (1.0, 0.0));
    }

    #[test]
    fn refraction_obeys_snell_and_is_reversible() {
        for degrees in [0.0f32, 10.0, 30.0, 60.0, 85.0] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let direction = Vec3::new(sin, -cos, 0.0);
            let (share, cos_out) = fresnel(cos, 1.0 / IOR_WATER);
            let inside = refract(direction, Vec3::Y, 1.0 / IOR_WATER, cos, cos_out);
            assert!((inside.x * IOR_WATER - sin).abs() < 1e-5, "n sin is kept at {degrees}");
            assert!((inside.length() - 1.0).abs() < 1e-6 && inside.y < 0.0);
            // The way back: same share, original direction.
            let (back_share, back_cos) = fresnel(-inside.y, IOR_WATER);
            assert!((back_share - share).abs() < 2e-4 && (back_cos - cos).abs() < 1e-4);
            let back = refract(inside, Vec3::Y, IOR_WATER, -inside.y, back_cos);
            assert!((back - direction).length() < 1e-3);
            assert!((0.0..=1.0).contains(&share));
        }
        assert_eq!(reflect(Vec3::new(0.6, -0.8, 0.0), Vec3::Y), Vec3::new(0.6, 0.8, 0.0));
    }

    #[test]
    fn absorption_multiplies_along_the_way() {
        let water = WaterColor::for_size(2.0);
        let (a, b) = (water.transmittance(0.3), water.transmittance(0.9));
        assert!((a * b - water.transmittance(1.2)).length() < 1e-6);
        assert!(a.x < a.y && a.y < a.z, "red goes first");
        assert_eq!(water.transmittance(0.0), Vec3::ONE);
    }
}
