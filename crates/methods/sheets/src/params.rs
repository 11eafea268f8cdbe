//! The numbers of the method [sheets Fig. 15] that particles alone need.

/// Parameters of sheet preservation, with the paper's values as default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SheetParams {
    /// Radius (and spacing) of a small particle, metres.
    pub d0: f32,
    /// Reach of the smooth kernel in radii, alpha_rho.
    pub density_reach: f32,
    /// Particles below this share of the full density are at the surface, alpha_dOmega.
    pub surface_density: f32,
    /// Smallest over largest stretch of a thin neighbourhood, beta_thin.
    pub thin_ratio: f32,
    /// Closest that a new particle may be to others, in radii, beta_min.
    pub insert_min: f32,
    /// Widest gap that a new particle bridges, in radii, beta_max.
    pub insert_max: f32,
    /// Inserted particles that are no longer thin go above this share of the full density, beta_maxrho.
    pub collapse_density: f32,
    /// Inserted particles closer than this to another go, in radii, beta_dist.
    pub collapse_distance: f32,
    /// Steps that an inserted particle lives at least.
    pub shortest_life: u32,
    /// A sheet thinner than this share of the full density is let go: "we skip splitting when the density is
    /// too low" [sheets §7].
    pub thinnest_density: f32,
    /// A particle lighter than this share of a small one is not split any more: "we limit the number of
    /// times that a particle can split" [sheets §6].
    pub lightest_mass: f32,
    /// Rounds in which thin labels spread to the joints of sheets [sheets §7]; 0 for none.
    pub junction_rounds: u32,
}

impl SheetParams {
    /// The paper's values for small particles of radius `d0`.
    pub fn new(d0: f32) -> Self {
        SheetParams {
            d0,
            density_reach: 4.0,
            surface_density: 0.7,
            thin_ratio: 0.2,
            insert_min: 0.8,
            insert_max: 3.5,
            collapse_density: 0.2,
            collapse_distance: 0.2,
            shortest_life: 3,
            thinnest_density: 0.01,
            lightest_mass: 1.0 / 64.0,
            junction_rounds: 2,
        }
    }

    /// Reach of the smooth kernel, metres.
    pub fn reach_m(&self) -> f32 {
        self.density_reach * self.d0
    }
}
