//! The command line as typed. Nothing here is checked against a scene or a disk yet.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;

/// Simulates liquids.
///
/// Exit codes: 0 done, 1 failed, 2 bad input, 3 interrupted, 4 done with results that cannot be trusted.
#[derive(Parser)]
#[command(name = "fluvial", version, max_term_width = 100)]
pub struct Typed {
    #[command(subcommand)]
    pub command: Command,

    /// Worker threads; all cores where not given. Results do not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub threads: Option<usize>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Simulate a scene: surfaces, statistics, probes, preview pictures and film.
    Run(RunArgs),
    /// Watch a scene as it is simulated, push bodies and pour water; or draw one picture of it.
    Live(crate::live::LiveArgs),
    /// Go on with a run that was stopped, killed or is too short; the result is the same to the bit.
    Resume(ResumeArgs),
    /// Verify the files of a run: what is missing or damaged, which frames can be trusted, how to go on.
    Info(InfoArgs),
    /// Write the report of a run, finished or not: one page that needs no network.
    Report(ReportArgs),
    /// Check a scene without simulating it; predict cells, memory and disk.
    Check(CheckArgs),
    /// List the built-in scenes.
    Scenes,
    /// Print the JSON schema of scene files.
    Schema,
    /// Draw the frames of a finished or interrupted run again.
    Render(RenderArgs),
    /// Make the surfaces of a run again from its volumes, at another resolution or smoothing.
    Mesh(crate::mesh::MeshArgs),
    /// Spray, foam and bubbles of a finished run, from its volumes, without simulating again.
    Whitewater(crate::whitewater::WhitewaterArgs),
    /// Write the frames of a run in another format.
    Export(crate::export::ExportArgs),
    /// Compare methods with exact and measured results.
    Validate(ValidateArgs),
    /// Measure speed and memory on named cases.
    Bench(BenchArgs),
}

#[derive(Args)]
pub struct SceneArgs {
    /// Scene file, or the name of a built-in scene (`fluvial scenes` lists them).
    pub scene: String,

    /// Change a value of the scene, e.g. `--set domain.resolution=128`. May be given several times.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<Assignment>,

    /// Simulate this many frames (short for `--set time.frames=N`).
    #[arg(long, value_name = "N")]
    pub frames: Option<u32>,
}

#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub scene: SceneArgs,

    /// Output folder [default: out/NAME, after the scene].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replace the run that is in the output folder.
    #[arg(long)]
    pub overwrite: bool,

    /// Draw no preview pictures and no film.
    #[arg(long)]
    pub no_preview: bool,

    #[command(flatten)]
    pub limits: Limits,

    /// How much goes into log.txt.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: LogLevel,
}

#[derive(Args)]
pub struct Limits {
    /// Refuse to start where more memory will be needed, e.g. `12G`; the answer names a cell size that fits
    /// [default: the machine's memory].
    #[arg(long, value_name = "BYTES")]
    pub max_memory: Option<Bytes>,

    /// Neither refuse to start nor stop early when the disk has too little room.
    #[arg(long)]
    pub ignore_disk_space: bool,
}

#[derive(Args)]
pub struct ResumeArgs {
    /// Folder of the run.
    pub dir: PathBuf,

    /// Simulate to this frame instead [default: as the run was started].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frames: Option<u32>,

    /// Compute everything after this frame again, from the newest checkpoint that is not later.
    #[arg(long, value_name = "N")]
    pub from_frame: Option<u32>,

    /// Compute everything again.
    #[arg(long, conflicts_with = "from_frame")]
    pub from_start: bool,

    /// Go on although the scene, a file that it names, or the program has changed.
    #[arg(long)]
    pub allow_changed: bool,

    #[command(flatten)]
    pub limits: Limits,

    /// How much goes into log.txt.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: LogLevel,
}

#[derive(Args)]
pub struct InfoArgs {
    /// Folder of the run.
    pub dir: PathBuf,

    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ReportArgs {
    /// Folder of the run.
    pub dir: PathBuf,

    /// The page [default: DIR/report.html].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub scene: SceneArgs,

    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct RenderArgs {
    /// Folder of the run.
    pub dir: PathBuf,

    /// Where the pictures and the film go [default: DIR/render].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Width and height of the pictures, pixels [default: as in the scene].
    #[arg(long, value_name = "WxH")]
    pub size: Option<Size>,

    /// Camera: position and point looked at, and the vertical angle of view in degrees.
    #[arg(long, value_name = "X,Y,Z,X,Y,Z[,FOV]", allow_hyphen_values = true)]
    pub camera: Option<CameraText>,

    /// What the pictures show.
    #[arg(long, value_enum, default_value_t = Show::Water)]
    pub show: Show,

    /// Where spray, foam and bubbles are read from, as PLY [default: DIR]; e.g. what `fluvial whitewater` wrote.
    #[arg(long, value_name = "DIR")]
    pub whitewater: Option<PathBuf>,

    /// First and last frame [default: all].
    #[arg(long, value_name = "FIRST..LAST")]
    pub frames: Option<FrameRange>,

    /// Join the pictures into a film: APNG, and MP4 where ffmpeg is installed.
    #[arg(long)]
    pub film: bool,
}

/// What pictures of a run show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Show {
    /// Water, solids and light
    Water,
    /// The cells of a cut through the middle, for methods whose cells differ in size
    Cells,
    /// Particles coloured by kind: small ones blue, merged ones amber, those inserted to keep a sheet whole
    /// red, drops in the air white
    Particles,
    /// The same without the front half of the domain
    ParticlesCut,
}

#[derive(Args)]
pub struct ValidateArgs {
    /// Cases to run [default: all].
    pub cases: Vec<String>,

    /// Method or variant, e.g. `uniform` or `uniform/flip`. May be given several times [default: all].
    #[arg(long, value_name = "METHOD")]
    pub method: Vec<String>,

    /// Fine resolutions: minutes a case instead of seconds.
    #[arg(long)]
    pub fine: bool,

    /// Of cases with several runs, only those whose name contains this, e.g. `pouring at 64 cells` of `user-scenes`.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// List cases and methods, with what they compare and the source of the numbers.
    #[arg(long)]
    pub list: bool,

    /// Write the rows as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a plot of every case that has a curve (SVG).
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub part: Option<BenchPart>,

    /// Cases, or beginnings of their names, e.g. `dam-break-64` [default: all].
    pub cases: Vec<String>,

    /// List the cases.
    #[arg(long)]
    pub list: bool,

    /// Frames simulated each time.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..))]
    pub frames: u32,

    /// Times that each case is run.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,

    /// Write the rows and the machine's description as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum BenchPart {
    /// Measure the pressure solvers: time, iterations, true residual, memory, share of the memory's
    /// bandwidth.
    Pressure(PressureArgs),
}

#[derive(Args)]
pub struct PressureArgs {
    /// Cases, or beginnings of their names, or `all` [default: wavy-tank,sphere-jet-mid,bubbly,cut-walls].
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub case: Vec<String>,

    /// Cells per side, 8 to 1024 [default: 64].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(8..=1024))]
    pub n: Vec<usize>,

    /// Solvers, or `all` [default: mg-cg,multigrid,amg-cg,mic].
    #[arg(long, value_name = "SOLVER", value_delimiter = ',')]
    pub solver: Vec<String>,

    /// Residual to reach, over the right side; with `--table3` the residual's largest value [default: 1e-6].
    #[arg(long, value_name = "T", value_delimiter = ',')]
    pub tolerance: Vec<Tolerance>,

    /// Worker threads [default: all cores]. All lists may be joined by commas or given several times.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub threads: Vec<usize>,

    /// Times that each solver is run; medians are printed.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,

    /// IC(0)-PCG against full multigrid cycles as in Table 3 of the tall-cell paper: three levels at 64, 128
    /// and 256 cells, two tolerances, one thread. Long at 256; `--n 64,128` is shorter.
    #[arg(long)]
    pub table3: bool,

    /// List the cases and solvers.
    #[arg(long)]
    pub list: bool,

    /// Write the rows, residual histories and the machine's description as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a plot of the residual histories for every case and size (SVG).
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// A number between 0 and 1, neither included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance(pub f64);

impl FromStr for Tolerance {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().parse::<f64>() {
            Ok(value) if value > 0.0 && value < 1.0 => Ok(Tolerance(value)),
            _ => Err("write a number between 0 and 1, e.g. 1e-6".to_owned()),
        }
    }
}

/// `path=value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment(pub String, pub String);

impl FromStr for Assignment {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (path, value) = text.split_once('=').ok_or("write PATH=VALUE, e.g. domain.resolution=128")?;
        if path.trim().is_empty() {
            return Err("the path before `=` is empty".into());
        }
        Ok(Assignment(path.trim().to_owned(), value.to_owned()))
    }
}

/// A number of bytes: `1500000000`, `1.5G` (10^9), `1.4GiB` (2^30).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let factor = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1e3,
            "m" | "mb" => 1e6,
            "g" | "gb" => 1e9,
            "t" | "tb" => 1e12,
            "kib" => 1024.0,
            "mib" => 1024.0f64.powi(2),
            "gib" => 1024.0f64.powi(3),
            "tib" => 1024.0f64.powi(4),
            _ => return Err("write a number and k, M, G, T, KiB, MiB, GiB or TiB, e.g. 12G".to_owned()),
        };
        match number.parse::<f64>() {
            Ok(n) if n > 0.0 && n * factor < 1e18 => Ok(Bytes((n * factor) as u64)),
            _ => Err("write a number of bytes, e.g. 12G".to_owned()),
        }
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// `WxH`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size(pub [usize; 2]);

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write WIDTHxHEIGHT from 16x16 to 16384x16384, e.g. 1280x720".to_owned();
        let (w, h) = text.split_once('x').ok_or_else(wrong)?;
        let size = [w.parse().map_err(|_| wrong())?, h.parse().map_err(|_| wrong())?];
        if size.iter().all(|n| (16..=16384).contains(n)) { Ok(Size(size)) } else { Err(wrong()) }
    }
}

/// Position, point looked at, angle of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraText(pub fluvial_scene::CameraSpec);

impl FromStr for CameraText {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write six or seven numbers: 3,2,4,0.5,0.3,0.5 or 3,2,4,0.5,0.3,0.5,30".to_owned();
        let numbers: Vec<f32> = text
            .split(',')
            .map(|n| n.trim().parse::<f32>().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let (&[px, py, pz, lx, ly, lz], rest) = numbers.split_first_chunk().ok_or_else(wrong)?;
        let fov = match rest {
            [] => 28.0,
            [fov] if (1.0..=150.0).contains(fov) => *fov,
            _ => return Err(wrong()),
        };
        let (position, look_at) = ([px, py, pz], [lx, ly, lz]);
        if numbers.iter().any(|n| !n.is_finite()) || position == look_at {
            return Err(wrong());
        }
        Ok(CameraText(fluvial_scene::CameraSpec { position, look_at, fov }))
    }
}

/// `FIRST..LAST`, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRange(pub u32, pub u32);

impl FromStr for FrameRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write FIRST..LAST, e.g. 0..48, or a single frame".to_owned();
        let number = |t: &str| t.parse::<u32>().map_err(|_| wrong());
        let (first, last) = match text.split_once("..") {
            Some((a, b)) => (number(a)?, number(b)?),
            None => (number(text)?, number(text)?),
        };
        if first <= last { Ok(FrameRange(first, last)) } else { Err(wrong()) }
    }
}

/// Formats that surfaces and particles can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SurfaceFormat {
    /// Binary PLY with velocity and checksum.
    Ply,
    /// Wavefront OBJ.
    Obj,
    /// USD: a layer per frame and the stage liquid.usda.
    Usd,
    /// Alembic.
    Abc,
    /// VTK XML for ParaView.
    Vtk,
}

impl From<SurfaceFormat> for fluvial_scene::MeshFormat {
    fn from(format: SurfaceFormat) -> Self {
        match format {
            SurfaceFormat::Ply => Self::Ply,
            SurfaceFormat::Obj => Self::Obj,
            SurfaceFormat::Usd => Self::Usd,
            SurfaceFormat::Abc => Self::Abc,
            SurfaceFormat::Vtk => Self::Vtk,
        }
    }
}

impl SceneArgs {
    /// The overrides in the order in which the scene applies them.
    pub fn overrides(&self) -> Vec<(String, String)> {
        let frames = self.frames.map(|n| ("time.frames".to_owned(), n.to_string()));
        self.set.iter().map(|a| (a.0.clone(), a.1.clone())).chain(frames).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Typed::command().debug_assert();
    }

    #[test]
    fn values_parse_or_say_what_to_write() {
        assert_eq!("a.b = c=d".parse::<Assignment>().unwrap(), Assignment("a.b".into(), " c=d".into()));
        assert!("a.b".parse::<Assignment>().is_err() && "=1".parse::<Assignment>().is_err());
        let bytes = |text: &str| text.parse::<Bytes>().ok().map(|b| b.0);
        assert_eq!([bytes("1.5G"), bytes("2GiB"), bytes("7")], [Some(1_500_000_000), Some(2 << 30), Some(7)]);
        assert!(["", "G", "-1G", "1X", "0"].iter().all(|t| bytes(t).is_none()));
        assert_eq!("640x360".parse::<Size>().unwrap(), Size([640, 360]));
        assert!("640".parse::<Size>().is_err() && "0x360".parse::<Size>().is_err());
        assert_eq!("3..7".parse::<FrameRange>().unwrap(), FrameRange(3, 7));
        assert_eq!("5".parse::<FrameRange>().unwrap(), FrameRange(5, 5));
        assert!("7..3".parse::<FrameRange>().is_err());
        assert_eq!("1e-6".parse::<Tolerance>().unwrap(), Tolerance(1e-6));
        assert!(["0", "1", "-1e-3", "nan", "small"].iter().all(|t| t.parse::<Tolerance>().is_err()));
        assert_eq!("1,2,-3,0,0,0,35".parse::<CameraText>().unwrap().0.fov, 35.0);
        for bad in ["1,2,3", "1,2,3,1,2,3", "1,2,3,0,0,nan", "1,2,3,0,0,0,0", "1,2,3,0,0,0,30,1"] {
            assert!(bad.parse::<CameraText>().is_err(), "{bad}");
        }
    }
}
