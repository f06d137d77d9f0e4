//! Named sockets of programs outside: a read-only tree doesn't stop a command from connecting, so each is
//! hidden by an empty file. Found by asking the kernel, whichever program owns them.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::sandbox::spec::SandboxSpec;

const MAX_SOCKETS: usize = 512;

/// Must be called outside the command's network namespace.
pub fn outside(spec: &SandboxSpec) -> BTreeSet<PathBuf> {
    let table = std::fs::read("/proc/net/unix").unwrap_or_default();
    let named = named_in(&table);
    let hidden_anyway = |path: &Path| {
        spec.hidden_folders.iter().chain(&spec.temporary).any(|folder| path.starts_with(folder))
    };
    named
        .into_iter()
        // Sockets in the project, such as a database's, belong to it.
        .filter(|path| !path.starts_with(&spec.workspace))
        .filter(|path| !hidden_anyway(path) || spec.visible.iter().any(|kept| path.starts_with(kept)))
        .filter(|path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket()))
        .take(MAX_SOCKETS)
        .collect()
}

/// The absolute paths in the kernel's table: the eighth field of a line, if any.
fn named_in(table: &[u8]) -> BTreeSet<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let path = |line: &[u8]| {
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(u8::is_ascii_whitespace)?;
            rest = &rest[end..];
        }
        let path = rest.strip_prefix(b" ")?;
        path.starts_with(b"/").then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
    };
    table.split(|&byte| byte == b'\n').skip(1).filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_socket_table() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 23044 /run/a socket\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 31337\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 23045 @abstract\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 23046 /home/me/agent\n";
        let found: Vec<PathBuf> = named_in(table).into_iter().collect();
        assert_eq!(found, [Path::new("/home/me/agent"), Path::new("/run/a socket")]);
    }
}
