//! The same specification as a `sandbox-exec` profile for macOS. Only text, so it can be tested on any system. In
//! Seatbelt, the last matching rule wins; a string may have 1,025 bytes. Services and sockets are those of two profiles in
//! use, read on 2026-11-29: that of Codex 0.171.0, and `@anthropic-ai/sandbox-runtime` 0.0.78.

use std::fmt::Write;
use std::path::Path;

use crate::sandbox::protected_paths::{ENDINGS, IN_GIT, RULES};
use crate::sandbox::spec::{RawPath, SandboxSpec};
use base::process::run::LaunchWrapper;

pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

const BASE: &str = include_str!("profile.sb");

pub fn profile(spec: &SandboxSpec) -> String {
    let mut text = BASE.to_owned();
    let mut rule = |action: &str, kind: &str, path: &Path| {
        let _ = writeln!(text, "({action} ({kind} {}))", quoted(path));
    };
    rule("allow file-write*", "subpath", &spec.private.join("tmp"));
    for RawPath(path) in &spec.writable {
        rule("allow file-write*", "subpath", path);
    }
    for RawPath(git) in &spec.nested {
        // In a worktree or submodule, `.git` is a file.
        if git.is_file() {
            rule("deny file-write*", "literal", git);
        }
        rule("deny file-write-unlink", "literal", git);
        git.parent().iter().for_each(|top| rule("deny file-write-unlink", "literal", top));
        IN_GIT.iter().for_each(|name| rule("deny file-write*", "subpath", &git.join(name)));
    }
    for RawPath(path) in &spec.protected {
        rule("deny file-write*", "subpath", path);
        // Its parent folders must not be moved away.
        let inside = |folder: &&Path| spec.writable.iter().any(|root| folder.starts_with(root));
        for folder in path.ancestors().skip(1).take_while(inside) {
            rule("deny file-write-unlink", "literal", folder);
        }
    }
    for RawPath(path) in spec.hidden_folders.iter().chain(&spec.hidden_files) {
        rule("deny file-read* file-write*", "subpath", path);
    }
    for RawPath(path) in &spec.visible {
        rule("allow file-read*", "subpath", path);
    }
    for RawPath(folder) in &spec.rules_folders {
        let endings = ENDINGS.iter().map(|ending| format!("[^/]*{}", in_any_case(ending)));
        for name in RULES.iter().map(|name| in_any_case(name)).chain(endings) {
            let _ = writeln!(text, "(deny file-write* (regex #\"^{}/{name}$\"))", pattern(folder));
        }
    }
    for RawPath(path) in &spec.opened {
        let _ = writeln!(text, "(allow file-write* (literal {}))", quoted(path));
    }
    text.push_str(if spec.network { NETWORK } else { LOCAL });
    // What listens there would do what the command may not.
    let closed = spec.hidden_folders.iter().chain(&spec.hidden_files).filter(|_| spec.network);
    for RawPath(path) in closed {
        let _ = writeln!(text, "(deny network-outbound (remote unix-socket (subpath {})))", quoted(path));
    }
    let own = spec.writable.iter().map(|RawPath(path)| path.clone()).chain([spec.private.join("tmp")]);
    for path in own.map(|path| quoted(&path)) {
        let _ = writeln!(text, "(allow network-bind (local unix-socket (subpath {path})))");
        let _ = writeln!(text, "(allow network-outbound (remote unix-socket (subpath {path})))");
    }
    text
}

const NETWORK: &str = r#"(allow network*)
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.networkd")
  (global-name "com.apple.ocspd")
  (global-name "com.apple.trustd.agent")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd"))
(deny network-outbound (remote unix-socket (path-regex #"^/private/var/run/docker[.]sock$")))
(deny network-outbound (remote unix-socket (path-regex #"^/private/(tmp|var/run)/com[.]apple[.]launchd[.]")))
"#;

/// Servers of the command itself, as on Linux.
const LOCAL: &str = r#"(allow network-bind (local ip "*:*"))
(allow network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
(allow system-socket (socket-domain AF_UNIX))
"#;

pub fn wrapper(spec: SandboxSpec) -> LaunchWrapper {
    LaunchWrapper {
        program: PROGRAM.into(),
        args: vec!["-p".into(), profile(&spec).into()],
        descriptors: Vec::new(),
        lifeline: None,
        environment: spec.environment,
    }
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

/// A regular expression for this path.
fn pattern(path: &Path) -> String {
    let one = |c: char| match c {
        c if c.is_alphanumeric() || "/_-".contains(c) => c.to_string(),
        // They have a meaning in brackets or in the string.
        '"' | '\\' | '^' | ']' => ".".to_owned(),
        c => format!("[{c}]"),
    };
    path.to_string_lossy().chars().map(one).collect()
}

fn in_any_case(name: &str) -> String {
    let one = |c: char| match c.is_ascii_alphabetic() {
        true => format!("[{}{c}]", c.to_ascii_uppercase()),
        false => pattern(Path::new(&c.to_string())),
    };
    name.chars().map(one).collect()
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use crate::sandbox::spec::SandboxLevel;

    fn sample() -> SandboxSpec {
        SandboxSpec {
            level: SandboxLevel::Workspace,
            cwd: "/w".into(),
            workspace: "/w".into(),
            private: "/private/tmp/p".into(),
            writable: vec!["/w".into()],
            hidden_folders: vec!["/Users/u/.ssh".into()],
            hidden_files: vec!["/Users/u/.netrc".into()],
            protected: vec!["/w/.git/hooks".into(), "/w/we \"said\"".into()],
            nested: vec!["/w/sub/.git".into()],
            rules_folders: vec!["/w".into()],
            ..SandboxSpec::default()
        }
    }

    fn place(text: &str, part: &str) -> usize {
        text.find(part).unwrap_or_else(|| panic!("`{part}` is not in:\n{text}"))
    }

    #[test]
    fn rule_order() {
        let text = profile(&sample());
        let write = place(&text, "(allow file-write* (subpath \"/w\"))");
        assert!(place(&text, "(deny default)") < write);
        assert!(write < place(&text, "(deny file-write* (subpath \"/w/.git/hooks\"))"));
        assert!(write < place(&text, "(deny file-write-unlink (literal \"/w/.git\"))"));
        assert!(write < place(&text, "(deny file-write* (subpath \"/w/sub/.git/config\"))"));
        assert!(place(&text, "(allow file-read*)") < place(&text, "(subpath \"/Users/u/.ssh\")"));
        place(&text, "(deny file-read* file-write* (subpath \"/Users/u/.netrc\"))");
        place(&text, "(subpath \"/w/we \\\"said\\\"\")");
        place(&text, "(allow network-outbound (remote ip \"localhost:*\"))");
        place(&text, "(allow network-bind (local unix-socket (subpath \"/w\")))");
        place(&text, "(deny file-write* (regex #\"^/w/[Qq][Ww][Ee][Nn][.][Mm][Dd]$\"))");
        place(&text, "(regex #\"^/w/[^/]*[.][Cc][Oo][Dd][Ee]-[Ww][Oo][Rr][Kk]");
        assert!(!text.contains("(allow network*)\n"));
        assert_eq!(text.matches('(').count(), text.matches(')').count());
    }

    #[test]
    fn read_only_and_network() {
        let text = profile(&SandboxSpec {
            writable: Vec::new(),
            rules_folders: Vec::new(),
            network: true,
            ..sample()
        });
        assert!(
            !text.contains("(allow file-write* (subpath \"/w\"))") && text.contains("(allow network*)\n")
        );
        place(&text, "(allow file-write* (subpath \"/private/tmp/p/tmp\"))");
        let allowed = place(&text, "(allow network*)\n");
        assert!(
            allowed
                < place(&text, "(deny network-outbound (remote unix-socket (subpath \"/Users/u/.ssh\")))")
        );
    }
}
