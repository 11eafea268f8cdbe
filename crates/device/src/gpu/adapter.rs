//! Which adapter, what it can do, and the device opened on it.

use super::buffer::Pool;
use crate::DeviceError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Which adapter to open.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum AdapterChoice {
    /// The fastest kind that is there: discrete, integrated, virtual, then software.
    #[default]
    Auto,
    /// The first whose name contains this, whatever the case.
    Named(String),
}

/// An adapter as run records name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterRecord {
    /// As the driver calls the hardware.
    pub name: String,
    /// `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// The driver and its version.
    pub driver: String,
    /// Does the CPU do the work?
    pub is_software: bool,
}

impl std::fmt::Display for AdapterRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.backend, self.driver)
    }
}

/// What kernels must fit into.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest storage buffer that a shader can see, in bytes.
    pub storage_binding_bytes: u64,
    /// Storage buffers a shader can see at once.
    pub storage_buffers: u32,
    /// Memory that a workgroup shares, in bytes.
    pub workgroup_bytes: u32,
    /// Invocations in a workgroup.
    pub workgroup_invocations: u32,
    /// Workgroups along one axis of a dispatch.
    pub workgroups_per_axis: u32,
}

/// An open device with its queue. Calls that find it lost answer [`DeviceError::Lost`].
pub struct Device {
    pub(super) raw: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) pool: Arc<Pool>,
    pub(super) faults: Arc<Mutex<Faults>>,
    record: AdapterRecord,
    timeout: Duration,
}

/// What the driver reported since the last call looked.
#[derive(Default)]
pub struct Faults {
    lost: Option<String>,
    invalid: Option<String>,
}

/// How long a wait lasts unless told otherwise: far beyond any step, short of a user's patience.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A wait shorter than this does not put the thread to sleep, whose wake-up would cost more than the wait.
const BUSY_WAIT: Duration = Duration::from_millis(1);

fn record(info: &wgpu::AdapterInfo) -> AdapterRecord {
    AdapterRecord {
        name: info.name.clone(),
        backend: info.backend.to_str().to_owned(),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        is_software: info.device_type == wgpu::DeviceType::Cpu,
    }
}

/// Lower is preferred.
fn rank(info: &wgpu::AdapterInfo) -> u32 {
    match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

fn enumerate() -> Vec<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let mut all = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    all.sort_by_key(|a| rank(&a.get_info()));
    all
}

/// The adapters that are there, preferred ones first.
pub fn adapters() -> Vec<AdapterRecord> {
    enumerate().iter().map(|a| record(&a.get_info())).collect()
}

fn choose(choice: &AdapterChoice) -> Result<wgpu::Adapter, DeviceError> {
    let all = enumerate();
    let found = match all.len() {
        0 => "none".to_owned(),
        _ => all.iter().map(|a| record(&a.get_info()).to_string()).collect::<Vec<_>>().join(", "),
    };
    let (looked_for, chosen) = match choice {
        AdapterChoice::Auto => ("any adapter".to_owned(), all.into_iter().next()),
        AdapterChoice::Named(name) => {
            let wanted = name.to_lowercase();
            let fits = |a: &wgpu::Adapter| a.get_info().name.to_lowercase().contains(&wanted);
            (format!("an adapter named like `{name}`"), all.into_iter().find(fits))
        }
    };
    chosen.ok_or(DeviceError::NoAdapter { looked_for, found })
}

impl Device {
    /// Opens the chosen adapter with all its limits, and with timestamps where it has them.
    pub fn open(choice: &AdapterChoice) -> Result<Device, DeviceError> {
        let adapter = choose(choice)?;
        let wanted = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("fluvial"),
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let record = record(&adapter.get_info());
        let (raw, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| DeviceError::Refused { adapter: record.to_string(), reason: e.to_string() })?;
        let faults = Arc::new(Mutex::new(Faults::default()));
        let (on_lost, on_error) = (faults.clone(), faults.clone());
        raw.set_device_lost_callback(move |reason, message| {
            let text = if message.is_empty() { format!("{reason:?}") } else { message };
            on_lost.lock().expect("no panic holds it").lost.get_or_insert(text);
        });
        raw.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            on_error.lock().expect("no panic holds it").invalid.get_or_insert(error.to_string());
        }));
        Ok(Device { raw, queue, pool: Arc::default(), faults, record, timeout: TIMEOUT })
    }

    /// The same device with another time-out for waits.
    pub fn with_timeout(self, timeout: Duration) -> Device {
        Device { timeout, ..self }
    }

    /// Name, backend and driver of its adapter.
    pub fn record(&self) -> &AdapterRecord {
        &self.record
    }

    /// What kernels must fit into.
    pub fn limits(&self) -> Limits {
        let all = self.raw.limits();
        Limits {
            storage_binding_bytes: all.max_storage_buffer_binding_size,
            storage_buffers: all.max_storage_buffers_per_shader_stage,
            workgroup_bytes: all.max_compute_workgroup_storage_size,
            workgroup_invocations: all.max_compute_invocations_per_workgroup,
            workgroups_per_axis: all.max_compute_workgroups_per_dimension,
        }
    }

    /// Gives the device up: every later call answers [`DeviceError::Lost`].
    pub fn destroy(&self) {
        self.raw.destroy();
        self.faults.lock().expect("no panic holds it").lost.get_or_insert("given up by the program".into());
    }

    /// Waits until everything submitted is done.
    ///
    /// The device is asked again and again instead of waited for once, because a driver may not keep a time
    /// limit (llvmpipe waits to the end, however long).
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.check()?;
        let done = Arc::new(AtomicBool::new(false));
        let told = done.clone();
        self.queue.on_submitted_work_done(move || told.store(true, Ordering::Release));
        let start = Instant::now();
        loop {
            let polled = self.raw.poll(wgpu::PollType::Poll);
            self.check()?;
            polled.map_err(|e| DeviceError::Invalid(e.to_string()))?;
            if done.load(Ordering::Acquire) {
                return Ok(());
            }
            match start.elapsed() {
                t if t >= self.timeout => {
                    return Err(DeviceError::TimedOut { seconds: self.timeout.as_secs_f64() });
                }
                t if t < BUSY_WAIT => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// The first fault that the driver reported since the last look; a lost device stays lost.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        let mut faults = self.faults.lock().expect("no panic holds it");
        if let Some(reason) = &faults.lost {
            return Err(DeviceError::Lost(reason.clone()));
        }
        faults.invalid.take().map_or(Ok(()), |message| Err(DeviceError::Invalid(message)))
    }
}
