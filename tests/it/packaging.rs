//! What comes with the program: completions, manual pages, and how it is updated.

use crate::support::workplace::{Workplace, stderr, stdout};

#[test]
fn shells_complete_commands_and_values() {
    let place = Workplace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&place.command(&["completions", shell]).output().unwrap());
        for word in ["maintain", "update", "permission", "read-only", "scripted", "analyze"] {
            assert!(script.contains(word), "{shell} doesn't know {word}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Workplace::new();
    let man = |args: &[&str]| place.command(&[&["man"], args].concat()).output().unwrap();
    let whole = stdout(&man(&[]));
    assert!(whole.contains(".TH mycode 1") && whole.contains("accounts for every token"), "{whole}");
    let list = stdout(&man(&["--list"]));
    assert!(list.lines().count() >= 20, "{list}");
    for command in list.lines() {
        let page = stdout(&man(&[command]));
        assert!(page.contains(&format!(".TH mycode-{command} 1")), "{page}");
        assert!(whole.contains(&format!("mycode\\-{command}(1)")), "{command} is not in the list");
    }
    assert!(stderr(&man(&["exek"])).contains("did you mean `mycode man exec`?"));
}

#[test]
fn a_copy_knows_how_it_is_updated() {
    let place = Workplace::new();
    let copy = place.home().join("mycode-copy");
    std::fs::copy(env!("CARGO_BIN_EXE_mycode"), &copy).unwrap();
    let said = stdout(&std::process::Command::new(&copy).arg("update").output().unwrap());
    assert!(
        said.contains("mycode-copy: a copied program\nDownload the new release")
            && said.contains("SHA256SUMS"),
        "{said}"
    );
}
