//! What the renderer draws into, by the size of the picture.

pub(crate) const COLOR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;
pub(crate) const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Pixels along each axis that become one of the picture.
pub(crate) const SUPERSAMPLING: u32 = 2;
const SHADOW_TEXELS: u32 = 2048;

/// A texture and all of it.
pub(crate) struct Target {
    pub texture: wgpu::Texture,
    pub view: wgpu::TextureView,
}

/// Colours and depths of one picture.
pub(crate) struct Targets {
    /// Pixels of the picture.
    pub size: [u32; 2],
    /// Light of what is drawn so far, and the same without water.
    pub color: Target,
    pub behind: Target,
    pub depth: Target,
    pub behind_depth: Target,
    /// Distance of the far side of the water, with depths of its own.
    pub back: Target,
    pub back_depth: Target,
    pub shadow: Target,
}

fn target(device: &wgpu::Device, [width, height]: [u32; 2], format: wgpu::TextureFormat) -> Target {
    let usage = wgpu::TextureUsages::RENDER_ATTACHMENT
        | wgpu::TextureUsages::TEXTURE_BINDING
        | wgpu::TextureUsages::COPY_SRC
        | wgpu::TextureUsages::COPY_DST;
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    });
    let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
    Target { texture, view }
}

impl Targets {
    pub fn new(device: &wgpu::Device, size: [u32; 2]) -> Targets {
        let pixels = size.map(|n| n * SUPERSAMPLING);
        let (color, depth) = (|| target(device, pixels, COLOR), || target(device, pixels, DEPTH));
        Targets {
            size,
            color: color(),
            behind: color(),
            depth: depth(),
            behind_depth: depth(),
            back: color(),
            back_depth: depth(),
            shadow: target(device, [SHADOW_TEXELS; 2], DEPTH),
        }
    }

    /// A picture's own texture, to be read back.
    pub fn picture(device: &wgpu::Device, size: [u32; 2]) -> Target {
        target(device, size, wgpu::TextureFormat::Rgba8Unorm)
    }
}
