//! Line plots as self-contained SVG: axes with round ticks, a legend, colours that survive colour blindness
//! and dashes and markers that survive a black-and-white printer.

mod scale;

use scale::Scale;
use std::fmt::Write;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// What was computed.
    Line,
    /// A bound, a theory, a second computation.
    Dashed,
    /// Measured points.
    Markers,
    /// Computed points joined by a line (few samples, e.g. a convergence study).
    LineMarkers,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// Points in order; those that are not finite break the line.
    pub points: Vec<[f64; 2]>,
}

/// What an axis shows.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Powers of ten instead of even steps; only positive values are drawn.
    pub log: bool,
    /// Shown range; from the data where `None`.
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// A linear axis that fits the data.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), log: false, range: None }
    }

    /// A logarithmic axis that fits the data.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), log: true, range: None }
    }
}

/// A plot.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Above the frame.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves, drawn in order.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;

/// The layout of a plot, pixels.
struct Area<'a> {
    height: f64,
    /// The frame of the axes: left, top, right, bottom.
    frame: [f64; 4],
    /// What the document calls its clip path: unique among plots that share a page.
    id: &'a str,
}

impl<'a> Area<'a> {
    fn new(width: f64, height: f64, has_title: bool, id: &'a str) -> Area<'a> {
        let top = if has_title { 44.0 } else { 14.0 };
        Area { height, frame: [78.0, top, width - 22.0, height - 58.0], id }
    }
}

/// Okabe and Ito's colours, black first; yellow left out as too pale on paper.
const COLORS: [&str; 7] = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

impl Plot {
    /// Adds a curve.
    pub fn with(mut self, name: impl Into<String>, style: Style, points: Vec<[f64; 2]>) -> Plot {
        self.series.push(Series { name: name.into(), style, points });
        self
    }

    /// The SVG document.
    pub fn to_svg(&self) -> String {
        self.to_svg_sized(WIDTH, HEIGHT, "frame")
    }

    /// As [`Self::to_svg`], of a given size; `id` must be unique among the plots of a page.
    pub fn to_svg_sized(&self, width: f64, height: f64, id: &str) -> String {
        let area = Area::new(width, height, !self.title.is_empty(), id);
        let frame = area.frame;
        let ticks = |pixels: f64, each: f64| ((pixels / each) as usize).clamp(3, 7);
        let x = Scale::new(&self.x, self.values(0), [frame[0], frame[2]], ticks(frame[2] - frame[0], 85.0));
        let y = Scale::new(&self.y, self.values(1), [frame[3], frame[1]], ticks(frame[3] - frame[1], 50.0));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"13\" fill=\"#222\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <clipPath id=\"{id}\"><rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\"/></clipPath>\n",
            frame[0],
            frame[1],
            frame[2] - frame[0],
            frame[3] - frame[1]
        );
        self.draw_axes(&mut svg, &x, &y, &area);
        let _ = writeln!(svg, "<g clip-path=\"url(#{})\">", area.id);
        for (index, series) in self.series.iter().enumerate() {
            draw_series(&mut svg, series, COLORS[index % COLORS.len()], &x, &y);
        }
        svg.push_str("</g>\n");
        self.draw_legend(&mut svg, &x, &y, &area);
        svg.push_str("</svg>\n");
        svg
    }

    fn values(&self, axis: usize) -> impl Iterator<Item = f64> + '_ {
        self.series.iter().flat_map(move |s| s.points.iter().map(move |p| p[axis]))
    }

    fn draw_axes(&self, svg: &mut String, x: &Scale, y: &Scale, area: &Area) {
        let [left, top, right, bottom] = area.frame;
        svg.push_str("<g stroke=\"#e3e3e3\" stroke-width=\"1\">\n");
        for at in x.ticks.iter().map(|&t| x.pixel(t)) {
            let _ = writeln!(svg, "<path d=\"M{at:.2} {top}V{bottom}\"/>");
        }
        for at in y.ticks.iter().map(|&t| y.pixel(t)) {
            let _ = writeln!(svg, "<path d=\"M{left} {at:.2}H{right}\"/>");
        }
        svg.push_str("</g>\n");
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#555\"/>",
            right - left,
            bottom - top
        );
        for &t in &x.ticks {
            let _ = writeln!(
                svg,
                "<text x=\"{:.2}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x.pixel(t),
                bottom + 19.0,
                x.label(t)
            );
        }
        for &t in &y.ticks {
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{:.2}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                y.pixel(t) + 4.5,
                y.label(t)
            );
        }
        let (middle_x, middle_y) = (0.5 * (left + right), 0.5 * (top + bottom));
        let _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"26\" font-size=\"16\" font-weight=\"600\">{}</text>\n\
             <text x=\"{middle_x}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(20 {middle_y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escape(&self.title),
            area.height - 14.0,
            escape(&self.x.label),
            escape(&self.y.label)
        );
    }

    /// The legend goes to the corner with the fewest points under it.
    fn draw_legend(&self, svg: &mut String, x: &Scale, y: &Scale, area: &Area) {
        if self.series.iter().all(|s| s.name.is_empty()) {
            return;
        }
        let frame = area.frame;
        let longest = self.series.iter().map(|s| s.name.chars().count()).max().unwrap_or(0);
        let (w, h) = (52.0 + 6.9 * longest as f64, 12.0 + 19.0 * self.series.len() as f64);
        let corners = [
            [frame[2] - w - 8.0, frame[1] + 8.0],
            [frame[0] + 8.0, frame[1] + 8.0],
            [frame[2] - w - 8.0, frame[3] - h - 8.0],
            [frame[0] + 8.0, frame[3] - h - 8.0],
        ];
        let covered = |c: &[f64; 2]| {
            let inside = |p: &&[f64; 2]| {
                let (px, py) = (x.pixel(p[0]), y.pixel(p[1]));
                px > c[0] && px < c[0] + w && py > c[1] && py < c[1] + h
            };
            self.series.iter().map(|s| s.points.iter().filter(inside).count()).sum::<usize>()
        };
        let [cx, cy] = *corners.iter().min_by_key(|c| covered(c)).expect("four corners");
        let _ = writeln!(
            svg,
            "<rect x=\"{cx:.1}\" y=\"{cy:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"#fff\" fill-opacity=\"0.88\" stroke=\"#bbb\"/>"
        );
        for (index, series) in self.series.iter().enumerate() {
            let line_y = cy + 16.0 + 19.0 * index as f64;
            let ends = [[cx + 8.0, line_y], [cx + 36.0, line_y]];
            let sample = if series.style == Style::Line || series.style == Style::Dashed {
                ends.to_vec()
            } else {
                vec![ends[0], [cx + 22.0, line_y], ends[1]]
            };
            draw_points(svg, &sample, series.style, COLORS[index % COLORS.len()]);
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                cx + 44.0,
                line_y + 4.5,
                escape(&series.name)
            );
        }
    }
}

fn draw_series(svg: &mut String, series: &Series, color: &str, x: &Scale, y: &Scale) {
    let pixels: Vec<[f64; 2]> = series.points.iter().map(|p| [x.pixel(p[0]), y.pixel(p[1])]).collect();
    for run in pixels.split(|p| !p[0].is_finite() || !p[1].is_finite()) {
        draw_points(svg, run, series.style, color);
    }
}

fn draw_points(svg: &mut String, pixels: &[[f64; 2]], style: Style, color: &str) {
    if pixels.len() > 1 && style != Style::Markers {
        let dash = if style == Style::Dashed { " stroke-dasharray=\"7 4\"" } else { "" };
        let _ = write!(
            svg,
            "<path fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{dash} d=\"M"
        );
        for p in pixels {
            let _ = write!(svg, "{:.2} {:.2} ", p[0], p[1]);
        }
        svg.push_str("\"/>\n");
    }
    if matches!(style, Style::Markers | Style::LineMarkers) {
        for p in pixels {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.2}\" cy=\"{:.2}\" r=\"3.6\" fill=\"#fff\" stroke=\"{color}\" stroke-width=\"1.6\"/>",
                p[0], p[1]
            );
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
