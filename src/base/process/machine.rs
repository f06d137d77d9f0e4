//! Facts about the machine, read from files; no program is started.

use std::path::Path;

use crate::file;
use crate::system::os;

/// Such as `Debian 12`, or otherwise the kind of system.
pub fn system() -> String {
    let release = file::small_text(Path::new("/etc/os-release"), 8 * 1024).unwrap_or_default();
    let field = |name: &str| {
        let value = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim_matches('"').to_owned()).filter(|value| !value.is_empty())
    };
    match (field("NAME"), field("VERSION_ID")) {
        (Some(name), Some(version)) => {
            format!("{} {version}", name.replace(" GNU/Linux", "").replace(" Linux", ""))
        }
        (Some(name), None) => name,
        _ => std::env::consts::OS.to_owned(),
    }
}

/// Identifies this boot and container, because process numbers are valid only there.
pub fn boot() -> String {
    let boot = file::small_text(Path::new("/proc/sys/kernel/random/boot_id"), 64).unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// In bytes: the smaller of the machine's and the control group's.
pub fn memory() -> Option<u64> {
    let machine = os::memory()?;
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit =
        limits.iter().find_map(|path| file::small_text(Path::new(path), 64)?.trim().parse::<u64>().ok());
    Some(limit.map_or(machine, |limit| limit.min(machine)))
}

pub fn gib(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    if gib < 10.0 { format!("{gib:.1} GiB") } else { format!("{gib:.0} GiB") }
}
