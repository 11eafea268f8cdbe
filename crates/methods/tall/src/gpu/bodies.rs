//! Bodies on the device: their numbers and surfaces, given by the host for every step, and what the water gave them.

use super::{GpuGrid, item_groups};
use crate::bodies::{Coupled, Element, Pair};
use crate::field::Velocity;
use fluvial_device::{Binding, Buffer, Device, DeviceError};
use fluvial_foundation::{DMat3, DVec3};

/// Numbers of four a body, in the order of `bodies.wgsl`.
const STRIDE: usize = 31;
const NOW: usize = 22;
const GIVEN: usize = 26;
const LENT: usize = 28;

/// Memory of bodies in a step.
pub struct GpuBodies {
    numbers: Buffer<[f32; 4]>,
    elements: Buffer<[f32; 8]>,
    pressed: Buffer<[f32; 8]>,
}

/// The water that bodies see, as buffers: level set, solid fraction, pressure and velocity.
pub struct GpuAround<'a> {
    /// The columns.
    pub grid: &'a GpuGrid,
    /// Gravity and the step's length.
    pub falls: &'a Buffer<[f32; 4]>,
    /// Density.
    pub liquid: &'a Buffer<[f32; 4]>,
    /// Level set.
    pub phi: &'a Buffer<f32>,
    /// Solid fraction.
    pub fraction: &'a Buffer<f32>,
    /// Velocity before the pressure acts.
    pub u: &'a Buffer<Velocity>,
    /// Velocity of what is solid.
    pub u_solid: &'a Buffer<Velocity>,
}

/// A kernel, its buffers and workgroups.
type Call = ((&'static str, &'static str), Vec<(u32, Binding)>, [u32; 3]);

fn four(v: DVec3) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, 0.0]
}

fn numbers(body: &Coupled) -> Vec<[f32; 4]> {
    let [first, end] = [body.elements.start, body.elements.end].map(|n| n as f32);
    let columns = |m: &DMat3| [m.x_axis, m.y_axis, m.z_axis].map(four);
    let mut all = vec![[first, end, body.coarse as f32, 0.0], four(body.center), four(body.inverse_mass)];
    let [carried, turned] = &body.carried;
    for matrix in [&body.inverse_inertia, &body.added_mass, &body.added_inertia, carried, turned] {
        all.extend(columns(matrix));
    }
    for pair in [&body.start, &body.before, &body.now, &body.owed, &body.given, &body.lent] {
        all.extend(pair.map(four));
    }
    // What it sheds is the device's to find.
    all.push([0.0; 4]);
    assert_eq!(all.len(), STRIDE);
    all
}

impl GpuBodies {
    /// Memory for so many bodies with so many elements in all.
    pub fn new(device: &Device, bodies: usize, elements: usize) -> Result<GpuBodies, DeviceError> {
        Ok(GpuBodies {
            numbers: device.storage("bodies", STRIDE * bodies)?,
            elements: device.storage("elements", elements)?,
            pressed: device.storage("pressed", elements)?,
        })
    }

    fn count(&self) -> u32 {
        (self.numbers.len() / STRIDE) as u32
    }

    /// The bodies as a step begins with them.
    pub fn upload(
        &self,
        device: &Device,
        bodies: &[Coupled],
        elements: &[Element],
    ) -> Result<(), DeviceError> {
        let mut list: Vec<[f32; 8]> = Vec::with_capacity(elements.len());
        for (n, body) in bodies.iter().enumerate() {
            list.extend(elements[body.elements.clone()].iter().map(|element| {
                let ([x, y, z], [a, b, c]) = (element.at, element.area);
                [x, y, z, n as f32, a, b, c, 0.0]
            }));
        }
        device.upload(&self.elements, &list)?;
        device.upload(&self.numbers, &bodies.iter().flat_map(numbers).collect::<Vec<_>>())
    }

    /// What the last step made of them: velocity, what the water gave, and what was lent.
    pub fn read(&self, device: &Device, bodies: &mut [Coupled]) -> Result<(), DeviceError> {
        let all = device.read(&self.numbers)?;
        for (body, n) in bodies.iter_mut().zip(all.chunks_exact(STRIDE)) {
            let pair = |at: usize| -> Pair {
                [n[at], n[at + 1]].map(|v| DVec3::new(v[0].into(), v[1].into(), v[2].into()))
            };
            (body.now, body.given, body.lent) = (pair(NOW), pair(GIVEN), pair(LENT));
        }
        Ok(())
    }

    /// The solids' velocities where they are bodies.
    pub fn show(&self, water: &GpuAround) -> Call {
        let fields = [(12, self.numbers.binding()), (13, water.u_solid.binding())];
        let all = water.grid.own().into_iter().chain(fields).collect();
        (("bodies", "body_velocities"), all, water.grid.sample_groups())
    }

    /// Tall cells receive what the bodies give to unresolved flow; `u` is the water's velocity after the pressure.
    pub fn shed(&self, water: &GpuAround, u: &Buffer<Velocity>) -> Call {
        let fields = [
            (7, water.liquid.binding()),
            (10, self.elements.binding()),
            (11, self.pressed.binding()),
            (12, self.numbers.binding()),
            (14, u.binding()),
        ];
        let all = water.grid.own().into_iter().chain(fields).collect();
        (("bodies", "shed"), all, water.grid.column_groups())
    }

    /// The bodies take up a pressure.
    pub fn push(&self, water: &GpuAround, p: &Buffer<f32>) -> [Call; 2] {
        let press = [
            (4, water.phi.binding()),
            (5, water.fraction.binding()),
            (6, water.falls.binding()),
            (7, water.liquid.binding()),
            (8, p.binding()),
            (9, water.u.binding()),
            (10, self.elements.binding()),
            (11, self.pressed.binding()),
            (12, self.numbers.binding()),
        ];
        let push = [
            (6, water.falls.binding()),
            (7, water.liquid.binding()),
            (10, self.elements.binding()),
            (11, self.pressed.binding()),
            (12, self.numbers.binding()),
        ];
        let own = || water.grid.own().into_iter();
        [
            (("bodies", "press"), own().chain(press).collect(), item_groups(self.elements.len())),
            (("bodies", "push"), own().take(1).chain(push).collect(), [self.count(), 1, 1]),
        ]
    }
}
