//! What a rewind leaves to the user: names that were ignored, and permission bits that others set since.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::AtomicBool;

use base::protocol::rewind::PointId;

use super::undo_journal::{Plain, settle};

#[test]
fn an_ignored_name_of_a_known_file_stays() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    fs::write(root.join("a"), "shared").unwrap();
    fs::hard_link(root.join("a"), root.join("keep.log")).unwrap();
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    settle(&root);
    let point = plain.turn(|root| fs::remove_file(root.join(".gitignore")).unwrap());
    plain.go(point, false);
    assert_eq!(fs::read_to_string(root.join("keep.log")).unwrap(), "shared");
}

#[test]
fn a_users_permission_bits_are_a_conflict() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let set = |name: &str, mode| {
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    };
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().mode() & 0o777;
    fs::write(root.join("a"), "text").unwrap();
    fs::write(root.join("b"), "text").unwrap();
    fs::hard_link(root.join("b"), root.join("name of b")).unwrap();
    set("a", 0o644);
    set("b", 0o644);
    let point = plain.turn(|_| {
        set("a", 0o600);
        set("b", 0o600);
    });
    set("a", 0o400);
    set("name of b", 0o400);
    let done = plain.go(point, false);
    assert_eq!((mode("a"), mode("b"), done.left.len()), (0o400, 0o400, 3), "{done:?}");
    plain.go(point, true);
    assert_eq!((mode("a"), mode("b")), (0o644, 0o644));
}

#[test]
fn a_made_file_that_the_user_made_executable_stays() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let set = |name: &str, mode| {
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    };
    let point = plain.turn(|root| {
        fs::write(root.join("by command"), "text").unwrap();
        fs::write(root.join("untouched"), "text").unwrap();
    });
    for (name, mode) in [("by tool", 0o644), ("private", 0o600)] {
        plain.journal.before_write("Write", &root.join(name), &[], None, Some(b"text"));
        fs::write(root.join(name), "text").unwrap();
        set(name, mode);
        plain.journal.after_created("Write", &root.join(name));
    }
    set("by command", 0o755);
    set("by tool", 0o600);
    let done = plain.go(point, false);
    assert_eq!(done.left.len(), 2, "{done:?}");
    let there = ["by command", "by tool", "untouched", "private"].map(|name| root.join(name).exists());
    assert_eq!(there, [true, true, false, false]);
    plain.go(point, true);
    assert!(!root.join("by tool").exists() && !root.join("by command").exists());
}

#[test]
fn the_other_name_of_a_file_keeps_its_permission_bits() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let set = |name: &str, mode| {
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    };
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().mode() & 0o777;
    for (name, text) in [("a", "text"), ("b", "old"), ("mine", "text"), ("locked", "new")] {
        fs::write(root.join(name), text).unwrap();
        set(name, 0o644);
    }
    let point = plain.turn(|root| {
        set("a", 0o755);
        fs::write(root.join("b"), "new").unwrap();
    });
    // The user puts files in their places that look the same and have another name.
    for (name, other, bits) in [("a", "mine", 0o755), ("b", "locked", 0o444)] {
        set(other, bits);
        fs::remove_file(root.join(name)).unwrap();
        fs::hard_link(root.join(other), root.join(name)).unwrap();
    }
    plain.go(point, false);
    assert_eq!((mode("a"), fs::read_to_string(root.join("b")).unwrap()), (0o644, "old".into()));
    assert_eq!((mode("mine"), mode("locked")), (0o755, 0o444));
}

#[test]
fn a_folder_that_comes_back_with_its_content_goes_with_it() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/a"), "text").unwrap();
    let point = plain.turn(|root| {
        fs::remove_dir_all(root.join("dir")).unwrap();
        symlink("elsewhere", root.join("dir")).unwrap();
    });
    // A command that is cut off takes the link away.
    plain.journal.before_command("rm", &AtomicBool::new(false));
    fs::remove_file(root.join("dir")).unwrap();
    plain.journal.open("s");
    plain.go(point, false);
    assert!(root.join("dir/a").exists());
    plain.go(PointId::Rewind(1), false);
    assert!(!root.join("dir").exists());
}
