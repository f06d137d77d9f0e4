//! What belongs to files that are surely part of a change.

use std::fs;
use std::path::Path;
use std::process::Command;

use evidence::rank::locate::Project;
use serde_json::{Value, json};

use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

/// A small project: a parser with its test, a caller, a list of the commands, and two files that only history joins.
const FILES: [(&str, &str); 12] = [
    ("shop/parser.py", "def parse_order(line):\n    return line.split(';')\n"),
    ("shop/counter.py", "from shop import parser\n\ndef serve(line):\n    return parser.parse_order(line)\n"),
    ("shop/oven.py", "def bake(loaf):\n    return 'hot'\n"),
    ("shop/till.py", "def ring(total):\n    return total\n"),
    ("shop/label.py", "def label(loaf):\n    return 'rye'\n"),
    ("tests/test_parser.py", "def test_splits():\n    assert parse_order('a;b') == ['a', 'b']\n"),
    ("tests/test_oven.py", "def test_heat():\n    assert bake('rye') == 'hot'\n"),
    ("docs/ORDERS.md", "How an order line looks.\n"),
    ("stock/table.csv", "flour;3\n"),
    ("commands.txt", "parser: orders\noven: bread\ntill: money\nlabel: names\n"),
    ("stock/store.py", "def stock():\n    return 3\n"),
    ("stock/weekly.py", "def weekly():\n    return 7\n"),
];

fn git(root: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@bakery.example", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(identity).args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output();
    let output = output.unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn unpack(place: &Workplace) {
    for (path, text) in FILES {
        place.file(path, text);
    }
}

/// The price list changed with the parser three times.
fn with_history(place: &Workplace) {
    unpack(place);
    let root = place.project();
    git(&root, &["init", "-q"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "Everything at once"]);
    for message in ["Orders have notes", "Orders have dates", "Half loaves"] {
        for path in ["shop/parser.py", "stock/table.csv"] {
            let text = fs::read_to_string(root.join(path)).unwrap() + "\n";
            fs::write(root.join(path), text).unwrap();
        }
        git(&root, &["commit", "-q", "-a", "-m", message]);
    }
}

fn locate(place: &Workplace, args: &[&str]) -> Vec<Value> {
    let output = place.command(&[&["locate", "--json"], args].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn place_of(files: &[Value], path: &str) -> usize {
    files.iter().position(|file| file["path"] == path).unwrap_or(usize::MAX)
}

fn reasons(files: &[Value], path: &str) -> String {
    files[place_of(files, path)]["reasons"].to_string()
}

#[test]
fn companions_of_a_file_and_why() {
    let place = Workplace::new();
    with_history(&place);
    let files = locate(&place, &["--with", "shop/parser.py"]);
    for path in ["stock/table.csv", "tests/test_parser.py", "shop/counter.py"] {
        assert!(place_of(&files, path) < 4, "{path}: {files:?}");
    }
    let role = |path: &str| files[place_of(&files, path)]["role"].as_str().unwrap();
    assert_eq!((role("shop/counter.py"), role("tests/test_parser.py")), ("modify", "test"));
    // Tests and documents take no place of a source.
    let few = locate(&place, &["--with", "shop/parser.py", "-k", "2"]);
    let tests =
        few.iter().filter(|file| ["test", "docs", "example"].contains(&file["role"].as_str().unwrap()));
    assert_eq!((few.len(), tests.count()), (3, 1), "{few:?}");
    assert!(reasons(&files, "stock/table.csv").contains("changed with it 3 times"), "{files:?}");
    assert!(reasons(&files, "tests/test_parser.py").contains("tests it"), "{files:?}");
    assert!(reasons(&files, "shop/counter.py").contains("names it"), "{files:?}");
    assert!(reasons(&files, "commands.txt").contains("lists its neighbors"), "{files:?}");
    assert_eq!(place_of(&files, "shop/parser.py"), usize::MAX, "what is given is no answer");
    assert_eq!(place_of(&locate(&place, &["--with", "tests/test_oven.py", "-k", "2"]), "shop/oven.py"), 0);
    // Several at once: none of them is an answer.
    let both = locate(&place, &["--with", "shop/parser.py", "--with", "stock/table.csv"]);
    assert!(place_of(&both, "stock/table.csv") == usize::MAX && place_of(&both, "tests/test_parser.py") < 3);
}

#[test]
fn task_and_files_count_together() {
    let place = Workplace::new();
    with_history(&place);
    let with = ["--with", "shop/parser.py"];
    let before = place_of(&locate(&place, &with), "stock/weekly.py");
    let files = locate(&place, &[&["the weekly numbers are wrong"], &with[..]].concat());
    assert!(place_of(&files, "stock/weekly.py") < before.min(3), "{files:?}");
    assert!(place_of(&files, "stock/table.csv") < 4, "{files:?}");
    // What is explained adds up to the score.
    for file in locate(&place, &["--with", "shop/parser.py", "weekly", "--explain"]) {
        let parts: f64 = file["parts"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
        assert!((parts - file["score"].as_f64().unwrap()).abs() < 0.05, "{file}");
    }
}

#[test]
fn same_answer_each_time_and_without_git() {
    let place = Workplace::new();
    unpack(&place);
    let first = locate(&place, &["--with", "shop/parser.py", "orders"]);
    assert!(place_of(&first, "tests/test_parser.py") < 3, "{first:?}");
    for state in 0..4 {
        let state = place.home().join(format!("state{state}"));
        let project = Project::open(&place.project(), &state).unwrap();
        let (found, unknown) = project.companions(&["shop/parser.py".to_owned()], "orders", 10).unwrap();
        assert!(unknown.is_empty());
        let found: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        let wanted: Vec<&str> = first.iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(found, wanted);
    }
}

#[test]
fn unknown_files_are_named() {
    let place = Workplace::new();
    with_history(&place);
    let output =
        place.command(&["locate", "--with", "shop/praser.py", "--with", "parser.py"]).output().unwrap();
    assert!(
        output.status.success() && stdout(&output).contains("tests/test_parser.py"),
        "{}",
        stdout(&output)
    );
    assert!(stderr(&output).contains("shop/praser.py is not in the index"), "{}", stderr(&output));
    let output = place.command(&["locate", "--with", "shop/praser.py"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(place.command(&["locate"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn tool_takes_files() {
    let place = Workplace::new();
    with_history(&place);
    let ask = |args: Value| -> Value {
        let output = place.command(&["tool", "Locate", "--args", &args.to_string()]).output().unwrap();
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let root = place.project().join("shop/parser.py");
    for path in ["shop/parser.py", "./shop/parser.py", root.to_str().unwrap()] {
        let answer = ask(json!({"with": [path], "k": 3}));
        assert_eq!(answer["status"], "success", "{answer}");
        assert_eq!(
            answer["data"]["paths"].as_array().unwrap().len(),
            5,
            "three sources and half as many others"
        );
        let content = answer["data"]["content"].as_str().unwrap();
        assert!(content.contains("stock/table.csv: changed with it"), "{content}");
        assert!(content.lines().count() <= 12, "a line or two for each: {content}");
        let (sources, beside) = content.split_once("Tests and docs:\n").unwrap();
        assert!(sources.starts_with("Sources:\n") && beside.contains("tests/test_parser.py"), "{content}");
    }
    let alone = ask(json!({"with": "shop/parser.py", "k": 3}));
    assert_eq!(alone["data"]["paths"].as_array().unwrap().len(), 5, "one file, not as a list: {alone}");
    let some = ask(json!({"query": "orders", "with": ["shop/praser.py", "shop/oven.py"]}));
    assert!(some["text"].as_str().unwrap().contains("misspelled): shop/praser.py"), "{some}");
    let none = ask(json!({"with": ["shop/praser.py"]}));
    assert!(none["status"] == "error" && none.to_string().contains("shop/praser.py"), "{none}");
    assert_eq!(ask(json!({}))["status"], "error");
}
