//! Everyday commands are not asked for in the level that they belong to, and attacks never pass. The tables are in
//! `tests/fixtures`; a line is `LEVEL<tab>COMMAND` with `\n` for a line end.

use std::fs;
use std::path::Path;

use base::config::settings::Permission::{self, Ask, Auto, Full, ReadOnly};
use guard::policy::command;
use guard::policy::command_prefix::general_prefix;
use guard::policy::flag_rules::FlagRules;
use guard::policy::rules::Rules;
use guard::policy::session_grant::SessionGrant;
use guard::policy::verdict::Verdict;

use super::ground::Ground;

const EVERYDAY: &str = include_str!("../../fixtures/everyday.tsv");
const ATTACKS: &str = include_str!("../../fixtures/attacks.tsv");

fn lines(table: &'static str) -> impl Iterator<Item = (&'static str, String)> {
    table.lines().map(|line| {
        let (level, command) = line.split_once('\t').unwrap();
        // `\\n` stays a backslash before a line end.
        (level, command.replace("\\n", "\n").replace("'%s\n'", "'%s\\n'"))
    })
}

#[test]
fn everyday_commands_run_in_the_level_they_belong_to() {
    let ground = Ground::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (level, command) in lines(EVERYDAY) {
        count += 1;
        let must: &[(Permission, bool)] = match level {
            "read-only" => &[
                (ReadOnly, false),
                (ReadOnly, true),
                (Ask, false),
                (Auto, false),
                (Auto, true),
                (Full, false),
            ],
            "inspect" => &[(ReadOnly, true), (Ask, true), (Auto, false), (Auto, true), (Full, false)],
            "auto" => &[(Auto, false), (Auto, true), (Full, false)],
            "confined" => &[(Auto, true), (Full, false)],
            other => panic!("{other} is no level"),
        };
        for (permission, confined) in must {
            let verdict = ground.decide(*permission, *confined, &Rules::default(), &command);
            if verdict != Verdict::Allow {
                wrong.push(format!(
                    "{} confined={confined}: {command:?}: {}",
                    permission.into_str(),
                    verdict.reason()
                ));
                break;
            }
        }
    }
    assert!(count >= 200);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn nothing_that_changes_runs_in_read_only_and_ask() {
    let ground = Ground::new();
    for (level, command) in lines(EVERYDAY).filter(|(level, _)| *level != "read-only") {
        // What inspects is held by the walls.
        let confined = level != "inspect";
        assert!(!ground.allows(ReadOnly, confined, &command), "{level} {command:?}");
        assert!(!ground.allows(Ask, confined, &command), "{level} {command:?}");
    }
}

#[test]
fn attacks_never_pass() {
    let ground = Ground::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (level, command) in lines(ATTACKS) {
        count += 1;
        let mut never = vec![(ReadOnly, false), (ReadOnly, true), (Ask, false), (Ask, true), (Auto, false)];
        // What is `held` may run where a sandbox holds it.
        if level == "ask" {
            never.push((Auto, true));
        }
        for (permission, confined) in never {
            if ground.allows(permission, confined, &command) {
                wrong.push(format!("{} confined={confined}: {command:?}", permission.into_str()));
                break;
            }
        }
    }
    assert!(count >= 220);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// However an attack is dressed up, it stays one.
#[test]
fn attacks_in_disguise_never_pass() {
    let ground = Ground::new();
    let mut wrong = Vec::new();
    for (level, command) in
        lines(ATTACKS).filter(|(_, command)| !command.contains('\n') && !command.starts_with('('))
    {
        let quoted = command.replace('\'', "'\\''");
        for dressed in [
            format!("( {command} )"),
            format!("{{ {command}\n}}"),
            format!("true && {{ {command}\n}}"),
            format!("if true; then {command}\nfi"),
            format!("echo \"$(\n{command}\n)\""),
            format!("bash -c '{quoted}'"),
            format!("ls; {command}"),
            format!("ls |& cat\n{command}"),
            format!("f() {{ {command}\n}}; f"),
            format!("timeout 5 bash -c '{quoted}'"),
            format!("cat <<E\n$({command})\nE"),
        ] {
            let confined = level == "ask";
            if ground.allows(ReadOnly, false, &dressed) || ground.allows(Auto, confined, &dressed) {
                wrong.push(format!("{level} {dressed:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn links_are_followed() {
    let ground = Ground::new();
    for command in
        ["cat keys/id_rsa", "cat key*/id_rsa", "cp keys/id_rsa x", "grep -r x keys", "tar cf x keys"]
    {
        assert!(!ground.allows(ReadOnly, false, command) && !ground.allows(Auto, true, command), "{command}");
    }
    for command in ["echo x > link/y", "rm -rf link/y", "touch link/x", "cd link && touch x"] {
        assert!(!ground.allows(Auto, true, command), "{command}");
    }
    fs::write(ground.workspace.join("-oevil.txt"), "").unwrap();
    for command in ["sort *.txt", "sort *"] {
        assert!(!ground.allows(ReadOnly, false, command), "{command}");
    }
    assert!(ground.allows(ReadOnly, false, "sort ./*.txt"));
}

#[test]
fn what_is_not_understood_is_asked() {
    let ground = Ground::new();
    for command in ["cat <<EOF\nx", "echo 'a", "ls (a)", "echo $(", "a\0b", "((a) ; b)", "fi", "ls;;"] {
        assert!(
            matches!(ground.decide(Auto, true, &Rules::default(), command), Verdict::Ask { .. }),
            "{command:?}"
        );
        assert!(
            matches!(ground.decide(ReadOnly, true, &Rules::default(), command), Verdict::Deny { .. }),
            "{command:?}"
        );
    }
    let deep = format!("{}ls{}", "( ".repeat(100), ")".repeat(100));
    assert!(!ground.allows(Auto, true, &deep));
    assert!(!ground.allows(Auto, true, &"ls ".repeat(100_000)));
}

#[test]
fn full_asks_nothing_and_still_refuses_the_end_of_everything() {
    let ground = Ground::new();
    for command in ["sudo make install", "git push", "rm -rf ../x", "cat ~/.ssh/id_rsa", "echo 'a"] {
        assert!(ground.allows(Full, false, command), "{command}");
    }
    for command in ["rm -rf /", "rm -rf ~", "mkfs.ext4 /dev/sda1", ":(){ :|:& };:", "dd if=x of=/dev/sda"] {
        assert!(
            matches!(ground.decide(Full, false, &Rules::default(), command), Verdict::Deny { .. }),
            "{command}"
        );
    }
    for command in ["mkfs.ext4 disk.img", "mkfs -t ext4 /tmp/disk.img"] {
        assert!(ground.allows(Full, false, command), "a file is no disk: {command}");
    }
    for command in ["mkfs.ext4 disk.img /dev/sdb", "mkfs.ext4 ../disk.img", "mkfs.ext4 $disk"] {
        assert!(!ground.allows(Full, false, command), "{command}");
    }
}

#[test]
fn builds_and_installs_for_the_project() {
    let ground = Ground::new();
    for command in [
        "make install DESTDIR=out PREFIX=/usr",
        "make PREFIX=/usr DESTDIR=/tmp/x install",
        "PREFIX=/usr DESTDIR=out make install",
        "make PREFIX=/usr",
        "meson setup build --prefix=/usr",
        ".venv/bin/python -m pip install --no-index ./pkg",
        "python -m pip install --no-index ./pkg",
        "url=http://127.0.0.1:$(cat port); curl -s $url/x",
        "url=http://localhost:$PORT && curl \"$url/x\"",
        "for u in http://127.0.0.1:$p/a http://localhost/b; do curl -s $u; done",
        "npm init -y",
    ] {
        assert!(ground.allows(Auto, true, command), "{command}");
    }
    for command in [
        "make install PREFIX=/usr",
        "PREFIX=/usr make install",
        "DESTDIR=/ make install",
        "make install DESTDIR=/ PREFIX=/usr",
        "make install DESTDIR=../x",
        "python -m pip install requests",
        "url=http://$(cat host); curl -s $url/x",
        "url=\"http://127.0.0.1 -o /etc/x http://$h\"; curl -s $url",
        "url=http://127.0.0.1:1; url=http://$h; curl -s $url",
        "npm init vite",
    ] {
        assert!(!ground.allows(Auto, true, command), "{command}");
    }
}

#[test]
fn always_offers_the_general_and_never_the_reckless() {
    let ground = Ground::new();
    let prefix = |text: &str| general_prefix(&command::assess(text, &ground.workspace, &ground.scope));
    for (text, expected) in [
        ("cargo test --lib x", "cargo test"),
        ("cargo test 2>&1 | tail -5", "cargo test"),
        ("cd src && cargo test", "cargo test"),
        ("pytest -q tests/a.py", "pytest"),
        ("python3 -m pytest -q tests", "python3 -m pytest"),
        ("npm run build -- --watch", "npm run build"),
        ("npm install left-pad", "npm install"),
        ("git commit -m x", "git commit"),
        ("git push origin main", "git push"),
        ("docker build .", "docker build"),
        ("make", "make"),
        ("timeout 60 make it", "make it"),
        ("make it", "make it"),
        ("gcc-13 -c a.c", "gcc-13"),
        ("./check.sh all", "./check.sh"),
    ] {
        assert_eq!(prefix(text).as_deref(), Some(expected), "{text}");
    }
    for text in [
        "bash -c 'x'",
        "/bin/bash x",
        "python3.12 x.py",
        "python -c x",
        "python -m app.server",
        "python -m pip install x",
        "env x",
        "sudo x",
        "xargs rm",
        "busybox rm x",
        "setsid x",
        "gawk x",
        "parallel x",
        "watch x",
        "gdb x",
        "rm -rf build",
        "cp a b",
        "mv a b",
        "tee a",
        "ln a b",
        "chmod +x a",
        "tar xf a",
        "rsync a b",
        "touch a",
        "mkdir a",
        "sort -o a b",
        "git",
        "git -C /x push",
        "git config x y",
        "git -c a=b push",
        "npm",
        "npm exec x",
        "npm run",
        "npm run --prefix",
        "docker run x",
        "docker exec x",
        "uv run x",
        "pnpm dlx x",
        "bundle exec x",
        "mvn exec:java",
        "poetry shell",
        "FOO=1 make",
        "make && npm test",
        "cargo test > f",
        "find . -exec x",
        "sed -i s/a/b/ x",
        "cat ~/.ssh/id_rsa",
        "rm -rf /",
        "$X",
        "curl x",
        "ssh x",
        "make -f x",
        "make A=b",
        "make (",
    ] {
        assert_eq!(prefix(text), None, "{text}");
    }
}

#[test]
fn rules_match_the_parsed_words_and_open_nothing_guarded() {
    let ground = Ground::new();
    let dir = tempfile::tempdir().unwrap();
    let mut rules = Rules::new(FlagRules::default(), dir.path());
    for prefix in ["cargo test", "tool", "git push", "make", "rm", "cat"] {
        rules.always(SessionGrant::Prefix(prefix.to_owned())).unwrap();
    }
    let allows = |text: &str| ground.decide(Ask, false, &rules, text) == Verdict::Allow;
    for text in [
        "cargo test --lib && git status",
        "cargo test 2>&1 | tail -5",
        "\"cargo\" 'test'",
        "tool a/b",
        "git push origin main",
        "timeout 60 cargo test",
        "make",
        "cd src && cargo test",
    ] {
        assert!(allows(text), "{text}");
    }
    for text in [
        "cargo test && rm x && touch y",
        "cargo testx",
        "cargo test >f",
        "FOO=1 cargo test",
        "PATH=. cargo test",
        "cargo test $(touch x)",
        "tool ~/.ssh/id_rsa",
        "cat ~/.ssh/id_rsa",
        "rm -rf /",
        "rm -rf .git",
        "rm ../x",
        "echo cargo test; touch x",
        "make deploy",
        "git push && touch x",
        "git 'push x'",
        "X='cargo test'; \"$X\"",
        "cd /etc && cargo test",
        "cd link && cargo test",
        "cd .. && make",
        "cd $X && cargo test",
        "(cd /etc; cargo test)",
    ] {
        assert!(!allows(text), "{text}");
    }
    assert!(matches!(ground.decide(ReadOnly, false, &rules, "cargo test"), Verdict::Deny { .. }));
    assert!(matches!(ground.decide(Ask, false, &rules, "rm -rf /"), Verdict::Deny { .. }));
    let mut session = Rules::default();
    session.grant(SessionGrant::Command("rm -rf build".to_owned()));
    let allows = |text: &str| ground.decide(Ask, false, &session, text) == Verdict::Allow;
    assert!(allows("rm -rf build"));
    assert!(!allows("rm -rf build src") && !allows("rm -rf build && rm -rf build"));
    session.forget_session();
    assert!(!matches!(ground.decide(Ask, false, &session, "rm -rf build"), Verdict::Allow));
}

/// What looks like a question for a version or help, or like an option, and runs code.
#[test]
fn questions_that_run_code_are_no_reading() {
    let ground = Ground::new();
    for command in [
        "make help",
        "make version",
        "bash version",
        "python3 help",
        "echo x | python3 -v",
        "sh +x run.sh",
        "bash -n +n run.sh",
        "find -delete",
        "tar xf a.tar",
        "rake help",
        "./version --version",
        "npx --version x",
    ] {
        assert!(!ground.allows(ReadOnly, true, command), "{command}");
    }
    for command in
        ["make --version", "bash --version", "python3 -V", "node -v", "cargo help", "docker version"]
    {
        assert!(ground.allows(ReadOnly, true, command), "{command}");
    }
}

/// Places in the code that hold `text`, as `file: line`.
fn places(text: &str) -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = walkdir::WalkDir::new(&src).sort_by_file_name().into_iter().flatten();
    let mut found = Vec::new();
    for file in files.filter(|file| file.path().extension().is_some_and(|extension| extension == "rs")) {
        let code = fs::read_to_string(file.path()).unwrap();
        let code = code.split("\n#[cfg(test)]").next().unwrap_or_default();
        let name = file.path().strip_prefix(&src).unwrap().display();
        let lines = code.lines().filter(|line| line.contains(text) && !line.trim_start().starts_with("//"));
        found.extend(lines.map(|line| format!("{name}: {}", line.trim())));
    }
    found
}

/// One tool call parses its command once: the scanner has one caller, that one has two (a tool call's accesses, and
/// `policy check`), and the dispatcher assesses a call in one place.
#[test]
fn a_command_is_parsed_once_per_call() {
    // The condition of a hook is asked before the call is judged, and of no call where there is no hook with one.
    assert_eq!(places("interpreter::calls(").len(), 2, "{:#?}", places("interpreter::calls("));
    let assessing: Vec<String> =
        ["command::assess(", "Some(assess("].iter().flat_map(|text| places(text)).collect();
    // A call's, that of `mycode policy check`, and what a skill wants allowed, which is no call.
    assert_eq!(assessing.len(), 3, "{assessing:#?}");
    assert_eq!(places("AssessedAccess::new(").len(), 1, "{:#?}", places("AssessedAccess::new("));
    let dispatched = places(".assess(&accesses)");
    assert_eq!(dispatched.len(), 1, "{dispatched:#?}");
}
