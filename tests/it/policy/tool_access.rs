//! What tools may read and write, in the workspace and elsewhere: for reading, tools and commands have one rule.

use std::fs;
use std::path::{Path, PathBuf};

use base::config::settings::Permission::{Ask, Auto, Full, ReadOnly};
use guard::policy::access::Access;
use guard::policy::command::AssessedAccess;
use guard::policy::rules::Rules;
use guard::policy::session_grant::SessionGrant;
use guard::policy::verdict::Verdict;

use super::ground::Ground;

#[test]
fn a_folder_outside_gives_no_rights() {
    let ground = Ground::new();
    let judge = |permission, text: &str| {
        let access = Access::Exec { command: text.to_owned(), cwd: Path::new("/home/u/.ssh").into() };
        ground.judge(permission, &[], &access)
    };
    assert!(matches!(judge(ReadOnly, "cat id_rsa"), Verdict::Deny { .. }));
    assert!(matches!(judge(Auto, "cat id_rsa"), Verdict::Ask { .. }));
    assert!(matches!(judge(Auto, "touch x"), Verdict::Ask { .. }));
}

#[test]
fn tools_stay_in_the_workspace() {
    let ground = Ground::new();
    let readable = [PathBuf::from("/spill")];
    let judge = |permission, access| ground.judge(permission, &readable, &access);
    let inside = |name: &str| ground.workspace.join(name);
    assert_eq!(judge(ReadOnly, Access::Read(inside("a"))), Verdict::Allow);
    assert_eq!(judge(ReadOnly, Access::Read("/spill/1".into())), Verdict::Allow);
    assert_eq!(judge(ReadOnly, Access::Read("/etc/passwd".into())), Verdict::Allow);
    assert!(matches!(judge(Auto, Access::Read("/home/u/notes.txt".into())), Verdict::Ask { .. }));
    assert!(matches!(judge(Auto, Access::Read("/etc/shadow".into())), Verdict::Ask { .. }));
    assert!(matches!(judge(ReadOnly, Access::Write(inside("a"))), Verdict::Deny { .. }));
    assert!(matches!(judge(Ask, Access::Write(inside("a"))), Verdict::Ask { .. }));
    assert_eq!(judge(Auto, Access::Write(inside("a"))), Verdict::Allow);
    assert!(matches!(judge(Auto, Access::Write(inside(".git/hooks/x"))), Verdict::Ask { .. }));
    assert!(matches!(judge(Auto, Access::Write("/elsewhere/a".into())), Verdict::Ask { .. }));
}

/// A tool and a command have one rule: the rest of a home asks, once a folder.
#[test]
fn reading_elsewhere_in_a_home_asks_once() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = dir.path().canonicalize().unwrap();
    // A repository of its own: the test may lie in one.
    for file in [
        "w/.git/HEAD",
        "w/Cargo.toml",
        "other/o.txt",
        "other/p.txt",
        "shared/Cargo.toml",
        "notes/n.txt",
        ".cargo/registry/a",
        ".bashrc",
    ] {
        fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        fs::write(home.join(file), "").unwrap();
    }
    let manifest = "[dependencies]\nshared = { path = \"../shared\" }\nnotes = { path = \"../notes\" }\n";
    fs::write(home.join("w/Cargo.toml"), manifest).unwrap();
    let ground = Ground::at(dir, home.join("w"), home.clone());
    let mut rules = Rules::default();
    for permission in [ReadOnly, Ask, Auto] {
        for (path, free) in [
            ("Cargo.toml", true),
            ("../shared/Cargo.toml", true),
            ("../.cargo/registry/a", true),
            ("/etc/hostname", true),
            ("../other/o.txt", false),
            ("../.bashrc", false),
            ("../notes/n.txt", false),
        ] {
            let by_command = ground.allows(permission, true, &format!("cat {path} | head -3"));
            let access = Access::Read(base::path::follow(&ground.workspace.join(path)));
            let by_tool = ground.judge(permission, &[], &access);
            // Others' temporary files are closed to tools, wherever they are.
            let tool_may = free && !(path.contains(".cargo") && home.starts_with("/tmp"));
            assert_eq!((by_command, by_tool == Verdict::Allow), (free, tool_may), "{permission:?} {path}");
        }
    }
    let access = Access::Exec { command: "cat ../other/o.txt".to_owned(), cwd: ground.workspace.clone() };
    for grant in SessionGrant::all(&[AssessedAccess::new(&access, &ground.scope)], &ground.scope) {
        assert_eq!(grant, SessionGrant::ReadFolder(home.join("other")));
        rules.grant(grant);
    }
    assert_eq!(ground.decide(Auto, true, &rules, "tail ../other/p.txt"), Verdict::Allow);
    assert!(matches!(ground.decide(Auto, true, &rules, "cat ../notes/n.txt"), Verdict::Ask { .. }));
    assert_eq!(ground.decide(Full, false, &rules, "cat ../notes/n.txt"), Verdict::Allow);
}
