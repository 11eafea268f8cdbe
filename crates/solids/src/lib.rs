//! Shapes as signed distance, mesh import, motion, and what solids mean for a grid.
//!
//! The way through the crate: a [`Shape`] answers `distance(x)` (negative inside, metres); a [`Motion`] says
//! where it is and how fast its material moves; [`rasterize`] turns a list of both into [`SolidFields`]: the
//! nodal distance, open face areas, open cell volumes and face velocities that a grid solver needs.

mod beam;
mod bvh;
mod contour;
mod coupled;
mod film;
mod flat_sided;
mod fractions;
mod friction;
mod grey_image;
mod heightfield;
mod kinks;
mod mesh;
mod mesh_files;
mod mesh_gltf;
mod mesh_ply;
mod motion;
mod movers;
mod nozzle;
mod placed;
mod rasterize;
mod shape;
mod share;
mod side_changes;
mod sides;
mod skin;
mod tessellate;

pub use beam::Column;
pub use coupled::CoupledBody;
pub use film::{Beside, Contact, FILM_PART, FilmMean, Films, SeenBody, is_film, keep_dead_ends};
pub use flat_sided::Open;
pub use fractions::{
    open_cell_volume, open_face_area, positive_fraction_tetrahedron, positive_fraction_triangle,
};
pub use friction::{Drag, RoughPatch, add_rough_patches};
pub use grey_image::GreyImage;
pub use heightfield::heightfield_mesh;
pub use kinks::{KinkedCell, is_plane};
pub use mesh::{MeshDistance, MeshError};
pub use mesh_files::{parse_obj, parse_stl, read_mesh};
pub use mesh_gltf::parse_gltf;
pub use mesh_ply::parse_ply;
pub use motion::{Key, Motion, Pose, Twist};
pub use nozzle::{Measured, Nozzle};
pub use placed::{Placed, PlacedSolids};
pub use rasterize::{BAND_CELLS, SMALLEST_OPEN_AREA, SolidFields, rasterize};
pub use shape::Shape;
pub use side_changes::{SideChange, nearest_open, side_changes};
