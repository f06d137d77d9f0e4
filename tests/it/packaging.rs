//! What comes with the program: completions, manual pages, and how it is updated.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

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
    // By another process: a fork of this one could hold the file open for writing, and then it can't be started.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_mycode")).arg(&copy).status();
    assert!(copied.unwrap().success());
    let said = stdout(&std::process::Command::new(&copy).arg("update").output().unwrap());
    assert!(
        said.contains("mycode-copy: installed by hand\nDownload the new release")
            && said.contains("SHA256SUMS"),
        "{said}"
    );
}

const ARCHIVE: &str = "mycode-0.1.0-x86_64-unknown-linux-musl";

/// What `.ci/publish` makes of a checkout with one archive.
fn publish(place: &Workplace) {
    let (root, here) = (place.project(), Path::new(env!("CARGO_MANIFEST_DIR")));
    place.file(&format!("dist/{ARCHIVE}.tar.gz"), "");
    place.file("dist/SHA256SUMS", format!("0123abc  {ARCHIVE}.tar.gz\n"));
    fs::create_dir_all(root.join(".ci")).unwrap();
    for file in [".ci/publish", "Cargo.toml"] {
        fs::copy(here.join(file), root.join(file)).unwrap();
    }
    for _ in 0..2 {
        let url = "https://example.org/us/mycode/releases/download/v0.1.0";
        let ran = Command::new("bash").arg(root.join(".ci/publish")).arg(url).output().unwrap();
        assert!(ran.status.success(), "{}", stderr(&ran));
    }
}

#[test]
fn what_depends_on_the_address_is_written_once() {
    let place = Workplace::new();
    publish(&place);
    let manifest = place.text("Cargo.toml");
    let line = "\nrepository = \"https://example.org/us/mycode\"\n";
    assert_eq!(manifest.matches(line).count(), 1, "{manifest}");
    let address =
        "pkg-url = \"{ repo }/releases/download/v{ version }/{ name }-{ version }-{ target }.tar.gz\"\n";
    assert!(manifest.contains(address), "{manifest}");
    let formula = place.text("dist/mycode.rb");
    let home = "homepage \"https://example.org/us/mycode\"";
    assert!(formula.contains(home) && formula.contains("sha256 \"0123abc\""), "{formula}");
}

#[test]
fn the_npm_package_passes_on_signals_and_exit_codes() {
    let is_here = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    if !is_here || Command::new("node").arg("--version").output().is_err() {
        return eprintln!("skipped: it needs node, and Linux on x86_64");
    }
    let place = Workplace::new();
    publish(&place);
    let program = format!("cache/mycode-npm/{ARCHIVE}/mycode");
    place.file(
        &program,
        "#!/bin/sh\n[ $# = 0 ] || exit $1\ntrap 'echo caught; exit 42' INT TERM\necho ready\n\
         for n in $(seq 400); do sleep 0.05; done\n",
    );
    fs::set_permissions(place.project().join(&program), fs::Permissions::from_mode(0o700)).unwrap();
    let command = || {
        let mut command = Command::new("node");
        command.arg(place.project().join("dist/npm/mycode.js"));
        command.env("XDG_CACHE_HOME", place.project().join("cache"));
        command
    };
    for code in [0, 8] {
        assert_eq!(command().arg(code.to_string()).status().unwrap().code(), Some(code));
    }
    // A terminal sends Ctrl-C to the whole group; who ends a process names that one.
    for signal in [Signal::INT, Signal::TERM] {
        let mut child = command().process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let id = Pid::from_child(&child);
        let sent =
            if signal == Signal::INT { kill_process_group(id, signal) } else { kill_process(id, signal) };
        sent.unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "caught");
        assert_eq!(child.wait().unwrap().code(), Some(42), "{signal:?}");
    }
}
