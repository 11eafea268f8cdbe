//! Typed buffers on the device, taken from a pool and returned to it.

use super::adapter::Device;
use crate::DeviceError;
use bytemuck::Pod;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

const STORAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST).union(wgpu::BufferUsages::COPY_SRC);
const UNIFORM: wgpu::BufferUsages = wgpu::BufferUsages::UNIFORM.union(wgpu::BufferUsages::COPY_DST);
const READ: wgpu::BufferUsages = wgpu::BufferUsages::MAP_READ.union(wgpu::BufferUsages::COPY_DST);

/// Sizes are rounded up to this, so that buffers of nearly the same size share a shelf of the pool.
const GRAIN_BYTES: u64 = 256;

/// Buffers that are free, by use and size.
#[derive(Default)]
pub struct Pool {
    free: Mutex<BTreeMap<(u32, u64), Vec<wgpu::Buffer>>>,
}

impl Pool {
    fn shelf(usage: wgpu::BufferUsages, bytes: u64) -> (u32, u64) {
        (usage.bits(), bytes.next_multiple_of(GRAIN_BYTES).max(GRAIN_BYTES))
    }
}

/// Memory of the device that goes back to the pool when its last user drops it.
pub(super) struct Lease {
    pub(super) raw: wgpu::Buffer,
    pool: Arc<Pool>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let shelf = Pool::shelf(self.raw.usage(), self.raw.size());
        if let Ok(mut free) = self.pool.free.lock() {
            free.entry(shelf).or_default().push(self.raw.clone());
        }
    }
}

/// `len` values of type `T` on the device.
pub struct Buffer<T> {
    pub(super) lease: Arc<Lease>,
    len: usize,
    of: PhantomData<T>,
}

/// A buffer as a bind group sees it; keeps the memory alive.
#[derive(Clone)]
pub struct Binding {
    pub(super) lease: Arc<Lease>,
    pub(super) bytes: u64,
}

impl<T> Clone for Buffer<T> {
    /// The same memory, held once more.
    fn clone(&self) -> Self {
        Buffer { lease: self.lease.clone(), len: self.len, of: PhantomData }
    }
}

impl<T: Pod> Buffer<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Holds it nothing?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// For [`Device::bind`].
    pub fn binding(&self) -> Binding {
        Binding { lease: self.lease.clone(), bytes: self.bytes().max(4) }
    }
}

impl Device {
    /// A storage buffer of `len` zeros.
    pub fn storage<T: Pod>(&self, label: &str, len: usize) -> Result<Buffer<T>, DeviceError> {
        let bytes = (len * size_of::<T>()) as u64;
        let limit = self.limits().storage_binding_bytes;
        if bytes > limit {
            return Err(DeviceError::TooLarge { label: label.to_owned(), bytes, limit });
        }
        let (lease, used_before) = self.lease(STORAGE, bytes)?;
        if used_before {
            let mut encoder = self.raw.create_command_encoder(&Default::default());
            encoder.clear_buffer(&lease.raw, 0, None);
            self.queue.submit([encoder.finish()]);
        }
        Ok(Buffer { lease: Arc::new(lease), len, of: PhantomData })
    }

    /// A storage buffer with these values.
    pub fn storage_from<T: Pod>(&self, label: &str, values: &[T]) -> Result<Buffer<T>, DeviceError> {
        let buffer = self.storage(label, values.len())?;
        self.upload(&buffer, values)?;
        Ok(buffer)
    }

    /// A uniform buffer with one value; WGSL wants its size to be a multiple of 16 bytes.
    pub fn uniform<T: Pod>(&self, value: &T) -> Result<Buffer<T>, DeviceError> {
        const { assert!(size_of::<T>().is_multiple_of(16), "uniforms are multiples of 16 bytes") };
        let (lease, _) = self.lease(UNIFORM, size_of::<T>() as u64)?;
        let buffer = Buffer { lease: Arc::new(lease), len: 1, of: PhantomData };
        self.upload(&buffer, std::slice::from_ref(value))?;
        Ok(buffer)
    }

    /// Replaces all values.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn upload<T: Pod>(&self, buffer: &Buffer<T>, values: &[T]) -> Result<(), DeviceError> {
        assert_eq!(buffer.len, values.len(), "a buffer is replaced as a whole");
        self.queue.write_buffer(&buffer.lease.raw, 0, bytemuck::cast_slice(values));
        self.check()
    }

    /// Replaces the first values and leaves the others.
    ///
    /// # Panics
    /// When there are more values than the buffer holds.
    pub fn upload_part<T: Pod>(&self, buffer: &Buffer<T>, values: &[T]) -> Result<(), DeviceError> {
        assert!(buffer.len >= values.len(), "the buffer holds as much");
        if !values.is_empty() {
            self.queue.write_buffer(&buffer.lease.raw, 0, bytemuck::cast_slice(values));
        }
        self.check()
    }

    /// All values, after everything submitted so far.
    pub fn read<T: Pod>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, DeviceError> {
        if buffer.is_empty() {
            return Ok(vec![]);
        }
        // A driver may wait inside the next submission for as long as the last one takes; the time limit is
        // ours.
        self.wait()?;
        let bytes = buffer.bytes().next_multiple_of(4);
        let (staging, _) = self.lease(READ, bytes)?;
        let mut encoder = self.raw.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&buffer.lease.raw, 0, &staging.raw, 0, bytes);
        self.queue.submit([encoder.finish()]);
        staging.raw.map_async(wgpu::MapMode::Read, 0..bytes, |_| ());
        let copied = self.wait().and_then(|()| {
            let view = staging.raw.slice(0..bytes).get_mapped_range();
            let view = view.map_err(|e| DeviceError::Invalid(e.to_string()))?;
            let mut values = vec![T::zeroed(); buffer.len];
            bytemuck::cast_slice_mut(&mut values).copy_from_slice(&view[..buffer.bytes() as usize]);
            Ok(values)
        });
        // Also after a time-out: a buffer whose mapping is pending must not go back to the pool.
        staging.raw.unmap();
        copied
    }

    /// Memory from the pool or new, and whether it was used before.
    fn lease(&self, usage: wgpu::BufferUsages, bytes: u64) -> Result<(Lease, bool), DeviceError> {
        self.check()?;
        let shelf = Pool::shelf(usage, bytes);
        let kept = self.pool.free.lock().expect("no panic holds it").get_mut(&shelf).and_then(Vec::pop);
        let used_before = kept.is_some();
        let raw = kept.unwrap_or_else(|| {
            let (size, mapped_at_creation) = (shelf.1, false);
            self.raw.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation })
        });
        self.check()?;
        Ok((Lease { raw, pool: self.pool.clone() }, used_before))
    }
}
