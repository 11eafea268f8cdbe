//! Period and decay of an oscillation sampled in time.

/// A signal that swings about zero, reduced to its crossings and peaks.
pub struct Oscillation {
    /// Seconds; least squares over all zero crossings.
    pub period_s: f64,
    /// Times and heights of the extrema, signs kept.
    pub peaks: Vec<[f64; 2]>,
}

/// Analyses (time, value) samples about their mean level `center`. `None` with fewer than three crossings.
pub fn analyse(samples: &[[f64; 2]], center: f64) -> Option<Oscillation> {
    let value = |i: usize| samples[i][1] - center;
    let mut crossings = Vec::new();
    let mut peaks = Vec::new();
    for i in 1..samples.len() {
        let (a, b) = (value(i - 1), value(i));
        if (a < 0.0) != (b < 0.0) {
            let t = a / (a - b);
            crossings.push(samples[i - 1][0] + t * (samples[i][0] - samples[i - 1][0]));
        }
    }
    // Between two crossings lies one peak: the parabola through the largest sample and its neighbours.
    for pair in crossings.windows(2) {
        let inside = (1..samples.len() - 1).filter(|&i| samples[i][0] > pair[0] && samples[i][0] < pair[1]);
        let Some(i) = inside.max_by(|&i, &j| value(i).abs().total_cmp(&value(j).abs())) else { continue };
        peaks.push(parabola_top([samples[i - 1], samples[i], samples[i + 1]], center));
    }
    if crossings.len() < 3 {
        return None;
    }
    // Crossing n lies at t0 + n T / 2.
    let n = crossings.len() as f64;
    let mean_index = 0.5 * (n - 1.0);
    let mean_time = crossings.iter().sum::<f64>() / n;
    let (mut top, mut bottom) = (0.0, 0.0);
    for (index, time) in crossings.iter().enumerate() {
        let d = index as f64 - mean_index;
        top += d * (time - mean_time);
        bottom += d * d;
    }
    Some(Oscillation { period_s: 2.0 * top / bottom, peaks })
}

/// Extremum of the parabola through three samples, relative to `center`.
fn parabola_top(p: [[f64; 2]; 3], center: f64) -> [f64; 2] {
    let (t0, t1, t2) = (p[0][0], p[1][0], p[2][0]);
    let (y0, y1, y2) = (p[0][1] - center, p[1][1] - center, p[2][1] - center);
    let slope_low = (y1 - y0) / (t1 - t0);
    let slope_high = (y2 - y1) / (t2 - t1);
    let curvature = (slope_high - slope_low) / (t2 - t0);
    if curvature == 0.0 {
        return [t1, y1];
    }
    // Newton form: y = y0 + s01 (t - t0) + c (t - t0)(t - t1), zero slope at the top.
    let t = 0.5 * (t0 + t1) - 0.5 * slope_low / curvature;
    [t, y0 + slope_low * (t - t0) + curvature * (t - t0) * (t - t1)]
}

impl Oscillation {
    /// Share of the amplitude lost from one peak to the last one, per `periods` periods (exponential law).
    pub fn loss_over(&self, periods: f64) -> f64 {
        let (Some(first), Some(last)) = (self.peaks.first(), self.peaks.last()) else { return f64::NAN };
        let elapsed = (last[0] - first[0]) / self.period_s;
        if elapsed <= 0.0 {
            return f64::NAN;
        }
        1.0 - (last[1] / first[1]).abs().powf(periods / elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damped_cosine_gives_back_its_period_and_decay() {
        let (period, rate) = (1.3, 0.05);
        let samples: Vec<[f64; 2]> = (0..400)
            .map(|i| i as f64 * 0.0131)
            .map(|t| [t, 0.3 + (-rate * t).exp() * (std::f64::consts::TAU * t / period).cos()])
            .collect();
        let found = analyse(&samples, 0.3).unwrap();
        assert!((found.period_s / period - 1.0).abs() < 1e-4, "{}", found.period_s);
        let expected = 1.0 - (-rate * 2.0 * period).exp();
        assert!((found.loss_over(2.0) - expected).abs() < 1e-3, "{}", found.loss_over(2.0));
    }

    #[test]
    fn too_few_crossings_give_nothing() {
        assert!(analyse(&[[0.0, 1.0], [1.0, -1.0], [2.0, -1.0]], 0.0).is_none());
    }
}
