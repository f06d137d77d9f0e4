//! Facts about the machine, read from files: no program is started.

use std::path::Path;

use crate::file;

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Such as `Debian 12`; else the kind of system.
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

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// In bytes: the smaller of the machine's and the control group's.
pub fn memory() -> Option<u64> {
    let info = file::small_text(Path::new("/proc/meminfo"), 16 * 1024)?;
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let machine = total.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024;
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit =
        limits.iter().find_map(|path| file::small_text(Path::new(path), 64)?.trim().parse::<u64>().ok());
    Some(limit.map_or(machine, |limit| limit.min(machine)))
}

/// Bytes that this user may still write.
pub fn free_disk(root: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(root).ok()?;
    Some(disk.f_bavail * disk.f_frsize)
}

pub fn gib(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    if gib < 10.0 { format!("{gib:.1} GiB") } else { format!("{gib:.0} GiB") }
}
