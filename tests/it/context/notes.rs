//! Notes through the real binary: many writers, damage, hands and links that meddle; search, graph, archive.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

const INDEX: &str = ".mycode/notes/notes_index.json";

pub fn run(place: &Workplace, args: &[&str]) -> Output {
    place.command(&[&["notes"], args].concat()).output().unwrap()
}

fn good(place: &Workplace, args: &[&str]) -> String {
    let output = run(place, args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

pub fn rows(place: &Workplace, args: &[&str]) -> Vec<Value> {
    good(place, &[args, &["--json"]].concat())
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub fn ids(place: &Workplace, args: &[&str]) -> Vec<String> {
    rows(place, args).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Makes a note and gives its id.
pub fn new(place: &Workplace, title: &str, content: &str, more: &[&str]) -> String {
    let row = rows(place, &[&["new", title, content], more].concat()).remove(0);
    row["id"].as_str().unwrap().to_owned()
}

pub fn tool(place: &Workplace, args: &Value, more: &[&str]) -> Value {
    let args = args.to_string();
    let output = place.command(&[&["tool", "Note", "--args", &args], more].concat()).output().unwrap();
    serde_json::from_str(stdout(&output).trim()).unwrap()
}

fn index(place: &Workplace) -> Value {
    serde_json::from_str(&place.text(INDEX)).unwrap()
}

/// An index that agrees with itself and with so many notes.
fn assert_whole(place: &Workplace, count: usize) {
    let index = index(place);
    assert_eq!(index["count"], json!(count));
    assert_eq!(index["notes"].as_array().unwrap().len(), count);
}

#[test]
fn concurrent_writers() {
    let place = Workplace::new();
    let writers: Vec<_> = ["a", "b"]
        .iter()
        .map(|name| {
            let calls: String = (0..50)
                .map(|n| format!("{}\n", json!({"tool": "Note", "args": {"action": "create", "title": format!("Same title {}", n % 5), "files": [format!("{name}-{n}.rs")], "content": format!("{name} {n}")}})))
                .collect();
            let mut child = place
                .command(&["tool", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(calls.as_bytes()).unwrap();
            child
        })
        .collect();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(stdout(&output).lines().all(|line| line.contains("\"success\"")));
    }
    assert_whole(&place, 100);
    let rows = rows(&place, &["list"]);
    let unique: BTreeSet<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), unique.len()), (100, 100));
    let names: BTreeSet<String> = fs::read_dir(place.project().join(".mycode/notes"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 103, "notes, index, lock and .gitignore, no temporary file: {names:?}");
}

#[test]
fn a_second_note_of_the_same_kind_asks_to_update() {
    let place = Workplace::new();
    let note = |kind: &str, file: &str| {
        let args =
            json!({"action": "create", "title": "Retries", "content": "x", "type": kind, "files": [file]});
        tool(&place, &args, &[])
    };
    note("gotcha", "a.rs");
    let id = ids(&place, &["list"]).pop().unwrap();
    let again = note("gotcha", "a.rs").to_string();
    assert!(
        again.contains("CONFLICT") && again.contains(&id) && again.contains("update that one"),
        "{again}"
    );
    note("pattern", "a.rs");
    note("gotcha", "b.rs");
    assert_eq!(ids(&place, &["list"]).len(), 3);
}

#[test]
fn damaged_index_is_rebuilt() {
    let place = Workplace::new();
    let first = new(&place, "First", "about caches", &[]);
    let second = new(&place, "Second", "about queues", &[]);
    let both = || ids(&place, &["list"]).into_iter().collect::<BTreeSet<_>>();
    let wanted = BTreeSet::from([first.clone(), second.clone()]);
    let whole = place.text(INDEX);
    let mut wrong = index(&place);
    wrong["notes"].as_array_mut().unwrap().pop();
    let mut old = index(&place);
    old["version"] = json!(0);
    let mut lying = index(&place);
    lying["notes"][0]["facts"]["title"] = json!("Forged");
    let mut alone = index(&place);
    alone["count"] = json!(3);
    for damage in [
        String::new(),
        "{".to_owned(),
        "\0\0\0".to_owned(),
        whole[..whole.len() / 2].to_owned(),
        wrong.to_string(),
        old.to_string(),
        lying.to_string(),
        alone.to_string(),
    ] {
        place.file(INDEX, &damage);
        assert_eq!(both(), wanted, "{damage}");
        assert_whole(&place, 2);
        assert!(!good(&place, &["list"]).contains("Forged"));
    }
    fs::remove_file(place.project().join(INDEX)).unwrap();
    assert_eq!(both(), wanted);
    assert_whole(&place, 2);
    // A folder in its place: the notes are still there, and the user is told.
    fs::remove_file(place.project().join(INDEX)).unwrap();
    fs::create_dir(place.project().join(INDEX)).unwrap();
    assert_eq!(both(), wanted);
    assert!(stderr(&run(&place, &["list"])).contains("can't be written"));
}

#[test]
fn index_link_is_not_followed() {
    let place = Workplace::new();
    place.file("precious.txt", "keep me").file(".mycode/notes/a.md", "text");
    symlink("../../precious.txt", place.project().join(INDEX)).unwrap();
    assert_eq!(ids(&place, &["list"]), ["a"]);
    new(&place, "Another", "", &[]);
    assert_eq!(place.text("precious.txt"), "keep me");
}

#[test]
fn hand_edits_and_deletions() {
    let place = Workplace::new();
    let id = new(&place, "Retry rule", "Retries are capped at 5.", &["--type", "gotcha"]);
    let path = rows(&place, &["list"])[0]["path"].as_str().unwrap().to_owned();
    let text =
        place.text(&path).replace("type: gotcha", "type: pattern\nowner: Ann # ours").replace("at 5", "at 7");
    place.file(&path, text);
    let row = rows(&place, &["list"]).remove(0);
    assert_eq!((row["type"].as_str(), row["id"].as_str()), (Some("pattern"), Some(id.as_str())));
    assert!(good(&place, &["search", "capped at 7"]).contains("at 7"));
    // The program's own change leaves what it doesn't know alone.
    good(&place, &["edit", &id, "--tag", "net,http", "--importance", "5"]);
    let text = place.text(&path);
    for kept in ["owner: Ann # ours\n", "type: pattern\n", "tags: [net, http]\n", "importance: 5\n", "at 7"] {
        assert!(text.contains(kept), "{kept:?} is not in\n{text}");
    }
    fs::remove_file(place.project().join(&path)).unwrap();
    assert!(ids(&place, &["list"]).is_empty());
    assert_whole(&place, 0);
}

#[test]
fn hand_made_files() {
    let place = Workplace::new();
    place
        .file(".mycode/notes/plain.md", "# Deploys\n\nOnly from the release branch.\n")
        .file(".mycode/notes/Crlf Note.md", "---\r\ntitle: Windows\r\ntype: gotcha\r\n---\r\nLine one\r\n")
        .file(".mycode/notes/bom.md", "\u{feff}---\ntitle: Marked\nid: my-bom\n---\nBody\n")
        .file(".mycode/notes/broken.md", "---\ntitle: [unclosed\n---\nStill readable zebra\n")
        .file(".mycode/notes/odd.md", "---\n{title: Odd, id: odd, mood: 7}\n---\nBody\n")
        .file(
            ".mycode/notes/evil.md",
            "---\nid: ../../../etc/passwd\nfiles: [../../x, src/ok.rs]\nlinks: [\"[[plain]]\"]\n---\n",
        )
        .file(".mycode/notes/copy.md", "---\nid: my-bom\n---\ncopy\n")
        .file(".mycode/notes/picture.md", b"\x89PNG\r\n\x1a\n\0\0\0\0")
        .file(".mycode/notes/huge.md", "x".repeat(1024 * 1024 + 1))
        .file(".mycode/notes/readme.txt", "no note");
    symlink("/etc/hostname", place.project().join(".mycode/notes/link.md")).unwrap();
    let output = run(&place, &["list", "--json"]);
    let listed: BTreeSet<String> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| format!("{}={}", row["id"].as_str().unwrap(), row["title"].as_str().unwrap()))
        .collect();
    let wanted = [
        "plain=Deploys",
        "crlf-note=Windows",
        "my-bom=Marked",
        "broken=broken",
        "odd=Odd",
        "evil=evil",
        "copy=copy",
    ];
    assert_eq!(listed, wanted.iter().map(|row| (*row).to_owned()).collect());
    let said = stderr(&output);
    for notice in [
        "picture.md is a PNG image",
        "huge.md has 1.0 MiB",
        "link.md is a link",
        "copy.md has the id my-bom",
        "broken.md: its front matter",
        "is not a valid id",
        "'../../x' is not a file",
    ] {
        assert!(said.contains(notice), "{notice:?} is not in\n{said}");
    }
    // Changes keep line ends, the mark and the rest; what can't be changed safely is refused and stays.
    good(&place, &["edit", "crlf-note", "--type", "outcome", "--content", "New\nbody"]);
    let text = place.text(".mycode/notes/Crlf Note.md");
    assert!(text.starts_with("---\r\ntitle: Windows\r\ntype: outcome\r\nupdated_at: "), "{text:?}");
    assert!(text.ends_with("---\r\n\r\nNew\r\nbody\r\n"), "{text:?}");
    good(&place, &["edit", "my-bom", "--title", "Renamed: now"]);
    assert!(
        place.text(".mycode/notes/bom.md").starts_with("\u{feff}---\ntitle: \"Renamed: now\"\nid: my-bom\n")
    );
    good(&place, &["edit", "broken", "--content", "Changed zebra"]);
    assert_eq!(place.text(".mycode/notes/broken.md"), "---\ntitle: [unclosed\n---\n\nChanged zebra\n");
    for id in ["broken", "odd"] {
        let before = place.text(&format!(".mycode/notes/{id}.md"));
        let refused = run(&place, &["edit", id, "--title", "x"]);
        assert!(stderr(&refused).contains("can't be changed safely"), "{}", stderr(&refused));
        assert_eq!(place.text(&format!(".mycode/notes/{id}.md")), before);
    }
    good(&place, &["edit", "plain", "--type", "reference"]);
    let text = place.text(".mycode/notes/plain.md");
    assert!(
        text.starts_with("---\ntype: reference\n")
            && text.ends_with("# Deploys\n\nOnly from the release branch.\n")
    );
}

#[test]
fn search_terms_and_filters() {
    let place = Workplace::new();
    let pool = new(&place, "数据库连接池", "连接超时是因为池太小。", &["--type", "gotcha", "--tag", "db"]);
    let cache = new(
        &place,
        "Cache keys",
        "`CacheKeyBuilder` must include the tenant.",
        &["--file", "src/cache/key.rs"],
    );
    let deploy = new(&place, "Deploys", "The database is migrated before the deploy.", &["--tag", "db,ops"]);
    assert_eq!(ids(&place, &["search", "超时怎么办"]), [pool.as_str()]);
    assert_eq!(ids(&place, &["search", "key builder tenants"])[0], cache);
    assert_eq!(ids(&place, &["search", "cacheKeyBuilder"])[0], cache);
    assert_eq!(ids(&place, &["search", "src/cache/key.rs"])[0], cache);
    assert_eq!(ids(&place, &["list", "--file", "./src/cache/"]), [cache.as_str()]);
    assert_eq!(ids(&place, &["list", "--tag", "DB", "--tag", "ops"]), [deploy.as_str()]);
    assert_eq!(ids(&place, &["list", "--type", "gotcha"]), [pool.as_str()]);
    assert!(good(&place, &["search", "nonexistent"]).contains("No matching notes"));
    let file = rows(&place, &["list", "--type", "gotcha"])[0]["path"].as_str().unwrap().to_owned();
    assert_eq!(file, format!(".mycode/notes/数据库连接池-{pool}.md"));
}

#[test]
fn importance_and_freshness_break_ties() {
    let place = Workplace::new();
    let note = |title: &str, importance: u8, updated: &str| {
        place.file(
            &format!(".mycode/notes/{title}.md"),
            format!(
                "---\nimportance: {importance}\nupdated_at: {updated}\n---\nThe scheduler skips holidays.\n"
            ),
        );
    };
    note("old", 3, "2019-01-01");
    note("usual", 3, "2026-01-01T10:00:00Z");
    note("vital", 5, "2019-01-01");
    assert_eq!(ids(&place, &["search", "scheduler holidays"]), ["vital", "usual", "old"]);
}

#[test]
fn related_notes() {
    let place = Workplace::new();
    let a = new(&place, "Login flow", "See [[Token store]].", &["--file", "src/auth.rs", "--tag", "auth"]);
    let b = new(&place, "Token store", "Tokens live in redis.", &[]);
    let c = new(&place, "Auth tests", "They need a clock.", &["--file", "src/auth.rs"]);
    let d = new(&place, "Sessions", "Expire after a day.", &["--tag", "auth"]);
    new(&place, "Colors", "Blue.", &["--tag", "ui"]);
    let shown = rows(&place, &["show", &a]).remove(0);
    let near: Vec<(&str, &str)> = shown["related"]
        .as_array()
        .unwrap()
        .iter()
        .map(|near| (near["id"].as_str().unwrap(), near["reasons"][0].as_str().unwrap()))
        .collect();
    assert_eq!(near, [(b.as_str(), "linked"), (c.as_str(), "src/auth.rs"), (d.as_str(), "#auth")]);
    let read = tool(&place, &json!({"action": "read", "id": b}), &[]);
    assert!(read["text"].as_str().unwrap().contains(&format!("related: {a} Login flow (linked)")), "{read}");
    assert!(read["data"]["content"].as_str().unwrap().contains("redis"));
}

#[test]
fn archive_and_restore() {
    let place = Workplace::new();
    let id = new(&place, "Old plan", "Rewrite it all.", &["--type", "action"]);
    let path = rows(&place, &["list"])[0]["path"].as_str().unwrap().to_owned();
    let before = place.text(&path);
    let archived_path = path.replace("notes/", "notes/archive/");
    place.file(&archived_path, "somebody's file");
    let said = good(&place, &["archive", &id]);
    assert!(said.contains("archived: .mycode/notes/archive/") && said.contains("restore"), "{said}");
    assert!(ids(&place, &["list"]).is_empty());
    assert!(ids(&place, &["list", "--archived"]).contains(&id));
    assert!(ids(&place, &["search", "rewrite"]).is_empty());
    assert_eq!(place.text(&archived_path), "somebody's file", "no file is ever replaced");
    assert!(stderr(&run(&place, &["archive", &id])).contains("already archived"));
    good(&place, &["restore", &id]);
    assert_eq!(ids(&place, &["list"]), [id.as_str()]);
    let path = rows(&place, &["list"])[0]["path"].as_str().unwrap().to_owned();
    assert_eq!(place.text(&path), before);
    let deleted = tool(&place, &json!({"action": "delete", "id": id}), &[]);
    assert!(deleted["text"].as_str().unwrap().contains("archived, not deleted"), "{deleted}");
    assert!(place.project().join(deleted["data"]["path"].as_str().unwrap()).exists());
}

#[test]
fn consolidate_proposes_first() {
    let place = Workplace::new();
    place
        .file(
            ".mycode/notes/stale.md",
            "---\ntype: task_state\nupdated_at: 2020-01-01\n---\nHalf done with the parser.\n",
        )
        .file(
            ".mycode/notes/blocked.md",
            "---\ntype: blocker\nupdated_at: 2020-01-01\n---\nNo license for the font.\n",
        )
        .file(".mycode/notes/gone.md", "---\nfiles: [src/gone.rs]\n---\nWorks by luck.\n")
        .file(
            ".mycode/notes/twin-a.md",
            "---\nupdated_at: 2026-01-01\n---\nThe queue worker drops messages over 64 kilobytes.\n",
        )
        .file(
            ".mycode/notes/twin-b.md",
            "---\nupdated_at: 2026-02-01\n---\nThe queue worker drops messages over 64 kilobytes!\n",
        );
    let proposed = rows(&place, &["consolidate"]);
    let who: BTreeSet<&str> = proposed.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(who, BTreeSet::from(["gone", "stale", "twin-a"]), "{proposed:?}");
    assert_eq!(ids(&place, &["list"]).len(), 5, "nothing was changed");
    let said = good(&place, &["forget", "--yes"]);
    assert!(said.contains("3 notes archived") && said.contains("duplicates twin-b"), "{said}");
    assert_eq!(ids(&place, &["list", "--archived"]).len(), 3);
}

#[test]
fn standard_input_and_editor() {
    let place = Workplace::new();
    let mut child = place.command(&["notes", "new", "Piped"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("from a pipe\n".as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let row = rows(&place, &["list"]).remove(0);
    let id = row["id"].as_str().unwrap();
    assert!(place.text(row["path"].as_str().unwrap()).ends_with("---\n\nfrom a pipe\n"));
    place.file("ed.sh", "#!/bin/sh\nsed -i 's/a pipe/an editor/' \"$2\"\n");
    let editor = format!("sh {} --wait", place.project().join("ed.sh").display());
    let output = place.command(&["notes", "edit", id]).env("EDITOR", editor).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(good(&place, &["show", id]).contains("from an editor"));
    let none = run(&place, &["edit", id]);
    assert!(stderr(&none).contains("no editor is set"), "{}", stderr(&none));
    assert!(stderr(&run(&place, &["show", "zzz"])).contains("there is no note 'zzz'"));
}

#[test]
fn secrets_in_notes() {
    let place = Workplace::new();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let id = new(&place, "Staging", &format!("The token is {key}."), &[]);
    let read = tool(&place, &json!({"action": "read", "id": id}), &[]);
    let content = read["data"]["content"].as_str().unwrap();
    assert!(content.contains("<REDACTED:") && !content.contains(&key));
    let update = tool(
        &place,
        &json!({"action": "update", "id": id, "content": "The token is <REDACTED>. Ask Ann."}),
        &[],
    );
    assert!(update["error"]["message"].as_str().unwrap().contains("contains a secret"), "{update}");
    assert!(good(&place, &["show", &id]).contains(&key));
}
