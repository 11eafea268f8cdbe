//! Draws a [`Drawn`] on the GPU.
//!
//! In order: what solids shade from the sun; sky, floor, solids and the tank's edges; how far the water reaches behind its front; the water's front,
//! which bends, swallows and mirrors what lies behind it; spray, foam and bubbles; at last all of it as on film, several pixels to one.

use crate::meshes::{self, Disc, Vertex};
use crate::targets::{COLOR, DEPTH, Target, Targets};
use crate::view::view_of;
use crate::waves::{self, Waves};
use crate::{Drawn, LiveError};
use fluvial_preview::{Camera, Image};
use wgpu::util::DeviceExt;

/// How a pipeline reads vertices, writes depth, and which bindings of the groups it has.
struct Kind {
    vertex: &'static str,
    fragment: Option<&'static str>,
    input: Input,
    topology: wgpu::PrimitiveTopology,
    cull: Option<wgpu::Face>,
    depth: Option<(wgpu::CompareFunction, bool)>,
    blends: bool,
    groups: &'static [&'static [u32]],
}

#[derive(Clone, Copy, PartialEq)]
enum Input {
    None,
    Vertices,
    Discs,
}

struct Pipeline {
    raw: wgpu::RenderPipeline,
    groups: &'static [&'static [u32]],
}

/// Pipelines in the order in which a picture uses them.
struct Pipelines {
    cast: Pipeline,
    surroundings: Pipeline,
    solid: Pipeline,
    edge: Pipeline,
    far_side: Pipeline,
    water: Pipeline,
    foam: Pipeline,
    develop: Pipeline,
}

/// The renderer.
pub struct Renderer {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    adapter: String,
    pipelines: Pipelines,
    samplers: [wgpu::Sampler; 2],
    targets: Option<Targets>,
    /// Waves too short for the cells, once a map was drawn.
    waves: Option<Waves>,
}

/// What the shaders of one picture read beside textures.
struct Read {
    view: wgpu::Buffer,
    shown: wgpu::Buffer,
    slopes: wgpu::Buffer,
}

/// Edge of the tile of short waves, columns of the map: its longest waves are as long as two of them, which the simulation cannot hold.
const TILE_COLUMNS: f32 = 16.0;

const OPAQUE: Kind = Kind {
    vertex: "place",
    fragment: None,
    input: Input::Vertices,
    topology: wgpu::PrimitiveTopology::TriangleList,
    cull: None,
    depth: Some((wgpu::CompareFunction::Less, true)),
    blends: false,
    groups: &[&[0, 1, 2]],
};

fn pipeline(
    device: &wgpu::Device,
    shader: &wgpu::ShaderModule,
    kind: Kind,
    format: wgpu::TextureFormat,
) -> Pipeline {
    let floats = |sizes: &[u32]| -> Vec<wgpu::VertexAttribute> {
        let mut offset = 0;
        let attribute = |(location, &n): (usize, &u32)| {
            let format = [
                wgpu::VertexFormat::Float32,
                wgpu::VertexFormat::Float32x2,
                wgpu::VertexFormat::Float32x3,
                wgpu::VertexFormat::Float32x4,
            ][n as usize - 1];
            let at = offset;
            offset += 4 * u64::from(n);
            wgpu::VertexAttribute { format, offset: at, shader_location: location as u32 }
        };
        sizes.iter().enumerate().map(attribute).collect()
    };
    let (stride, step_mode, attributes) = match kind.input {
        Input::Discs => (size_of::<Disc>(), wgpu::VertexStepMode::Instance, floats(&[3, 1, 4])),
        _ => (size_of::<Vertex>(), wgpu::VertexStepMode::Vertex, floats(&[3, 3, 3])),
    };
    let buffers =
        [Some(wgpu::VertexBufferLayout { array_stride: stride as u64, step_mode, attributes: &attributes })];
    let blend = kind.blends.then_some(wgpu::BlendState::ALPHA_BLENDING);
    let targets = [Some(wgpu::ColorTargetState { format, blend, write_mask: wgpu::ColorWrites::ALL })];
    let raw = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: kind.fragment,
        layout: None,
        vertex: wgpu::VertexState {
            module: shader,
            entry_point: Some(kind.vertex),
            compilation_options: Default::default(),
            buffers: if kind.input == Input::None { &[] } else { &buffers },
        },
        primitive: wgpu::PrimitiveState {
            topology: kind.topology,
            cull_mode: kind.cull,
            ..Default::default()
        },
        depth_stencil: kind.depth.map(|(compare, writes)| wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(writes),
            depth_compare: Some(compare),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: Default::default(),
        fragment: kind.fragment.map(|entry| wgpu::FragmentState {
            module: shader,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            targets: &targets,
        }),
        multiview_mask: None,
        cache: None,
    });
    Pipeline { raw, groups: kind.groups }
}

impl Pipelines {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Pipelines {
        use wgpu::CompareFunction::{Always, Greater, Less};
        let text = include_str!("live.wgsl");
        let source = wgpu::ShaderSource::Wgsl(text.into());
        let shader =
            device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("live"), source });
        let make = |kind: Kind| pipeline(device, &shader, kind, COLOR);
        let screen = |fragment, depth, groups| Kind {
            vertex: "screen",
            fragment: Some(fragment),
            input: Input::None,
            depth,
            groups,
            ..OPAQUE
        };
        Pipelines {
            cast: make(Kind { vertex: "shade_from_sun", groups: &[&[0]], ..OPAQUE }),
            surroundings: make(screen("surroundings", Some((Always, true)), &[&[0, 1, 2]])),
            solid: make(Kind { fragment: Some("solid"), groups: &[&[0, 1, 2, 3]], ..OPAQUE }),
            edge: make(Kind {
                fragment: Some("edge"),
                topology: wgpu::PrimitiveTopology::LineList,
                groups: &[&[0]],
                ..OPAQUE
            }),
            far_side: make(Kind {
                fragment: Some("far_side"),
                cull: Some(wgpu::Face::Front),
                depth: Some((Greater, true)),
                groups: &[&[0]],
                ..OPAQUE
            }),
            water: make(Kind {
                fragment: Some("water"),
                cull: Some(wgpu::Face::Back),
                groups: &[&[0, 1, 2, 3, 4], &[0, 1, 2, 3]],
                ..OPAQUE
            }),
            foam: make(Kind {
                vertex: "face_camera",
                fragment: Some("foam"),
                input: Input::Discs,
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                depth: Some((Less, false)),
                blends: true,
                ..OPAQUE
            }),
            develop: pipeline(device, &shader, screen("develop", None, &[&[0], &[0]]), format),
        }
    }
}

impl Renderer {
    /// On the preferred adapter, for pictures in memory.
    pub fn off_screen() -> Result<Renderer, LiveError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let mut all = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        all.sort_by_key(|adapter| match adapter.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Other => 3,
            wgpu::DeviceType::Cpu => 4,
        });
        let first = all.into_iter().next();
        let adapter = first
            .ok_or_else(|| LiveError::NoGpu("no Vulkan, Metal or Direct3D 12 driver is found".into()))?;
        Renderer::on(&adapter, wgpu::TextureFormat::Rgba8Unorm)
    }

    /// On an adapter, for pictures of a format without sRGB encoding of its own.
    pub(crate) fn on(adapter: &wgpu::Adapter, format: wgpu::TextureFormat) -> Result<Renderer, LiveError> {
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("fluvial live"),
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|e| LiveError::NoGpu(e.to_string()))?;
        let sampler = |compare| {
            device.create_sampler(&wgpu::SamplerDescriptor {
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                compare,
                ..Default::default()
            })
        };
        let samplers = [sampler(Some(wgpu::CompareFunction::LessEqual)), sampler(None)];
        let pipelines = Pipelines::new(&device, format);
        Ok(Renderer {
            device,
            queue,
            adapter: adapter.get_info().name,
            pipelines,
            samplers,
            targets: None,
            waves: None,
        })
    }

    /// The adapter's name.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    /// A picture in memory.
    pub fn picture(&mut self, drawn: &Drawn, camera: &Camera, size: [u32; 2]) -> Result<Image, LiveError> {
        let target = Targets::picture(&self.device, size);
        self.draw(&target.view, drawn, camera, size);
        self.read(&target, size)
    }

    /// Draws into a texture of `size` pixels.
    pub fn draw(&mut self, out: &wgpu::TextureView, drawn: &Drawn, camera: &Camera, size: [u32; 2]) {
        if self.targets.as_ref().is_none_or(|targets| targets.size != size) {
            self.targets = Some(Targets::new(&self.device, size));
        }
        let view = &self.read_by_shaders(drawn, camera, size);
        let targets = self.targets.as_ref().expect("made just now");
        let buffer = |bytes: &[u8]| {
            let usage = wgpu::BufferUsages::VERTEX;
            self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: None,
                contents: bytes,
                usage,
            })
        };
        let (solids, water) = (meshes::solids(drawn), meshes::liquid(drawn));
        let (edges, discs) = (meshes::edges(drawn.domain), meshes::discs(drawn));
        let solid = (buffer(bytemuck::cast_slice(&solids)), solids.len() as u32);
        let liquid = (buffer(bytemuck::cast_slice(&water)), water.len() as u32);
        let edge = (buffer(bytemuck::cast_slice(&edges)), edges.len() as u32);
        let points = (buffer(bytemuck::cast_slice(&discs)), discs.len() as u32);
        let p = &self.pipelines;
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = begin(&mut encoder, None, Some((&targets.shadow, Some(1.0))));
            self.set(&mut pass, &p.cast, view, targets);
            draw_list(&mut pass, &solid);
        }
        {
            let black = wgpu::Color::BLACK;
            let mut pass = begin(
                &mut encoder,
                Some((&targets.color.view, Some(black))),
                Some((&targets.depth, Some(1.0))),
            );
            self.set(&mut pass, &p.surroundings, view, targets);
            pass.draw(0..3, 0..1);
            self.set(&mut pass, &p.solid, view, targets);
            draw_list(&mut pass, &solid);
            self.set(&mut pass, &p.edge, view, targets);
            draw_list(&mut pass, &edge);
        }
        {
            let none = wgpu::Color::TRANSPARENT;
            let mut pass = begin(
                &mut encoder,
                Some((&targets.back.view, Some(none))),
                Some((&targets.back_depth, Some(0.0))),
            );
            self.set(&mut pass, &p.far_side, view, targets);
            draw_list(&mut pass, &liquid);
        }
        copy(&mut encoder, &targets.color, &targets.behind);
        copy(&mut encoder, &targets.depth, &targets.behind_depth);
        {
            let mut pass =
                begin(&mut encoder, Some((&targets.color.view, None)), Some((&targets.depth, None)));
            self.set(&mut pass, &p.water, view, targets);
            draw_list(&mut pass, &liquid);
            if points.1 > 0 {
                self.set(&mut pass, &p.foam, view, targets);
                pass.set_vertex_buffer(0, points.0.slice(..));
                pass.draw(0..4, 0..points.1);
            }
        }
        copy(&mut encoder, &targets.color, &targets.behind);
        {
            let mut pass = begin(&mut encoder, Some((out, Some(wgpu::Color::BLACK))), None);
            self.set(&mut pass, &p.develop, view, targets);
            pass.draw(0..3, 0..1);
        }
        self.queue.submit([encoder.finish()]);
    }

    /// View, map and short waves of a picture.
    fn read_by_shaders(&mut self, drawn: &Drawn, camera: &Camera, size: [u32; 2]) -> Read {
        let mut view = view_of(drawn.domain, camera, size);
        let (mut shown, mut slopes) = (vec![[0.0f32; 8]], vec![[0.0f32; 2]]);
        view.columns = [1.0; 4];
        view.tile = [1.0; 4];
        view.map = [0.0, 0.0, 1.0, 0.0];
        if let Some(map) = &drawn.map {
            let tile_m = TILE_COLUMNS * map.spacing_m;
            let waves = self.waves.get_or_insert_with(|| Waves::new(tile_m, 9.81));
            waves.slopes(&mut slopes, drawn.time_s as f32);
            let column = |n: usize| {
                let [a, b, c, d] = map.come[n];
                [map.foam[n], map.wet[n], map.height_m[n], 0.0, a, b, c, d]
            };
            shown = (0..map.foam.len()).map(column).collect();
            view.map = [map.first[0], map.first[1], 1.0 / map.spacing_m, 1.0];
            view.columns = [map.size[0] as f32, map.size[1] as f32, map.layers[0], map.layers[1]];
            view.tile = [tile_m, waves::SIDE as f32, 0.0, 0.0];
        }
        let buffer = |contents: &[u8], usage| {
            let made = wgpu::util::BufferInitDescriptor { label: None, contents, usage };
            self.device.create_buffer_init(&made)
        };
        Read {
            view: buffer(bytemuck::bytes_of(&view), wgpu::BufferUsages::UNIFORM),
            shown: buffer(bytemuck::cast_slice(&shown), wgpu::BufferUsages::STORAGE),
            slopes: buffer(bytemuck::cast_slice(&slopes), wgpu::BufferUsages::STORAGE),
        }
    }

    /// A pipeline with what it reads.
    fn set(&self, pass: &mut wgpu::RenderPass, pipeline: &Pipeline, read: &Read, targets: &Targets) {
        pass.set_pipeline(&pipeline.raw);
        for (group, bindings) in pipeline.groups.iter().enumerate() {
            let resource = |n: u32| match (group, n) {
                (0, 0) => read.view.as_entire_binding(),
                (0, 1) => wgpu::BindingResource::TextureView(&targets.shadow.view),
                (0, 3) => read.shown.as_entire_binding(),
                (0, 4) => read.slopes.as_entire_binding(),
                (0, _) => wgpu::BindingResource::Sampler(&self.samplers[0]),
                (_, 0) => wgpu::BindingResource::TextureView(&targets.behind.view),
                (_, 1) => wgpu::BindingResource::TextureView(&targets.behind_depth.view),
                (_, 2) => wgpu::BindingResource::TextureView(&targets.back.view),
                _ => wgpu::BindingResource::Sampler(&self.samplers[1]),
            };
            let entry = |&n: &u32| wgpu::BindGroupEntry { binding: n, resource: resource(n) };
            let entries: Vec<_> = bindings.iter().map(entry).collect();
            let layout = pipeline.raw.get_bind_group_layout(group as u32);
            let made = wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries };
            pass.set_bind_group(group as u32, &self.device.create_bind_group(&made), &[]);
        }
    }

    fn read(&self, target: &Target, [width, height]: [u32; 2]) -> Result<Image, LiveError> {
        let row = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(row * height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
        let to = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(target.texture.as_image_copy(), to, target.texture.size());
        self.queue.submit([encoder.finish()]);
        buffer.map_async(wgpu::MapMode::Read, .., |_| ());
        let lost = |e: String| LiveError::NoGpu(e);
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| lost(e.to_string()))?;
        let bytes = buffer.get_mapped_range(..).map_err(|e| lost(e.to_string()))?;
        let mut rgb = Vec::with_capacity((3 * width * height) as usize);
        for line in bytes.chunks_exact(row as usize) {
            line[..4 * width as usize].chunks_exact(4).for_each(|pixel| rgb.extend_from_slice(&pixel[..3]));
        }
        Ok(Image { width: width as usize, height: height as usize, rgb })
    }
}

fn begin<'e>(
    encoder: &'e mut wgpu::CommandEncoder,
    color: Option<(&wgpu::TextureView, Option<wgpu::Color>)>,
    depth: Option<(&Target, Option<f32>)>,
) -> wgpu::RenderPass<'e> {
    let color = color.map(|(view, clear)| wgpu::RenderPassColorAttachment {
        view,
        depth_slice: None,
        resolve_target: None,
        ops: wgpu::Operations {
            load: clear.map_or(wgpu::LoadOp::Load, wgpu::LoadOp::Clear),
            store: wgpu::StoreOp::Store,
        },
    });
    let depth = depth.map(|(target, clear)| wgpu::RenderPassDepthStencilAttachment {
        view: &target.view,
        depth_ops: Some(wgpu::Operations {
            load: clear.map_or(wgpu::LoadOp::Load, wgpu::LoadOp::Clear),
            store: wgpu::StoreOp::Store,
        }),
        stencil_ops: None,
    });
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: None,
        color_attachments: if color.is_some() { std::slice::from_ref(&color) } else { &[] },
        depth_stencil_attachment: depth,
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    })
}

fn draw_list(pass: &mut wgpu::RenderPass, (buffer, count): &(wgpu::Buffer, u32)) {
    if *count > 0 {
        pass.set_vertex_buffer(0, buffer.slice(..));
        pass.draw(0..*count, 0..1);
    }
}

fn copy(encoder: &mut wgpu::CommandEncoder, from: &Target, to: &Target) {
    encoder.copy_texture_to_texture(
        from.texture.as_image_copy(),
        to.texture.as_image_copy(),
        from.texture.size(),
    );
}
