//! Refuses system calls that no build, test or tool needs and that have broken sandboxes. It is a deny list
//! (`system_calls.txt`), because runtimes it doesn't know must keep working.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter, compile_from_json, sock_filter,
};
use serde_json::{Value, json};

use base::format::lists;

/// Terminal requests that affect the other end: typing, selecting, changing the line discipline.
const TERMINAL_REQUESTS: &[u64] = &[0x5412, 0x541C, 0x541D, 0x5423];
const NEW_NAMESPACES: u64 =
    0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
/// Local, IPv4, IPv6, and netlink for querying interfaces.
const SOCKETS: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// `FS_IOC_SETFLAGS` and `FS_IOC_FSSETXATTR` (`linux/fs.h`), which also work on files opened for reading.
const FILE_FLAGS: &[u64] = &[0x4008_6602, 0x4004_6602, 0x401C_5820];
/// `setxattrat`, `removexattrat`, `open_tree_attr`, `file_setattr`, whose names libraries don't know.
const NAMELESS: [i64; 4] = [463, 466, 467, 469];

/// A rule for each call in a list that this machine has, with any arguments.
fn all(list: &str) -> Vec<Value> {
    let own = |entry: &'static str| match entry.split_once(' ') {
        Some((call, arch)) => (arch == ARCH).then_some(call),
        None => Some(entry),
    };
    let calls = lists::list(include_str!("system_calls.txt"), list).filter_map(own);
    calls.map(|call| json!({"syscall": call})).collect()
}

fn argument(number: u8, operator: Value, value: u64) -> Value {
    // The kernel reads only 32 bits of these, so the filter must as well.
    json!({"index": number, "type": "dword", "op": operator, "val": value})
}

/// A rule that applies if all arguments match.
fn when(call: &str, arguments: impl IntoIterator<Item = Value>) -> Value {
    json!({"syscall": call, "args": Vec::from_iter(arguments)})
}

fn has_flag(number: u8, flag: u64) -> Value {
    argument(number, json!({"masked_eq": flag}), flag)
}

/// What a filter reports to its listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    pub creates: bool,
    /// Only renames, which also count as creating.
    pub moves: bool,
    /// Calls that change what nothing else protects without namespaces.
    pub alone: bool,
    /// Opening files for writing, including existing ones.
    pub writes: bool,
    pub opens: bool,
    pub starts: bool,
}

pub fn reporting(watched: Watched) -> Result<BpfProgram, String> {
    let Watched { creates, moves, alone, writes, opens, starts } = watched;
    let differs = |number, value| argument(number, json!("ne"), value);
    let mut reported = if creates { all("creating") } else { Vec::new() };
    if moves {
        reported.extend(all("moving"));
    }
    if starts {
        reported.extend(all("starting"));
    }
    if alone {
        reported.extend(all("altering"));
        let mut of_process = all("of a process");
        of_process.iter_mut().for_each(|rule| rule["args"] = json!([differs(0, 0)]));
        reported.extend(of_process);
        // A single process by its number, or all of a group or user.
        for (call, own) in [("setpriority", 0), ("ioprio_set", 1)] {
            reported.extend([when(call, [differs(0, own)]), when(call, [differs(1, 0)])]);
        }
    }
    let change = [libc::O_CREAT, libc::O_WRONLY, libc::O_RDWR].map(|flag| u64::from(flag.unsigned_abs()));
    let change = if writes { &change[..] } else { &change[..1] };
    let opening = if ARCH == "x86_64" { 2 } else { 1 };
    for (call, flags) in [("openat", 2), ("open", 1)].into_iter().take(opening).filter(|_| creates) {
        match opens {
            true => reported.push(json!({"syscall": call})),
            false => reported.extend(change.iter().map(|flag| when(call, [has_flag(flags, *flag)]))),
        }
    }
    let mut program = compile(json!({"trace": 0}), &reported)?;
    // The library doesn't know this action.
    for line in program.iter_mut().filter(|line| line.k == libc::SECCOMP_RET_TRACE) {
        line.k = libc::SECCOMP_RET_USER_NOTIF;
    }
    Ok(program)
}

/// Includes all children. `no_sockets` allows only connected pairs; `alone`: there are no namespaces at all.
pub fn restrict(alone: bool, no_sockets: bool) -> Result<(), String> {
    for program in programs(alone, no_sockets)? {
        apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn programs(alone: bool, no_sockets: bool) -> Result<Vec<BpfProgram>, String> {
    let mut refused = all("refused");
    let mut requests = TERMINAL_REQUESTS.to_vec();
    if alone {
        refused.extend(all("shared"));
        requests.extend(FILE_FLAGS);
    }
    refused.extend(requests.iter().map(|request| when("ioctl", [argument(1, json!("eq"), *request)])));
    // One rule per flag, because each is compared under a mask.
    for flag in (0..32).map(|bit| 1_u64 << bit).filter(|flag| NEW_NAMESPACES & flag != 0) {
        refused.extend(["clone", "unshare"].map(|call| when(call, [has_flag(0, flag)])));
    }
    let others = SOCKETS.iter().map(|kind| argument(0, json!("ne"), kind.unsigned_abs().into()));
    let (sockets, why) = match no_sockets {
        true => (json!({"syscall": "socket"}), libc::EACCES),
        false => (when("socket", others), libc::EAFNOSUPPORT),
    };
    let nameless: BTreeMap<i64, Vec<_>> = NAMELESS.map(|number| (number, Vec::new())).into();
    let absent = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let nameless = SeccompFilter::new(nameless, SeccompAction::Allow, absent, target()?);
    Ok(vec![
        compile(json!({"errno": libc::EPERM}), &refused)?,
        compile(json!({"errno": libc::ENOSYS}), &all("absent"))?,
        nameless.and_then(BpfProgram::try_from).map_err(|error| error.to_string())?,
        compile(json!({"errno": why}), &[sockets])?,
        no_other_numbers(),
    ])
}

fn target() -> Result<TargetArch, String> {
    TargetArch::try_from(ARCH).map_err(|error| error.to_string())
}

/// Calls that match a rule get the action; all others are allowed.
fn compile(action: Value, rules: &[Value]) -> Result<BpfProgram, String> {
    let filter = json!({"": {"mismatch_action": "allow", "match_action": action, "filter": rules}});
    let mut made =
        compile_from_json(filter.to_string().as_bytes(), target()?).map_err(|error| error.to_string())?;
    made.remove("").ok_or_else(|| "the filter is missing".to_owned())
}

/// On x86-64, every call has a second number (x32, from 2^30), which the lists above don't cover.
fn no_other_numbers() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let errno = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
    vec![
        sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_GREATER_OR_EQUAL, jt: 0, jf: 1, k: 0x4000_0000 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: errno },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: 0x7fff_0000 },
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile() {
        for no_sockets in [false, true] {
            let sizes: Vec<usize> = programs(no_sockets, no_sockets).unwrap().iter().map(Vec::len).collect();
            assert!(sizes.iter().all(|&size| (4..4096).contains(&size)), "{sizes:?}");
        }
    }
}
