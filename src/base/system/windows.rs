//! Replaces `unix.rs` on Windows, which isn't supported yet: everything fails or does nothing.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::windows::fs::{FileExt, symlink_file};
use std::os::windows::io::OwnedHandle;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, SystemTime};

use futures_util::stream::{Stream, unfold};

use crate::system::facts::{FileFacts, ProcessFacts};

pub type Handle = OwnedHandle;

pub fn unsupported<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "mycode can't do this on Windows yet; use WSL"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    pub const HUP: Self = Self(1);
    pub const INT: Self = Self(2);
    pub const QUIT: Self = Self(3);
    pub const KILL: Self = Self(9);
    pub const TERM: Self = Self(15);
    pub const CONT: Self = Self(18);
    pub const TSTP: Self = Self(20);
    pub const WINCH: Self = Self(28);

    pub fn as_raw(self) -> i32 {
        self.0
    }
}

pub fn facts(meta: &Metadata) -> FileFacts {
    let since = meta.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    let mode = if meta.permissions().readonly() { 0o555 } else { 0o777 };
    FileFacts { mode, id: (0, 0), names: 1, owner: (user(), 0), modified_ns: ns, changed_ns: ns }
}

pub fn outputs_are_one() -> bool {
    false
}

pub fn special_kind(_: &Metadata) -> Option<&'static str> {
    None
}

pub fn user() -> u32 {
    1
}

pub fn is_link_error(_: &io::Error) -> bool {
    false
}

pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub fn private_folders() -> DirBuilder {
    DirBuilder::new()
}

pub fn without_waiting(options: &mut OpenOptions, _follow: bool) -> &mut OpenOptions {
    options
}

pub fn set_mode(_: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub fn hand_over(_: &File, _: (u32, u32), _mode: u32) -> io::Result<()> {
    Ok(())
}

pub fn has_attributes(_: &File) -> bool {
    false
}

pub fn is_readable(path: &Path) -> bool {
    std::fs::File::open(path).is_ok()
}

pub fn is_writable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.permissions().readonly())
}

pub fn make_link(to: &Path, link: &Path) -> io::Result<()> {
    symlink_file(to, link)
}

pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    match file.seek_read(bytes, at)? {
        count if count == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

pub fn free_disk(_: &Path) -> Option<u64> {
    None
}

pub fn memory() -> Option<u64> {
    None
}

pub fn sync(_: &Path) {}

pub fn processes() -> Vec<i32> {
    Vec::new()
}

pub fn process_facts(_: i32) -> Option<ProcessFacts> {
    None
}

pub fn send(_: i32, _: Signal) -> bool {
    false
}

pub fn send_to_group(_: i32, _: Signal) {}

pub fn group_lives(_: i32) -> bool {
    false
}

pub fn stop_group() {}

pub fn in_own_group(_: &mut Command) {}

pub fn leave_session() {}

pub fn end_with_parent() -> u32 {
    0
}

pub fn limit_memory(_bytes: u64) {}

pub fn become_program(command: &mut Command) -> io::Error {
    command.status().map_or_else(|error| error, |status| std::process::exit(status.code().unwrap_or(1)))
}

pub fn wait_for_end(_: &Child) {}

pub fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

pub fn on_signal(kind: Signal) -> io::Result<impl Stream<Item = ()>> {
    Ok(unfold(kind, async |kind| match kind {
        Signal::INT => tokio::signal::ctrl_c().await.ok().map(|()| ((), kind)),
        _ => std::future::pending().await,
    }))
}

pub fn reader(pipe: io::PipeReader) -> io::Result<tokio::fs::File> {
    Ok(tokio::fs::File::from_std(OwnedHandle::from(pipe).into()))
}

pub fn never_wait(_: &io::PipeReader) -> io::Result<()> {
    unsupported()
}

pub fn carries_input() -> bool {
    true
}

pub fn input_comes(_: Duration) -> bool {
    false
}

pub fn read_input(bytes: &mut [u8]) -> usize {
    io::stdin().read(bytes).unwrap_or(0)
}

pub fn read_from(_: &File) -> io::Result<()> {
    unsupported()
}

pub fn report_input_again() {}

pub struct WithoutEcho;

impl WithoutEcho {
    pub fn begin() -> Self {
        Self
    }
}

pub async fn input_hung_up() {
    std::future::pending().await
}

pub fn keep_open(file: File) -> io::Result<()> {
    std::mem::forget(file);
    Ok(())
}

pub fn start_with(_: &mut tokio::process::Command, _: Vec<(i32, Handle)>) -> io::Result<()> {
    unsupported()
}
