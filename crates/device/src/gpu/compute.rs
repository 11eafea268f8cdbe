//! Compute pipelines, and recordings of many dispatches in one compute pass.

use super::adapter::Device;
use super::buffer::{Binding, Buffer};
use crate::{DeviceError, ShaderSource};
use std::sync::Arc;

/// One entry point of a shader, compiled.
#[derive(Clone)]
pub struct Pipeline {
    raw: wgpu::ComputePipeline,
    label: Arc<str>,
}

/// A pipeline with its buffers: what a recording dispatches, as often as wanted.
#[derive(Clone)]
pub struct Bound {
    pipeline: Pipeline,
    group: wgpu::BindGroup,
    /// Buffers must not go back to the pool while a bind group shows them.
    _alive: Arc<[Binding]>,
}

/// Dispatches in order. Each sees what the ones before it wrote.
#[derive(Default)]
pub struct Recording {
    dispatches: Vec<(Bound, [u32; 3])>,
    /// Name of a stage and the dispatch that it starts with.
    stages: Vec<(&'static str, usize)>,
}

/// How long a stage took on the device.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTime {
    /// As given to [`Recording::stage`].
    pub name: &'static str,
    /// Time on the device's own clock.
    pub seconds: f64,
}

/// Times the stages of a recording on the device, as often as it is submitted.
pub struct Clock {
    set: wgpu::QuerySet,
    resolve: wgpu::Buffer,
    ticks: Buffer<u64>,
    names: Vec<&'static str>,
}

impl Recording {
    /// Nothing recorded.
    pub fn new() -> Recording {
        Recording::default()
    }

    /// What follows belongs to the stage `name`, until the next one.
    pub fn stage(&mut self, name: &'static str) {
        self.stages.push((name, self.dispatches.len()));
    }

    /// Adds a dispatch of so many workgroups along x, y and z.
    pub fn dispatch(&mut self, bound: &Bound, workgroups: [u32; 3]) {
        self.dispatches.push((bound.clone(), workgroups));
    }

    /// Number of dispatches.
    pub fn len(&self) -> usize {
        self.dispatches.len()
    }

    /// Is nothing recorded?
    pub fn is_empty(&self) -> bool {
        self.dispatches.is_empty()
    }
}

impl Device {
    /// Compiles the entry point `entry` of a shader. Faults come with file and line.
    pub fn pipeline(&self, source: &ShaderSource, entry: &str) -> Result<Pipeline, DeviceError> {
        self.check()?;
        let module = self.raw.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(source.name()),
            source: wgpu::ShaderSource::Wgsl(source.text().into()),
        });
        let faults: Vec<String> = pollster::block_on(module.get_compilation_info())
            .messages
            .into_iter()
            .filter(|m| m.message_type == wgpu::CompilationMessageType::Error)
            .map(|m| match m.location {
                Some(l) => format!("{}: {}", source.place(l.line_number as usize), m.message),
                None => m.message,
            })
            .collect();
        let named = |message| DeviceError::Shader { shader: source.name().to_owned(), message };
        let checked = self.check();
        if !faults.is_empty() {
            return Err(named(faults.join("\n")));
        }
        checked?;
        let raw = self.raw.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            cache: None,
        });
        match self.check() {
            Err(DeviceError::Invalid(message)) => Err(named(format!("entry point {entry}: {message}"))),
            other => other.map(|()| Pipeline { raw, label: entry.into() }),
        }
    }

    /// Binds buffers to `@group(0)` at the given binding numbers: exactly those that the entry point uses.
    pub fn bind(&self, pipeline: &Pipeline, buffers: &[(u32, Binding)]) -> Result<Bound, DeviceError> {
        let mut entries = Vec::with_capacity(buffers.len());
        for (binding, b) in buffers {
            let (buffer, size) = (&b.lease.raw, wgpu::BufferSize::new(b.bytes));
            let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size });
            entries.push(wgpu::BindGroupEntry { binding: *binding, resource });
        }
        let group = self.raw.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&pipeline.label),
            layout: &pipeline.raw.get_bind_group_layout(0),
            entries: &entries,
        });
        self.check()?;
        let alive = buffers.iter().map(|b| b.1.clone()).collect();
        Ok(Bound { pipeline: pipeline.clone(), group, _alive: alive })
    }

    /// Submits a recording as one compute pass and returns without waiting.
    pub fn submit(&self, recording: &Recording) -> Result<(), DeviceError> {
        self.check()?;
        let mut encoder = self.raw.create_command_encoder(&Default::default());
        self.encode(&mut encoder, recording, None);
        self.queue.submit([encoder.finish()]);
        self.check()
    }

    /// Can [`Device::submit_timed`] tell stages apart?
    pub fn has_timestamps(&self) -> bool {
        self.raw.features().contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES)
    }

    /// A clock for the stages of a recording; none where the device has no timestamps.
    pub fn clock(&self, recording: &Recording) -> Result<Option<Clock>, DeviceError> {
        if !self.has_timestamps() || recording.stages.is_empty() {
            return Ok(None);
        }
        let count = recording.stages.len() as u32 + 1;
        let set = self.raw.create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        let resolve = self.raw.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 8 * u64::from(count),
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let ticks = self.storage("timestamps", count as usize)?;
        let names = recording.stages.iter().map(|stage| stage.0).collect();
        Ok(Some(Clock { set, resolve, ticks, names }))
    }

    /// As [`Device::submit`], with a clock that was made for this recording.
    pub fn submit_clocked(&self, recording: &Recording, clock: &Clock) -> Result<(), DeviceError> {
        self.check()?;
        let count = clock.names.len() as u32 + 1;
        let mut encoder = self.raw.create_command_encoder(&Default::default());
        self.encode(&mut encoder, recording, Some(&clock.set));
        encoder.resolve_query_set(&clock.set, 0..count, &clock.resolve, 0);
        encoder.copy_buffer_to_buffer(&clock.resolve, 0, &clock.ticks.lease.raw, 0, 8 * u64::from(count));
        self.queue.submit([encoder.finish()]);
        self.check()
    }

    /// The time of each stage of the last submission with this clock, after waiting for it.
    pub fn times(&self, clock: &Clock) -> Result<Vec<StageTime>, DeviceError> {
        let ticks = self.read(&clock.ticks)?;
        let period_s = f64::from(self.queue.get_timestamp_period()) * 1e-9;
        let seconds = |n: usize| ticks[n + 1].saturating_sub(ticks[n]) as f64 * period_s;
        let stages = clock.names.iter().enumerate();
        Ok(stages.map(|(n, name)| StageTime { name, seconds: seconds(n) }).collect())
    }

    /// Submits a recording, waits for it, and returns the time of each stage; none without timestamps.
    pub fn submit_timed(&self, recording: &Recording) -> Result<Vec<StageTime>, DeviceError> {
        match self.clock(recording)? {
            Some(clock) => {
                self.submit_clocked(recording, &clock)?;
                self.times(&clock)
            }
            None => {
                self.submit(recording)?;
                self.wait()?;
                Ok(vec![])
            }
        }
    }

    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        recording: &Recording,
        clock: Option<&wgpu::QuerySet>,
    ) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        let mut stages = recording.stages.iter().map(|s| s.1).enumerate().peekable();
        for (n, (bound, [x, y, z])) in recording.dispatches.iter().enumerate() {
            while let Some((stage, _)) = stages.next_if(|s| s.1 <= n) {
                if let Some(set) = clock {
                    pass.write_timestamp(set, stage as u32);
                }
            }
            pass.set_pipeline(&bound.pipeline.raw);
            pass.set_bind_group(0, &bound.group, &[]);
            pass.dispatch_workgroups(*x, *y, *z);
        }
        if let Some(set) = clock {
            let rest = stages.map(|s| s.0 as u32).chain([recording.stages.len() as u32]);
            rest.for_each(|index| pass.write_timestamp(set, index));
        }
    }
}
