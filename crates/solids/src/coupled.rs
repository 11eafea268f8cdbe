//! A rigid body as the liquid's pressure sees it.

use fluvial_foundation::{AXES, Aabb, DMat3, DVec3, Vec3};

/// A body in the liquid.
#[derive(Clone, Copy, Debug)]
pub struct CoupledBody {
    /// World position of its centre of mass.
    pub center: Vec3,
    /// World box around it.
    pub bounds: Aabb,
    /// Its volume, m3.
    pub volume_m3: f64,
    /// Along the axes, 1/kg; zero where it is held.
    pub inverse_mass: DVec3,
    /// About the centre of mass in the world's frame, 1/(kg m2).
    pub inverse_inertia: DMat3,
}

impl CoupledBody {
    /// What gravity gives the water that a grid's image of the body displaces beyond the body's own volume, N s: the image of
    /// `image_m3` is by that much too buoyant, and a body of the water's density would rise or sink. `wet_part` of it is under
    /// water.
    pub fn excess_weight(&self, image_m3: f64, wet_part: f64, gravity_m_s: DVec3, density: f64) -> DVec3 {
        density * wet_part * (image_m3 - self.volume_m3) * gravity_m_s
    }

    /// The inverse of its mass matrix times a number: three rows for the velocity of the centre, three for the angular
    /// velocity.
    pub fn inverse_mass_matrix(&self, times: f64) -> [[f64; 6]; 6] {
        let mut out = [[0.0; 6]; 6];
        for a in AXES {
            out[a][a] = times * self.inverse_mass[a];
            (0..3).for_each(|b| out[3 + a][3 + b] = times * self.inverse_inertia.col(b)[a]);
        }
        out
    }
}
