//! `--deny` rules about files, however they are spelled and whatever would bring the file along.

use serde_json::json;

use super::denials::{KEY, place, run};
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};

/// However the rule or the call spells it, and in whatever folder it is.
#[test]
fn a_rule_holds_for_what_it_means() {
    let read = |path: &str| {
        let shown = format!("python3 -c \"print(open('{path}').read())\"");
        answer().call("Read", json!({"path": path})).call("Bash", json!({"command": shown})).into()
    };
    for (deny, path) in [
        ("Read(linked/**)", "conf/app.ini"),
        ("Read(linked)", "conf/app.ini"),
        ("Read(key)", "conf/app.ini"),
        ("Read(caf\u{e9}/**)", "cafe\u{301}/k"),
        ("Read(cafe\u{301}/k)", "cafe\u{301}/k"),
        ("Read(ROOT/conf/**)", "conf/app.ini"),
        ("Read(k)", "sub/k"),
        ("Read(other.ini)", "../other/d/other.ini"),
        ("Read(**/other.ini)", "../other/d/other.ini"),
    ] {
        let place = place();
        place.file("cafe\u{301}/k", KEY).file("sub/k", KEY).file("k", "no\n");
        place.file("../other/d/other.ini", KEY);
        std::os::unix::fs::symlink("conf", place.project().join("linked")).unwrap();
        std::os::unix::fs::symlink("conf/app.ini", place.project().join("key")).unwrap();
        let deny = deny.replace("ROOT", &place.project().display().to_string());
        let server = FakeServer::start(vec![read(path), answer().text("Done.").into()]);
        let out = place.exec(&server.base_url(), &["--add-dir", "../other", "--deny", &deny, "look"]);
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{}", stderr(&out));
        assert!(!requests[1].raw.contains(KEY), "{deny}: {}", requests[1].raw);
    }
}

/// What the model gets to see of `conf/app.ini` when started in `src`.
fn seen_from_src(place: &Workplace, flags: &[&str]) -> String {
    let server = FakeServer::start(vec![
        answer()
            .call("Read", json!({"path": "../conf/app.ini"}))
            .call("Bash", json!({"command": "python3 -c \"print(open('../conf/ap'+'p.ini').read())\""}))
            .into(),
        answer().text("Done.").into(),
    ]);
    let url = server.base_url();
    let args = [&["exec", "--base-url", &url, "--model", "m"], flags, &["look"]].concat();
    place.command(&args).current_dir(place.project().join("src")).output().unwrap();
    server.requests()[1].raw.clone()
}

#[test]
fn names_apply_in_the_repository_around() {
    let seen = seen_from_src(&place(), &["--deny", "Read(app.ini)"]);
    assert!(!seen.contains(KEY), "{seen}");
}

/// A project's rules hold in its folders, too.
#[test]
fn the_rules_of_the_folder_above_apply() {
    for (file, text) in [
        (".mycode/config.toml", "[permissions]\ndeny = [\"Read(conf/**)\"]\n"),
        (".claude/settings.json", "{\"permissions\": {\"deny\": [\"Read(./conf/**)\"]}}"),
    ] {
        let place = place();
        place.file(file, text);
        let seen = seen_from_src(&place, &[]);
        assert!(!seen.contains(KEY), "{file}: {seen}");
    }
}

#[test]
fn rules_files_and_reviews_bring_no_hidden_files_along() {
    let place = place();
    place.file("CLAUDE.md", "Colors: @conf/app.ini\n").file("src/a.py", "x = 2\n");
    place.file("conf/app.ini", format!("{KEY}\nmore = 1\n"));
    place.file(".mycode/config.toml", "[permissions]\ndeny = [\"Read(conf/**)\"]\n");
    for args in [&["exec", "look"][..], &["exec", "review", "--uncommitted"]] {
        let server = FakeServer::start(vec![answer().text("Fine.").into(), answer().text("Fine.").into()]);
        let url = server.base_url();
        let out = place.command(&[args, &["--base-url", &url, "--model", "m"]].concat()).output().unwrap();
        let requests = server.requests();
        assert!(!requests.is_empty(), "{}", stderr(&out));
        assert!(requests.iter().all(|request| !request.raw.contains("mauve-and-teal")), "{args:?}");
    }
}

/// What isn't there yet must not appear.
#[test]
fn a_forbidden_path_is_not_made() {
    for (deny, path) in [("Edit(later/**)", "later/x"), ("Edit(later.py)", "later.py")] {
        let place = place();
        let command =
            format!("python3 -c \"import os; os.makedirs('later'); open('{path}','w').write('x')\"");
        let seen = run(&place, "auto", deny, &command.replace("later", "la'+'ter"));
        assert!(!place.project().join(path).exists(), "{deny}: {seen}");
    }
}

/// A task's worktree has a copy of the files, and the project's own lie above it.
#[test]
fn in_a_worktree_both_copies_are_held() {
    let place = place();
    let absolute = format!("Read(/{}/conf/**)", place.project().display());
    for deny in ["Read(conf/**)", "Read(app.ini)", &absolute] {
        let mut reads = answer().call("Read", json!({"path": "conf/app.ini"}));
        for file in ["co'+'nf/app.ini", "../../../../co'+'nf/app.ini"] {
            let command =
                format!("python3 -c \"print(open('{file}').read())\"; cat {}", file.replace("'+'", ""));
            reads = reads.call("Bash", json!({"command": command.split(';').next().unwrap()}));
            reads = reads.call("Bash", json!({"command": command.split("; ").nth(1).unwrap()}));
        }
        let server = FakeServer::start(vec![reads.into(), answer().text("Done.").into()]);
        let out = place.exec(&server.base_url(), &["--worktree", "--deny", deny, "look"]);
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{}", stderr(&out));
        assert!(!requests[1].raw.contains(KEY), "{deny}: {}", requests[1].raw);
    }
}

/// A repository has what its files had; of other files it may be shown.
#[test]
fn history_shows_only_other_files() {
    let show = "python3 -c \"import os; os.system('git sh' + 'ow HEAD')\"";
    for level in ["auto", "full"] {
        let seen = run(&place(), level, "Read(conf/**)", show);
        assert!(!seen.contains("mauve") && seen.contains("the user denied it"), "{level}: {seen}");
    }
    let same_tree =
        "GIT_WORK_TREE=. git checkout -q -b q && GIT_DIR=$PWD/.git git stash list && cat src/a.py";
    for command in ["git show HEAD:src/a.py", "git log -p src/a.py", same_tree] {
        let seen = run(&place(), "auto", "Read(conf/**)", command);
        assert!(seen.contains("x = 1") && !seen.contains("denied"), "{command}: {seen}");
    }
}
