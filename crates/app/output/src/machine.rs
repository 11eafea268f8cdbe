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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_peak_grows_with_what_is_touched() {
        let before = peak_rss_bytes().unwrap();
        let block = vec![1u8; 256 << 20];
        assert!(block.iter().map(|&b| b as u64).sum::<u64>() > 0);
        let after = peak_rss_bytes().unwrap();
        assert!(after >= before && after >= 256 << 20, "{before} {after}");
        drop(block);
        if reset_peak_rss() {
            let reset = peak_rss_bytes().unwrap();
            assert!(reset < 200 << 20, "{reset}");
        }
    }
}
