//! Which seen files changed on disk, by the model's command or otherwise. Checked before a turn and around commands.

use super::change::{EDIT_LIMIT_BYTES, unified};
use super::state::{CHANGED, GONE};
use crate::cx::ToolCx;
use base::file::FileError;
use base::folder::exact;
use base::format::encoding;
use base::pattern::Pattern;
use base::text::{elide, plural};
use base::{file, path};
use guard::redact::detector::TextSource;

const DIFF_LINES: usize = 40;
const DIFF_BYTES: usize = 6_000;
const FILES: usize = 8;
const AGAIN: &str = "is again as you saw it";
const READ_AGAIN: &str = "Read it again before you rely on it";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// The command's text and the diffs it printed; changes that they show aren't reported again.
    Command(String),
    Others,
}

#[derive(Debug)]
pub struct DiskChanges {
    pub text: String,
    /// Files that changed by more than the text shows.
    pub outdated: Vec<String>,
}

pub fn changes(cx: &ToolCx, by: &ChangedBy) -> Option<DiskChanges> {
    let command = match by {
        ChangedBy::Command(text) => Some(plain(text)),
        ChangedBy::Others => None,
    };
    let own = command.is_some();
    let says = |text: &str| command.as_ref().is_some_and(|command| command.contains(&plain(text)));
    let mut notes: Vec<String> = Vec::new();
    let mut outdated: Vec<String> = Vec::new();
    let mut more = 0;
    for canonical in cx.files.maybe_changed() {
        let shown = path::display(&cx.root, &canonical);
        let bytes = match exact::read(&canonical, EDIT_LIMIT_BYTES) {
            Ok((bytes, _)) => bytes,
            Err(error) => {
                let gone = exact::look(&canonical).is_err();
                let is_said = gone && (says("rm ") || says("mv ")) && says(&shown);
                if cx.files.report(&canonical, if gone { GONE } else { "unreadable" }) && !is_said {
                    let what = match (gone, own) {
                        (true, true) => "deleted",
                        (true, false) => "no longer exists",
                        (false, _) if matches!(error, FileError::TooLarge { .. }) => {
                            "is now too large for Edit"
                        }
                        (false, _) => "can no longer be read",
                    };
                    notes.push(format!("{shown} {what}"));
                }
                continue;
            }
        };
        let hash = file::hash(&bytes);
        let Some(seen) = cx.files.get(&canonical) else { continue };
        if seen.hash == hash {
            notes.extend(seen.reported.is_some().then(|| format!("{shown} {AGAIN}")));
            // After a resume, only the hash of the seen content is known.
            match &seen.snapshot {
                Some(_) => cx.files.unchanged(&canonical),
                None => drop(cx.files.saw(&canonical, hash, &bytes)),
            }
            continue;
        }
        if !cx.files.report(&canonical, &hash) {
            continue;
        }
        let before = seen.snapshot.as_deref().and_then(|bytes| encoding::decode(bytes).ok());
        let now = encoding::decode(&bytes).ok();
        if let Some((now, _)) = &now {
            cx.language_servers.edited(&canonical, before.as_ref().map(|(before, _)| before.as_str()), now);
        }
        if notes.len() >= FILES {
            more += 1;
            outdated.push(shown);
            continue;
        }
        let diff = before.zip(now).map(|((before, _), (now, kind))| {
            let source = TextSource::of_file(&canonical);
            let clean = |text: &str| cx.redactor.redact(text, source).into_owned();
            let diff = unified(&shown, &clean(&before), &clean(&encoding::shown(&now, kind)));
            let news = beyond(&diff, says);
            (diff, news)
        });
        let diff = diff.filter(|(diff, _)| !diff.is_empty());
        match diff {
            Some((diff, news)) if news.lines().count() <= DIFF_LINES && news.len() < DIFF_BYTES => {
                cx.files.saw(&canonical, hash, &bytes);
                cx.files.show(&diff);
                notes.push(if news.is_empty() { shown } else { format!("{shown}:\n{}", news.trim_end()) });
            }
            _ => {
                if own {
                    cx.files.known_change(&canonical, &hash);
                }
                notes.push(format!("{shown}; {READ_AGAIN}"));
                outdated.push(shown);
            }
        }
    }
    if more > 0 {
        notes.push(format!("and {} more", plural(more, "file")));
    }
    let first = if own {
        "Files you have seen that this command changed"
    } else {
        "Changed on disk since you last saw it"
    };
    let between = if notes.iter().any(|note| note.contains(['\n', ';'])) { "\n" } else { ", " };
    let text = || elide(&format!("{first}: {}", notes.join(between)), 20_000);
    (!notes.is_empty()).then(|| DiskChanges { text: text(), outdated })
}

/// For resumed sessions: which changes the model was told of without seeing them.
pub fn told_before(cx: &ToolCx, text: &str) {
    static TOLD: Pattern = Pattern::new(
        r"(?m)(?:^|: |, )([^,:;\n]+?)(?: (no longer exists|deleted)|(; Read it again before)| is again as you saw it)",
    );
    for told in TOLD.captures_iter(text) {
        let canonical = path::resolve(&cx.root, &told[1]).canonical;
        match (told.get(2), told.get(3)) {
            (None, None) => cx.files.unchanged(&canonical),
            (gone, _) => drop(cx.files.report(&canonical, if gone.is_some() { GONE } else { CHANGED })),
        }
    }
}

/// Backslashes in a script often differ from those in the file that it writes.
fn plain(text: &str) -> String {
    text.replace('\\', "")
}

/// The diff without hunks whose added lines are all in what `says` knows.
fn beyond(diff: &str, says: impl Fn(&str) -> bool) -> String {
    let mut hunks = diff.split("\n@@ ");
    let head = hunks.next().unwrap_or_default();
    let is_news = |hunk: &&str| {
        let mut added = hunk.lines().filter_map(|line| line.strip_prefix('+')).map(str::trim);
        let any = added.clone().any(|line| !line.is_empty());
        !any || !added.all(&says)
    };
    let kept: String = hunks.filter(is_news).map(|hunk| format!("\n@@ {hunk}")).collect();
    if kept.is_empty() { String::new() } else { format!("{head}{kept}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_says_is_not_told_again() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+print('\\n')\n@@ -9,2 +9 @@\n-gone\n kept\n@@ -20 +19 @@\n-a\n+b\n";
        let command = plain("python - <<P\ns.replace('old', \"print('\\\\n')\")\nP");
        let left = beyond(diff, |line| command.contains(&plain(line)));
        assert_eq!(left, "--- a/x\n+++ b/x\n@@ -9,2 +9 @@\n-gone\n kept\n@@ -20 +19 @@\n-a\n+b\n");
        assert_eq!(beyond("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", |line| line == "b"), "");
    }
}
