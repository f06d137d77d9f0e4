//! Opens a path no part of which may be a symbolic link. Anyone who may change a folder can replace it with a
//! link at any time; a resolved path opened like this leads to the place that was checked, or fails.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

/// For metadata only; doesn't follow links. Linux: needs no read permission, has no effect on devices.
#[cfg(target_os = "linux")]
pub const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);
#[cfg(not(target_os = "linux"))]
pub const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::SYMLINK);

#[cfg(target_os = "linux")]
pub const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
pub const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Flags that never follow a link and keep the handle from child processes.
pub fn safe(flags: OFlags) -> OFlags {
    let at_link = if flags == LOOK { OFlags::empty() } else { OFlags::NOFOLLOW };
    flags | at_link | OFlags::CLOEXEC
}

/// `path` must be absolute and without `..`.
pub fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Err(Errno::INVAL.into());
    }
    #[cfg(target_os = "linux")]
    match by_kernel(path, flags) {
        // Kernels before 5.6 lack the call, and some containers forbid it.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return Ok(opened?),
    }
    Ok(by_steps(path, flags)?)
}

#[cfg(target_os = "linux")]
fn by_kernel(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // Without `NOFOLLOW`, which would report a link in place of a folder as "not a folder".
    openat2(CWD, path, flags | OFlags::CLOEXEC, Mode::empty(), how)
}

fn by_steps(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut names = path.components().skip(1).map(Component::as_os_str).peekable();
    let mut opened =
        openat(CWD, "/", safe(if names.peek().is_some() { FOLDER } else { flags }), Mode::empty())?;
    while let Some(name) = names.next() {
        let flags = if names.peek().is_some() { FOLDER } else { flags };
        opened = openat(&opened, name, safe(flags), Mode::empty()).map_err(|error| {
            // For a link in place of a folder, the system only reports "not a folder".
            let found = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW);
            let link = found.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
            if error == Errno::NOTDIR && link { Errno::LOOP } else { error }
        })?;
    }
    Ok(opened)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[cfg(target_os = "linux")]
    #[test]
    fn both_ways_open_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/f"), "x").unwrap();
        symlink("a", root.join("to_a")).unwrap();
        symlink("f", root.join("a/b/to_f")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let read = OFlags::RDONLY;
        for (name, flags, wanted) in [
            ("a/b/f", read, Ok(())),
            ("a/./b", FOLDER, Ok(())),
            ("a/b/to_f", LOOK, Ok(())),
            ("dangling", LOOK, Ok(())),
            ("to_a/b/f", LOOK, Err(Errno::LOOP)),
            ("to_a/b/f", read, Err(Errno::LOOP)),
            ("to_a", FOLDER, Err(Errno::LOOP)),
            ("a/b/to_f", read, Err(Errno::LOOP)),
            ("dangling", read, Err(Errno::LOOP)),
            ("a/none/f", read, Err(Errno::NOENT)),
            ("a/b/f/x", read, Err(Errno::NOTDIR)),
            ("a/b/f", FOLDER, Err(Errno::NOTDIR)),
        ] {
            let path = root.join(name);
            assert_eq!(by_kernel(&path, flags).map(drop), wanted, "{name}");
            assert_eq!(by_steps(&path, flags).map(drop), wanted, "{name}, by steps");
        }
        assert!(by_steps(Path::new("/"), FOLDER).is_ok());
        assert!(open(Path::new("a"), read).is_err(), "relative");
        assert!(open(&root.join("a/../a"), FOLDER).is_err(), "upwards");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_that_comes_and_goes_is_never_followed() {
        use rustix::fs::{RenameFlags, renameat_with};
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (folder, text) in [("in/d", "inside"), ("out", "outside")] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("f"), text).unwrap();
        }
        let (folder, link) = (root.join("in/d"), root.join("in/l"));
        symlink(root.join("out"), &link).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let reads = (0..20_000).map(|n| match n % 2 {
                0 => by_steps(&folder.join("f"), OFlags::RDONLY),
                _ => by_kernel(&folder.join("f"), OFlags::RDONLY),
            });
            let texts: Vec<String> =
                reads.flatten().map(|file| std::io::read_to_string(fs::File::from(file)).unwrap()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(!texts.is_empty() && texts.iter().all(|text| text == "inside"));
        });
    }
}
