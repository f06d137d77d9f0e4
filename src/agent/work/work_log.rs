//! What the session's calls did, in order: changes, checks, repeated calls. Follows every rewind and revive.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use base::model::call::ToolCall;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::facts::Touch;
use base::model::item::{Item, ItemId, ReminderTopic, ToolResult};
use base::model::observation::{Check, CheckKind};
use base::pattern::Pattern;
use base::text::one_line;
use context::session::undo_stack::UndoStack;
use tools::check::closing_lines::{self, RunnerVerdict};

const SHOWN_CHARS: usize = 80;

#[derive(Clone, Debug)]
pub enum WorkEvent {
    Asked,
    /// The model said something; after its last call, this ends the turn.
    Answered,
    Reminded(ReminderTopic),
    Called(CallMark),
    /// A file of the project, relative to the workspace.
    Changed(String),
    /// A failed edit: the file as named in the call, and whether it doesn't exist.
    EditFailed(String, bool),
    Checked(CheckRun),
}

/// A call and its result, reduced to what is needed to find repeats.
#[derive(Clone, Debug)]
pub struct CallMark {
    pub call: u64,
    pub result: u64,
    pub failed: bool,
    pub polls: bool,
    pub waits: bool,
    pub tool: Arc<str>,
    pub shown: String,
}

#[derive(Clone, Debug)]
pub struct CheckRun {
    pub check: Check,
    /// Later changes aren't covered.
    pub started: ItemId,
    pub failed: Option<bool>,
    pub how: String,
    /// The runner's closing line without times.
    pub line: String,
}

#[derive(Default)]
pub struct WorkLog {
    events: UndoStack<(ItemId, WorkEvent)>,
    open: HashMap<Arc<str>, Arc<ToolCall>>,
    jobs: HashMap<u32, (ItemId, Check)>,
}

impl WorkLog {
    pub fn add(&mut self, id: ItemId, item: &Item) {
        match item {
            item if item.begins_round() => self.events.push(id, WorkEvent::Asked),
            Item::Assistant { text, .. } if !text.trim().is_empty() => {
                self.events.push(id, WorkEvent::Answered)
            }
            Item::Reminder(reminder) => self.events.push(id, WorkEvent::Reminded(reminder.about)),
            Item::ToolCall(call) => drop(self.open.insert(Arc::clone(&call.id), Arc::new(call.clone()))),
            Item::ToolResult(result) => self.result(id, result),
            _ => {}
        }
    }

    fn result(&mut self, id: ItemId, result: &ToolResult) {
        let envelope = &result.envelope;
        let call = self.open.remove(&result.call_id);
        if envelope.data.by_user() {
            return;
        }
        static WRITES: Pattern = Pattern::new(r"\bwrite(_text|_bytes|lines|File\w*)?\(");
        let writes = call.as_ref().is_some_and(|call| WRITES.is_match(&call.args));
        let failed = call.as_ref().and_then(|call| failed_edit(call, result));
        for event in failed.into_iter().chain(call.map(|call| WorkEvent::Called(mark(&call, result)))) {
            self.events.push(id, event);
        }
        if let Some((path, Touch::Created | Touch::Written | Touch::Edited)) = envelope.data.touched()
            && envelope.error.is_none()
            && is_counted(path)
        {
            self.events.push(id, WorkEvent::Changed(path.to_owned()));
        }
        let check = envelope.data.command().and_then(|ran| ran.check.clone());
        // Files that a check writes aren't changes; an inline script that writes a program isn't a check.
        static INLINE: Pattern = Pattern::new(r"^\S+ (script|-c|-e)$");
        let changed: Vec<&String> = envelope.data.changed().iter().filter(|path| is_counted(path)).collect();
        let is_edit = |check: &Check| {
            INLINE.is_match(&check.name) && writes && changed.iter().any(|path| is_program(path))
        };
        let check = check.filter(|check| !is_edit(check));
        let mends = |path: &str| self.failed_edits().iter().any(|failed| is_same_file(failed, path));
        for path in changed.into_iter().filter(|path| check.is_none() || mends(path)).collect::<Vec<_>>() {
            self.events.push(id, WorkEvent::Changed(path.clone()));
        }
        let Some(ran) = envelope.data.command() else { return };
        let never_ran = [ErrorCode::PermissionDenied, ErrorCode::InvalidParam, ErrorCode::Interrupted];
        if envelope.error.as_ref().is_some_and(|error| never_ran.contains(&error.code)) {
            return;
        }
        // The program doesn't exist, so nothing was checked.
        let check = check.filter(|_| ran.exit_code != Some(127));
        match (ran.job.or(ran.id), check) {
            (None, Some(check)) => {
                self.events.push(id, WorkEvent::Checked(CheckRun::new(check, id, envelope)));
            }
            (Some(job), Some(check)) if ran.exit_code.is_none() && ran.running != Some(false) => {
                self.jobs.insert(job, (id, check));
            }
            (Some(job), check) if ran.running == Some(false) => {
                if let Some((started, check)) = self.jobs.remove(&job).or(check.map(|check| (id, check))) {
                    self.events.push(id, WorkEvent::Checked(CheckRun::new(check, started, envelope)));
                }
            }
            _ => {}
        }
    }

    pub fn rewind(&mut self, to: ItemId) {
        self.events.rewind(to);
    }

    pub fn revive(&mut self, rewind: u32) {
        self.events.revive(rewind);
    }

    /// The item that began the running turn. A turn that was stopped before its answer continues with the next message.
    pub fn turn_start(&self) -> ItemId {
        let events = self.events.all();
        let begins = |at: usize| {
            let before = events[..at].iter().rev().map(|(_, event)| event);
            let mut before =
                before.filter(|event| !matches!(event, WorkEvent::Asked | WorkEvent::Reminded(_)));
            matches!(before.next(), None | Some(WorkEvent::Answered))
        };
        let asked =
            events.iter().enumerate().rev().filter(|(_, (_, event))| matches!(event, WorkEvent::Asked));
        let mut start = ItemId(0);
        for (at, (id, _)) in asked {
            start = *id;
            if begins(at) {
                break;
            }
        }
        start
    }

    fn of_turn(&self) -> impl DoubleEndedIterator<Item = (ItemId, &WorkEvent)> {
        let from = self.turn_start();
        self.events.all().iter().filter(move |(id, _)| *id >= from).map(|(id, event)| (*id, event))
    }

    pub fn reminded(&self) -> impl Iterator<Item = ReminderTopic> {
        self.of_turn().filter_map(|(_, event)| match event {
            WorkEvent::Reminded(topic) => Some(*topic),
            _ => None,
        })
    }

    pub fn is_check(&self, job: u32) -> bool {
        self.jobs.get(&job).is_some_and(|(_, check)| check.kind != CheckKind::Run)
    }

    pub fn checks(&self) -> impl DoubleEndedIterator<Item = &CheckRun> {
        self.events.all().iter().filter_map(|(_, event)| match event {
            WorkEvent::Checked(run) => Some(run),
            _ => None,
        })
    }

    /// The last check, if it failed: such as "`cargo test` failed (exit code 101)".
    pub fn failed_check(&self) -> Option<String> {
        let last = self.checks().next_back().filter(|run| run.failed == Some(true))?;
        Some(format!("`{}` failed ({})", last.check.name, last.how))
    }

    /// The files that this turn changed, each with its last change, oldest first.
    pub fn changes(&self) -> Vec<(ItemId, &str)> {
        let mut changes: Vec<(ItemId, &str)> = Vec::new();
        for (id, event) in self.of_turn() {
            if let WorkEvent::Changed(path) = event {
                changes.retain(|(_, known)| known != path);
                changes.push((id, path));
            }
        }
        changes
    }

    pub fn failed_edits(&self) -> Vec<&str> {
        let mut failed: Vec<(&str, bool)> = Vec::new();
        for (_, event) in self.of_turn() {
            match event {
                WorkEvent::EditFailed(path, missing) => {
                    failed.retain(|(known, _)| known != path);
                    failed.push((path, *missing));
                }
                // The path may have been written with a typo.
                WorkEvent::Changed(path) => {
                    failed.retain(|(known, missing)| !missing && !is_same_file(known, path))
                }
                _ => {}
            }
        }
        failed.into_iter().map(|(path, _)| path).collect()
    }

    /// Whether this turn only read, in a session without changes.
    pub fn only_read(&self) -> bool {
        const READERS: [&str; 8] = ["Read", "Grep", "Glob", "LS", "Locate", "Recall", "Symbols", "TodoWrite"];
        let changed = |event: &(ItemId, WorkEvent)| matches!(event.1, WorkEvent::Changed(_));
        !self.events.all().iter().any(changed) && self.uses_only(&READERS)
    }

    /// Whether this turn called no other tools.
    pub fn uses_only(&self, tools: &[&str]) -> bool {
        self.of_turn().all(|(_, event)| match event {
            WorkEvent::Called(call) => tools.contains(&&*call.tool),
            _ => true,
        })
    }

    pub fn uses(&self, tool: &str) -> bool {
        self.of_turn().any(|(_, event)| matches!(event, WorkEvent::Called(call) if &*call.tool == tool))
    }

    pub fn first_change(&self) -> Option<ItemId> {
        self.of_turn().find_map(|(id, event)| matches!(event, WorkEvent::Changed(_)).then_some(id))
    }

    /// The turn's calls after its last change, oldest first.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &CallMark> {
        let from = self.turn_start();
        let events = self.events.all();
        let last_change = events.iter().rposition(|(_, event)| matches!(event, WorkEvent::Changed(_)));
        let begin = last_change.map_or(0, |at| at + 1);
        events[begin..].iter().filter(move |(id, _)| *id >= from).filter_map(|(_, event)| match event {
            WorkEvent::Called(mark) => Some(mark),
            _ => None,
        })
    }

    /// The file of an edit whose result isn't added yet.
    pub fn edited(&self, result: &ToolResult) -> Option<String> {
        edited_path(self.open.get(&result.call_id)?, result)
    }

    /// How often this call has failed in the same way since the last change, including this result.
    pub fn failures_with(&self, result: &ToolResult) -> usize {
        let Some(call) = self.open.get(&result.call_id) else { return 0 };
        let new = mark(call, result);
        if new.failed { 1 + self.calls().filter(|known| known.is_same(&new)).count() } else { 0 }
    }
}

pub const NO_TESTS: &str = "no test ran";

impl CheckRun {
    pub fn new(check: Check, started: ItemId, envelope: &Envelope) -> Self {
        let ran = envelope.data.command();
        let exit = envelope.data.exit_code();
        let timed_out = ran.is_some_and(|ran| ran.timed_out == Some(true));
        let said = closing_lines::verdict(&envelope.body);
        let bad_exit = check.decides && (timed_out || exit.is_some_and(|code| code != 0));
        let failed = match (&said, bad_exit) {
            (Some(RunnerVerdict::Failed(_)), _) => Some(true),
            // Even if the runner reports success, another part may have failed.
            (_, true) => Some(true),
            (Some(RunnerVerdict::Passed), false) => Some(false),
            (None, false) if check.decides && exit == Some(0) => Some(false),
            (None, false) => None,
        };
        let line = match said {
            Some(RunnerVerdict::Failed(line)) => line,
            _ => String::new(),
        };
        let mut how = match (timed_out, exit) {
            (true, _) => "timed out".to_owned(),
            (_, Some(code)) if check.decides => format!("exit code {code}"),
            _ => String::new(),
        };
        if !line.is_empty() {
            how.push_str(&format!("{}\"{line}\"", if how.is_empty() { "" } else { ", " }));
        } else if closing_lines::ran_tests(&envelope.body) == Some(false) {
            how = NO_TESTS.to_owned();
        }
        static TIMES: Pattern = Pattern::new(r"\s*\(?(in |finished in )?\d+(\.\d+)?\s*m?s\)?");
        let line = TIMES.replace_all(&line, "").into_owned();
        Self { check, started, failed, how, line }
    }

    pub fn word(&self) -> &'static str {
        match self.failed {
            Some(true) => "failed",
            Some(false) => "passed",
            None => "ran",
        }
    }

    /// Whether this later run also tells the state of what `other` checked. If in doubt, it does.
    pub fn covers(&self, other: &Self) -> bool {
        let program = |run: &Self| {
            let name = run.check.name.split(" -m ").last().unwrap_or_default();
            name.split(' ').next().map(str::to_owned)
        };
        program(self) == program(other)
            || self.check.kind == other.check.kind && self.check.kind == CheckKind::Test
    }
}

/// Whether both may mean the same file, as a path may be written differently.
fn is_same_file(one: &str, other: &str) -> bool {
    one.ends_with(other) || other.ends_with(one)
}

fn edited_path(call: &ToolCall, result: &ToolResult) -> Option<String> {
    const NAMES: [&str; 5] = ["path", "file_path", "filePath", "target_file", "filename"];
    let args = call.parsed_args().ok()?;
    let path = NAMES.into_iter().find_map(|name| args[name].as_str())?;
    let edits = ["Edit", "MultiEdit", "Write"].contains(&&*result.tool);
    edits.then(|| path.trim_start_matches("./").to_owned())
}

/// The file of a failed edit. A refused edit, or one that is already applied, doesn't count.
fn failed_edit(call: &ToolCall, result: &ToolResult) -> Option<WorkEvent> {
    let error = result.envelope.error.as_ref()?;
    let made = [ErrorCode::PermissionDenied, ErrorCode::Interrupted].contains(&error.code)
        || error.message.contains("nothing is left to do");
    let path = edited_path(call, result).filter(|path| !made && is_counted(path))?;
    let missing = error.code == ErrorCode::NotFound && error.message.contains("does not exist");
    Some(WorkEvent::EditFailed(path, missing))
}

impl CallMark {
    pub fn is_same(&self, other: &Self) -> bool {
        self.call == other.call && self.result == other.result && self.failed == other.failed
    }
}

fn mark(call: &ToolCall, result: &ToolResult) -> CallMark {
    let envelope = &result.envelope;
    static SLEEPS: Pattern = Pattern::new(r"\bsleep \d");
    let args = call.parsed_args().unwrap_or_else(|_| call.args.to_string().into());
    let exit = envelope.data.exit_code().unwrap_or(0);
    let failed = envelope.error.is_some() || exit != 0;
    let said = match &envelope.error {
        Some(error) => format!("{}: {}", error.code.into_str(), error.message),
        None => format!("{}\n{}", envelope.text, envelope.body),
    };
    let subject = envelope.data.subject().or(args["path"].as_str()).unwrap_or_default();
    let how = match &envelope.error {
        Some(error) => one_line(&error.message, SHOWN_CHARS),
        None => format!("exit code {exit}"),
    };
    CallMark {
        // MoreTools runs many tools, each under its own name.
        call: hash(&(&*result.tool, &*call.name, args.to_string())),
        result: hash(&(exit, stable(&said))),
        failed,
        polls: &*result.tool == "Job",
        waits: args["command"].as_str().is_some_and(|command| SLEEPS.is_match(command)),
        tool: Arc::clone(&result.tool),
        shown: format!("{} {}: {how}", result.tool, one_line(subject, SHOWN_CHARS)),
    }
}

/// The text without what varies between runs: times, durations, addresses, temporary names, repeat counts.
pub fn stable(text: &str) -> String {
    static NOTES: Pattern = Pattern::new(include_str!("words/notes.regex"));
    static VARIES: Pattern = Pattern::new(include_str!("words/varies.regex"));
    VARIES.replace_all(&NOTES.replace_all(text, ""), "~").trim().to_owned()
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn is_counted(path: &str) -> bool {
    static NOT: Pattern = Pattern::new(include_str!("words/not_counted.regex"));
    !NOT.is_match(path)
}

pub fn is_program(path: &str) -> bool {
    Path::new(path)
        .extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| include_str!("endings.txt").split_whitespace().any(|known| known == ending))
}
