//! What the program runs on, and how much memory it took.

/// A description of the machine for `run.json` and benchmark tables.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, PartialEq)]
pub struct Machine {
    /// Processor model as the system names it.
    pub cpu: String,
    /// Logical cores.
    pub cores: usize,
    /// Main memory, where the system tells.
    pub memory_bytes: Option<u64>,
    /// Operating system and processor family.
    pub platform: String,
}

impl Machine {
    /// Asks the system.
    pub fn describe() -> Machine {
        Machine {
            cpu: proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: proc_kib("/proc/meminfo", "MemTotal"),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// Most memory that the process ever held (resident set), bytes; `None` where the system does not tell.
pub fn peak_rss_bytes() -> Option<u64> {
    proc_kib("/proc/self/status", "VmHWM")
}

/// Starts the count of [`peak_rss_bytes`] anew from what is held now; false where the system cannot.
pub fn reset_peak_rss() -> bool {
    cfg!(target_os = "linux") && std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// `key : value` of a /proc text file.
fn proc_field(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

fn proc_kib(file: &str, key: &str) -> Option<u64> {
    let value = proc_field(file, key)?;
    value.strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
