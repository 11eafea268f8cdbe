// uses "../columns.wgsl"
// Twin of link and links in stencil.rs: how a sample sees its six neighbours.

@group(0) @binding(4) var<storage, read> phi: array<f32>;
@group(0) @binding(5) var<storage, read> fraction: array<f32>;

const SOLID_ABOVE: f32 = 0.9;
const LEAST_THETA: f32 = 1e-3;

struct Link { weight: f32, own: f32, solid: f32 }

fn solid_part(own: f32, there: f32) -> f32 {
    return select(min(own, there), 1.0, there > SOLID_ABOVE);
}

fn link(here: f32, there: f32, solid: f32, distance: f32) -> Link {
    let scale = 1.0 / distance;
    if solid >= 1.0 { return Link(0.0, 0.0, solid); }
    if there > 0.0 {
        let theta = max(here / (here - there), LEAST_THETA);
        return Link(0.0, scale / theta, 0.0);
    }
    return Link((1.0 - solid) * scale, (1.0 - solid) * scale, solid);
}

fn is_unknown(n: i32) -> bool { return phi[n] <= 0.0 && fraction[n] <= SOLID_ABOVE; }

const THICKEST: f32 = 3.0;

fn has_terrain(i: i32, k: i32, terrain: i32) -> bool {
    return i < 0 || k < 0 || i >= grid.nx || k >= grid.nz || column_of(i, k).x == terrain;
}

// Twin of layer in stencil.rs: thickness of the layers of a column's tall cell on the finest grid.
fn layer(i: i32, k: i32) -> f32 {
    let c = column_of(i, k);
    let is_level = has_terrain(i - 1, k, c.x) && has_terrain(i + 1, k, c.x) && has_terrain(i, k - 1, c.x)
        && has_terrain(i, k + 1, c.x);
    return select(1.0, min(0.5 * f32(c.y), THICKEST), is_level);
}

// The link in direction d: x-, x+, y-, y+, z-, z+.
fn link_to(s: Sample, d: i32) -> Link {
    let here = phi[s.index];
    let own = fraction[s.index];
    if d / 2 == 1 {
        let ends_apart = f32(column_of(s.i, s.k).y - 1);
        if d == 2 {
            if s.j == 0 { return Link(0.0, 0.0, 1.0); }
            let below = s.index - grid.nx;
            return link(here, phi[below], solid_part(own, fraction[below]), select(1.0, ends_apart, s.j == 1));
        }
        if s.j + 1 < row_count() {
            let above = s.index + grid.nx;
            return link(here, phi[above], solid_part(own, fraction[above]), select(1.0, ends_apart, s.j == 0));
        }
        return link(here, grid.dx_m, 0.0, 1.0);
    }
    let step = step_to(d);
    let i = s.i + step.x;
    let k = s.k + step.z;
    let held = holds(i, s.y, k);
    if held == SOLID { return Link(0.0, 0.0, 1.0); }
    if held == AIR { return link(here, grid.dx_m, 0.0, 1.0); }
    let p = nearest(i, k, f32(s.y));
    let part = solid_part(own, blend1(fraction[p.low], fraction[p.high], p.weight));
    return link(here, blend1(phi[p.low], phi[p.high], p.weight), part, 1.0);
}
