//! The device itself. Every test that needs an adapter says so and passes where there is none.

use bytemuck::{Pod, Zeroable};
use fluvial_device::{
    AdapterChoice, Device, DeviceError, Recording, ShaderPart, ShaderSource, adapters, shader_parts,
};
use std::time::Duration;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Params {
    factor: f32,
    count: u32,
    pad: [u32; 2],
}

fn device() -> Option<Device> {
    match Device::open(&AdapterChoice::Auto) {
        Ok(device) => Some(device),
        Err(fault @ DeviceError::NoAdapter { .. }) => {
            eprintln!("skipped: {fault}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn scale_source() -> ShaderSource {
    ShaderSource::new(shader_parts!["scale.wgsl"])
}

#[test]
fn an_adapter_that_is_not_there_is_an_error_that_helps() {
    let fault = Device::open(&AdapterChoice::Named("no such card".into())).err().expect("there is none");
    let text = fault.to_string();
    assert!(text.contains("no such card") && text.contains("mesa-vulkan-drivers"), "{text}");
}

#[test]
fn an_adapter_is_found_by_part_of_its_name() {
    let Some(first) = adapters().into_iter().next() else {
        eprintln!("skipped: no adapter");
        return;
    };
    let part = first.name[..first.name.len().min(5)].to_uppercase();
    let device = Device::open(&AdapterChoice::Named(part)).unwrap();
    println!("{} {:?} timestamps {}", device.record(), device.limits(), device.has_timestamps());
    assert!(!device.record().name.is_empty() && !device.record().driver.is_empty());
    assert!(device.limits().storage_buffers >= 8 && device.limits().workgroup_bytes >= 16384);
}

#[test]
fn many_dispatches_of_one_pass_run_in_order() {
    let Some(device) = device() else { return };
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let buffer = device.storage_from("values", &values).unwrap();
    let scale = device.pipeline(&scale_source(), "scale").unwrap();
    let bound = |factor| {
        let params = device.uniform(&Params { factor, count: 1000, pad: [0; 2] }).unwrap();
        device.bind(&scale, &[(0, params.binding()), (1, buffer.binding())]).unwrap()
    };
    let (third, triple) = (bound(1.0 / 3.0), bound(3.0));
    let mut recording = Recording::new();
    for _ in 0..50 {
        recording.stage("shrink");
        recording.dispatch(&third, [16, 1, 1]);
        recording.stage("grow");
        recording.dispatch(&triple, [16, 1, 1]);
    }
    recording.dispatch(&triple, [16, 1, 1]);
    let times = device.submit_timed(&recording).unwrap();
    let expected: Vec<f32> =
        values.iter().map(|&v| (0..50).fold(v, |v, _| v * (1.0 / 3.0) * 3.0) * 3.0).collect();
    assert_eq!(device.read(&buffer).unwrap(), expected);
    if device.has_timestamps() {
        assert_eq!(times.len(), 100);
        assert!(times.iter().all(|t| t.seconds >= 0.0) && times.iter().any(|t| t.seconds > 0.0));
        assert!(times.iter().map(|t| t.seconds).sum::<f64>() < 10.0);
    }
}

#[test]
fn pooled_buffers_are_zero_again_and_bound_ones_are_not_reused() {
    let Some(device) = device() else { return };
    drop(device.storage_from("a", &[7.0_f32; 100]).unwrap());
    let again = device.storage::<f32>("b", 90).unwrap();
    assert_eq!(device.read(&again).unwrap(), vec![0.0; 90]);
    // A buffer that only a bind group still holds must not be handed out.
    let held = device.storage_from("c", &[1.0_f32; 64]).unwrap();
    let params = device.uniform(&Params { factor: 5.0, count: 64, pad: [0; 2] }).unwrap();
    let scale = device.pipeline(&scale_source(), "scale").unwrap();
    let bound = device.bind(&scale, &[(0, params.binding()), (1, held.binding())]).unwrap();
    drop(held);
    let other = device.storage_from("d", &[2.0_f32; 64]).unwrap();
    let mut recording = Recording::new();
    recording.dispatch(&bound, [1, 1, 1]);
    device.submit(&recording).unwrap();
    assert_eq!(device.read(&other).unwrap(), vec![2.0; 64]);
}

#[test]
fn a_shader_that_does_not_compile_is_an_error_with_file_and_line() {
    let Some(device) = device() else { return };
    let first = ShaderPart { file: "first.wgsl", text: "const a = 1;\n" };
    let broken = ShaderPart { file: "broken.wgsl", text: "\nfn f() -> f32 {\n    return a + absent;\n}\n" };
    let fault = device.pipeline(&ShaderSource::new(&[first, broken]), "f").err().unwrap().to_string();
    assert!(fault.contains("broken.wgsl:3") && fault.contains("absent"), "{fault}");
    let fault = device.pipeline(&scale_source(), "no_such_entry").err().unwrap();
    assert!(matches!(fault, DeviceError::Shader { .. }), "{fault}");
    // The device is as good as before.
    device.pipeline(&scale_source(), "scale").unwrap();
}

#[test]
fn wrong_bindings_and_sizes_are_errors() {
    let Some(device) = device() else { return };
    let scale = device.pipeline(&scale_source(), "scale").unwrap();
    let buffer = device.storage::<f32>("one", 4).unwrap();
    assert!(matches!(device.bind(&scale, &[(1, buffer.binding())]), Err(DeviceError::Invalid(_))));
    let limit = device.limits().storage_binding_bytes;
    let fault = device.storage::<f32>("huge", limit as usize / 4 + 1).err().unwrap();
    assert!(matches!(fault, DeviceError::TooLarge { .. }), "{fault}");
}

#[test]
fn a_device_that_takes_too_long_is_an_error_and_not_a_hang() {
    let Some(device) = device() else { return };
    let device = device.with_timeout(Duration::from_millis(1));
    let linger = device.pipeline(&scale_source(), "linger").unwrap();
    let buffer = device.storage::<f32>("values", 1000).unwrap();
    let params = device.uniform(&Params { factor: 0.5, count: 60_000, pad: [0; 2] }).unwrap();
    let bound = device.bind(&linger, &[(0, params.binding()), (1, buffer.binding())]).unwrap();
    let mut recording = Recording::new();
    recording.dispatch(&bound, [1000, 1, 1]);
    let start = std::time::Instant::now();
    device.submit(&recording).unwrap();
    let early = device.read(&buffer);
    assert!(matches!(early, Err(DeviceError::TimedOut { .. })), "{:?}", start.elapsed());
    // With patience the same device gives the answer.
    let device = device.with_timeout(Duration::from_secs(60));
    let fixed_point = device.read(&buffer).unwrap()[0];
    assert!((fixed_point - (fixed_point.sin() + 0.5)).abs() < 1e-3, "{fixed_point}");
}

#[test]
fn a_lost_device_answers_with_an_error() {
    let Some(device) = device() else { return };
    let buffer = device.storage::<f32>("values", 4).unwrap();
    device.destroy();
    assert!(matches!(device.storage::<f32>("more", 4), Err(DeviceError::Lost(_))));
    assert!(matches!(device.upload(&buffer, &[0.0; 4]), Err(DeviceError::Lost(_))));
    assert!(matches!(device.read(&buffer), Err(DeviceError::Lost(_))));
    assert!(matches!(device.submit(&Recording::new()), Err(DeviceError::Lost(_))));
    assert!(matches!(device.wait(), Err(DeviceError::Lost(_))));
}
