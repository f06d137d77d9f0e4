//! The verdict over one call: from what it touches, the permission level and the person's rules. Changes
//! nothing, but follows links on the disk where a command names files.

use std::path::Path;

use super::access::Access;
use super::command;
use super::place::{self, Place};
use super::reach;
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
                if place::steers(inside) {
                    return ask(format!("it changes {}, which steers other programs", inside.display()));
                }
                if self.permission == Permission::Auto || self.rules.writes_allowed() {
                    Verdict::Allow
                } else {
                    ask("it changes a file".to_owned())
                }
            }
            Access::WriteOwn(path) => match self.permission {
                Permission::ReadOnly => deny("the permission is read-only: nothing may be changed"),
                _ if path.starts_with(self.workspace) => Verdict::Allow,
                _ => ask(format!("it changes {} outside the workspace", path.display())),
            },
            Access::Exec { command: text, cwd } => self.exec(text, cwd),
            Access::Network if self.permission == Permission::ReadOnly => {
                deny("the permission is read-only: commands don't reach the network")
            }
            Access::Network => ask("it reaches the network".to_owned()),
        }
    }

    fn exec(&self, text: &str, cwd: &Path) -> Verdict {
        const LOOK_ONLY: &str = "the permission is read-only: only commands that certainly just look around in the workspace may run";
        let place = Place::new(self.workspace, self.readable, cwd);
        let read_only = self.permission == Permission::ReadOnly;
        // From elsewhere even harmless words name other people's files, so this comes before everything else.
        if !place.starts_inside() {
            return match read_only {
                true => deny(LOOK_ONLY),
                false => ask(format!("it starts in {}, outside the workspace", cwd.display())),
            };
        }
        if command::only_looks(text, &place) {
            return Verdict::Allow;
        }
        // No rule is stronger than read-only: nothing may change.
        if read_only {
            return deny(LOOK_ONLY);
        }
        if self.rules.command_allowed(text, &place) {
            return Verdict::Allow;
        }
        match self.permission {
            Permission::Auto => reach::beyond(text, &place).map_or(Verdict::Allow, ask),
            _ => ask("it runs a command".to_owned()),
        }
    }
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
        let notes = || Access::WriteOwn("/w/.mycode/notes".into());
        assert!(allowed(Ask, notes()) && allowed(Auto, notes()));
        assert!(matches!(decide(ReadOnly, notes()), Verdict::Deny { .. }));
        assert!(matches!(decide(Auto, Access::WriteOwn("/x".into())), Verdict::Ask { .. }));
        assert!(allowed(ReadOnly, exec("git status")));
        assert!(matches!(decide(ReadOnly, exec("make")), Verdict::Deny { .. }));
        assert!(matches!(decide(Ask, exec("make")), Verdict::Ask { .. }));
        assert!(allowed(Auto, exec("make && pytest -q")));
        assert!(matches!(decide(Auto, exec("sudo make install")), Verdict::Ask { .. }));
        assert!(allowed(Full, exec("sudo make install")));
    }

    #[test]
    fn a_folder_outside_is_never_free() {
        use Permission::{Ask, Auto, Full, ReadOnly};
        let there = |command: &str| Access::Exec { command: command.to_owned(), cwd: "/home/u/other".into() };
        for command in ["cat shadow", "ls", "rm -rf ."] {
            assert!(matches!(decide(ReadOnly, there(command)), Verdict::Deny { .. }), "{command}");
            assert!(matches!(decide(Ask, there(command)), Verdict::Ask { .. }), "{command}");
            assert!(matches!(decide(Auto, there(command)), Verdict::Ask { .. }), "{command}");
            assert_eq!(decide(Full, there(command)), Verdict::Allow, "{command}");
        }
    }

    #[test]
    fn rules_do_not_lift_read_only() {
        let mut rules = Rules::default();
        rules.for_session_command("cargo test");
        rules.for_session_command("rm -rf build");
        let decide = |permission, command: &str| {
            Judge { permission, rules: &rules, workspace: Path::new("/w"), readable: &[] }
                .decide(&[exec(command)])
        };
        for command in ["cargo test --lib", "rm -rf build"] {
            assert_eq!(decide(Permission::Ask, command), Verdict::Allow, "{command}");
            assert!(matches!(decide(Permission::ReadOnly, command), Verdict::Deny { .. }), "{command}");
        }
        assert!(matches!(decide(Permission::Ask, "rm -rf build src ../other"), Verdict::Ask { .. }));
    }
}
