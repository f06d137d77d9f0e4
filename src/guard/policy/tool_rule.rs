//! Rules in Claude Code's form: a tool, or a tool with a pattern, such as `Bash(git *)`, `Edit(src/**)`,
//! `WebFetch(docs.rs)`. Based on its permissions page and hooks reference, November 2026.

use std::path::Path;
use std::sync::Arc;

use crate::sandbox::rule_pattern::{
    WILDCARDS, base, fits, in_words, is_about_path, is_name, start_of, with_or_without_more,
};
use crate::shell::interpret::call::Call;
use base::path;
use base::search::glob::like;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRule {
    /// As written; may contain `*`.
    pub tool: String,
    /// The text in parentheses; `None` for every call of the tool.
    pub pattern: Option<String>,
    /// Patterns of what an ask or deny rule isn't about.
    pub except: Vec<String>,
    /// The file that contains it; `None` for a flag or a hook.
    pub place: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    No,
    Maybe,
    Yes,
}

const FILE_TOOLS: [&str; 4] = ["Read", "Edit", "Write", "MultiEdit"];

impl ToolRule {
    /// A rule about the workspace's files, rewritten for the project that contains it, or the reverse.
    pub fn elsewhere(&self, project: &Path) -> Vec<Self> {
        let Some(pattern) = self.pattern.as_ref().filter(|_| FILE_TOOLS.iter().any(|tool| self.names(tool)))
        else {
            return Vec::new();
        };
        let (start, rest) = start_of(pattern, Path::new(""));
        let there = project.display();
        let patterns = if start.as_os_str().is_empty() {
            match is_name(pattern) {
                true => vec![format!("/{there}/**/{rest}"), format!("/{there}/**/{rest}/**")],
                false => vec![format!("/{there}/{rest}")],
            }
        } else {
            let inside = start.join(rest);
            let inside = inside.strip_prefix(project).ok();
            inside.map(|rest| format!("/{}", rest.display())).into_iter().collect()
        };
        patterns.into_iter().map(|pattern| Self { pattern: Some(pattern), ..self.clone() }).collect()
    }

    /// The rule with the paths of the folder in which it stands.
    pub fn of_folder(self, folder: Option<&Path>) -> Vec<Self> {
        let is_absolute = |pattern: &String| pattern.starts_with("//") || pattern.starts_with("~/");
        let relative = folder.filter(|_| !self.pattern.as_ref().is_some_and(is_absolute));
        let found = relative.map(|folder| self.elsewhere(folder)).unwrap_or_default();
        if found.is_empty() { vec![self] } else { found }
    }

    /// The same rule where the folder or file that it names really is, if a link leads there.
    pub fn behind_links(&self, workspace: &Path) -> Option<Self> {
        let pattern = self.pattern.as_ref().filter(|_| FILE_TOOLS.iter().any(|tool| self.names(tool)))?;
        let named = base(pattern, workspace);
        let real = path::follow(&path::on_disk(&named));
        let parts = start_of(pattern, workspace).1.split('/').skip_while(|part| !part.contains(WILDCARDS));
        let rest: String = parts.map(|part| format!("/{part}")).collect();
        (real != named).then(|| Self { pattern: Some(format!("/{}{rest}", real.display())), ..self.clone() })
    }

    /// `Bash(git *) except (git log *) (git show *)` is about other git commands.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (text, except) = text.split_once(" except (").unwrap_or((text, ""));
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(pattern) => (tool, Some(pattern.trim())),
                None => return Err(format!("'{text}' has no closing bracket")),
            },
        };
        let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | ':');
        if tool.is_empty() || !tool.chars().all(named) {
            return Err(format!("'{text}' does not begin with the name of a tool"));
        }
        let pattern = pattern.filter(|pattern| !pattern.is_empty() && *pattern != "*");
        let except = except.trim_end().trim_end_matches(')').split(") (").filter(|one| !one.is_empty());
        Ok(Self {
            tool: tool.to_owned(),
            pattern: pattern.map(str::to_owned),
            except: except.map(str::to_owned).collect(),
            place: None,
        })
    }

    pub fn is_whole(&self) -> bool {
        self.pattern.is_none() && self.except.is_empty()
    }

    pub fn is_about_path(&self, path: &Path, workspace: &Path) -> bool {
        let fits = |pattern: &String| is_about_path(pattern, path, workspace);
        self.pattern.as_ref().is_none_or(fits) && !self.except.iter().any(fits)
    }

    /// Whether this part of a command is certainly an exception: it is called by its name, and no word is open.
    pub fn excepts(&self, call: &Call) -> bool {
        let words: Vec<&str> = call.argv.iter().map(|arg| arg.text.as_str()).collect();
        let is_known = call.hidden.is_none() && call.argv.iter().all(|arg| arg.open_at.is_none());
        is_known && self.except.iter().any(|one| with_or_without_more(&in_words(one), &words.join(" ")))
    }

    pub fn names(&self, tool: &str) -> bool {
        like(&self.tool, tool)
    }
}

/// `calls` is `None` if the line can't be parsed. `git *` and `git:*` match git with or without arguments.
pub fn is_about_command<'a>(pattern: &str, calls: Option<impl IntoIterator<Item = &'a Call>>) -> Match {
    let Some(calls) = calls else { return Match::Maybe };
    let pattern = in_words(pattern);
    let names_more = pattern.trim_end_matches([' ', '*']).contains(' ');
    let about = |call: &Call| {
        let words: Vec<&str> = call.argv.iter().map(|arg| arg.text.as_str()).collect();
        let rest = words.get(1..).unwrap_or_default();
        let by_name = [&[call.name()], rest].concat();
        if fits(&pattern, &words) || fits(&pattern, &by_name) {
            return Match::Yes;
        }
        // `git $sub` may be any git command, but `git commit -m "$text"` can only be a commit.
        let before = call.argv.iter().take_while(|arg| arg.open_at.is_none()).map(|arg| arg.text.as_str());
        let names = std::iter::once(call.name()).chain(before.skip(1).filter(|word| !word.starts_with('-')));
        let open = call.argv.iter().any(|arg| arg.open_at.is_some());
        let agrees = names.zip(pattern.split(' ')).all(|(word, wanted)| like(wanted, word));
        let unknown = call.hidden.is_some() || call.argv.first().is_some_and(|arg| arg.certain().is_none());
        if unknown || open && names_more && agrees { Match::Maybe } else { Match::No }
    };
    calls.into_iter().map(about).max().unwrap_or(Match::No)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::shell::interpret::interpreter;

    #[test]
    fn rules_are_read() {
        let rule = |text: &str| ToolRule::parse(text).map(|rule| (rule.tool, rule.pattern));
        assert_eq!(rule("Bash(git *)"), Ok(("Bash".to_owned(), Some("git *".to_owned()))));
        assert_eq!(rule("Read"), Ok(("Read".to_owned(), None)));
        assert_eq!(rule("Bash(*)"), Ok(("Bash".to_owned(), None)));
        assert!(rule("Bash(git").is_err() && rule("(git)").is_err() && rule("rm -rf").is_err());
        assert!(ToolRule::parse("mcp__git__*").unwrap().names("mcp__git__log"));
    }

    #[test]
    fn commands() {
        let about = |pattern: &str, line: &str| {
            let calls = interpreter::calls(line, Path::new("/w"), None).ok();
            is_about_command(pattern, calls.as_ref())
        };
        for (pattern, line) in [
            ("git *", "FOO=bar git push"),
            ("git *", "npm test && git push"),
            ("git *", "git"),
            ("git:*", "git push"),
            ("rm *", "echo $(rm -rf x)"),
            ("rm *", "/bin/rm x"),
            ("git push", "git push"),
            ("npm run *:fix", "npm run lint:fix"),
            ("git push *", "git -C . push"),
            ("git push *", "git -c a.b=c push origin"),
            ("git push *", "git --no-pager push"),
            ("npm publish", "npm --loglevel error publish"),
        ] {
            assert_eq!(about(pattern, line), Match::Yes, "{pattern} {line}");
        }
        for (pattern, line) in [
            ("rm *", "echo $(date)"),
            ("git *", "gitk x"),
            ("git push", "git push -f"),
            ("git push *", "echo $(date)"),
            ("git push *", "git commit -m \"$text\""),
        ] {
            assert_eq!(about(pattern, line), Match::No, "{pattern} {line}");
        }
        assert_eq!(about("git push *", "git $(cat x)"), Match::Maybe);
        assert_eq!(about("git push *", "$TOOL push"), Match::Maybe);
        assert_eq!(about("git push *", "if"), Match::Maybe);
    }
}
