//! Solids on a uniform grid: nodal distance, open areas and volumes, face velocities.

use crate::kinks::{KinkedCell, is_plane};
use crate::sides::{self, Divided, SideSearch};
use crate::{Motion, Placed, PlacedSolids, Pose, Shape, Twist, open_cell_volume, open_face_area};
use fluvial_foundation::{AXES, Aabb, Axis, Vec3, parallel, random::splitmix64};
use fluvial_grids::sides::shared_corners;
use fluvial_grids::{FaceField, Lattice, Sides, UniformGrid};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Nodal distances are exact up to this many cells from the surface and clamped beyond.
pub const BAND_CELLS: f32 = 3.0;
/// Open face areas below this fraction are closed: they would only worsen the condition of the pressure matrix.
pub const SMALLEST_OPEN_AREA: f32 = 1e-3;
/// Nodes nearer than this part of a cell to the surface lie on it. Rounding would otherwise decide
/// whether a face that coincides with a solid's flat side is open.
pub(crate) const ON_SURFACE_CELLS: f32 = 1e-3;
/// Blocks of nodes are skipped whole when their centre is far; this many nodes a side are then evaluated
/// singly.
const LEAF: usize = 4;
const BLOCK: usize = 16;

/// What the solids leave of a grid. Owned by the caller and reused from step to step.
#[derive(Clone, Debug, Default)]
pub struct SolidFields {
    /// Distance to the union of all solids at the nodes, negative inside, clamped to ± [`BAND_CELLS`] cells,
    /// m.
    pub phi_node: Vec<f32>,
    /// Part of each face outside the solids, 0 to 1; 0 on solid domain walls.
    pub open_area: FaceField,
    /// Velocity of the nearest solid at face centres within the band, along the face's axis, m/s; 0 for
    /// static ones.
    pub u_solid: FaceField,
    /// Part of each cell outside the solids, 0 to 1.
    pub open_volume: Vec<f32>,
    /// Faces whose tiny open area was closed, in the part that the last call computed.
    pub snapped_faces: usize,
    /// Nodes that were put onto the surface because they lay within a thousandth of a cell of it (last
    /// call).
    pub snapped_nodes: usize,
    /// Sides of solids too thin for the nodes to tell what lies behind them.
    pub sides: Sides,
    side_search: SideSearch,
    /// Cells whose openings were computed in the last call.
    is_touched: Vec<bool>,
    static_phi_node: Vec<f32>,
    pub(crate) owner_node: Vec<u16>,
    pub(crate) key: Option<(UniformGrid, [bool; 6], u64)>,
    pub(crate) moving_region: Option<NodeRange>,
    pub(crate) moving_state: Vec<(Pose, Twist)>,
}

/// Is a face inside the domain, or on an open wall of it?
pub(crate) fn is_inside_or_open(grid: &UniformGrid, walls: [bool; 6], axis: Axis, at: [usize; 3]) -> bool {
    (at[axis] > 0 || walls[2 * axis]) && (at[axis] < grid.cells[axis] || walls[2 * axis + 1])
}

/// Nodes lo..hi (exclusive) per axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NodeRange {
    pub lo: [usize; 3],
    pub hi: [usize; 3],
}

impl NodeRange {
    fn all(nodes: &Lattice) -> NodeRange {
        NodeRange { lo: [0; 3], hi: nodes.size }
    }

    /// Nodes inside a box; `None` when there are none.
    fn within(nodes: &Lattice, bounds: Aabb) -> Option<NodeRange> {
        let mut range = NodeRange::all(nodes);
        for a in AXES {
            let n = nodes.size[a] as f32;
            let low = ((bounds.min[a] - nodes.origin[a]) / nodes.spacing).floor().clamp(0.0, n);
            let high = ((bounds.max[a] - nodes.origin[a]) / nodes.spacing).ceil().clamp(-1.0, n - 1.0);
            (range.lo[a], range.hi[a]) = (low as usize, (high + 1.0) as usize);
            if range.lo[a] >= range.hi[a] {
                return None;
            }
        }
        Some(range)
    }

    fn union(self, other: NodeRange) -> NodeRange {
        NodeRange {
            lo: std::array::from_fn(|a| self.lo[a].min(other.lo[a])),
            hi: std::array::from_fn(|a| self.hi[a].max(other.hi[a])),
        }
    }

    /// Samples of a lattice between nodes (faces, cells) that touch these nodes; `between` marks the axes
    /// along which the samples lie between nodes.
    pub fn touching(&self, size: [usize; 3], between: [bool; 3]) -> NodeRange {
        NodeRange {
            lo: std::array::from_fn(|a| self.lo[a].saturating_sub(between[a] as usize)),
            hi: std::array::from_fn(|a| self.hi[a].min(size[a])),
        }
    }
}

impl SolidFields {
    /// Does any solid (domain walls apart) reach into the grid?
    pub fn any_solid(&self) -> bool {
        self.phi_node.iter().any(|&p| p <= 0.0)
    }
}

/// Brings `out` to the given time. Static solids are evaluated once and kept until the solids, the walls or
/// the grid change; moving ones only touch the nodes around their present and last place. Returns whether
/// anything changed since the last call. Walls: open? in the order x_min, x_max, y_min, y_max, z_min, z_max.
pub fn rasterize(
    out: &mut SolidFields,
    solids: &[(&Shape, &Motion)],
    walls: [bool; 6],
    grid: &UniformGrid,
    time_s: f64,
) -> bool {
    let nodes = grid.nodes();
    let moving: Vec<Placed> =
        solids.iter().filter(|(_, m)| !m.is_static()).map(|(s, m)| Placed::new(s, m, time_s)).collect();
    let key = Some((*grid, walls, fingerprint(solids)));
    let fresh = out.key != key;
    let same_places = out.moving_state.iter().copied().eq(moving.iter().map(|p| (p.pose, p.twist)));
    if !fresh && same_places {
        (out.snapped_faces, out.snapped_nodes) = (0, 0);
        return false;
    }
    if fresh {
        rasterize_static(out, solids, grid);
        out.key = key;
        out.moving_region = None;
    }
    let band = BAND_CELLS * grid.dx;
    let region = moving
        .iter()
        .filter_map(|p| NodeRange::within(&nodes, p.bounds().expand(band)))
        .reduce(NodeRange::union);
    let dirty = match (fresh, region, out.moving_region) {
        (true, _, _) => Some(NodeRange::all(&nodes)),
        (false, Some(now), Some(before)) => Some(now.union(before)),
        (false, now, before) => now.or(before),
    };
    out.moving_region = region;
    out.moving_state.clear();
    out.moving_state.extend(moving.iter().map(|p| (p.pose, p.twist)));
    let Some(dirty) = dirty else { return false };

    place_moving(out, &moving, grid, dirty);
    snap_nodes(out, grid, dirty);
    out.snapped_faces = 0;
    out.is_touched.clear();
    out.is_touched.resize(grid.cell_count(), false);
    undivide(out, walls, grid);
    for axis in AXES {
        update_faces(out, &moving, walls, grid, axis, dirty);
    }
    update_volumes(out, grid, dirty);
    let placed = PlacedSolids::new(solids.iter().copied(), time_s);
    update_sides(out, &placed, walls, grid);
    let is_free: Vec<bool> =
        moving_motions(solids).map(|motion| matches!(motion, Motion::Free { .. })).collect();
    if is_free.contains(&true) {
        out.close_films(grid, |n| is_free[n]);
    }
    true
}

fn moving_motions<'a>(solids: &[(&'a Shape, &'a Motion)]) -> impl Iterator<Item = &'a Motion> {
    solids.iter().map(|(_, motion)| *motion).filter(|motion| !motion.is_static())
}

fn fingerprint(solids: &[(&Shape, &Motion)]) -> u64 {
    solids.iter().fold(0, |hash, (shape, motion)| {
        let hash = splitmix64(hash ^ shape.fingerprint() ^ motion.is_static() as u64);
        let pose = if motion.is_static() { motion.pose(0.0) } else { Pose::IDENTITY };
        let place = pose.translate.to_array().into_iter().chain(pose.rotation.to_array());
        place.fold(hash, |h, v| splitmix64(h ^ v.to_bits() as u64))
    })
}

fn rasterize_static(out: &mut SolidFields, solids: &[(&Shape, &Motion)], grid: &UniformGrid) {
    let nodes = grid.nodes();
    let band = BAND_CELLS * grid.dx;
    out.static_phi_node.clear();
    out.static_phi_node.resize(nodes.len(), band);
    out.phi_node.clear();
    out.phi_node.resize(nodes.len(), band);
    out.owner_node.clear();
    out.owner_node.resize(nodes.len(), 0);
    out.open_volume.clear();
    out.open_volume.resize(grid.cell_count(), 1.0);
    out.open_area = FaceField::constant(grid, 1.0);
    out.u_solid = FaceField::constant(grid, 0.0);
    for (shape, motion) in solids.iter().filter(|(_, m)| m.is_static()) {
        let placed = Placed::new(shape, motion, 0.0);
        if let Some(range) = NodeRange::within(&nodes, placed.bounds().expand(band)) {
            lower_nodes(&mut out.static_phi_node, None, &nodes, range, band, &placed);
        }
    }
}

/// phi_node = min(static, every moving solid), and the number of the solid that gives it.
fn place_moving(out: &mut SolidFields, moving: &[Placed], grid: &UniformGrid, dirty: NodeRange) {
    let nodes = grid.nodes();
    let band = BAND_CELLS * grid.dx;
    for k in dirty.lo[2]..dirty.hi[2] {
        for j in dirty.lo[1]..dirty.hi[1] {
            let row = nodes.index(dirty.lo[0], j, k)..nodes.index(dirty.hi[0] - 1, j, k) + 1;
            out.phi_node[row.clone()].copy_from_slice(&out.static_phi_node[row.clone()]);
            out.owner_node[row].fill(0);
        }
    }
    for (n, placed) in moving.iter().enumerate() {
        if let Some(range) = NodeRange::within(&nodes, placed.bounds().expand(band)) {
            let owner = Some((out.owner_node.as_mut_slice(), (n + 1).min(u16::MAX as usize) as u16));
            lower_nodes(&mut out.phi_node, owner, &nodes, range, band, placed);
        }
    }
}

/// phi = min(phi, clamp(distance)) on a range of nodes, writing `owner` where it was lowered. Blocks whose
/// centre is farther from the surface than band + half diagonal are clamped throughout, since the slope is at
/// most 1.
fn lower_nodes(
    phi_node: &mut [f32],
    owner_node: Option<(&mut [u16], u16)>,
    nodes: &Lattice,
    range: NodeRange,
    band: f32,
    solid: &Placed,
) {
    let layer = BLOCK * nodes.slab();
    let mut no_owner = Vec::new();
    let (owner_node, owner) = match owner_node {
        Some((slice, n)) => (slice, n),
        None => {
            no_owner.resize(phi_node.len(), 0);
            (no_owner.as_mut_slice(), 0)
        }
    };
    parallel::for_each_chunk_mut2((phi_node, layer), (owner_node, layer), |n, phi, owners| {
        let base_k = n * BLOCK;
        let (k_lo, k_hi) = (range.lo[2].max(base_k), range.hi[2].min(base_k + BLOCK));
        let mut writer = BlockWriter { phi, owners, owner, nodes, base_k, band, solid };
        for j in (range.lo[1]..range.hi[1]).step_by(BLOCK) {
            for i in (range.lo[0]..range.hi[0]).step_by(BLOCK) {
                let hi = [(i + BLOCK).min(range.hi[0]), (j + BLOCK).min(range.hi[1]), k_hi];
                if k_lo < k_hi {
                    writer.lower(NodeRange { lo: [i, j, k_lo], hi }, None);
                }
            }
        }
    });
}

/// One solid being written into a layer of blocks that starts at slab `base_k`.
struct BlockWriter<'a> {
    phi: &'a mut [f32],
    owners: &'a mut [u16],
    owner: u16,
    nodes: &'a Lattice,
    base_k: usize,
    band: f32,
    solid: &'a Placed<'a>,
}

impl BlockWriter<'_> {
    /// Lowers a block; `known` is a place near it and the distance there.
    fn lower(&mut self, block: NodeRange, known: Option<(Vec3, f32)>) {
        let low = self.nodes.position(block.lo[0], block.lo[1], block.lo[2]);
        let high = self.nodes.position(block.hi[0] - 1, block.hi[1] - 1, block.hi[2] - 1);
        let center = 0.5 * (low + high);
        let at_center = match known {
            Some((x, distance)) => self.solid.distance_from(center, x, distance),
            None => self.solid.distance(center),
        };
        // The margin covers rounding in the distance itself.
        let far = at_center.abs() > self.band + 0.5 * low.distance(high) + 0.01 * self.nodes.spacing;
        if far && at_center > 0.0 {
            return; // nothing there is below the clamp
        }
        let longest = AXES.into_iter().max_by_key(|&a| block.hi[a] - block.lo[a]).unwrap_or(0);
        let length = block.hi[longest] - block.lo[longest];
        if !far && length > LEAF {
            let middle = block.lo[longest] + length / 2;
            let (mut first, mut second) = (block, block);
            (first.hi[longest], second.lo[longest]) = (middle, middle);
            self.lower(first, Some((center, at_center)));
            self.lower(second, Some((center, at_center)));
            return;
        }
        self.write(block, far, (center, at_center));
    }

    /// Writes the nodes of a block, each from what is known at the one before.
    fn write(&mut self, block: NodeRange, far: bool, mut known: (Vec3, f32)) {
        for k in block.lo[2]..block.hi[2] {
            for j in block.lo[1]..block.hi[1] {
                for i in block.lo[0]..block.hi[0] {
                    let mut value = -self.band;
                    if !far {
                        let x = self.nodes.position(i, j, k);
                        let distance = self.solid.distance_from(x, known.0, known.1);
                        known = (x, distance);
                        value = distance.clamp(-self.band, self.band);
                    }
                    let n = self.nodes.index(i, j, k - self.base_k);
                    if value < self.phi[n] {
                        (self.phi[n], self.owners[n]) = (value, self.owner);
                    }
                }
            }
        }
    }
}

fn snap_nodes(out: &mut SolidFields, grid: &UniformGrid, dirty: NodeRange) {
    let nodes = grid.nodes();
    let count = AtomicUsize::new(0);
    let limit = ON_SURFACE_CELLS * grid.dx;
    parallel::for_each_chunk_mut(&mut out.phi_node, nodes.slab(), |k, slab| {
        if !(dirty.lo[2]..dirty.hi[2]).contains(&k) {
            return;
        }
        let mut snapped = 0;
        for j in dirty.lo[1]..dirty.hi[1] {
            for phi in &mut slab[j * nodes.size[0]..][dirty.lo[0]..dirty.hi[0]] {
                if phi.abs() < limit && *phi != 0.0 {
                    *phi = 0.0;
                    snapped += 1;
                }
            }
        }
        count.fetch_add(snapped, Relaxed);
    });
    out.snapped_nodes = count.into_inner();
}

fn update_faces(
    out: &mut SolidFields,
    moving: &[Placed],
    walls: [bool; 6],
    grid: &UniformGrid,
    axis: Axis,
    dirty: NodeRange,
) {
    let (nodes, faces) = (grid.nodes(), grid.faces(axis));
    let range = dirty.touching(faces.size, std::array::from_fn(|a| a != axis));
    let (s, t) = (nodes.stride((axis + 1) % 3), nodes.stride((axis + 2) % 3));
    let (phi_node, owner_node) = (&out.phi_node, &out.owner_node);
    let band = BAND_CELLS * grid.dx;
    let count = AtomicUsize::new(0);
    let areas = (out.open_area[axis].as_mut_slice(), faces.slab());
    let speeds = (out.u_solid[axis].as_mut_slice(), faces.slab());
    parallel::for_each_chunk_mut2(areas, speeds, |k, area, speed| {
        if !(range.lo[2]..range.hi[2]).contains(&k) {
            return;
        }
        let mut snapped = 0;
        for j in range.lo[1]..range.hi[1] {
            for i in range.lo[0]..range.hi[0] {
                let (node, n) = (nodes.index(i, j, k), i + faces.size[0] * j);
                let corner = [node, node + s, node + t, node + s + t];
                let phi = corner.map(|n| phi_node[n]);
                let at_closed_wall = !is_inside_or_open(grid, walls, axis, [i, j, k]);
                if phi.iter().all(|&phi| phi >= band) {
                    (area[n], speed[n]) = (if at_closed_wall { 0.0 } else { 1.0 }, 0.0);
                    continue;
                }
                let mut open = if at_closed_wall { 0.0 } else { open_face_area(phi) };
                if open > 0.0 && open < SMALLEST_OPEN_AREA {
                    (open, snapped) = (0.0, snapped + 1);
                }
                area[n] = open;
                let nearest = (0..4).fold(0, |best, c| if phi[c] < phi[best] { c } else { best });
                speed[n] = match owner_node[corner[nearest]] {
                    owner if owner > 0 && phi[nearest] < band && !at_closed_wall => {
                        moving[owner as usize - 1].twist.at(faces.position(i, j, k))[axis]
                    }
                    _ => 0.0,
                };
            }
        }
        count.fetch_add(snapped, Relaxed);
    });
    out.snapped_faces += count.into_inner();
}

fn update_volumes(out: &mut SolidFields, grid: &UniformGrid, dirty: NodeRange) {
    let (nodes, cells) = (grid.nodes(), grid.cell_centers());
    let range = dirty.touching(cells.size, [true; 3]);
    let phi_node = &out.phi_node;
    let (volumes, touched) = (out.open_volume.as_mut_slice(), out.is_touched.as_mut_slice());
    parallel::for_each_chunk_mut2((volumes, cells.slab()), (touched, cells.slab()), |k, volumes, touched| {
        if !(range.lo[2]..range.hi[2]).contains(&k) {
            return;
        }
        for j in range.lo[1]..range.hi[1] {
            for i in range.lo[0]..range.hi[0] {
                let (cell, node) = (i + cells.size[0] * j, nodes.index(i, j, k));
                volumes[cell] = match phi_node[node] {
                    // No other corner is on another side of a surface that is farther than the cell's diagonal.
                    phi if phi.abs() > 1.75 * grid.dx => (phi > 0.0) as usize as f32,
                    _ => open_cell_volume(nodes.corner_values(phi_node, node)),
                };
                touched[cell] = true;
            }
        }
    });
}

/// Puts back what [`update_sides`] changed in the last call, and marks the cells whose openings it touched.
fn undivide(out: &mut SolidFields, walls: [bool; 6], grid: &UniformGrid) {
    let (nodes, cells) = (grid.nodes(), grid.cell_centers());
    let corners =
        |phi_node: &[f32], at: [usize; 3]| nodes.corner_values(phi_node, nodes.index(at[0], at[1], at[2]));
    for n in 0..out.side_search.divided.len() {
        let cell = out.side_search.divided[n].cell as usize;
        let at = cells.coordinates(cell);
        let phi = corners(&out.phi_node, at);
        set_areas(out, grid, walls, (cell, at), &phi, |_, _, _| 0xff);
        let around = (0..6).filter_map(|f| sides::neighbour(&cells, at, cell, f / 2, f % 2 == 1));
        for cell in around.chain([cell]) {
            out.open_volume[cell] = open_cell_volume(corners(&out.phi_node, cells.coordinates(cell)));
            out.is_touched[cell] = true;
        }
    }
}

/// Finds the sides of thin solids, and gives every cell that a solid divides the open areas and volume of its
/// own side; measures cells and faces in parts where the solid is not one plane. What a divided cell holds of another
/// side counts to the neighbour on that side, so that no space is lost.
fn update_sides(out: &mut SolidFields, solids: &PlacedSolids, walls: [bool; 6], grid: &UniformGrid) {
    let (nodes, cells) = (grid.nodes(), grid.cell_centers());
    let margin = ON_SURFACE_CELLS * grid.dx;
    let is_crossed = |a: Vec3, b: Vec3| solids.is_crossed(a, b, margin);
    let thin = (is_crossed, solids.thickness_m());
    sides::find_sides(&mut out.sides, &mut out.side_search, &out.phi_node, thin, grid);
    let divided = std::mem::take(&mut out.side_search.divided);
    let phi_node = std::mem::take(&mut out.phi_node);
    let own_corners = std::mem::take(&mut out.sides.own_corners);
    let corners = |at: [usize; 3]| nodes.corner_values(&phi_node, nodes.index(at[0], at[1], at[2]));
    let open = |phi: &[f32; 8]| (0..8).fold(0, |open, n| open | ((phi[n] > 0.0) as u8) << n);
    let own = |cell: usize| match own_corners.get(cell) {
        Some(&own) => own,
        None => open(&corners(cells.coordinates(cell))),
    };
    let shared = |cell: usize, other: Option<usize>, axis: Axis, up: bool| match other {
        Some(other) => shared_corners(own(cell), own(other), axis, up),
        None => own(cell),
    };
    // A cell's corners as a side sees them.
    let seen_by = |at: [usize; 3], side: u8| {
        let reach = |corner: usize, axis: Axis| {
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] + (corner >> a & 1));
            let toward = if corner >> axis & 1 == 1 { -Vec3::AXES[axis] } else { Vec3::AXES[axis] };
            solids.reach_m(nodes.position(i, j, k), corners(at)[corner], toward, grid.dx) / grid.dx
        };
        sides::signed_by_reach(&corners(at), side, false, reach)
    };
    for &Divided { cell, .. } in &divided {
        let (cell, at) = (cell as usize, cells.coordinates(cell as usize));
        let phi = seen_by(at, own(cell));
        set_areas(out, grid, walls, (cell, at), &phi, |other, axis, up| shared(cell, other, axis, up));
        out.open_volume[cell] = open_cell_volume(phi);
        let around = (0..6).filter_map(|f| sides::neighbour(&cells, at, cell, f / 2, f % 2 == 1));
        around.chain([cell]).for_each(|cell| out.is_touched[cell] = true);
    }

    // Only what is near a cell is asked for each of its many parts.
    let near = |at: [usize; 3]| solids.near(cells.position(at[0], at[1], at[2]), 2.0 * grid.dx);
    let is_kinked = |at: [usize; 3], own: u8| {
        let phi = corners(at);
        let seen = || if open(&phi) == own { phi } else { seen_by(at, own) };
        match own {
            0 => false,
            // A rim between open nodes.
            0xff => out.side_search.is_crossed(at, &nodes),
            _ => !is_plane(&seen(), grid.dx),
        }
    };
    // A cell's corner that is farther from all solids than its diagonal tells all of it.
    let is_near = |at: [usize; 3]| phi_node[nodes.index(at[0], at[1], at[2])].abs() < 1.75 * grid.dx;
    let kinked = parallel::map_indices(cells.size[2], |k| {
        let slab = k * cells.slab()..(k + 1) * cells.slab();
        let touched = slab.filter(|&cell| out.is_touched[cell] && is_near(cells.coordinates(cell)));
        touched.filter(|&cell| is_kinked(cells.coordinates(cell), own(cell))).collect::<Vec<_>>()
    });
    let kinked: Vec<usize> = kinked.into_iter().flatten().collect();
    let measured = parallel::map_indices(kinked.len(), |n| {
        let (cell, at) = (kinked[n], cells.coordinates(kinked[n]));
        if let Some(open) = solids.open_beside_box(nodes.position(at[0], at[1], at[2]), grid.dx) {
            let at_wall = |face: usize| sides::neighbour(&cells, at, cell, face / 2, face % 2 == 1).is_none();
            let area = |face: usize| if at_wall(face) && !walls[face] { 0.0 } else { open.areas[face] };
            return (open.volume, std::array::from_fn(area));
        }
        let near = near(at);
        let parts = KinkedCell::new(&near, &nodes, at, corners(at)).in_parts();
        let areas: [f32; 6] = std::array::from_fn(|face| {
            let (axis, up) = (face / 2, face % 2 == 1);
            let other = sides::neighbour(&cells, at, cell, axis, up);
            if other.is_none() && !walls[face] {
                0.0
            } else {
                parts.open_area(axis, up, shared(cell, other, axis, up))
            }
        });
        (parts.open_volume(own(cell)), areas)
    });
    for (&cell, (volume, areas)) in kinked.iter().zip(measured) {
        let at = cells.coordinates(cell);
        out.open_volume[cell] = volume;
        for (face, area) in areas.into_iter().enumerate() {
            let (axis, up) = (face / 2, face % 2);
            let faces = grid.faces(axis);
            let face = faces.index(at[0], at[1], at[2]) + up * faces.stride(axis);
            let snapped = area > 0.0 && area < SMALLEST_OPEN_AREA;
            out.snapped_faces += snapped as usize;
            out.open_area[axis][face] = if snapped { 0.0 } else { area };
        }
    }

    for &Divided { cell, corners: part } in &divided {
        let (cell, at) = (cell as usize, cells.coordinates(cell as usize));
        let shared = |face: usize| -> Option<(u32, usize)> {
            let other = sides::neighbour(&cells, at, cell, face / 2, face % 2 == 1)?;
            Some((shared_corners(part, own(other), face / 2, face % 2 == 1).count_ones(), other))
        };
        let best = (0..6).filter_map(shared).rev().max_by_key(|(count, _)| *count);
        if let Some((_, other)) = best.filter(|(count, _)| *count > 0) {
            let phi = seen_by(at, part);
            let is_plane = part == 0 || is_plane(&phi, grid.dx);
            out.open_volume[other] += if is_plane {
                open_cell_volume(phi)
            } else {
                KinkedCell::new(&near(at), &nodes, at, corners(at)).in_parts().open_volume(part)
            };
        }
    }
    out.side_search.divided = divided;
    out.phi_node = phi_node;
    out.sides.own_corners = own_corners;
}

/// Sets the open areas of a cell's faces, on each of which `own(other cell, axis, up)` corners of the cell
/// count as open at most.
fn set_areas(
    out: &mut SolidFields,
    grid: &UniformGrid,
    walls: [bool; 6],
    (cell, at): (usize, [usize; 3]),
    phi: &[f32; 8],
    own: impl Fn(Option<usize>, Axis, bool) -> u8,
) {
    let cells = grid.cell_centers();
    for axis in AXES {
        let faces = grid.faces(axis);
        for up in [false, true] {
            let other = sides::neighbour(&cells, at, cell, axis, up);
            let face = faces.index(at[0], at[1], at[2]) + up as usize * faces.stride(axis);
            let at_closed_wall = other.is_none() && !walls[2 * axis + up as usize];
            let open = (0..8).fold(0, |open, n| open | ((phi[n] > 0.0) as u8) << n);
            let area = sides::open_area_of_side(phi, open & own(other, axis, up), axis, up);
            out.open_area[axis][face] = if at_closed_wall || area < SMALLEST_OPEN_AREA { 0.0 } else { area };
        }
    }
}
