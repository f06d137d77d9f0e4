//! The folder of the notes: paths and links that lead out of it, and who may write.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::notes::{ids, new, rows, run, tool};
use crate::support::workplace::{Workplace, stderr, stdout};

#[test]
fn paths_stay_in_the_folder() {
    let place = Workplace::new();
    place.file("secret.md", "outside");
    new(&place, "A note", "", &[]);
    for id in [
        "../../secret",
        "../../../project/secret.md",
        "/etc/passwd",
        "..",
        ".",
        "archive/../../../secret.md",
        "",
    ] {
        for action in ["read", "update", "delete"] {
            let answer = tool(&place, &json!({"action": action, "id": id, "title": "x"}), &[]);
            assert_eq!(answer["status"], "error", "{action} {id}: {answer}");
        }
        assert_eq!(run(&place, &["archive", id]).status.code(), Some(2));
    }
    assert_eq!(place.text("secret.md"), "outside");
    for args in [
        json!({"action": "create", "title": "x", "files": ["../../x"]}),
        json!({"action": "create", "title": "x", "files": ["/etc/passwd"]}),
        json!({"action": "create", "title": "x", "type": "secret"}),
        json!({"action": "create"}),
        json!({"action": "search"}),
        json!({"action": "update", "title": "x"}),
    ] {
        let answer = tool(&place, &args, &[]);
        assert_eq!(answer["error"]["code"], "INVALID_PARAM", "{answer}");
    }
    assert_eq!(run(&place, &["new", "x", "y", "--link", "../../x"]).status.code(), Some(2));
    place.file("large.txt", "x".repeat(300_000));
    let large = fs::File::open(place.project().join("large.txt")).unwrap();
    let refused = place.command(&["notes", "new", "Large", "-"]).stdin(large).output().unwrap();
    assert!(stderr(&refused).contains("more than the limit"), "{}", stderr(&refused));
    let odd = tool(
        &place,
        &json!({"action": "create", "title": "../../../etc/cron.d/x\n---\nid: y", "tags": "a, b"}),
        &[],
    );
    assert!(odd["data"]["path"].as_str().unwrap().starts_with(".mycode/notes/etc-cron-d-x-id-y-"), "{odd}");
    assert_eq!(rows(&place, &["list"]).len(), 2);
}

#[test]
fn linked_notes_folder_is_refused() {
    let place = Workplace::new();
    let outside = place.home().join("private");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("diary.md"), "dear diary").unwrap();
    fs::create_dir(place.project().join(".mycode")).unwrap();
    symlink(&outside, place.project().join(".mycode/notes")).unwrap();
    for args in [vec!["list"], vec!["show", "diary"], vec!["new", "x", "y"], vec!["search", "dear"]] {
        let output = run(&place, &args);
        assert!(!output.status.success());
        assert!(stderr(&output).contains("points outside the project"), "{}", stderr(&output));
        assert!(!stdout(&output).contains("diary"));
    }
    assert_eq!(tool(&place, &json!({"action": "list"}), &[])["error"]["code"], "ACCESS_DENIED");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    fs::remove_file(place.project().join(".mycode/notes")).unwrap();
    place.file(".mycode/notes", "a file");
    assert!(stderr(&run(&place, &["new", "x", "y"])).contains("is not a folder"));
}

#[test]
fn write_permissions() {
    let place = Workplace::new();
    let create = json!({"action": "create", "title": "Found it"});
    assert_eq!(tool(&place, &create, &["--permission", "read-only"])["error"]["code"], "PERMISSION_DENIED");
    assert_eq!(
        tool(&place, &json!({"action": "summary"}), &["--permission", "read-only"])["status"],
        "success"
    );
    assert!(!place.project().join(".mycode").exists(), "looking makes no folder");
    assert_eq!(tool(&place, &create, &["--permission", "ask"])["status"], "success");
    let create = json!({"action": "create", "title": "Found more"});
    assert_eq!(tool(&place, &create, &["--permission", "auto"])["status"], "success");
}

#[test]
fn read_only_folder() {
    let place = Workplace::new();
    place.file(".mycode/notes/a.md", "Rate limits are per tenant.");
    let folder = place.project().join(".mycode/notes");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let writable = fs::write(folder.join("probe"), "").is_ok();
    assert_eq!(ids(&place, &["search", "tenant"]), ["a"]);
    let refused = run(&place, &["new", "x", "y"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    // The superuser may write anywhere.
    if !writable {
        assert!(stderr(&refused).contains("permission denied"), "{}", stderr(&refused));
        assert_eq!(refused.status.code(), Some(1));
    }
}
