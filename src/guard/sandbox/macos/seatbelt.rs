//! The same specification as a `sandbox-exec` profile for macOS. Only text, so it can be tested on any system. In
//! Seatbelt, the last matching rule wins.

use std::fmt::Write;
use std::path::Path;

use crate::sandbox::protected_paths::IN_GIT;
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
        for names in [RULES, ENDINGS] {
            let _ = writeln!(text, "(deny file-write* (regex #\"^{}/{names}$\"))", pattern(folder));
        }
    }
    for RawPath(path) in &spec.opened {
        let _ = writeln!(text, "(allow file-write* (literal {}))", quoted(path));
    }
    text.push_str(if spec.network {
        "(allow network*)\n(allow system-socket)\n"
    } else {
        "(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n(deny network-outbound (literal \"/private/var/run/docker.sock\"))\n"
    });
    text
}

/// Files that configure an editor, by suffix.
const ENDINGS: &str = "[^/]*\\\\.code-workspace";

const RULES: &str = "([Cc][Oo][Dd][Ee]_[Ll][Aa][Ww]|[Aa][Gg][Ee][Nn][Tt][Ss]|[Cc][Ll][Aa][Uu][Dd][Ee]|[Gg][Ee][Mm][Ii][Nn][Ii])(\\\\.[A-Za-z]+)?\\\\.[Mm][Dd]";

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

/// A regular expression that matches only this path.
fn pattern(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        match c {
            '"' => text.push_str("\\\""),
            c if c.is_alphanumeric() || "/_-".contains(c) => text.push(c),
            c => {
                let _ = write!(text, "[{c}]");
            }
        }
    }
    text
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
        place(&text, "(allow network* (local ip \"localhost:*\")");
        assert!(!text.contains("(allow network*)\n"));
        assert_eq!(text.matches('(').count() - text.matches("\\(").count(), text.matches(')').count());
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
    }
}
