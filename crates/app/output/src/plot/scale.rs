//! Scales of axes: where values lie, and where ticks do.

use super::Axis;

/// The map from values to pixels along one axis, and its ticks.
pub struct Scale {
    log: bool,
    range: [f64; 2],
    pixels: [f64; 2],
    /// Values with a tick.
    pub ticks: Vec<f64>,
    decimals: usize,
}

impl Scale {
    /// The scale of an axis over the values that it shows.
    pub fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        pixels: [f64; 2],
        wanted_ticks: usize,
    ) -> Scale {
        let usable = values.filter(|v| v.is_finite() && (!axis.log || *v > 0.0));
        let mut range = axis.range.unwrap_or_else(|| {
            usable.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], v| [lo.min(v), hi.max(v)])
        });
        if range[0] > range[1] {
            range = if axis.log { [1.0, 10.0] } else { [0.0, 1.0] };
        }
        if axis.log {
            Scale::log(axis, range, pixels)
        } else {
            Scale::linear(axis, range, pixels, wanted_ticks)
        }
    }

    /// Round ticks over a range, with a margin where the axis leaves the range open.
    pub fn linear(axis: &Axis, mut range: [f64; 2], pixels: [f64; 2], wanted_ticks: usize) -> Scale {
        let smallest = 1e-9 * range[0].abs().max(range[1].abs()).max(f64::MIN_POSITIVE * 1e12);
        if range[1] - range[0] < smallest {
            range = [range[0] - 0.5 * smallest.max(1e-3), range[1] + 0.5 * smallest.max(1e-3)];
        }
        if axis.range.is_none() {
            let margin = 0.04 * (range[1] - range[0]);
            range = [range[0] - margin, range[1] + margin];
        }
        let step = round_step((range[1] - range[0]) / wanted_ticks as f64);
        let first = (range[0] / step - 1e-9).ceil() as i64;
        let last = (range[1] / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|i| i as f64 * step).collect();
        let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
        Scale { log: false, range, pixels, ticks, decimals }
    }

    /// The same by powers of ten.
    pub fn log(axis: &Axis, range: [f64; 2], pixels: [f64; 2]) -> Scale {
        let range = match axis.range {
            Some(range) => range,
            None => [range[0] / 1.3, range[1] * 1.3],
        };
        let [low, high] = range.map(f64::log10);
        let decades = (low - 1e-9).ceil() as i32..=(high + 1e-9).floor() as i32;
        let mut ticks: Vec<f64> = decades.map(|e| 10f64.powi(e)).collect();
        if high - low < 2.0 {
            // Few decades: 1 2 5 per decade, so that the axis can be read.
            let all = (low.floor() as i32..=high.ceil() as i32)
                .flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e)));
            ticks = all.filter(|t| *t >= range[0] && *t <= range[1]).collect();
        }
        let every = ticks.len().div_ceil(9).max(1);
        let ticks = ticks.into_iter().step_by(every).collect();
        Scale { log: true, range, pixels, ticks, decimals: 0 }
    }

    /// Where a value lies.
    pub fn pixel(&self, value: f64) -> f64 {
        let [low, high] = self.range;
        let fraction =
            if self.log { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) };
        self.pixels[0] + fraction * (self.pixels[1] - self.pixels[0])
    }

    /// The text beside a tick, in SVG.
    pub fn label(&self, value: f64) -> String {
        let text = if value != 0.0 && (value.abs() >= 1e5 || value.abs() < 1e-3 || self.decimals > 4) {
            let text = format!("{value:.1e}");
            let (mantissa, exponent) = text.split_once('e').expect("scientific");
            let exponent = exponent.replace('-', "−");
            match mantissa.strip_suffix(".0").unwrap_or(mantissa) {
                "1" => format!("10<tspan dy=\"-5\" font-size=\"10\">{exponent}</tspan>"),
                m => format!("{m}·10<tspan dy=\"-5\" font-size=\"10\">{exponent}</tspan>"),
            }
        } else if self.log {
            format!("{value}")
        } else {
            format!("{value:.*}", self.decimals)
        };
        if let Some(rest) = text.strip_prefix('-') { format!("−{rest}") } else { text }
    }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|s| *s >= step * (1.0 - 1e-9))
        .expect("10 power > step")
}
