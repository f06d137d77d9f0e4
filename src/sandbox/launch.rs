//! How a wrapped command is started: our own program once more, under a name that no user types, with the plan on a
//! descriptor.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::spec::LaunchMode;

/// The first argument that makes our program the helper.
pub const HELPER_NAME: &str = "__confine";
/// Where the helper finds its plan and the end of its lifeline: high enough that nothing else sits there.
pub const PLAN_FD: i32 = 60;
pub const LIFELINE_FD: i32 = 61;

/// Which program is the helper, where it is not the running one.
static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// Names the helper: for tests, whose own program is another. The first call wins.
pub fn use_helper(path: PathBuf) {
    let _ = HELPER.set(path);
}

/// The program that is started as the helper; `None` where it cannot be known.
pub fn helper() -> Option<PathBuf> {
    if let Some(path) = HELPER.get() {
        return Some(path.clone());
    }
    // The link works even when the file was replaced by an update meanwhile.
    let own =
        if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe().ok()? };
    let is_ours = std::env::current_exe().ok()?.file_name()?.to_string_lossy().starts_with("mycode");
    // A test's program would run its tests instead.
    (is_ours && !std::env::current_exe().ok()?.to_string_lossy().contains("/deps/")).then_some(own)
}

/// The arguments before the command itself.
pub fn arguments(side_fd: Option<i32>) -> [OsString; 2] {
    [HELPER_NAME.into(), side_fd.map_or_else(|| "-".into(), |fd| fd.to_string().into())]
}

/// A file without a name that holds the plan.
///
/// # Errors
/// No memory, or no descriptors left.
pub fn plan_file(wrapping: &LaunchMode) -> io::Result<OwnedFd> {
    let text = serde_json::to_vec(wrapping)?;
    #[cfg(target_os = "linux")]
    let mut file = File::from(rustix::fs::memfd_create("plan", rustix::fs::MemfdFlags::CLOEXEC)?);
    #[cfg(not(target_os = "linux"))]
    let mut file = {
        let path = std::env::temp_dir().join(format!(
            "mycode-plan-{}-{:08x}",
            std::process::id(),
            fastrand::u32(..)
        ));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        file
    };
    file.write_all(&text)?;
    Ok(file.into())
}
