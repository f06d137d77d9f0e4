//! The verdict over one call: from what it touches, the permission level, the user's rules, and whether a sandbox will
//! hold the run. Changes nothing, but follows links on the disk where a command names files.

use std::path::{Path, PathBuf};

use super::access::Access;
use super::command::{self, AssessedCall, AssessedCommand};
use super::path_scope::PathScope;
use super::rules::Rules;
use crate::config::settings::Permission;
use crate::policy::programs::assessment::Risk;
use crate::sandbox::protected_paths;

/// What happens with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// The user decides.
    Ask {
        reason: String,
    },
    Deny {
        reason: String,
    },
}

impl Verdict {
    /// `allow`, `ask` or `deny`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask { .. } => "ask",
            Self::Deny { .. } => "deny",
        }
    }

    /// Why; empty for a yes.
    pub fn reason(&self) -> &str {
        match self {
            Self::Allow => "",
            Self::Ask { reason } | Self::Deny { reason } => reason,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask { .. } => 1,
            Self::Deny { .. } => 2,
        }
    }
}

/// What the verdict needs to know beside the accesses.
pub struct VerdictInputs<'a> {
    pub permission: Permission,
    pub rules: &'a Rules,
    pub place: &'a PathScope,
    /// Folders outside the workspace that tools may read without a question (spilled outputs).
    pub readable: &'a [PathBuf],
    /// Whether commands will run in a sandbox that holds the file system and the network.
    pub confined: bool,
}

/// A command's verdict with that of each of its segments.
pub struct CommandVerdict {
    pub verdict: Verdict,
    pub judged: AssessedCommand,
    /// One for each segment.
    pub segments: Vec<Verdict>,
}

impl VerdictInputs<'_> {
    /// The strictest verdict over all accesses.
    pub fn decide(&self, accesses: &[Access]) -> Verdict {
        accesses.iter().map(|access| self.one(access)).fold(Verdict::Allow, stricter)
    }

    fn one(&self, access: &Access) -> Verdict {
        let workspace = self.place.workspace.as_path();
        match access {
            Access::Exec { command, cwd } => self.command(command, cwd).verdict,
            _ if self.permission == Permission::Full => Verdict::Allow,
            Access::Read(path) => {
                let free = path.starts_with(workspace)
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
                let Ok(inside) = path.strip_prefix(workspace) else {
                    return ask(format!("it changes {} outside the workspace", path.display()));
                };
                if inside.starts_with(".git")
                    || inside.starts_with(".mycode")
                    || protected_paths::steers(inside)
                {
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
                _ if path.starts_with(workspace) => Verdict::Allow,
                _ => ask(format!("it changes {} outside the workspace", path.display())),
            },
            Access::Network if self.permission == Permission::ReadOnly => {
                deny("the permission is read-only: commands don't reach the network")
            }
            Access::Network => ask("it reaches the network".to_owned()),
        }
    }

    /// The verdict over a command line that starts in `cwd`.
    pub fn command(&self, text: &str, cwd: &Path) -> CommandVerdict {
        let judged = command::judge(text, cwd, self.place);
        let AssessedCommand::Segments(all) = &judged else {
            let AssessedCommand::Unparsed(why) = &judged else {
                return CommandVerdict { verdict: Verdict::Allow, judged, segments: Vec::new() };
            };
            let verdict = match self.permission {
                Permission::Full => Verdict::Allow,
                Permission::ReadOnly => {
                    deny(&format!("the permission is read-only, and the command is not understood: {why}"))
                }
                _ if self.rules.command_allowed(text, &judged) => Verdict::Allow,
                _ => ask(format!("the command is not understood: {why}")),
            };
            return CommandVerdict { verdict, judged, segments: Vec::new() };
        };
        let segments: Vec<Verdict> = all.iter().map(|segment| self.segment(segment)).collect();
        let mut verdict = segments.iter().cloned().fold(Verdict::Allow, stricter);
        if matches!(verdict, Verdict::Ask { .. }) && self.rules.command_allowed(text, &judged) {
            verdict = Verdict::Allow;
        }
        CommandVerdict { verdict, judged, segments }
    }

    fn segment(&self, segment: &AssessedCall) -> Verdict {
        let finding = &segment.finding;
        let reason = || finding.reason.clone();
        if finding.grade == Risk::Never {
            return deny(&format!("{}; if you really want that, do it yourself", finding.reason));
        }
        match self.permission {
            Permission::Full => Verdict::Allow,
            _ if finding.grade == Risk::Looks => Verdict::Allow,
            // No rule is stronger than read-only: nothing may change.
            Permission::ReadOnly => deny(&format!(
                "the permission is read-only, and `{}` is not known to only look: {}",
                crate::base::text::one_line(&segment.shown(), 80),
                finding.reason
            )),
            _ if self.rules.segment_allowed(segment) => Verdict::Allow,
            Permission::Ask => ask(reason()),
            Permission::Auto => {
                let most = if self.confined { Risk::Unsure } else { Risk::Works };
                if finding.grade <= most { Verdict::Allow } else { ask(reason()) }
            }
        }
    }
}

/// The stricter of two; the earlier of equals.
fn stricter(one: Verdict, other: Verdict) -> Verdict {
    if other.rank() > one.rank() { other } else { one }
}

fn ask(reason: String) -> Verdict {
    Verdict::Ask { reason }
}

fn deny(reason: &str) -> Verdict {
    Verdict::Deny { reason: reason.to_owned() }
}
