//! Paths through any tangle of links, against a second way of resolving them: each call of a file tool does exactly what its
//! path means, or nothing, and never anything outside of the workspace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use agent::calls::dispatcher::Dispatcher;
use agent::control::TurnControl;
use agent::toolset::context::ToolSetup;
use agent::toolset::tools::toolset;
use base::config::files::load::{self, Sources};
use base::config::files::raw::Raw;
use base::config::paths::Paths;
use base::config::settings::Permission;
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, Status};
use guard::policy::flag_rules::FlagRules;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What is put at a path of the workspace, as far as it can.
#[derive(Clone, Debug)]
enum Thing {
    Folder,
    File,
    /// A link with this text; `OUTSIDE` and `INSIDE` in it stand for the two folders.
    Link(String),
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b"), Just("c"), Just("e")]
}

fn path(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..=most).prop_map(|names| names.join("/"))
}

/// A path as it is typed or stands in a link.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![4 => name().boxed(), 1 => Just("..").boxed(), 1 => Just(".").boxed()];
    let relative = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    prop_oneof![
        6 => relative.clone(),
        1 => relative.clone().prop_map(|rest| format!("INSIDE/{rest}")),
        1 => relative.prop_map(|rest| format!("OUTSIDE/{rest}")),
    ]
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        Just(Thing::Folder),
        Just(Thing::File),
        text().prop_map(Thing::Link),
        text().prop_map(Thing::Link)
    ]
}

struct World {
    _dir: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    dispatcher: Dispatcher,
}

impl World {
    fn new(things: &[(String, Thing)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (inside, outside, home) = (top.join("inside"), top.join("outside"), top.join("home"));
        fs::create_dir_all(outside.join("a/b")).unwrap();
        for (number, file) in ["b", "a/c", "a/b/e"].iter().enumerate() {
            fs::write(outside.join(file), format!("outside {number}\n")).unwrap();
        }
        fs::create_dir(&inside).unwrap();
        for (number, (path, thing)) in things.iter().enumerate() {
            let full = inside.join(path);
            // Also through links that stand there already, but then not outside.
            let above = full.parent().unwrap();
            let _ = meant(above).filter(|real| real.starts_with(&inside)).map(fs::create_dir_all);
            if !above.canonicalize().is_ok_and(|real| real.starts_with(&inside)) || full.is_symlink() {
                continue;
            }
            let _ = match thing {
                Thing::Folder => fs::create_dir(&full),
                Thing::File => fs::write(&full, format!("inside {number}\n")),
                Thing::Link(to) => symlink(placed(to, &inside, &outside), &full),
            };
        }
        let paths = Paths { config: home.clone(), state: home.join("state") };
        let loaded = load::load(Sources {
            flags: Raw::parse("").unwrap(),
            vars: &|name| (name == "MYCODE_LANGUAGE_SERVERS").then(|| "false".to_owned()),
            paths: &paths,
            workspace: &inside,
            trust: false,
            skip_user_files: false,
            default_permission: Permission::Auto,
        });
        let (dispatcher, _) = toolset(ToolSetup {
            loaded: &loaded.unwrap(),
            workspace: &inside,
            project_state: &paths.project(&inside),
            own_folders: &[home],
            flags: FlagRules::default(),
            interactive: false,
            small_window: false,
            host: None,
        });
        Self { _dir: dir, inside, outside, dispatcher }
    }

    fn call(&self, tool: &str, args: Value) -> Envelope {
        let control = Arc::new(TurnControl::alone(CancellationToken::new()));
        let call = ToolCall { id: "call_1".into(), name: tool.into(), args: args.to_string().into() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.dispatcher.run_alone(call, 1_000_000, &control)).unwrap().envelope
    }
}

fn placed(text: &str, inside: &Path, outside: &Path) -> String {
    text.replace("INSIDE", inside.to_str().unwrap()).replace("OUTSIDE", outside.to_str().unwrap())
}

/// The path without `.` and `..`, by its text.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// What `path` means, asked of the kernel as far as it exists; `None` in a loop or behind a file.
fn meant(path: &Path) -> Option<PathBuf> {
    meant_within(path, 0)
}

fn meant_within(path: &Path, links: usize) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(target) = fs::read_link(existing) {
            // It leads to nothing: what is missing is missing there.
            if links > 40 {
                return None;
            }
            let mut whole = existing.parent()?.canonicalize().ok()?.join(target);
            whole.extend(missing.iter().rev());
            return meant_within(&upwards(&whole, links)?, links + 1);
        }
        match existing.canonicalize() {
            Ok(real) if real.is_dir() => {
                return Some(missing.iter().rev().fold(real, |real, name| real.join(name)));
            }
            Ok(_) => return None,
            Err(_) => {
                missing.push(existing.file_name()?.to_owned());
                existing = existing.parent()?;
            }
        }
    }
}

/// `..` in a link's text goes up from where the part before it leads.
fn upwards(path: &Path, links: usize) -> Option<PathBuf> {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real = meant_within(&real, links + 1)?;
                real.pop();
            }
            part => real.push(part),
        }
    }
    Some(real)
}

/// Everything below `folder`: bytes of files, texts of links.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten();
    let value = |path: &Path| match fs::read_link(path) {
        Ok(to) => Some(format!("→ {}", to.display()).into_bytes()),
        Err(_) => fs::read(path).ok(),
    };
    entries.map(|entry| (entry.path().to_owned(), value(entry.path()))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn paths_mean_what_they_mean_and_stay_inside(
        things in prop::collection::vec((path(3), thing()), 1..14),
        typed in prop::collection::vec(text(), 1..8),
    ) {
        let world = World::new(&things);
        let (inside, outside) = (&world.inside, &world.outside);
        let kept = everything(outside);
        for (number, typed) in typed.iter().enumerate() {
            let typed = placed(typed, inside, outside);
            let wanted = meant(&plain(&inside.join(&typed)));
            let before = everything(inside);
            let at_wanted = wanted.as_ref().and_then(|path| before.get(path).cloned().flatten());

            let read = world.call("Read", json!({"path": typed}));
            if read.text.contains("does not exist; this is") {
                // A path that is not there, and one clearly meant: another promise, tested elsewhere.
                continue;
            }
            match &at_wanted {
                Some(bytes) => {
                    let line = String::from_utf8_lossy(bytes);
                    prop_assert_eq!(read.body, format!("1\t{}", line.trim_end()), "{}", typed);
                }
                None => prop_assert_eq!(read.status, Status::Error, "{}: {}", typed, read.body),
            }
            prop_assert_eq!(&everything(inside), &before, "Read of {}", &typed);

            let content = format!("new {number}\n");
            let written = world.call("Write", json!({"path": typed, "content": content}));
            let mut after = everything(inside);
            if written.status == Status::Success {
                let wanted = wanted.as_ref().filter(|path| path.starts_with(inside));
                prop_assert!(wanted.is_some(), "Write to {}: {}", typed, written.wire());
                let wanted = wanted.unwrap();
                prop_assert_eq!(after.remove(wanted).flatten(), Some(content.into_bytes()), "{}", &typed);
                let kept = |path: &PathBuf| !wanted.starts_with(path) || before.contains_key(path);
                after.retain(|path, _| kept(path));
                let rest: BTreeMap<_, _> = before.into_iter().filter(|(path, _)| path != wanted).collect();
                prop_assert_eq!(after, rest, "Write to {}", &typed);
            } else {
                prop_assert_eq!(&after, &before, "Write to {}: {}", &typed, written.wire());
                // Whatever can be written inside was written.
                let wanted = wanted.filter(|path| path.starts_with(inside) && !path.is_dir());
                prop_assert_eq!(wanted, None, "Write to {}: {}", &typed, written.wire());
            }
            prop_assert_eq!(&everything(outside), &kept, "Write to {}", &typed);
        }

        let files: Vec<PathBuf> = everything(inside).into_keys().filter(|path| path.symlink_metadata().unwrap().is_file()).collect();
        let shown: Vec<&str> = files.iter().map(|path| path.strip_prefix(inside).unwrap().to_str().unwrap()).collect();
        let grep = world.call("Grep", json!({"pattern": "inside|outside|new", "output_mode": "files_with_matches", "limit": 500}));
        prop_assert_eq!(grep.body.lines().collect::<Vec<_>>(), shown);
    }
}
