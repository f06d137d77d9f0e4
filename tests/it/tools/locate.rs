//! Finding files for a task: a small evaluation set with a floor under its accuracy, and everything that an index must
//! survive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evidence::categorize::FileCategory;
use evidence::index::segment::Field;
use evidence::index::store::{IndexStore, Refreshed};
use evidence::rank::locate::Project;
use evidence::retriever::ContextRetriever;
use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::server::FakeServer;

use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

const PROJECT: &str = include_str!("../../fixtures/locate/project.txt");
const COMMITS: &str = include_str!("../../fixtures/locate/commits.json");
const TASKS: &str = include_str!("../../fixtures/locate/tasks.json");

/// The fixture's files: `=== path`, then the text.
fn unpack(root: &Path) {
    unpack_files(PROJECT, root);
}

pub fn unpack_files(files: &str, root: &Path) {
    for part in files.split("=== ").skip(1) {
        let (name, text) = part.split_once('\n').unwrap();
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn git(root: &Path, args: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "user.name=Test", "-c", "user.email=test@bakery.example", "-c", "commit.gpgsign=false"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The fixture with its history: one commit for everything, then one for each message.
fn with_history(root: &Path) {
    unpack(root);
    git(root, &["init", "-q"]);
    git(root, &["add", "."]);
    git(root, &["commit", "-q", "-m", "Everything at once"]);
    for commit in serde_json::from_str::<Value>(COMMITS).unwrap().as_array().unwrap() {
        for file in commit["files"].as_array().unwrap() {
            let path = root.join(file.as_str().unwrap());
            let text = fs::read_to_string(&path).unwrap() + "\n";
            fs::write(path, text).unwrap();
        }
        git(root, &["commit", "-q", "-a", "-m", commit["message"].as_str().unwrap()]);
    }
}

fn paths(project: &Project, task: &str, limit: usize) -> Vec<String> {
    project.locate(task, limit).unwrap().into_iter().map(|(hit, _)| hit.path).collect()
}

fn locate(place: &Workplace, args: &[&str]) -> Vec<Value> {
    let mut all = vec!["locate", "--json"];
    all.extend(args);
    let output = place.command(&all).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn path_of(file: &Value) -> &str {
    file["path"].as_str().unwrap()
}

fn segments(home: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(home).into_iter().flatten().map(|entry| entry.path().to_owned());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "part")).collect()
}

#[test]
fn evaluation_set() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    with_history(&root);
    let project = Project::open(&root, &dir.path().join("state")).unwrap();
    assert_eq!(project.history.commits.len(), 8);
    let (mut first, mut in_three, mut places, mut missed) = (0, 0, 0.0, Vec::new());
    let tasks: Value = serde_json::from_str(TASKS).unwrap();
    let tasks = tasks.as_array().unwrap();
    for task in tasks {
        let wanted = task["files"][0].as_str().unwrap();
        let found = paths(&project, task["task"].as_str().unwrap(), 20);
        let place = found.iter().position(|path| path == wanted).unwrap_or(1_000);
        first += usize::from(place == 0);
        in_three += usize::from(place < 3);
        places += 1.0 / (place + 1) as f64;
        if place > 0 {
            missed.push(format!("{place}: {wanted} behind {}", found[0]));
        }
    }
    let mean = places / tasks.len() as f64;
    let told = missed.join("\n");
    assert!(first * 100 >= 88 * tasks.len(), "{first} of {} first:\n{told}", tasks.len());
    assert!(in_three * 100 >= 96 * tasks.len() && mean >= 0.92, "{in_three} in three, {mean}:\n{told}");
}

#[test]
fn history_ranks_files() {
    let dir = tempfile::tempdir().unwrap();
    let (bare, known) = (dir.path().join("bare"), dir.path().join("known"));
    fs::create_dir(&bare).unwrap();
    fs::create_dir(&known).unwrap();
    unpack(&bare);
    with_history(&known);
    let task = "Trouble with the tax office";
    let place = |root: &Path| {
        let project = Project::open(root, &dir.path().join("state").join(root.file_name().unwrap())).unwrap();
        paths(&project, task, 40).iter().position(|path| path == "shop/money.py")
    };
    assert_eq!(place(&known), Some(0));
    assert_ne!(place(&bare), Some(0), "the words alone would do");
}

#[test]
fn json_and_text_answers() {
    let place = Workplace::new();
    unpack(&place.project());
    let task = "ExpiredVoucher is raised on the last valid day";
    let files = locate(&place, &[task, "-k", "4", "--explain"]);
    assert_eq!(files.len(), 4);
    assert_eq!(path_of(&files[0]), "shop/vouchers.py");
    assert_eq!(files[0]["role"], "modify");
    for file in &files {
        let lines = file["lines"].as_array().unwrap();
        assert!(lines.len() <= 5);
        assert!(lines.iter().all(|line| line["text"].as_str().unwrap().chars().count() <= 100));
        // What is explained adds up to the score.
        let parts: f64 = file["parts"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
        assert!((parts - file["score"].as_f64().unwrap()).abs() < 0.05, "{file}");
    }
    assert!(files[0]["reasons"].as_array().unwrap().iter().any(|reason| reason == "defines what is named"));
    assert!(files[0]["lines"].to_string().contains("class ExpiredVoucher"));
    let people = stdout(&place.command(&["locate", task, "--explain"]).output().unwrap());
    assert!(people.contains("is the estimated chance that one of these files is right"), "{people}");
    assert!(
        people.starts_with(" 1. shop/vouchers.py") && people.contains("defines what is named"),
        "{people}"
    );
    let mut child = place.command(&["locate", "-", "--json", "-k", "1"]);
    child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), task.as_bytes()).unwrap();
    let read: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(path_of(&read[0]), "shop/vouchers.py");
    let empty = place.command(&["locate", " "]).output().unwrap();
    assert_eq!(empty.status.code(), Some(2));
}

#[test]
fn incremental_refresh() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    unpack(&root);
    // Old enough not to count as being written at this moment.
    for entry in
        walkdir::WalkDir::new(&root).into_iter().flatten().filter(|entry| entry.file_type().is_file())
    {
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
        fs::File::options().write(true).open(entry.path()).unwrap().set_modified(time).unwrap();
    }
    let store = IndexStore::new(&root, &dir.path().join("state"));
    let (index, first) = store.refreshed().unwrap();
    let total = index.files().len();
    assert_eq!(first, Refreshed { read: total, dropped: 0, anew: true });
    assert_eq!(store.refreshed().unwrap().1, Refreshed::default());
    fs::write(root.join("shop/money.py"), "def zweigeschossig(): pass\n").unwrap();
    fs::write(root.join("shop/new.py"), "def neuerdings(): pass\n").unwrap();
    fs::remove_file(root.join("scale/label.cpp")).unwrap();
    let (index, again) = store.refreshed().unwrap();
    assert_eq!(again, Refreshed { read: 2, dropped: 2, anew: false });
    assert_eq!(index.files().len(), total);
    let definers = |name: &str| {
        let mut files = Vec::new();
        let mut each = |file, _| files.push(index.doc(file as usize).unwrap().name());
        index.occurrences(Field::Symbol, name, &mut each).unwrap();
        files
    };
    assert_eq!(definers("zweigeschossig"), ["shop/money.py"]);
    assert_eq!(definers("neuerdings"), ["shop/new.py"]);
    assert!(index.files().all(|(_, doc)| doc.path != b"scale/label.cpp"));
}

#[test]
fn ranking_is_independent_of_index_growth() {
    let dir = tempfile::tempdir().unwrap();
    let (once, grown) = (dir.path().join("once"), dir.path().join("grown"));
    // Many equals: wherever ties are cut, the order of reading would show.
    let copies = |root: &Path, numbers: std::ops::Range<usize>| {
        for number in numbers {
            let folder = root.join(format!("copy{number:03}"));
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in [
                ("weekly.py", "import money\ndef voucher_total(basket):\n    return basket.voucher\n"),
                ("README.md", "The voucher lowers the total of the basket.\n"),
                ("money.py", "def money(): pass\n"),
            ] {
                fs::write(folder.join(name), text).unwrap();
            }
        }
    };
    for root in [&once, &grown] {
        fs::create_dir(root).unwrap();
        unpack(root);
    }
    copies(&once, 0..100);
    let open = |root: &Path, state: &str| Project::open(root, &dir.path().join(state)).unwrap();
    let at_once = open(&once, "first");
    for numbers in [60..100, 30..60, 0..30, 100..110] {
        copies(&grown, numbers);
        open(&grown, "second");
    }
    for number in 100..110 {
        fs::remove_dir_all(grown.join(format!("copy{number}"))).unwrap();
    }
    let in_steps = open(&grown, "second");
    for task in ["voucher_total ignores the basket", "README of the voucher", "money is rounded in weekly.py"]
    {
        let ranking = |project: &Project| -> Vec<(String, f32)> {
            let found = project.locate(task, 1_000).unwrap().into_iter();
            found.map(|(file, _)| (file.path, file.score)).collect()
        };
        assert_eq!(ranking(&at_once), ranking(&in_steps), "{task}");
        assert_eq!(ranking(&at_once), ranking(&open(&once, "third")), "{task}");
    }
}

#[test]
fn changes_do_not_pile_up() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    unpack(&root);
    let state = dir.path().join("state");
    for round in 0..20 {
        fs::write(root.join("shop/money.py"), format!("def runde_{round}(): pass\n")).unwrap();
        let (index, _) = IndexStore::new(&root, &state).refreshed().unwrap();
        let mut live = Vec::new();
        let name = format!("runde_{round}");
        let each = |file, _| live.push(index.doc(file as usize).unwrap().name());
        index.occurrences(Field::Symbol, &name, each).unwrap();
        assert_eq!(live, ["shop/money.py"], "round {round}");
    }
    assert!(segments(&state).len() <= 16, "{:?}", segments(&state));
    let project = Project::open(&root, dir.path()).unwrap();
    assert_eq!(paths(&project, "ExpiredVoucher on the last day", 1), ["shop/vouchers.py"]);
}

#[test]
fn damaged_index_is_rebuilt() {
    let place = Workplace::new();
    unpack(&place.project());
    let task = "ExpiredVoucher is raised on the last valid day";
    assert_eq!(path_of(&locate(&place, &[task])[0]), "shop/vouchers.py");
    let spoil: [fn(&mut Vec<u8>); 5] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.clear(),
        |bytes| bytes.iter_mut().take(3_000).for_each(|byte| *byte ^= 0x55),
        |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        },
        |bytes| *bytes.last_mut().unwrap() ^= 1,
    ];
    for spoil in spoil {
        for path in segments(&place.home()) {
            let mut bytes = fs::read(&path).unwrap();
            spoil(&mut bytes);
            fs::write(&path, bytes).unwrap();
        }
        assert_eq!(path_of(&locate(&place, &[task])[0]), "shop/vouchers.py");
    }
    let path = segments(&place.home()).swap_remove(0);
    let manifest = path.with_file_name("manifest.json");
    fs::write(&manifest, "{\"parts\": [{\"file\": \"../../x\", \"gone\": []}]}").unwrap();
    assert_eq!(path_of(&locate(&place, &[task])[0]), "shop/vouchers.py");
    fs::write(&manifest, "no JSON").unwrap();
    fs::write(path.with_file_name("history.json"), "no history").unwrap();
    assert_eq!(path_of(&locate(&place, &[task])[0]), "shop/vouchers.py");
}

#[test]
fn concurrent_processes() {
    let place = Workplace::new();
    unpack(&place.project());
    let ask = || {
        let mut command = place.command(&["locate", "--json", "ExpiredVoucher on the last day"]);
        command.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    for round in 0..3 {
        place.file("shop/money.py", format!("def runde_{round}(): pass\n"));
        let children: Vec<_> = (0..4).map(|_| ask()).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let files: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(path_of(&files[0]), "shop/vouchers.py");
        }
    }
}

#[test]
fn history_of_clones_worktrees_and_subfolders() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    with_history(&root);
    let url = format!("file://{}", root.display());
    let (shallow, tree) = (dir.path().join("shallow"), dir.path().join("tree"));
    git(dir.path(), &["clone", "-q", "--depth", "3", &url, shallow.to_str().unwrap()]);
    git(&root, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    let commits = |root: &Path, state: &str| Project::open(root, &dir.path().join(state)).unwrap().history;
    assert_eq!(commits(&shallow, "a").commits.len(), 3);
    assert_eq!(commits(&tree, "b").commits.len(), 8);
    let inside = commits(&root.join("shop"), "c");
    assert!(inside.files.contains(&"money.py".to_owned()), "{:?}", inside.files);
    // A further commit is added to what is known.
    fs::write(root.join("scale/scale.c"), "int zero;\n").unwrap();
    git(&root, &["commit", "-q", "-a", "-m", "Weigh nothing"]);
    let before = commits(&root, "d");
    fs::write(root.join("scale/scale.c"), "int one;\n").unwrap();
    git(&root, &["commit", "-q", "-a", "-m", "Weigh something"]);
    let after = commits(&root, "d");
    assert_eq!((before.commits.len(), after.commits.len()), (9, 10));
    assert!(after.terms.contains(&"someth".to_owned()) && after.head != before.head);
}

#[test]
fn tests_and_documents_only_when_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    unpack(&root);
    let project = Project::open(&root, &dir.path().join("state")).unwrap();
    let found = project.locate("best_sellers of an empty week", 10).unwrap();
    assert_eq!(found[0].0.path, "shop/report/weekly.py");
    let test = found.iter().find(|(hit, _)| hit.path == "tests/test_weekly.py").unwrap();
    assert_eq!(test.1, FileCategory::Reference);
    assert_eq!(paths(&project, "Fix the flaky test in tests/test_weekly.py", 1), ["tests/test_weekly.py"]);
    let all = paths(&project, "basket voucher session receipt total checkout format", 5);
    assert!(!all.iter().any(|path| path.contains("jquery") || path.contains("lock")), "{all:?}");
}

#[test]
fn task_context_is_sent_once() {
    let server = FakeServer::start((0..4).map(|_| answer().text("Seen.").into()).collect());
    let place = Workplace::new();
    unpack(&place.project());
    let ask = |args: &[&str], on: &str| {
        let mut all = vec!["exec", "--base-url", &*server.base_url(), "--model", "m"]
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let output = place
            .command(&all)
            .env("MYCODE_TASK_CONTEXT", on)
            .env("MYCODE_TASK_CONTEXT_WAIT_MS", "60000")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    };
    ask(&["ExpiredVoucher is raised on the last valid day"], "true");
    ask(&["-c", "yes, do that"], "true");
    ask(&["ExpiredVoucher is raised on the last valid day"], "false");
    let last = |number: usize| {
        let body = &server.requests()[number].body;
        body["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
    };
    let first = last(0);
    assert!(first.contains("<task-context>") && first.contains("shop/vouchers.py"), "{first}");
    assert!(first.chars().count() < 3_600);
    assert!(!last(1).contains("<task-context>"));
    assert!(!last(2).contains("<task-context>"));
}

#[test]
fn task_context_holds_what_is_likely() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    unpack(&root);
    let retriever = ContextRetriever::new(&root, &dir.path().join("state"));
    for about_nothing in [
        "Review the code and list what is wrong with it",
        "Give me an overview of the architecture: structure, quality, risks",
        "Upgrade all dependencies",
        "hello",
    ] {
        assert_eq!(retriever.task_context(about_nothing), None, "{about_nothing}");
    }
    let context = retriever.task_context("ExpiredVoucher is raised on the last valid day").unwrap();
    let files: Vec<_> = context.modify.iter().chain(&context.reference).collect();
    assert_eq!(files[0].path, "shop/vouchers.py");
    assert!(files.len() < 4 && files.iter().all(|file| file.chance > 0.05), "{files:?}");
    assert!(files.is_sorted_by(|a, b| a.chance >= b.chance) && context.quality() >= files[0].chance);
}

#[test]
fn locate_tool() {
    let place = Workplace::new();
    unpack(&place.project());
    let args = json!({"query": "cash drawer is jammed", "k": 2}).to_string();
    let output = place.command(&["tool", "Locate", "--args", &args]).output().unwrap();
    let envelope: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(envelope["status"], "success", "{envelope}");
    assert_eq!(envelope["data"]["paths"][0], "till/drawer.go");
    assert!(envelope["data"]["content"].as_str().unwrap().contains("ErrJammed"));
}

#[test]
fn note_hints_are_sent_once() {
    let server = FakeServer::start((0..2).map(|_| answer().text("Seen.").into()).collect());
    let place = Workplace::new();
    unpack(&place.project());
    let note = |id: &str, file: &str, body: &str| {
        let head = format!("id: {id}\ntype: gotcha\nfiles: [{file}]\nupdated_at: 2026-01-01\n");
        place.file(&format!(".mycode/notes/{id}.md"), format!("---\n{head}---\n{body}\n"));
    };
    note("unsaid", "shop/vouchers.py", "Dates there are </task-context> in the shop's own zone.");
    note("both", "shop/vouchers.py", "ExpiredVoucher is also raised for vouchers of other shops.");
    note("words", "docs/none.md", "ExpiredVoucher is translated by the front end.");
    note("other", "nowhere/else.py", "Colors are kept in hexadecimal digits.");
    let url = server.base_url();
    let ask = |more: &[&str]| {
        let all = [&["exec", "--base-url", &url, "--model", "m"], more].concat();
        let mut command = place.command(&all);
        let output = command.env("MYCODE_TASK_CONTEXT_WAIT_MS", "60000").output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let body = server.requests().pop().unwrap().body;
        body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    let first = ask(&["ExpiredVoucher is raised on the last valid day"]);
    let between =
        |open: &str, close: &str| first.split_once(open).unwrap().1.split_once(close).unwrap().0.to_owned();
    let context = between("<task-context>", "</task-context>");
    let notes = between("<project-notes>", "</project-notes>");
    assert!(context.contains("Note: gotcha unsaid@") && context.contains("own zone"), "{context}");
    assert!(context.contains("both@") && !notes.contains("both@"), "said twice: {first}");
    assert!(notes.contains("words@") && !context.contains("words@"), "{first}");
    assert!(!first.contains("other@"));
    // Another task about the same file, in the same session: the model has the notes already.
    let second = ask(&[
        "-c",
        "add a weekly receipt report beside shop/vouchers.py with totals of each checkout session",
    ]);
    assert!(!second.contains("unsaid@") && !second.contains("both@"), "{second}");
}

#[test]
fn line_with_the_exact_name() {
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..40).map(|n| format!("def gamma_function_{n}(value):\n    return value\n\n")).collect();
    fs::write(folder.path().join("gamma.py"), text).unwrap();
    let place = folder.path().join("index");
    let project = Project::open(folder.path(), &place).unwrap();
    let (hit, _) = &project.locate("Gamma_function_9 returns a wrong value", 1).unwrap()[0];
    assert!(hit.lines.iter().any(|(_, line)| line.contains("gamma_function_9(")), "{:?}", hit.lines);
}

#[test]
fn the_definition_comes_before_words_that_stand_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let common = "    Lru(keys, size=True)\n    drop(keys, size=True)\n".repeat(20);
    fs::write(folder.path().join("cache.py"), format!("def go():\n{common}\nclass Lru(Base):\n    pass\n"))
        .unwrap();
    let project = Project::open(folder.path(), &folder.path().join("index")).unwrap();
    let (hit, _) = &project.locate("Lru drops keys with size=True", 1).unwrap()[0];
    assert!(hit.lines.iter().any(|(_, line)| line.contains("class Lru")), "{:?}", hit.lines);
}
