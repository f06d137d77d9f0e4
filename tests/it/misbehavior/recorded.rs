//! The counter-check: recorded sessions of other agents through the detectors, each turn as if no one had read along. Run it with
//! `MYCODE_TRACES=FOLDER cargo test --test it recorded -- --nocapture`: every reminder with the end of its answer, to be read by
//! hand, and how often each fires.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use agent::turn::finish::{Audience, false_reports, unchecked};
use agent::turn::{endings, repeats, text_calls};
use agent::work::claims;
use agent::work::named_paths;
use agent::work::work_log::WorkLog;
use base::model::envelope::{EnvelopeError, ErrorCode, Status};
use base::model::item::{Item, ItemId, ToolResult};
use base::model::observation::{Change, Command, Observation};
use base::pattern::Pattern;
use guard::shell::interpret::interpreter;
use records::trace::recording::events::{self, ReplayEvent};
use records::trace::recording::reader;
use serde_json::Value;
use tools::check::find;

/// The reminders of one session: of which turn, which kind, with which words.
type Fired = Vec<(usize, String, String)>;

const TOLD: (usize, usize, usize) = (5, 9, 4);
/// What another agent sends in the user's name.
const NOT_TYPED: [&str; 5] = ["<", "[", "## Context", "This session is being continued", "Base directory"];
const TOOLS: [&str; 12] = [
    "Read",
    "Edit",
    "Write",
    "Bash",
    "Grep",
    "Glob",
    "LS",
    "MultiEdit",
    "TodoWrite",
    "Task",
    "WebFetch",
    "Job",
];

#[derive(Default)]
struct Session {
    work: WorkLog,
    next: u64,
    turn: usize,
    task: String,
    answer: String,
    /// All that was called and shown: a named file that occurs in it was made, or was there.
    seen: String,
    args: HashMap<Arc<str>, Value>,
    open: Vec<String>,
    told: BTreeSet<String>,
    fired: Fired,
    submitted: bool,
}

impl Session {
    fn add(&mut self, item: &Item) {
        self.next += 1;
        match item {
            Item::User(message) => {
                let is_typed = !NOT_TYPED.iter().any(|sign| message.text.starts_with(sign));
                // A turn that the user stopped has no end.
                if message.text.starts_with("[Request interrupted") {
                    self.answer.clear();
                }
                self.end();
                self.turn += 1;
                self.task = if is_typed { message.text.to_string() } else { String::new() };
                self.told.clear();
            }
            Item::Assistant { text, .. } if !text.trim().is_empty() => self.answer = text.to_string(),
            Item::ToolCall(call) => {
                let args = call.parsed_args().unwrap_or_default();
                // Calls that end the work elsewhere.
                match (&*call.name, args["message"].as_str(), args["command"].as_str()) {
                    ("other", Some(message), _) => self.answer = message.to_owned(),
                    ("other", _, Some(command)) if command.starts_with("submit") => self.submitted = true,
                    _ => self.answer.clear(),
                }
                self.seen.push_str(&args.to_string());
                self.todos(&args);
                self.args.insert(Arc::clone(&call.id), args);
            }
            _ => {}
        }
        if !matches!(item, Item::User(_)) {
            self.seen.push_str(&item.text());
        }
        let item = match item {
            Item::ToolResult(result) => Item::ToolResult(self.as_ours(result)),
            item => item.clone(),
        };
        self.work.add(ItemId(self.next), &item);
        if let Item::ToolResult(_) = item
            && let Some(found) = repeats::of(self.work.calls())
            // Some exports leave out what an edit says.
            && !found.shown.starts_with("Edit ")
        {
            let told = if found.waits { TOLD.1 } else { TOLD.0 };
            if found.failures >= told || found.rounds >= TOLD.2 {
                self.tell("repeat", format!("{} ({} times)", found.shown, found.failures.max(found.rounds)));
            }
        }
    }

    fn todos(&mut self, args: &Value) {
        let listed = args["todos"].as_array().or(args["plan"].as_array());
        if let Some(listed) = listed {
            let is_open = |todo: &&Value| matches!(todo["status"].as_str(), Some("pending" | "in_progress"));
            self.open = listed.iter().filter(is_open).map(Value::to_string).collect();
        } else if let Some(text) = args["text"].as_str().filter(|text| text.starts_with("**Agent task list"))
        {
            let is_open = |line: &&str| line.starts_with("- [") && !line.to_lowercase().starts_with("- [x]");
            self.open = text.lines().filter(is_open).map(str::to_owned).collect();
        }
    }

    /// With what our own tools would have said of it.
    fn as_ours(&self, result: &ToolResult) -> ToolResult {
        let mut result = result.clone();
        let args = self.args.get(&result.call_id).cloned().unwrap_or_default();
        let envelope = &mut result.envelope;
        let said = format!("{}\n{}", envelope.text, envelope.body);
        if envelope.status == Status::Error {
            envelope.error = Some(EnvelopeError { code: ErrorCode::InvalidParam, message: said.clone() });
        }
        match &*result.tool {
            "Bash" => {
                let script = args["command"].as_str().unwrap_or_default();
                // Some exports show a command under its title.
                let script =
                    script.split_once("```bash\n").map_or(script, |(_, shown)| shown.trim_end_matches("```"));
                let calls = interpreter::calls(script, Path::new("/w"), None).unwrap_or_default();
                static CODE: Pattern = Pattern::new(
                    r"(?i)\bexit(?:ed with)? code:? (?P<code>-?\d+)|exit code (?P<other>\d+)\.\]",
                );
                let code = CODE.captures(&said).and_then(|found| {
                    found.name("code").or(found.name("other")).and_then(|code| code.as_str().parse().ok())
                });
                let exit = envelope.data.exit_code().or(code).or(Some(0));
                let files = calls.iter().flat_map(|call| &call.files).filter(|file| file.writes);
                let mut changed: Vec<String> =
                    files.filter_map(|file| Some(relative(file.target.certain()?))).collect();
                let edits = calls
                    .iter()
                    .filter(|call| call.name() == "sed" && call.argv.iter().any(|arg| arg.text == "-i"));
                changed.extend(edits.filter_map(|call| Some(relative(call.argv.last()?.certain()?))));
                let check = find::of_command(script, &calls);
                *envelope.data.observation = Observation::Command(Command {
                    command: Some(script.to_owned()),
                    exit_code: exit,
                    changed: Some(changed),
                    check,
                    ..Command::default()
                });
                envelope.error = None;
            }
            "Edit" | "Write" => {
                static PATCHED: Pattern = Pattern::new(r"(?m)^\*\*\* (?:Update|Add) File: (?P<file>.+)$");
                let of_diff =
                    args["diff"].as_str().and_then(|diff| Some(PATCHED.captures(diff)?["file"].to_owned()));
                let path = args["path"].as_str().map(str::to_owned).or(of_diff).unwrap_or_default();
                let change = Change { path: Some(relative(&path)), ..Change::default() };
                *envelope.data.observation = Observation::Edit(change);
            }
            _ => {}
        }
        result
    }

    fn tell(&mut self, kind: &str, words: String) {
        if self.told.insert(format!("{kind} {words}")) {
            let tail: Vec<char> = self.answer.chars().rev().take(500).collect();
            let tail: String = tail.into_iter().rev().collect();
            let task: String = self.task.chars().take(200).collect();
            self.fired.push((
                self.turn,
                kind.to_owned(),
                format!("{words}\n   TASK {task}\n   ANSWER …{tail}"),
            ));
        }
    }

    /// What a headless turn would have been told at its end.
    fn end(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        if answer.trim().is_empty() || answer.starts_with("API Error") {
            return;
        }
        self.answer.clone_from(&answer);
        if text_calls::read(&answer, &TOOLS).is_some() {
            self.tell("text_call", String::new());
        }
        let settled = self.work.first_change().is_some() || claims::asks_something(&self.task);
        let is_end = !std::mem::take(&mut self.submitted);
        if let Some(ending) = endings::of(&answer, true, settled).filter(|_| is_end) {
            self.tell(
                if ending == endings::Ending::Question { "question" } else { "announced" },
                String::new(),
            );
            self.answer.clear();
            return;
        }
        let changes = self.work.changes().into_iter().filter(|(_, path)| path.contains('.'));
        let changes: Vec<(ItemId, String)> = changes.map(|(id, path)| (id, path.to_owned())).collect();
        let audience = Audience { headless: true, has_schema: false };
        let mut facts = false_reports(&self.work, &self.task, &answer, &changes, audience);
        facts.extend(unchecked(&self.work, &changes, true));
        for fact in facts {
            self.tell(fact.name, fact.line);
        }
        for path in named_paths::wanted(&self.task) {
            let name = path.rsplit('/').next().unwrap_or(&path);
            if !self.seen.contains(name) {
                self.tell("missing_path", path);
            }
        }
        if !self.open.is_empty() {
            self.tell("open_todos", self.open.join("; "));
        }
        self.answer.clear();
    }
}

/// Recordings name files by their whole path; only ours are relative.
fn relative(path: &str) -> String {
    match path.strip_prefix("/") {
        Some(_)
            if path.starts_with("/tmp")
                || path.starts_with("/dev")
                || path.starts_with("/private")
                || path.contains("/.claude/") =>
        {
            path.to_owned()
        }
        Some(rest) => rest.to_owned(),
        None => path.trim_start_matches("./").to_owned(),
    }
}

#[test]
fn recorded_sessions_through_the_detectors() {
    let Some(folder) = std::env::var_os("MYCODE_TRACES") else {
        eprintln!("skipped: MYCODE_TRACES does not name a folder of recorded sessions");
        return;
    };
    let (mut kinds, mut sessions, mut turns) = (BTreeMap::<String, usize>::new(), (0, 0), (0, 0));
    for file in reader::files(Path::new(&folder)).unwrap() {
        let mut session = Session::default();
        for event in events::of_recording(&reader::read(&file).unwrap()) {
            if let ReplayEvent::Item(item) = event {
                session.add(&item);
            }
        }
        session.end();
        // These were asked in a chat, where someone answered.
        let fired = session.fired.iter().filter(|(_, kind, _)| kind != "question");
        let told: BTreeSet<usize> = fired.map(|(turn, ..)| *turn).collect();
        sessions = (sessions.0 + 1, sessions.1 + usize::from(!told.is_empty()));
        turns = (turns.0 + session.turn, turns.1 + told.len());
        for (turn, kind, words) in session.fired {
            *kinds.entry(kind.clone()).or_default() += 1;
            eprintln!("## {} turn {turn}: {kind}: {words}\n", file.file_name().unwrap().to_string_lossy());
        }
    }
    eprintln!(
        "{kinds:?}; {} of {} turns, {} of {} sessions, without the questions",
        turns.1, turns.0, sessions.1, sessions.0
    );
}
