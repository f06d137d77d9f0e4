//! The undo journal on its own, without an agent: what it copies, what it takes from git, and that any order of commands and
//! rewinds brings back exactly what was there.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use base::folder::atomic_write::{self, Expect};
use base::model::item::ItemId;
use base::protocol::rewind::PointId;
use context::session::journal::record::JournalRecord;
use context::session::journal::recorder::Journal;
use context::session::journal::restore::{self, RestoreOutcome, RestorePlan};
use proptest::prelude::*;

use super::undo::{git, picture};

/// A journal without an agent: commands are closures.
pub struct Plain {
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub journal: Journal,
    turns: u64,
}

impl Plain {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let journal = Journal::new(&dir.path().join("state"), &root);
        journal.open("s");
        Self { _dir: dir, root, journal, turns: 0 }
    }

    pub fn turn(&mut self, command: impl FnOnce(&Path)) -> PointId {
        self.turns += 1;
        self.journal.begin_turn(self.turns, "t");
        self.journal.before_command("command", &AtomicBool::new(false));
        command(&self.root);
        self.journal.after_command();
        PointId::Turn(ItemId(self.turns))
    }

    /// A tool changes a file that is there.
    fn edit(&self, name: &str, bytes: &[u8]) {
        let path = self.root.join(name);
        if !path.is_file() {
            return;
        }
        let old = fs::read(&path).unwrap();
        if path.canonicalize().unwrap() == path {
            self.journal.before_write("Edit", &path, &[], Some(&old), Some(bytes));
            let _ = atomic_write::write(&path, bytes, Expect::Bytes(&old));
        }
    }

    fn plan(&self, point: PointId) -> RestorePlan {
        restore::plan(&self.root, self.journal.blobs(), restore::since(&self.journal.lines(), point))
    }

    pub fn go(&self, point: PointId, force: bool) -> RestoreOutcome {
        let plan = self.plan(point);
        let head = JournalRecord::Rewind { ms: 0, last_item: self.turns, title: String::new(), voided: None };
        restore::carry_out(&self.journal, head, &plan, force).unwrap()
    }

    fn stored(&self) -> usize {
        let files = walkdir::WalkDir::new(self.journal.folder().join("blobs")).into_iter().flatten();
        files.filter(|entry| entry.file_type().is_file()).count()
    }
}

/// Waits until the newest change is old enough to be told from one that comes now: the one time that cannot be forged.
pub fn settle(root: &Path) {
    let newest = || {
        let entries = walkdir::WalkDir::new(root).into_iter().flatten();
        let changed =
            entries.map(|entry| entry.metadata().unwrap()).map(|meta| (meta.ctime(), meta.ctime_nsec()));
        changed.max().map_or(0, |(seconds, nanoseconds)| seconds * 1_000_000_000 + nanoseconds)
    };
    let now =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    while now() - newest() < 55_000_000 {
        std::thread::yield_now();
    }
}

#[test]
fn ignored_files() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    fs::create_dir(root.join("target")).unwrap();
    fs::write(root.join("target/out"), "built").unwrap();
    fs::write(root.join(".gitignore"), "target/\n").unwrap();
    settle(&root);
    let point = plain.turn(|root| {
        fs::write(root.join("target/out"), "built again").unwrap();
        fs::write(root.join("target/more"), "more").unwrap();
    });
    assert!(plain.plan(point).steps.is_empty());
    let point = plain.turn(|root| fs::remove_file(root.join(".gitignore")).unwrap());
    let done = plain.go(point, false);
    assert_eq!(fs::read_to_string(root.join("target/out")).unwrap(), "built again", "{done:?}");
    assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap(), "target/\n");
}

#[test]
fn tracked_files_are_not_copied() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    for n in 0..30 {
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join(format!("src/f{n}.rs")), format!("fn f{n}() {{}}\n")).unwrap();
    }
    fs::write(root.join("kept.log"), "tracked, though ignored\n").unwrap();
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    git(&root, &["init", "-q"]);
    // Git itself does not trust what changed in the moment in which it wrote its index.
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    for entry in
        walkdir::WalkDir::new(root.join("src")).into_iter().flatten().filter(|e| e.file_type().is_file())
    {
        fs::File::open(entry.path()).unwrap().set_modified(ago).unwrap();
    }
    fs::File::open(root.join("kept.log")).unwrap().set_modified(ago).unwrap();
    git(&root, &["add", "-f", "."]);
    git(&root, &["commit", "-qm", "x"]);
    settle(&root);
    fs::write(root.join("src/f0.rs"), "dirty\n").unwrap();
    fs::write(root.join("untracked"), "new\n").unwrap();
    let before = picture(&root);
    plain.turn(|_| {});
    assert!(
        plain.stored() <= 3,
        "{} copies: only the changed, the new and perhaps .gitignore",
        plain.stored()
    );
    let point = plain.turn(|root| {
        fs::remove_dir_all(root.join("src")).unwrap();
        fs::write(root.join("kept.log"), "x").unwrap();
        fs::remove_file(root.join("untracked")).unwrap();
    });
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(picture(&root), before);
}

#[test]
fn stopped_snapshot() {
    let mut plain = Plain::new();
    fs::write(plain.root.join("a"), "1").unwrap();
    plain.turn(|root| fs::write(root.join("b"), "1").unwrap());
    let (lines, before) = (plain.journal.lines(), picture(&plain.root));
    plain.journal.before_command("never runs", &AtomicBool::new(true));
    plain.journal.after_command();
    assert_eq!(plain.journal.lines(), lines);
    let point = plain.turn(|root| {
        fs::write(root.join("a"), "2").unwrap();
        fs::remove_file(root.join("b")).unwrap();
    });
    plain.go(point, false);
    assert_eq!(picture(&plain.root), before);
}

#[test]
fn filtered_files_are_copied() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    git(&root, &["init", "-q"]);
    fs::write(root.join(".gitattributes"), "*.txt text\n").unwrap();
    fs::write(root.join("crlf.txt"), "a\r\nb\r\n").unwrap();
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    fs::File::open(root.join("crlf.txt")).unwrap().set_modified(ago).unwrap();
    git(&root, &["add", "."]);
    settle(&root);
    let point = plain.turn(|root| fs::write(root.join("crlf.txt"), "gone").unwrap());
    plain.go(point, false);
    assert_eq!(fs::read(root.join("crlf.txt")).unwrap(), b"a\r\nb\r\n");
}

#[test]
fn files_without_backup_are_named() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    fs::write(root.join("huge.bin"), vec![b'x'; 5 << 20]).unwrap();
    fs::write(root.join("small"), "1").unwrap();
    let point = plain.turn(|root| {
        fs::write(root.join("huge.bin"), "tiny").unwrap();
        fs::write(root.join("small"), "2").unwrap();
    });
    let step = plain.plan(point).steps.remove(0);
    assert_eq!(step.path, Path::new("huge.bin"));
    assert!(step.impossible.unwrap().contains("no backup"));
    let done = plain.go(point, true);
    assert_eq!((done.done.len(), done.left.len()), (1, 1));
    assert_eq!(fs::read_to_string(root.join("small")).unwrap(), "1");
    assert_eq!(fs::read_to_string(root.join("huge.bin")).unwrap(), "tiny");
}

#[test]
fn large_new_files_are_removed() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let point = plain.turn(|root| fs::write(root.join("huge.bin"), vec![b'x'; 5 << 20]).unwrap());
    let done = plain.go(point, false);
    assert!(done.left.is_empty() && !root.join("huge.bin").exists(), "{done:?}");
    plain.go(PointId::Rewind(1), false);
    assert_eq!(root.join("huge.bin").metadata().unwrap().len(), 5 << 20);
}

#[test]
fn no_write_through_a_link() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let outside = root.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "theirs").unwrap();
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/f"), "old").unwrap();
    let point = plain.turn(|root| fs::write(root.join("dir/f"), "theirs").unwrap());
    fs::remove_dir_all(root.join("dir")).unwrap();
    symlink(&outside, root.join("dir")).unwrap();
    let done = plain.go(point, true);
    assert!(done.left[0].1.contains("symbolic link"), "{done:?}");
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "theirs");
}

#[test]
fn interrupted_rewind_can_be_repeated() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    for name in ["a", "b", "c"] {
        fs::write(root.join(name), "old").unwrap();
    }
    let before = picture(&root);
    let point = plain.turn(|root| {
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), "new").unwrap();
        }
        fs::write(root.join("d"), "new").unwrap();
    });
    plain.go(point, false);
    // As if the program had been killed after the first file: written down, but not done.
    fs::write(root.join("b"), "new").unwrap();
    fs::write(root.join("d"), "new").unwrap();
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(picture(&root), before);
    // Once more: there is nothing left to do.
    assert!(plain.plan(point).steps.is_empty());
}

#[test]
fn odd_names_and_modes_come_back() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let odd = root.join(std::ffi::OsStr::from_bytes(b"caf\xe9 \n\"x"));
    fs::write(&odd, "odd").unwrap();
    fs::write(root.join("locked"), "locked").unwrap();
    fs::set_permissions(root.join("locked"), Permissions::from_mode(0o444)).unwrap();
    fs::write(root.join("open"), "open").unwrap();
    let before = picture(&root);
    let point = plain.turn(|root| {
        fs::remove_file(&odd).unwrap();
        fs::remove_file(root.join("locked")).unwrap();
        fs::write(root.join("open"), "changed").unwrap();
        fs::set_permissions(root.join("open"), Permissions::from_mode(0o400)).unwrap();
    });
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(picture(&root), before);
}

#[test]
fn other_names_keep_their_content() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    fs::write(root.join("hl.txt"), "shared").unwrap();
    fs::hard_link(root.join("hl.txt"), root.join("other.txt")).unwrap();
    fs::write(root.join("run.sh"), "run").unwrap();
    let point = plain.turn(|root| {
        fs::remove_file(root.join("run.sh")).unwrap();
        fs::hard_link(root.join("hl.txt"), root.join("run.sh")).unwrap();
    });
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(
        (read("run.sh"), read("hl.txt"), read("other.txt")),
        ("run".into(), "shared".into(), "shared".into())
    );
    // Two files with the same text, but not the same mode.
    fs::write(root.join("run.sh"), "shared").unwrap();
    fs::set_permissions(root.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
    plain.turn(|_| {});
    let point = plain.turn(|root| {
        fs::remove_file(root.join("run.sh")).unwrap();
        fs::hard_link(root.join("hl.txt"), root.join("run.sh")).unwrap();
        fs::write(root.join("hl.txt"), "both").unwrap();
    });
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(fs::metadata(root.join("run.sh")).unwrap().mode() & 0o777, 0o755);
    fs::remove_file(root.join("hl.txt")).unwrap();
    fs::hard_link(root.join("other.txt"), root.join("hl.txt")).unwrap();
    // One name is edited, then a command appends to the other: both go back, and stay one file.
    plain.turn(|_| {});
    let point = plain.turn(|_| {});
    plain.edit("hl.txt", b"edited");
    plain.turn(|root| fs::write(root.join("other.txt"), "more").unwrap());
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!((read("hl.txt"), read("other.txt")), ("shared".into(), "shared".into()));
    assert_eq!(fs::metadata(root.join("hl.txt")).unwrap().nlink(), 2);
}

#[test]
fn folders_keep_their_mode_and_pipes_go() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    for (name, mode) in [("private", 0o700), ("shared", 0o755), ("closed", 0o555)] {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join("a"), name).unwrap();
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    }
    let before = picture(&root);
    let point = plain.turn(|root| {
        fs::remove_dir_all(root.join("private")).unwrap();
        fs::set_permissions(root.join("shared"), Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(root.join("closed"), Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir_all(root.join("closed")).unwrap();
        act(root, &Act::Pipe(0));
    });
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(picture(&root), before);
}

#[test]
fn an_ignored_file_that_a_tool_wrote_is_followed() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    fs::write(root.join("a.log"), "old").unwrap();
    let point = plain.turn(|_| {});
    plain.edit("a.log", b"by the tool");
    plain.turn(|root| fs::write(root.join("a.log"), "by a command").unwrap());
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(fs::read_to_string(root.join("a.log")).unwrap(), "old");
}

#[test]
fn the_journal_is_private() {
    let mut plain = Plain::new();
    fs::write(plain.root.join("a"), "secret").unwrap();
    plain.turn(|root| fs::write(root.join("a"), "other").unwrap());
    for entry in walkdir::WalkDir::new(plain.journal.folder()).into_iter().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let want = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, want, "{}", entry.path().display());
    }
}

/// One thing that a command does; what is not possible is left out.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, u8),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Folder(usize),
    Mode(usize, bool),
    HardLink(usize, usize),
    Pipe(usize),
}

const NAMES: [&str; 8] = ["a", "b", "d/a", "d/b", "d/e/f", "d", "g/h", "a b"];

fn is_pipe(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

fn act(root: &Path, act: &Act) {
    let at = |name: &usize| root.join(NAMES[*name]);
    let parent = |path: &Path| drop(fs::create_dir_all(path.parent().unwrap()));
    match act {
        Act::Write(name, byte) => {
            parent(&at(name));
            if !at(name).is_symlink() && !is_pipe(&at(name)) {
                let _ = fs::write(at(name), [*byte; 3]);
            }
        }
        Act::Append(name) => {
            if at(name).is_file()
                && let (false, Ok(mut bytes)) = (at(name).is_symlink(), fs::read(at(name)))
            {
                bytes.extend(b"line\n");
                let _ = fs::write(at(name), bytes);
            }
        }
        Act::Remove(name) => {
            let _ = fs::remove_file(at(name));
            let _ = fs::remove_dir_all(at(name));
        }
        Act::Rename(from, to) => {
            parent(&at(to));
            let _ = fs::rename(at(from), at(to));
        }
        Act::Link(name, to) => {
            parent(&at(name));
            let _ = symlink(NAMES[*to], at(name));
        }
        Act::Folder(name) => drop(fs::create_dir_all(at(name))),
        Act::Mode(name, on) => {
            if !at(name).is_symlink() {
                let mode = match (at(name).is_dir(), on) {
                    (_, true) => 0o755,
                    (false, false) => 0o644,
                    (true, false) => 0o700,
                };
                let _ = fs::set_permissions(at(name), Permissions::from_mode(mode));
            }
        }
        Act::HardLink(name, to) => {
            parent(&at(name));
            if at(to).is_file() && !at(to).is_symlink() && name != to {
                let _ = fs::remove_file(at(name));
                let _ = fs::hard_link(at(to), at(name));
            }
        }
        Act::Pipe(name) => {
            parent(&at(name));
            let _ =
                rustix::fs::mknodat(rustix::fs::CWD, at(name), rustix::fs::FileType::Fifo, 0o644.into(), 0);
        }
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let name = || 0..NAMES.len();
    proptest::collection::vec(
        prop_oneof![
            (name(), any::<u8>()).prop_map(|(n, b)| Act::Write(n, b)),
            name().prop_map(Act::Append),
            name().prop_map(Act::Remove),
            (name(), name()).prop_map(|(a, b)| Act::Rename(a, b)),
            (name(), name()).prop_map(|(a, b)| Act::Link(a, b)),
            name().prop_map(Act::Folder),
            (name(), any::<bool>()).prop_map(|(n, on)| Act::Mode(n, on)),
            (name(), name()).prop_map(|(a, b)| Act::HardLink(a, b)),
        ],
        0..7,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever commands did: going back gives the very tree, and undoing that the tree before.
    #[test]
    fn any_turns_can_be_undone_and_redone(turns in proptest::collection::vec((acts(), proptest::option::of((0..NAMES.len(), any::<u8>()))), 1..5), back in 0_usize..5, again in 0_usize..5) {
        let mut plain = Plain::new();
        let root = plain.root.clone();
        let mut pictures = Vec::new();
        let mut points = Vec::new();
        for (turn, edit) in &turns {
            pictures.push(picture(&root));
            points.push(plain.turn(|root| turn.iter().for_each(|one| act(root, one))));
            if let Some((name, byte)) = edit {
                plain.edit(NAMES[*name], &[*byte; 5]);
            }
        }
        let last = picture(&root);
        let (back, again) = (back % points.len(), again % points.len());
        let done = plain.go(points[back], false);
        prop_assert!(done.left.is_empty(), "{:?}", done);
        prop_assert_eq!(&picture(&root), &pictures[back]);
        plain.go(PointId::Rewind(1), false);
        prop_assert_eq!(&picture(&root), &last);
        plain.go(points[again], false);
        prop_assert_eq!(&picture(&root), &pictures[again]);
    }
}
