//! How a command is launched: our own program is started once more as the helper, under a name that no user types and with the
//! specification on a descriptor, and starts the command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::spec::LaunchMode;
use base::process::run::LaunchWrapper;

/// The first argument that makes our program the helper.
pub const HELPER_NAME: &str = "__confine";
/// Where the helper finds its specification and the end of its lifeline: high enough that nothing else sits there.
pub const SPEC_FD: i32 = 60;
pub const LIFELINE_FD: i32 = 61;

/// Which program is the helper, where it is not the running one.
static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// Names the helper: for tests, whose own program is another. The first call wins.
pub fn use_helper(path: PathBuf) {
    let _ = HELPER.set(path);
}

/// The program that is started as the helper.
pub fn helper() -> io::Result<PathBuf> {
    if let Some(path) = HELPER.get() {
        return Ok(path.clone());
    }
    let current = std::env::current_exe()?;
    // A test's program would run its tests instead.
    let is_ours = current.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mycode"))
        && !current.to_string_lossy().contains("/deps/");
    if !is_ours {
        return Err(io::Error::other(
            "mycode could not find its own program file to start the sandbox helper",
        ));
    }
    // The link works even when the file was replaced by an update meanwhile.
    Ok(if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { current })
}

/// The arguments before the command itself.
pub fn arguments(side_fd: Option<i32>) -> [OsString; 2] {
    [HELPER_NAME.into(), side_fd.map_or_else(|| "-".into(), |fd| fd.to_string().into())]
}

/// The helper as it is put before a command.
pub fn wrapper(mode: &LaunchMode, side_fd: Option<i32>) -> io::Result<LaunchWrapper> {
    let (reader, lifeline) = io::pipe()?;
    Ok(LaunchWrapper {
        program: helper()?.into(),
        args: arguments(side_fd).to_vec(),
        descriptors: vec![(SPEC_FD, spec_file(mode)?), (LIFELINE_FD, reader.into())],
        lifeline: Some(lifeline.into()),
        environment: Vec::new(),
    })
}

/// The helper before an unconfined command, so that what the command leaves running ends with it; `None` where there is none.
pub fn end_with_command() -> Option<LaunchWrapper> {
    cfg!(target_os = "linux").then(|| wrapper(&LaunchMode::EndWithCommand, None).ok()).flatten()
}

/// The same so that what it leaves running ends with the agent.
pub fn end_with_agent(side_fd: i32) -> Option<LaunchWrapper> {
    cfg!(target_os = "linux").then(|| wrapper(&LaunchMode::EndWithAgent, Some(side_fd)).ok()).flatten()
}

/// A file without a name that holds the specification.
pub fn spec_file(mode: &LaunchMode) -> io::Result<OwnedFd> {
    let mut file = unnamed_file()?;
    file.write_all(&serde_json::to_vec(mode)?)?;
    Ok(file.into())
}

/// A file without a name, for this process and those that it starts.
#[cfg(target_os = "linux")]
pub fn unnamed_file() -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("mycode", rustix::fs::MemfdFlags::CLOEXEC)?))
}

/// A file without a name, for this process and those that it starts.
#[cfg(not(target_os = "linux"))]
pub fn unnamed_file() -> io::Result<File> {
    let name = format!("mycode-spec-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
