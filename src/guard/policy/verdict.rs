//! The verdict on a tool call, based on its accesses, the permission level, the user's rules, and whether a
//! sandbox will confine it. Changes nothing, but follows links on disk.

use std::path::{Path, PathBuf};

use super::access::Access;
use super::command::{AssessedAccess, AssessedCall, AssessedCommand};
use super::path_scope::PathScope;
use super::rules::Rules;
use super::session_grant::SessionGrant;
use crate::policy::programs::assessment::{Assessment, Risk};
use crate::sandbox::protected_paths;
use base::config::mode::Mode;
use base::config::settings::Permission;
use base::text;

const NAMED_PARTS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask { reason: String },
    Deny { reason: String },
}

impl Verdict {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask { .. } => "ask",
            Self::Deny { .. } => "deny",
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::Allow => "",
            Self::Ask { reason } | Self::Deny { reason } => reason,
        }
    }
}

pub struct VerdictInputs<'a> {
    pub permission: Permission,
    /// Most modes are read-only, whatever the permission level.
    pub mode: Mode,
    pub rules: &'a Rules,
    pub scope: &'a PathScope,
    /// Folders outside the workspace that tools may read without asking (spilled outputs).
    pub readable: &'a [PathBuf],
    /// Whether a sandbox will confine commands to the workspace, without network.
    pub confined: bool,
}

pub struct CommandVerdict {
    pub verdict: Verdict,
    pub calls: Vec<Verdict>,
}

impl VerdictInputs<'_> {
    pub fn decide<'a>(&self, accesses: impl IntoIterator<Item = &'a AssessedAccess>) -> Verdict {
        joined(accesses.into_iter().map(|access| (None, self.one(access))))
    }

    fn one(&self, assessed: &AssessedAccess) -> Verdict {
        let workspace = self.scope.workspace.as_path();
        let read_only = self.level() == Permission::ReadOnly;
        if let Some(command) = &assessed.command {
            return self.command(command).verdict;
        }
        match &assessed.access {
            _ if self.level() == Permission::Full => Verdict::Allow,
            Access::Read(path) => {
                let open =
                    || self.scope.tool_reads_freely(path) && !self.scope.is_secret(path, path.is_dir());
                let free = path.starts_with(workspace)
                    || self.scope.is_temporary(path)
                    || open()
                    || self.readable.iter().any(|folder| path.starts_with(folder))
                    || self.rules.read_allowed(path, self.scope);
                if free { Verdict::Allow } else { reads_elsewhere(path) }
            }
            Access::Write(_) if read_only => self.nothing_may_change(),
            // Notes can be taken in every mode.
            Access::WriteOwn(_) if self.permission == Permission::ReadOnly => self.nothing_may_change(),
            Access::Write(path) | Access::WriteOwn(path)
                if self.scope.inside(path).is_none() && !self.scope.is_temporary(path) =>
            {
                ask(format!("edits {}, outside the workspace", path.display()))
            }
            Access::WriteOwn(_) => Verdict::Allow,
            Access::Write(path) => {
                let inside = self.scope.inside(path).unwrap_or(path);
                if inside.starts_with(".git") || protected_paths::steers(inside) {
                    ask(format!("edits {}, which other programs run or load", inside.display()))
                } else if matches!(self.permission, Permission::AcceptEdits | Permission::Auto)
                    || self.rules.write_allowed(path, self.scope)
                {
                    Verdict::Allow
                } else {
                    ask("edits a file".to_owned())
                }
            }
            Access::Network if read_only => {
                deny(format!("{}: commands have no network", self.read_only_reason()))
            }
            Access::Network => ask("needs network access".to_owned()),
            Access::Host(host) if self.rules.allowed(&SessionGrant::Host(host.clone())) => Verdict::Allow,
            Access::Host(host) => ask(format!("fetches a page from {host}")),
            Access::Remote { server, tool, .. } if self.rules.tool_allowed(server, tool) => Verdict::Allow,
            Access::Remote { reads: true, .. } if self.permission == Permission::Auto => Verdict::Allow,
            Access::Remote { reads: false, .. } if read_only => self.nothing_may_change(),
            Access::Remote { server, .. } => ask(format!("calls a tool of the MCP server {server}")),
            // The command was assessed earlier.
            Access::Exec { .. } => ask("can't parse the command".to_owned()),
        }
    }

    fn level(&self) -> Permission {
        self.permission.in_mode(self.mode)
    }

    fn read_only_reason(&self) -> String {
        match self.permission {
            Permission::ReadOnly => "the permission level is read-only".to_owned(),
            _ => format!("{} mode only reads", self.mode.into_str()),
        }
    }

    fn nothing_may_change(&self) -> Verdict {
        deny(format!("{}: nothing may be changed", self.read_only_reason()))
    }

    pub fn command(&self, command: &AssessedCommand) -> CommandVerdict {
        let (verdict, calls) = match &command.calls {
            Ok(all) => {
                let calls: Vec<Verdict> = all.iter().map(|call| self.call(call)).collect();
                let mut parts: Vec<_> = all.iter().zip(calls.iter().cloned()).collect();
                parts.sort_by_key(|(call, _)| std::cmp::Reverse(call.assessment.risk));
                (joined(parts.into_iter().map(|(call, verdict)| (Some(call), verdict))), calls)
            }
            Err(why) => {
                let verdict = match self.level() {
                    Permission::Full => Verdict::Allow,
                    Permission::ReadOnly => {
                        deny(format!("{}, and can't parse this command: {why}", self.read_only_reason()))
                    }
                    _ => ask(format!("can't parse this command: {why}")),
                };
                (verdict, Vec::new())
            }
        };
        let by_rule = matches!(verdict, Verdict::Ask { .. }) && self.rules.command_allowed(command);
        CommandVerdict { verdict: if by_rule { Verdict::Allow } else { verdict }, calls }
    }

    fn call(&self, call: &AssessedCall) -> Verdict {
        let Assessment { risk, reason, .. } = &call.assessment;
        if *risk == Risk::Destroys {
            return deny(format!("{reason}. mycode won't run this; if you mean it, run it yourself"));
        }
        let is_open = |path: &PathBuf| self.rules.read_allowed(path, self.scope);
        if let Some(path) = call.assessment.elsewhere.iter().find(|path| !is_open(path))
            && self.level() != Permission::Full
            && *risk <= Risk::Unknown
            && !self.rules.call_allowed(call)
        {
            return reads_elsewhere(path);
        }
        match self.level() {
            Permission::Full => Verdict::Allow,
            _ if *risk == Risk::Reads || self.confined && *risk == Risk::Inspects => Verdict::Allow,
            // The read-only level overrides any rule.
            Permission::ReadOnly => deny(format!(
                "{}, and `{}` may do more than read: {reason}",
                self.read_only_reason(),
                text::one_line(&call.shown(), 80),
            )),
            _ if self.rules.call_allowed(call) => Verdict::Allow,
            Permission::Auto if *risk <= Risk::Workspace || self.confined && *risk == Risk::Unknown => {
                Verdict::Allow
            }
            Permission::Ask | Permission::AcceptEdits | Permission::Auto => ask(reason.clone()),
        }
    }
}

/// The most severe verdict: any denial denies the call, and a question lists every part to ask about.
fn joined<'a>(parts: impl Iterator<Item = (Option<&'a AssessedCall>, Verdict)>) -> Verdict {
    let mut asked: Vec<(Option<&AssessedCall>, String)> = Vec::new();
    for (call, verdict) in parts {
        match verdict {
            Verdict::Deny { .. } => return verdict,
            Verdict::Ask { reason } if asked.iter().all(|(_, known)| *known != reason) => {
                asked.push((call, reason));
            }
            _ => {}
        }
    }
    let more = asked.len().saturating_sub(NAMED_PARTS);
    let mut asked = asked.into_iter();
    let Some((_, mut reason)) = asked.next() else { return Verdict::Allow };
    for (call, also) in asked.take(NAMED_PARTS - 1) {
        let part = call.map_or(String::new(), |call| format!("`{}`: ", text::one_line(&call.shown(), 60)));
        reason.push_str(&format!("; {part}{also}"));
    }
    if more > 0 {
        reason.push_str(&format!("; and {more} more"));
    }
    ask(reason)
}

fn reads_elsewhere(path: &Path) -> Verdict {
    ask(format!("reads {}, outside the workspace", path.display()))
}

fn ask(reason: String) -> Verdict {
    Verdict::Ask { reason }
}

fn deny(reason: String) -> Verdict {
    Verdict::Deny { reason }
}
