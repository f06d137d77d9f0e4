//! A program about to start: its names and arguments, read from the memory of the process that becomes it. A
//! process with threads can change them afterwards, and a copy of a program has another name.
#![cfg(target_os = "linux")]

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::as_seen::{open_as, opened_as};
use crate::sandbox::denied_starts::{UNSEEN, UNSEEN_FILE, rule_against, told};
use crate::sandbox::git::contents;
use crate::sandbox::linux::system::{WaitingCall, read_memory};
use crate::sandbox::spec::Masks;

const MAX_WORD: usize = 4096;
const MAX_WORDS: usize = 512;

pub fn refusal(call: &WaitingCall<'_>, masks: &Masks) -> Option<String> {
    let of_folder = usize::from(call.number == libc::SYS_execveat);
    let folder = (of_folder == 1).then_some(call.arguments[0]);
    let [path, words, variables] = [0, 1, 2].map(|at| call.arguments[of_folder + at]);
    let path = match text(call.pid, path) {
        Ok(path) => path,
        // The call itself will fail, or the process is gone.
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) || !call.is_waiting() => return None,
        Err(_) => return Some(UNSEEN.to_owned()),
    };
    let mut words = words_at(call.pid, words);
    // A link can have any name, so use the real path as well.
    let real = match real(call, folder, Path::new(&path)) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) && call.is_waiting() => {
            return Some(UNSEEN_FILE.to_owned());
        }
        real => real.map(|real| real.to_string_lossy().into_owned()).unwrap_or_default(),
    };
    // Otherwise the process is gone, and its number may be reused.
    if !call.is_waiting() {
        return None;
    }
    // The loader runs the program given as its argument.
    if last_part(&real).is_some_and(|name| name.starts_with("ld-")) {
        words.drain(..1.min(words.len()));
    }
    let called = words.first().cloned().unwrap_or_default();
    let mut names: Vec<String> = [real, path, called].iter().filter_map(|name| last_part(name)).collect();
    names.dedup();
    let args = words.get(1..).unwrap_or_default();
    let tree = || {
        let variables = words_at(call.pid, variables);
        let value = |name: &str| {
            let mut values = variables.iter().filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            values.next().map(str::to_owned)
        };
        contents::given_tree(args, &fs::read_link(format!("/proc/{}/cwd", call.pid)).ok()?, value)
    };
    let rule = rule_against(masks, &names, args, tree)?;
    let line = [&names[..1], args].concat().join(" ");
    Some(told(&rule, &line))
}

/// The program's file. Paths through `/proc` are followed only if they name the caller's own files directly.
fn real(call: &WaitingCall<'_>, folder: Option<u64>, path: &Path) -> io::Result<PathBuf> {
    let of_caller = ["/proc/self", "/proc/thread-self"].iter().find_map(|own| path.strip_prefix(own).ok());
    let opened = match (folder, path.strip_prefix("/dev/fd"), of_caller) {
        (Some(number), ..) if path.as_os_str().is_empty() => return opened_as(call.pid, number),
        (_, Ok(number), _) => Path::new("fd").join(number),
        (_, _, Some(rest)) => rest.to_owned(),
        _ => {
            let (file, _) = open_as(call.pid, folder, path, OFlags::PATH | OFlags::CLOEXEC)?;
            return fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        }
    };
    let at = Path::new(&format!("/proc/{}", call.pid)).join(opened);
    let file = rustix::fs::open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn last_part(path: &str) -> Option<String> {
    Some(Path::new(path).file_name()?.to_string_lossy().into_owned())
}

fn words_at(pid: i32, address: u64) -> Vec<String> {
    let mut bytes = [0_u8; MAX_WORDS * 8];
    let count = read_memory(pid, address, &mut bytes).unwrap_or(0);
    let numbers = bytes[..count].chunks_exact(8).filter_map(|bytes| bytes.try_into().ok());
    numbers.map(u64::from_ne_bytes).take_while(|at| *at != 0).filter_map(|at| text(pid, at).ok()).collect()
}

fn text(pid: i32, address: u64) -> io::Result<String> {
    let mut buffer = [0_u8; MAX_WORD];
    let count = read_memory(pid, address, &mut buffer)?;
    let text = buffer[..count].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}
