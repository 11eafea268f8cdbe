// Everything that the renderer draws with: shadows, sky and floor, solids, water, whitewater, and the picture at the end.

struct View {
    clip_from_world: mat4x4<f32>,
    world_from_clip: mat4x4<f32>,
    light_from_world: mat4x4<f32>,
    eye: vec4<f32>,
    // Towards the sun.
    sun: vec4<f32>,
    // The domain's lower corner and its longest edge; its upper corner and the pictures' supersampling.
    low: vec4<f32>,
    high: vec4<f32>,
    // Pixels of the targets, distance of the near plane, whether water is drawn.
    size: vec4<f32>,
    // The map of the surface: middle of its first column, columns a metre, and whether there is one.
    map: vec4<f32>,
    // Its columns along x and z, and how much is seen of each layer of the waves' texture.
    columns: vec4<f32>,
    // Edge of the tile of short waves in metres, and its samples along a side.
    tile: vec4<f32>,
}
@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var shadow_map: texture_depth_2d;
@group(0) @binding(2) var shadow_sampler: sampler_comparison;
// Foam, wet, height and nothing; how far two layers of texture have come.
struct Shown { look: vec4<f32>, come: vec4<f32> }
@group(0) @binding(3) var<storage, read> shown: array<Shown>;
@group(0) @binding(4) var<storage, read> slopes: array<vec2<f32>>;
@group(1) @binding(0) var behind: texture_2d<f32>;
@group(1) @binding(1) var behind_depth: texture_depth_2d;
@group(1) @binding(2) var back: texture_2d<f32>;
@group(1) @binding(3) var smooth_sampler: sampler;

const SUN: vec3<f32> = vec3<f32>(2.7, 2.5, 2.2);
const WATER_IOR_F0: f32 = 0.02;

struct Vertex {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) color: vec3<f32>,
}
struct Shaded {
    @builtin(position) clip: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) color: vec3<f32>,
}

fn sky(direction: vec3<f32>) -> vec3<f32> {
    let up = clamp(direction.y, -0.2, 1.0);
    let horizon = vec3<f32>(0.50, 0.62, 0.72);
    let zenith = vec3<f32>(0.07, 0.20, 0.46);
    var color = mix(horizon, zenith, pow(max(up, 0.0), 0.55));
    // Soft clouds that water can mirror.
    let over = direction.xz / max(direction.y + 0.12, 0.05);
    let cloud = sin(over.x * 1.7 + 0.6) * sin(over.y * 2.3 - 0.4) + 0.5 * sin(over.x * 4.1 + over.y * 3.3);
    color = mix(color, vec3<f32>(0.80), 0.45 * smoothstep(0.25, 1.1, cloud) * smoothstep(0.02, 0.25, direction.y));
    let to_sun = max(dot(direction, view.sun.xyz), 0.0);
    color += vec3<f32>(1.0, 0.9, 0.7) * (0.25 * pow(to_sun, 32.0) + 6.0 * pow(to_sun, 1200.0));
    return color;
}

// Part of the sun that reaches a point, softened over neighbouring texels.
fn lit(world: vec3<f32>, normal: vec3<f32>) -> f32 {
    let bias = 0.004 * view.low.w;
    let at = view.light_from_world * vec4<f32>(world + bias * normal, 1.0);
    let uv = vec2<f32>(0.5 + 0.5 * at.x, 0.5 - 0.5 * at.y);
    if any(uv < vec2<f32>(0.0)) || any(uv > vec2<f32>(1.0)) { return 1.0; }
    var sum = 0.0;
    let texel = 1.5 / f32(textureDimensions(shadow_map).x);
    for (var n = 0; n < 9; n += 1) {
        let shift = texel * vec2<f32>(f32(n % 3 - 1), f32(n / 3 - 1));
        sum += textureSampleCompareLevel(shadow_map, shadow_sampler, uv + shift, at.z - 0.0015);
    }
    return sum / 9.0;
}

fn matte(color: vec3<f32>, world: vec3<f32>, normal: vec3<f32>) -> vec3<f32> {
    let sun = max(dot(normal, view.sun.xyz), 0.0) * lit(world, normal);
    let ambient = mix(vec3<f32>(0.24, 0.21, 0.18), vec3<f32>(0.42, 0.52, 0.66), 0.5 + 0.5 * normal.y);
    return color * (SUN * sun * 0.5 + ambient * 0.8);
}

// What the map shows at a place.
fn shown_at(at: vec2<f32>) -> Shown {
    let most = view.columns.xy - 1.0;
    let c = clamp((at - view.map.xy) * view.map.z, vec2<f32>(0.0), most);
    let low = floor(c);
    let high = min(low + 1.0, most);
    let w = c - low;
    let nx = u32(view.columns.x);
    let a = shown[u32(low.x) + nx * u32(low.y)];
    let b = shown[u32(high.x) + nx * u32(low.y)];
    let d = shown[u32(low.x) + nx * u32(high.y)];
    let e = shown[u32(high.x) + nx * u32(high.y)];
    return Shown(mix(mix(a.look, b.look, w.x), mix(d.look, e.look, w.x), w.y),
        mix(mix(a.come, b.come, w.x), mix(d.come, e.come, w.x), w.y));
}

fn slope_of(i: i32, k: i32) -> vec2<f32> {
    let side = i32(view.tile.y);
    return slopes[u32(((i % side) + side) % side + side * (((k % side) + side) % side))];
}

// Slope of the tile of short waves at a place.
fn tile_slope(at: vec2<f32>) -> vec2<f32> {
    let c = at / view.tile.x * view.tile.y;
    let low = floor(c);
    let w = c - low;
    let i = i32(low.x);
    let k = i32(low.y);
    return mix(mix(slope_of(i, k), slope_of(i + 1, k), w.x), mix(slope_of(i, k + 1), slope_of(i + 1, k + 1), w.x), w.y);
}

// Both layers, the second half a tile aside so that they have nothing in common; sums of waves that have nothing in common are as
// steep as the root of the sum of their squares.
fn short_waves(at: vec2<f32>, s: Shown) -> vec2<f32> {
    let w = view.columns.zw;
    let first = tile_slope(at - s.come.xy);
    let second = tile_slope(at - s.come.zw + 0.5 * view.tile.x);
    return (w.x * first + w.y * second) / sqrt(dot(w, w));
}

fn speckle(at: vec2<f32>) -> f32 {
    let cell = vec2<i32>(floor(at));
    let h = (bitcast<u32>(cell.x) * 0x9e3779b9u) ^ (bitcast<u32>(cell.y) * 0x85ebca6bu);
    let m = (h ^ (h >> 15u)) * 0x7feb352du;
    return f32((m ^ (m >> 16u)) & 65535u) / 65535.0;
}

fn noise(at: vec2<f32>) -> f32 {
    let w = smoothstep(vec2<f32>(0.0), vec2<f32>(1.0), fract(at));
    let near = mix(speckle(at), speckle(at + vec2<f32>(1.0, 0.0)), w.x);
    let far = mix(speckle(at + vec2<f32>(0.0, 1.0)), speckle(at + vec2<f32>(1.0, 1.0)), w.x);
    return mix(near, far, w.y);
}

// Foam as lace that goes with the water: how much of a place it covers.
fn foam_cover(at: vec2<f32>, s: Shown) -> f32 {
    let fine = 2.5 * view.map.z;
    var lace = 0.0;
    for (var n = 0; n < 2; n += 1) {
        let came = at - select(s.come.xy, s.come.zw, n == 1);
        let veins = 1.0 - abs(2.0 * noise(came * fine) - 1.0);
        lace += view.columns[2 + n] * (0.65 * veins + 0.35 * noise(came * 3.1 * fine));
    }
    let cover = 1.0 - exp(-s.look.x);
    return smoothstep(1.0 - cover - 0.15, 1.0 - cover + 0.35, lace) * smoothstep(0.0, 0.08, cover);
}

fn floor_color(world: vec3<f32>) -> vec3<f32> {
    let tile = view.low.w / 10.0;
    let cell = floor(world.xz / tile);
    let within = abs(fract(world.xz / tile) - 0.5);
    let blur = smoothstep(1.0, 6.0, length(world - view.eye.xyz) / view.low.w - 1.5);
    let edge = mix(smoothstep(0.5, 0.475, max(within.x, within.y)), 0.95, blur);
    let checker = 0.5 + 0.5 * (2.0 * fract(0.5 * (cell.x + cell.y)) - 0.5);
    return mix(vec3<f32>(0.16), mix(vec3<f32>(0.34, 0.30, 0.25), vec3<f32>(0.44, 0.39, 0.33), checker), edge);
}

struct Screen { @builtin(position) clip: vec4<f32>, @location(0) at: vec2<f32> }

@vertex
fn screen(@builtin(vertex_index) n: u32) -> Screen {
    let at = vec2<f32>(f32((n << 1u) & 2u), f32(n & 2u)) * 2.0 - 1.0;
    return Screen(vec4<f32>(at, 1.0, 1.0), at);
}

struct Pixel { @location(0) color: vec4<f32>, @builtin(frag_depth) depth: f32 }

// Sky, and the floor below the domain.
@fragment
fn surroundings(in: Screen) -> Pixel {
    let far = view.world_from_clip * vec4<f32>(in.at, 0.5, 1.0);
    let direction = normalize(far.xyz / far.w - view.eye.xyz);
    let height = view.low.y - 0.002 * view.low.w;
    let t = (height - view.eye.y) / min(direction.y, -1e-5);
    if direction.y > -1e-3 || t < 0.0 || t > 40.0 * view.low.w { return Pixel(vec4<f32>(sky(direction), 1.0), 1.0); }
    let world = view.eye.xyz + t * direction;
    let near = matte(floor_color(world), world, vec3<f32>(0.0, 1.0, 0.0));
    let fade = smoothstep(3.0, 14.0, length(world - 0.5 * (view.low.xyz + view.high.xyz)) / view.low.w);
    let clip = view.clip_from_world * vec4<f32>(world, 1.0);
    return Pixel(vec4<f32>(mix(near, sky(vec3<f32>(direction.x, 0.02, direction.z)), fade), 1.0), clip.z / clip.w);
}

@vertex
fn shade_from_sun(in: Vertex) -> @builtin(position) vec4<f32> {
    return view.light_from_world * vec4<f32>(in.position, 1.0);
}

@vertex
fn place(in: Vertex) -> Shaded {
    return Shaded(view.clip_from_world * vec4<f32>(in.position, 1.0), in.position, in.normal, in.color);
}

@fragment
fn solid(in: Shaded) -> @location(0) vec4<f32> {
    let toward = normalize(view.eye.xyz - in.world);
    var normal = normalize(in.normal);
    if dot(normal, toward) < 0.0 { normal = -normal; }
    // Grain of wood or stone.
    let grain = 0.985 + 0.015 * sin(40.0 * dot(in.world, vec3<f32>(0.3, 1.0, 0.2)) / view.low.w * 6.0);
    // What was below water not long ago is darker and shines.
    let s = shown_at(in.world.xz);
    let wet = view.map.w * s.look.y * smoothstep(s.look.z + 1.0 / view.map.z, s.look.z, in.world.y);
    let dry = matte(in.color * grain * mix(1.0, 0.45, wet), in.world, normal);
    let cosine = clamp(dot(normal, toward), 0.0, 1.0);
    let shine = wet * (WATER_IOR_F0 + 0.5 * pow(1.0 - cosine, 5.0));
    return vec4<f32>(mix(dry, sky(reflect(-toward, normal)), shine), 1.0);
}

@fragment
fn edge(in: Shaded) -> @location(0) vec4<f32> {
    return vec4<f32>(in.color, 1.0);
}

// Distance of the farthest water that is seen from inside.
@fragment
fn far_side(in: Shaded) -> @location(0) vec4<f32> {
    // Sixteen bits are too few for a distance: what they leave out comes after. They hold ten bits of the fraction.
    let all = length(in.world - view.eye.xyz);
    let most = bitcast<f32>(bitcast<u32>(all) & 0xFFFFE000u);
    return vec4<f32>(most, all - most, 0.0, 1.0);
}

fn distance_behind(pixel: vec2<i32>, uv: vec2<f32>) -> f32 {
    let z = textureLoad(behind_depth, pixel, 0);
    let at = view.world_from_clip * vec4<f32>(2.0 * uv.x - 1.0, 1.0 - 2.0 * uv.y, z, 1.0);
    return length(at.xyz / at.w - view.eye.xyz);
}

fn pixel_of(uv: vec2<f32>) -> vec2<i32> {
    return vec2<i32>(clamp(uv * view.size.xy, vec2<f32>(0.0), view.size.xy - 1.0));
}

@fragment
fn water(in: Shaded) -> @location(0) vec4<f32> {
    let toward = normalize(view.eye.xyz - in.world);
    var normal = normalize(in.normal);
    if dot(normal, toward) < 0.0 { normal = -normal; }
    // Short waves, where they are wider than a pixel; none on what hangs or stands.
    let footprint = length(fwidth(in.world.xz));
    let s = shown_at(in.world.xz);
    let fade = view.map.w * clamp(2.0 * view.tile.x / view.tile.y / max(footprint, 1e-6), 0.0, 1.0) * smoothstep(0.3, 0.9, normal.y);
    let bumps = fade * short_waves(in.world.xz, s);
    let flat = normal;
    normal = normalize(normal - vec3<f32>(bumps.x, 0.0, bumps.y));
    if dot(normal, toward) < 0.02 { normal = normalize(normal + (0.02 - dot(normal, toward)) * toward); }
    let uv = in.clip.xy / view.size.xy;
    let here = length(in.world - view.eye.xyz);
    let unit = 0.35 * view.low.w;
    let bent = refract(-toward, normal, 1.0 / 1.33);
    let parts = textureLoad(back, pixel_of(uv), 0);
    let exit = parts.x + parts.y;
    // A wall of the tank is a mirror from inside at most angles: the way goes on to the floor.
    let leaves = view.eye.xyz - exit * toward;
    let near_wall = min(abs(leaves.xz - view.low.xz), abs(leaves.xz - view.high.xz));
    let to_floor = (in.world.y - view.low.y) / max(-bent.y, 0.2);
    let is_wall = min(near_wall.x, near_wall.y) < 0.01 * view.low.w;
    let inside = select(max(exit - here, 0.0), max(to_floor, 0.0), is_wall || exit <= here);
    let straight = min(inside, max(distance_behind(pixel_of(uv), uv) - here, 0.0));
    // Refraction: what the bent ray meets after the water, looked up on the screen.
    let reach = min(straight, unit);
    let there = view.clip_from_world * vec4<f32>(in.world + reach * bent, 1.0);
    var at = vec2<f32>(0.5 + 0.5 * there.x / there.w, 0.5 - 0.5 * there.y / there.w);
    at = clamp(at, vec2<f32>(0.001), vec2<f32>(0.999));
    if distance_behind(pixel_of(at), at) < here { at = uv; }
    let through = textureSampleLevel(behind, smooth_sampler, at, 0.0).xyz;
    let way = min(inside, max(distance_behind(pixel_of(at), at) - here, 0.0)) / unit;
    let kept = exp(-way * vec3<f32>(2.2, 0.62, 0.42));
    let day = 0.55 + 0.45 * lit(in.world, normal);
    let glow = vec3<f32>(0.012, 0.10, 0.14) * day;
    var color = through * kept + glow * (1.0 - exp(-0.9 * way));
    // Reflection.
    let mirrored = reflect(-toward, normal);
    let cosine = clamp(dot(normal, toward), 0.0, 1.0);
    let fresnel = WATER_IOR_F0 + (1.0 - WATER_IOR_F0) * pow(1.0 - cosine, 5.0);
    var seen = sky(mirrored);
    if mirrored.y < 0.0 { seen = mix(vec3<f32>(0.35, 0.33, 0.30), sky(vec3<f32>(mirrored.x, 0.02, mirrored.z)), 0.5); }
    let glint = SUN * pow(max(dot(mirrored, view.sun.xyz), 0.0), 500.0) * 1.5 * lit(in.world, normal);
    color = mix(color, seen, fresnel) + glint;
    let white = view.map.w * foam_cover(in.world.xz, s) * smoothstep(0.1, 0.5, flat.y);
    let foam_color = vec3<f32>(0.95, 0.97, 1.0) * (0.45 + 0.6 * lit(in.world, flat) * max(dot(flat, view.sun.xyz), 0.0));
    return vec4<f32>(mix(color, foam_color, 0.85 * white), 1.0);
}

struct Point { @location(0) center: vec3<f32>, @location(1) radius: f32, @location(2) look: vec4<f32> }
struct Disc {
    @builtin(position) clip: vec4<f32>,
    @location(0) at: vec2<f32>,
    @location(1) look: vec4<f32>,
    @location(2) world: vec3<f32>,
}

// Spray, foam and bubbles as discs that face the camera, at least a pixel and a half wide.
@vertex
fn face_camera(in: Point, @builtin(vertex_index) n: u32) -> Disc {
    let corner = vec2<f32>(select(-1.0, 1.0, (n & 1u) == 1u), select(-1.0, 1.0, (n & 2u) == 2u));
    let clip = view.clip_from_world * vec4<f32>(in.center, 1.0);
    let scale = vec2<f32>(length(vec3<f32>(view.clip_from_world[0].x, view.clip_from_world[1].x, view.clip_from_world[2].x)),
        length(vec3<f32>(view.clip_from_world[0].y, view.clip_from_world[1].y, view.clip_from_world[2].y)));
    let least = 1.5 * view.high.w / view.size.xy * clip.w;
    let half_size = max(in.radius * scale, least);
    // A disc that is drawn larger than it is lets as much through as it should.
    let thinner = min(in.radius * scale.y / half_size.y, 1.0);
    let look = vec4<f32>(in.look.xyz, in.look.w * thinner);
    return Disc(vec4<f32>(clip.xy + corner * half_size, clip.z - 2e-4 * clip.w, clip.w), corner, look, in.center);
}

@fragment
fn foam(in: Disc) -> @location(0) vec4<f32> {
    let r2 = dot(in.at, in.at);
    if r2 > 1.0 { discard; }
    let normal = normalize(vec3<f32>(0.3, 1.0, 0.3));
    let shade = 0.55 + 0.5 * lit(in.world, normal);
    return vec4<f32>(in.look.xyz * shade, in.look.w * (1.0 - r2 * r2));
}

fn film(x: vec3<f32>) -> vec3<f32> {
    let y = 0.85 * x;
    return clamp((y * (2.51 * y + 0.03)) / (y * (2.43 * y + 0.59) + 0.14), vec3<f32>(0.0), vec3<f32>(1.0));
}

// The mean of the pixels that fall into one, on a curve like film's, encoded as sRGB.
@fragment
fn develop(in: Screen) -> @location(0) vec4<f32> {
    let n = i32(view.high.w);
    let first = vec2<i32>(in.clip.xy) * n;
    var sum = vec3<f32>(0.0);
    for (var j = 0; j < n; j += 1) {
        for (var i = 0; i < n; i += 1) { sum += film(textureLoad(behind, first + vec2<i32>(i, j), 0).xyz); }
    }
    let linear = sum / f32(n * n);
    let high = 1.055 * pow(linear, vec3<f32>(1.0 / 2.4)) - 0.055;
    return vec4<f32>(select(high, 12.92 * linear, linear <= vec3<f32>(0.0031308)), 1.0);
}
