//! The verdict over one call: from what it touches, the permission level and the person's rules. Pure.

use std::path::Path;

use super::access::Access;
use super::command;
use super::rules::Rules;
use crate::config::settings::Permission;

/// What happens with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// The person decides.
    Ask {
        reason: String,
    },
    Deny {
        reason: String,
    },
}

/// What the verdict needs to know beside the accesses.
pub struct Judge<'a> {
    pub permission: Permission,
    pub rules: &'a Rules,
    pub workspace: &'a Path,
    /// Folders outside the workspace that may be read without a question (spilled outputs).
    pub readable: &'a [&'a Path],
}

/// Folders and files inside the workspace that steer programs rather than being worked on: changing them asks even
/// where other changes don't.
const STEERING: &[&str] = &[".git", ".mycode"];

impl Judge<'_> {
    /// The strictest verdict over all accesses.
    pub fn decide(&self, accesses: &[Access]) -> Verdict {
        let mut verdict = Verdict::Allow;
        for access in accesses {
            match (self.one(access), &verdict) {
                (deny @ Verdict::Deny { .. }, _) => return deny,
                (ask @ Verdict::Ask { .. }, Verdict::Allow) => verdict = ask,
                _ => {}
            }
        }
        verdict
    }

    fn one(&self, access: &Access) -> Verdict {
        if self.permission == Permission::Full {
            return Verdict::Allow;
        }
        match access {
            Access::Read(path) => {
                let free = path.starts_with(self.workspace)
                    || self.readable.iter().any(|folder| path.starts_with(folder))
                    || self.rules.read_allowed(path);
                if free {
                    Verdict::Allow
                } else {
                    ask(format!("it reads {} outside the workspace", path.display()))
                }
            }
            Access::Write(path) => {
                if self.permission == Permission::ReadOnly {
                    return deny("the permission is read-only: nothing may be changed");
                }
                let Ok(inside) = path.strip_prefix(self.workspace) else {
                    return ask(format!("it changes {} outside the workspace", path.display()));
                };
                let steers = inside
                    .components()
                    .next()
                    .is_some_and(|first| STEERING.iter().any(|name| first.as_os_str() == *name));
                if steers {
                    return ask(format!("it changes {}, which steers other programs", inside.display()));
                }
                if self.permission == Permission::Auto || self.rules.writes_allowed() {
                    Verdict::Allow
                } else {
                    ask("it changes a file".to_owned())
                }
            }
            Access::Exec { command: text, cwd } => {
                if command::only_looks(text) && cwd.starts_with(self.workspace)
                    || self.rules.command_allowed(text)
                {
                    return Verdict::Allow;
                }
                match self.permission {
                    Permission::ReadOnly => deny(
                        "the permission is read-only: only commands that certainly just look around may run",
                    ),
                    Permission::Auto if !escapes(text) => Verdict::Allow,
                    Permission::Auto => ask("the command can reach beyond the workspace".to_owned()),
                    _ => ask("it runs a command".to_owned()),
                }
            }
        }
    }
}

/// A first cut: words which say that a command means to leave the workspace or the machine. The sandbox will make this
/// a fact instead of a guess.
fn escapes(command: &str) -> bool {
    const WORDS: &[&str] =
        &["sudo", "doas", "su", "shutdown", "reboot", "mkfs", "dd", "ssh", "scp", "crontab", "systemctl"];
    let word = |text: &str| WORDS.contains(&text);
    let mut words =
        command.split(|c: char| c.is_whitespace() || ";&|()`$\"'".contains(c)).filter(|w| !w.is_empty());
    let pushes =
        command.contains("git push") || command.contains("npm publish") || command.contains("cargo publish");
    let home = [" ~", " /etc", " /usr", " /root", " /home", " $HOME", "rm -rf /"]
        .iter()
        .any(|place| command.contains(place))
        && ["rm ", "mv ", "cp ", "tee ", ">", "ln ", "chmod ", "chown "]
            .iter()
            .any(|verb| command.contains(verb));
    pushes || home || words.any(word)
}

fn ask(reason: String) -> Verdict {
    Verdict::Ask { reason }
}

fn deny(reason: &str) -> Verdict {
    Verdict::Deny { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(permission: Permission, access: Access) -> Verdict {
        let judge = Judge {
            permission,
            rules: &Rules::default(),
            workspace: Path::new("/w"),
            readable: &[Path::new("/spill")],
        };
        judge.decide(&[access])
    }

    fn exec(command: &str) -> Access {
        Access::Exec { command: command.to_owned(), cwd: "/w".into() }
    }

    #[test]
    fn levels() {
        use Permission::{Ask, Auto, Full, ReadOnly};
        let allowed = |permission, access| decide(permission, access) == Verdict::Allow;
        assert!(allowed(ReadOnly, Access::Read("/w/a".into())));
        assert!(allowed(ReadOnly, Access::Read("/spill/1".into())));
        assert!(matches!(decide(Auto, Access::Read("/etc/passwd".into())), Verdict::Ask { .. }));
        assert!(matches!(decide(ReadOnly, Access::Write("/w/a".into())), Verdict::Deny { .. }));
        assert!(matches!(decide(Ask, Access::Write("/w/a".into())), Verdict::Ask { .. }));
        assert!(allowed(Auto, Access::Write("/w/a".into())));
        assert!(matches!(decide(Auto, Access::Write("/w/.git/hooks/x".into())), Verdict::Ask { .. }));
        assert!(matches!(decide(Auto, Access::Write("/wx/a".into())), Verdict::Ask { .. }));
        assert!(allowed(ReadOnly, exec("git status")));
        assert!(matches!(decide(ReadOnly, exec("make")), Verdict::Deny { .. }));
        assert!(matches!(decide(Ask, exec("make")), Verdict::Ask { .. }));
        assert!(allowed(Auto, exec("make && pytest -q")));
        assert!(matches!(decide(Auto, exec("sudo make install")), Verdict::Ask { .. }));
        assert!(allowed(Full, exec("sudo make install")));
    }
}
