//! Problems that the program noticed when a turn is about to end; the model is told once. If in doubt, nothing is said.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::conversation::Conversation;
use crate::work::work_log::{CheckRun, WorkLog, is_program};
use crate::work::{claims, named_paths};
use base::file;
use base::model::item::{Item, ItemId};
use base::model::observation::CheckKind;
use base::process::task;
use base::search::walk::Walk;
use base::text::one_line;
use context::session::journal::record::{JournalRecord, PathState};
use context::session::journal::recorder::Journal;
use tools::check::project;
use tools::cx::ToolCx;
use tools::file::wrote;

const MOST_LINES: usize = 4;
const NAMES: usize = 3;
const SHOWN_CHARS: usize = 60;
const MOST_ENTRIES: usize = 20_000;
/// Other tools may run tests that we can't see.
const OWN: [&str; 6] = ["Read", "Grep", "Glob", "LS", "Bash", "TodoWrite"];
const MAX_DATA_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub name: &'static str,
    pub line: String,
}

#[derive(Clone, Copy)]
pub struct Audience {
    /// Without a user to notice them, all facts are reported; otherwise only false claims.
    pub headless: bool,
    pub has_schema: bool,
}

pub async fn facts(conversation: &Conversation, cx: &ToolCx, answer: &str, audience: Audience) -> Vec<Fact> {
    let work = &conversation.facts.work;
    let changes: Vec<(ItemId, String)> =
        work.changes().into_iter().map(|(id, path)| (id, path.to_owned())).collect();
    let task = asked(conversation);
    let wanted = if audience.headless { named_paths::wanted(&task) } else { Vec::new() };
    let (root, journal, from) = (Arc::clone(&cx.root), cx.journal.clone(), work.turn_start());
    let looked = task::blocking(move || {
        let net = journal.as_deref().map(|journal| net_changes(journal, from)).unwrap_or_default();
        let is_changed =
            |path: &str| net.get(Path::new(path)).copied().unwrap_or(true) && root.join(path).exists();
        let changes: Vec<(ItemId, String)> =
            changes.into_iter().filter(|(_, path)| is_changed(path)).collect();
        // A bare name may mean a file in any folder.
        let is_elsewhere = |name: &str| {
            let walk = Walk { most: MOST_ENTRIES, ..Walk::new(&root) };
            !name.contains('/') && walk.sorted().any(|entry| entry.file_name() == name)
        };
        let gone = |path: &String| {
            !root.join(path).exists() && !net.contains_key(Path::new(path)) && !is_elsewhere(path)
        };
        let missing: Vec<String> = wanted.into_iter().filter(gone).collect();
        let invalid = invalid_files(&root, &changes);
        (changes, missing, !project::checks(&root).is_empty(), invalid)
    });
    let Ok((changes, missing, can_check, invalid)) = looked.await else { return Vec::new() };
    let mut facts = false_reports(work, &task, answer, &changes, audience);
    if audience.headless {
        facts.extend(invalid);
        facts.extend(missing.iter().map(|path| Fact {
            name: "missing_path",
            line: format!("The task names `{path}`; it doesn't exist."),
        }));
        facts.extend(dead_services(cx));
        facts.extend(running_jobs(work, cx));
        // `claimed_tests` has the same cause.
        let is_told = facts.iter().any(|fact| fact.name == "claimed_tests");
        facts.extend(unchecked(work, &changes, can_check).filter(|_| !is_told));
        facts.extend(open_todos(cx).filter(|_| work.uses("TodoWrite")));
    }
    facts.truncate(MOST_LINES);
    facts
}

pub fn false_reports(
    work: &WorkLog,
    task: &str,
    answer: &str,
    changes: &[(ItemId, String)],
    audience: Audience,
) -> Vec<Fact> {
    let mut facts: Vec<Fact> = failed_or_claimed(work, task, answer, changes, audience).into_iter().collect();
    facts.extend(failed_edits(work, answer, audience));
    let undone =
        || claims::shows_file(task, answer) || !audience.has_schema && claims::leaves_undone(task, answer);
    if work.only_read() && (claims::says_changed(task, answer) || audience.headless && undone()) {
        let line =
            "No file was changed in this run, and no command ran; your answer doesn't say so.".to_owned();
        facts.push(Fact { name: "nothing_changed", line });
    }
    facts
}

pub fn reminder(facts: &[Fact]) -> String {
    let lines: String = facts.iter().map(|fact| format!("\n- {}", fact.line)).collect();
    format!(
        "Before you finish, here is what this run shows:{lines}\nFix it, or say why it is fine as it is. Only your last reply counts as the answer, so put all of it there."
    )
}

fn dead_services(cx: &ToolCx) -> impl Iterator<Item = Fact> {
    let dead = cx.services.iter().flat_map(|services| services.dead());
    dead.map(|service| {
        let command = one_line(&service.command, SHOWN_CHARS);
        Fact {
            name: "dead_service",
            line: format!("The service `{command}` has ended; its log: {}.", service.log),
        }
    })
}

/// In the chat, only if an English answer doesn't mention it.
fn failed_edits(work: &WorkLog, answer: &str, audience: Audience) -> Option<Fact> {
    let failed = work.failed_edits();
    let hidden = || claims::is_silent(answer) || audience.headless && !claims::is_english(answer);
    (!failed.is_empty() && hidden()).then(|| Fact {
        name: "failed_edit",
        line: format!("The last edit of {} failed and was not retried.", names(&failed)),
    })
}

/// Changed data files that can't be parsed. Skips test data, which may be broken on purpose.
fn invalid_files(root: &Path, changes: &[(ItemId, String)]) -> Vec<Fact> {
    let own = changes
        .iter()
        .map(|(_, path)| path)
        .filter(|path| !path.contains("test") && !path.contains("fixture"));
    let invalid = own.filter_map(|path| {
        let text = file::small_text(&root.join(path), MAX_DATA_BYTES)?;
        let why = wrote::problem(path, &text)?;
        Some(Fact { name: "invalid_file", line: format!("`{path}`: {why}.") })
    });
    invalid.take(NAMES).collect()
}

/// Everything that the user wrote in this turn.
pub fn asked(conversation: &Conversation) -> String {
    let from = conversation.facts.work.turn_start();
    let entries = conversation.state.history.entries().iter().filter(|entry| entry.id >= from);
    let texts = entries.filter_map(|entry| match &*entry.item {
        Item::User(message) => Some(&*message.text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn net_changes(journal: &Journal, from: ItemId) -> HashMap<PathBuf, bool> {
    let lines = journal.lines();
    let is_ours = |line: &JournalRecord| matches!(line, JournalRecord::Turn { item, .. } if *item >= from.0);
    let begin = lines.iter().position(is_ours).unwrap_or(lines.len());
    let mut first: HashMap<PathBuf, PathState> = HashMap::new();
    let mut net = HashMap::new();
    for line in &lines[begin..] {
        if let JournalRecord::Change(change) = line {
            let before = first.entry(change.path.clone()).or_insert_with(|| change.before.clone());
            net.insert(change.path.clone(), !before.same_content(&change.after));
        }
    }
    net
}

fn names(paths: &[&str]) -> String {
    first_few(paths.iter().map(|path| format!("`{path}`")).collect())
}

fn first_few(all: Vec<String>) -> String {
    let shown = all[..all.len().min(NAMES)].join(", ");
    match all.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub fn unchecked(work: &WorkLog, changes: &[(ItemId, String)], can_check: bool) -> Option<Fact> {
    let last = work.checks().last();
    let since = last.map_or(ItemId(0), |run| run.started);
    let late: Vec<&str> =
        changes.iter().filter(|(id, _)| *id > since).map(|(_, path)| path.as_str()).collect();
    if late.is_empty() {
        return None;
    }
    Some(match last {
        Some(run) => Fact {
            name: "changed_after_check",
            line: format!("{} changed after the last check (`{}`).", names(&late), run.check.name),
        },
        None if can_check || late.iter().any(|path| is_program(path)) => Fact {
            name: "never_checked",
            line: format!("{} changed, and nothing was built, tested or run since.", names(&late)),
        },
        None => return None,
    })
}

fn failed_or_claimed(
    work: &WorkLog,
    task: &str,
    answer: &str,
    changes: &[(ItemId, String)],
    audience: Audience,
) -> Option<Fact> {
    let from = work.turn_start();
    let runs: Vec<&CheckRun> = work.checks().filter(|run| run.started >= from).collect();
    if runs.is_empty() && changes.is_empty() && work.failed_edits().is_empty() {
        let made_up = work.checks().next().is_none()
            && (claims::says_tests_ran(answer) && work.uses_only(&OWN)
                || claims::claims_pass(task, answer) && work.only_read());
        let line = "Your answer says that tests ran or pass; none ran in this run.".to_owned();
        return made_up.then_some(Fact { name: "claimed_tests", line });
    }
    let first_change = work.first_change();
    // A failure from before the first change isn't caused by the turn.
    let is_old = |run: &CheckRun| {
        let mut before = runs.iter().filter(|early| Some(early.started) < first_change);
        !run.line.is_empty() && before.any(|early| early.failed == Some(true) && early.line == run.line)
    };
    let says_pass = claims::says_tests_pass(answer);
    let hides = says_pass && !claims::names_failure(answer);
    let stands = runs.iter().enumerate().rev().find(|(at, run)| {
        run.failed == Some(true)
            && (run.check.kind != CheckKind::Run || !run.line.is_empty() || is_named_so(run))
            && !runs[at + 1..].iter().any(|later| later.failed != Some(true) && later.covers(run))
            && (says_pass || !is_old(run))
    });
    if let Some((_, run)) = stands.filter(|_| hides || (claims::is_silent(answer) && !audience.has_schema)) {
        let how = if run.how.is_empty() { String::new() } else { format!(" ({})", run.how) };
        let line = format!("The last `{}` failed{how}; your answer doesn't say so.", run.check.name);
        return Some(Fact { name: "failed_check", line });
    }
    let last_change = changes.iter().map(|(id, _)| *id).max();
    let last_change = last_change.or_else(|| (!work.failed_edits().is_empty()).then_some(from))?;
    let tested = runs.iter().any(|run| run.started > last_change && may_test(run));
    let since = if changes.is_empty() { "in this run" } else { "after the last change" };
    let line = format!("Your answer says that tests pass; none ran {since}.");
    (says_pass && !tested).then_some(Fact { name: "claimed_tests", line })
}

/// Whether the run may have included tests. Running a project file counts only if its name or output suggests it.
fn may_test(run: &CheckRun) -> bool {
    let name = run.check.name.as_str();
    let of_file = name.rsplit(' ').next().is_some_and(|last| last.contains(['/', '.']));
    match run.check.kind {
        CheckKind::Run => !of_file || is_named_so(run) || !run.line.is_empty(),
        kind => kind != CheckKind::Lint,
    }
}

fn is_named_so(run: &CheckRun) -> bool {
    ["test", "check", "spec", "verif"].iter().any(|word| run.check.name.contains(word))
}

fn running_jobs(work: &WorkLog, cx: &ToolCx) -> Vec<Fact> {
    let keep = match cx.keep_hint() {
        "" => "; with `mycode exec --keep` a server can stay",
        hint => hint,
    };
    let jobs = cx.shell.jobs.list().into_iter().filter(|job| job.ended.is_none()).map(|job| {
        let command = one_line(&job.command, SHOWN_CHARS);
        match work.is_check(job.id) {
            true => format!("Job {} (`{command}`) has not finished; its result is unknown.", job.id),
            false => format!("Job {} (`{command}`) ends with this run{keep}.", job.id),
        }
    });
    // Other leftovers usually should end with the run, except where services may stay.
    let left = cx.services.iter().flat_map(|_| cx.shell.leftovers.commands());
    let left = left.map(|command| {
        format!("What `{}` started ends with this run{keep}.", one_line(&command, SHOWN_CHARS))
    });
    jobs.chain(left).take(NAMES).map(|line| Fact { name: "running_job", line }).collect()
}

fn open_todos(cx: &ToolCx) -> Option<Fact> {
    let todos = cx.todos.get();
    let open: Vec<String> = todos
        .iter()
        .filter(|todo| todo.is_open())
        .map(|todo| format!("\"{}\"", one_line(&todo.content, SHOWN_CHARS)))
        .collect();
    (!open.is_empty()).then(|| Fact {
        name: "open_todos",
        line: format!("Open to-dos ({} of {}): {}.", open.len(), todos.len(), first_few(open)),
    })
}
