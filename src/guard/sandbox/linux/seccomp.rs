//! Refuses system calls that no build, test or tool needs and that have broken sandboxes. A deny list,
//! because runtimes that it doesn't know must keep working.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

/// Refused with `EPERM` for any arguments.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The tree.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_fanotify_init,
    libc::SYS_setns,
    // Kernel secrets and internals.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Refused with `ENOSYS`: programs then use an older call, whose arguments a filter can check.
const ABSENT: &[libc::c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Terminal requests that act on the other end: typing, selecting, changing the line discipline.
const TERMINAL_REQUESTS: &[u64] = &[0x5412, 0x541C, 0x541D, 0x5423];
const NEW_NAMESPACES: u64 =
    0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
/// Local, IPv4, IPv6, and netlink for querying interfaces.
const SOCKETS: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Calls that give a name in a folder something new.
const CREATING: &[libc::c_long] = &[
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    // Its flags are in memory.
    libc::SYS_openat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
];
/// What mounts and a process namespace would prevent: removing names, changing modes, owners, times and
/// attributes of files outside.
const ALTERING: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
];

/// Calls about a process whose number is their first argument; 0 is the caller.
const OF_PROCESS: &[libc::c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];
/// Memory, semaphores and messages that all processes of a machine share.
const SHARED: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
/// `FS_IOC_SETFLAGS` and `FS_IOC_FSSETXATTR` (`linux/fs.h`), which work on files opened for reading.
const FILE_FLAGS: &[u64] = &[0x4008_6602, 0x4004_6602, 0x401C_5820];

/// A filter that reports to its listener the calls that create names, and those that change what nothing
/// else keeps if there are no namespaces (`alone`).
pub fn reporting(alone: bool) -> Result<BpfProgram, String> {
    let altering = ALTERING.iter().filter(|_| alone);
    let mut reported: BTreeMap<i64, Vec<SeccompRule>> =
        CREATING.iter().chain(altering).map(|&number| (number, Vec::new())).collect();
    if alone {
        for &number in OF_PROCESS {
            reported.insert(number, vec![when(0, SeccompCmpOp::Ne, 0)?]);
        }
        for number in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
            // A process by its number, or all of a group or user.
            let own = if number == libc::SYS_ioprio_set { 1 } else { 0 };
            reported.insert(number, vec![when(0, SeccompCmpOp::Ne, own)?, when(1, SeccompCmpOp::Ne, 0)?]);
        }
    }
    let flag = u64::from(libc::O_CREAT.unsigned_abs());
    let creates = |argument| when(argument, SeccompCmpOp::MaskedEq(flag), flag);
    reported.insert(libc::SYS_openat, vec![creates(2)?]);
    #[cfg(target_arch = "x86_64")]
    reported.insert(libc::SYS_open, vec![creates(1)?]);
    let mut program = compile(reported, SeccompAction::Trace(0))?;
    // The library doesn't know this action.
    for line in program.iter_mut().filter(|line| line.k == libc::SECCOMP_RET_TRACE) {
        line.k = libc::SECCOMP_RET_USER_NOTIF;
    }
    Ok(program)
}

/// For this process and all that it starts. `no_sockets` allows only connected pairs, which blocks the
/// network where there is no network namespace; `alone`: there are no namespaces at all.
pub fn restrict(alone: bool, no_sockets: bool) -> Result<(), String> {
    for program in programs(alone, no_sockets)? {
        apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn programs(alone: bool, no_sockets: bool) -> Result<Vec<BpfProgram>, String> {
    let shared = SHARED.iter().filter(|_| alone);
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(shared).map(|&number| (number, Vec::new())).collect();
    let ioctl = TERMINAL_REQUESTS
        .iter()
        .chain(FILE_FLAGS.iter().filter(|_| alone))
        .map(|&request| when(1, SeccompCmpOp::Eq, request));
    refused.insert(libc::SYS_ioctl, ioctl.collect::<Result<_, _>>()?);
    // One rule per flag, because each compares under a mask.
    let flags = (0..32).map(|bit| 1_u64 << bit).filter(|flag| NEW_NAMESPACES & flag != 0);
    let spaces: Vec<SeccompRule> =
        flags.map(|flag| when(0, SeccompCmpOp::MaskedEq(flag), flag)).collect::<Result<_, _>>()?;
    refused.insert(libc::SYS_clone, spaces.clone());
    refused.insert(libc::SYS_unshare, spaces);
    let mut absent: BTreeMap<i64, Vec<SeccompRule>> =
        ABSENT.iter().map(|&number| (number, Vec::new())).collect();
    // `fchmodat2`, `setxattrat`, `removexattrat`, `open_tree_attr`, `file_setattr`: libc doesn't know all of them.
    absent.extend([452, 463, 466, 467, 469].map(|number| (number, Vec::new())));
    let mut kinds: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let sockets = if no_sockets {
        Vec::new()
    } else {
        let others = SOCKETS.iter().map(|&kind| condition(0, SeccompCmpOp::Ne, kind.unsigned_abs().into()));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        vec![SeccompRule::new(others).map_err(|error| error.to_string())?]
    };
    kinds.insert(libc::SYS_socket, sockets);
    Ok(vec![
        compile(refused, errno(libc::EPERM))?,
        compile(absent, errno(libc::ENOSYS))?,
        compile(kinds, errno(if no_sockets { libc::EACCES } else { libc::EAFNOSUPPORT }))?,
        no_other_numbers(),
    ])
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    // The kernel reads only 32 bits of these, so the filter must, too.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(|error| error.to_string())
}

fn when(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, String> {
    SeccompRule::new(vec![condition(argument, operator, value)?]).map_err(|error| error.to_string())
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, action: SeccompAction) -> Result<BpfProgram, String> {
    let target = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, action, target).map_err(|error| error.to_string())?;
    filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())
}

/// On x86-64 every call has a second number (x32, from 2^30), which the lists above don't cover.
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
