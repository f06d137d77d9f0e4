//! What is known of programs by their names, for both the rules that last and the guess of `auto`.

/// Programs that run whatever they are given.
pub const RUNS_ANYTHING: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "fish",
    "dash",
    "ksh",
    "mksh",
    "ash",
    "csh",
    "tcsh",
    "busybox",
    "toybox",
    "env",
    "xargs",
    "parallel",
    "eval",
    "exec",
    "command",
    "builtin",
    "source",
    ".",
    "trap",
    "alias",
    "nohup",
    "timeout",
    "time",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "setsid",
    "stdbuf",
    "unbuffer",
    "script",
    "watch",
    "entr",
    "flock",
    "strace",
    "ltrace",
    "gdb",
    "lldb",
    "valgrind",
    "perf",
    "python",
    "pypy",
    "ipython",
    "node",
    "nodejs",
    "ts-node",
    "tsx",
    "perl",
    "ruby",
    "irb",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "emacs",
    "tclsh",
    "wish",
    "expect",
    "osascript",
    "pwsh",
    "java",
    "jshell",
    "Rscript",
    "R",
    "julia",
    "guile",
    "racket",
    "sbcl",
    "ghci",
    "runghc",
    "erl",
    "elixir",
    "iex",
    "sqlite",
    "psql",
    "mysql",
    "find",
    "fd",
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "pipx",
    "tmux",
    "screen",
    "socat",
    "nc",
    "ncat",
    "netcat",
    "curl",
    "wget",
];

/// Programs that change the files which they are given.
const CHANGING: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "mv",
    "cp",
    "tee",
    "ln",
    "link",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "setfacl",
    "touch",
    "mkdir",
    "mkfifo",
    "mknod",
    "truncate",
    "fallocate",
    "install",
    "rsync",
    "tar",
    "bsdtar",
    "cpio",
    "zip",
    "unzip",
    "gzip",
    "gunzip",
    "bzip2",
    "xz",
    "7z",
    "split",
    "csplit",
    "patch",
    "dd",
    "curl",
    "wget",
    "rename",
    "sponge",
    "trash",
    "make",
    "gmake",
];

/// Programs that leave the workspace or the machine by their very nature.
const BEYOND: &[&str] = &[
    "sudo",
    "doas",
    "su",
    "pkexec",
    "runuser",
    "chroot",
    "nsenter",
    "unshare",
    "shutdown",
    "reboot",
    "poweroff",
    "halt",
    "init",
    "mkfs",
    "mkswap",
    "fdisk",
    "parted",
    "mount",
    "umount",
    "dd",
    "ssh",
    "scp",
    "sftp",
    "crontab",
    "at",
    "batch",
    "systemctl",
    "systemd-run",
    "service",
    "launchctl",
    "useradd",
    "userdel",
    "usermod",
    "passwd",
    "visudo",
    "iptables",
    "nft",
    "apt",
    "apt-get",
    "dpkg",
    "dnf",
    "yum",
    "rpm",
    "pacman",
    "apk",
    "snap",
    "killall",
    "pkill",
];

/// A name as the lists have it: without folder.
pub fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn listed(list: &[&str], program: &str) -> bool {
    let name = name(program);
    // `python3.12` and `gcc-13` are `python` and `gcc`.
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    list.contains(&name) || list.contains(&unversioned)
}

pub fn runs_anything(program: &str) -> bool {
    listed(RUNS_ANYTHING, program)
}

pub fn changes(program: &str) -> bool {
    listed(CHANGING, program)
}

pub fn goes_beyond(program: &str) -> bool {
    listed(BEYOND, program) || name(program).starts_with("mkfs.")
}

/// Words of the shell after which a command follows.
pub fn is_reserved(word: &str) -> bool {
    matches!(word, "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "time" | "!" | "coproc")
}

/// `NAME=value` before a command.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+[]".contains(&byte))
    })
}
