// Multiplies values by a factor: the smallest kernel that a test of the device can use.

struct Params { factor: f32, count: u32, pad0: u32, pad1: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> values: array<f32>;

@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.count {
        values[id.x] *= params.factor;
    }
}

// Keeps the device busy: what a time-out is tested with. Many short runs, because software Vulkan (llvmpipe) silently
// ends the loops of an invocation after 65535 rounds.
@compute @workgroup_size(1)
fn linger(@builtin(workgroup_id) id: vec3<u32>) {
    var x = values[id.x];
    for (var n = 0u; n < params.count; n += 1u) {
        x = sin(x) + params.factor;
    }
    values[id.x] = x;
}
