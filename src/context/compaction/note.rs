//! The program's note in place of folded steps: what the agent said, changed, read and ran. Only facts from the
//! log, each with its item; nothing that could be mistaken for a file's text. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use super::renewed;
use super::thresholds::Thresholds;
use super::working_set;
use crate::compress::lines;
use crate::history::entry::HistoryEntry;
use crate::history::references;
use crate::session::record::FormName;
use crate::tokens::estimate::estimate;
use base::model::call::ToolCall;
use base::model::envelope::Status;
use base::model::facts::Touch;
use base::model::item::{Item, ItemId, LEFT_OUT, ToolResult};
use base::model::observation::{Command, Observation, Search};
use base::pattern::Pattern;
use base::text;
use serde_json::Value;

static DEFINITION: Pattern = Pattern::new(include_str!("definition.regex"));
const MOST_NAMES: usize = 8;
/// What looks like a function with a body.
const BRANCHES: [&str; 6] = ["if", "for", "while", "switch", "catch", "match"];

const CHANGED: &str = " (as it was before later edits)";
const BY_COMMAND: &str = "changed by command";
const RENEWED: &str = " (with your edits)";
/// Begins what the program put in front of an output.
const NOTE_PREFIX: &str = "Note: the edit to ";
const SAID: &str = "You said:";
const COMMAND_CHARS: usize = 100;
const LINE_CHARS: usize = 120;
/// Characters kept of an answer that exceeds the whole budget.
const LONG_WORDS_CHARS: usize = 600;

#[derive(Default)]
struct TouchedFile {
    path: String,
    done: Vec<(String, ItemId)>,
    /// Failed edits that no later edit made up for.
    failed: Vec<ItemId>,
    /// Lines that edits added and removed, and the names that added lines define.
    lines: (usize, usize),
    defined: Vec<String>,
}

impl TouchedFile {
    fn line(&self) -> String {
        let runs = self.done.chunk_by(|a, b| a.0 == b.0).map(|run| {
            let ids: Vec<String> = run.iter().map(|(_, id)| id.to_string()).collect();
            format!("{} {}", run[0].0, ids.join(" "))
        });
        let failed = self.failed.last().map(|id| format!("failed {id}"));
        let lines = match self.lines {
            (0, 0) => String::new(),
            (plus, minus) => {
                let between = if self.defined.is_empty() { "" } else { ": " };
                format!(" (+{plus} −{minus} lines{between}{})", self.defined.join(", "))
            }
        };
        format!("{}: {}{lines}", self.path, runs.chain(failed).collect::<Vec<_>>().join(", "))
    }

    fn is_only_read(&self) -> bool {
        self.failed.is_empty() && self.done.iter().all(|(verb, _)| verb.starts_with("read"))
    }

    fn add(&mut self, verb: String, id: ItemId, result: &ToolResult) {
        self.failed.clear();
        if verb == BY_COMMAND || result.envelope.data.change().is_some() {
            // Line numbers of earlier reads no longer match the file.
            self.done.retain(|(verb, _)| !verb.starts_with("read"));
        }
        if let Some(change) = result.envelope.data.change() {
            let diff = change.diff.as_deref().unwrap_or_default();
            let count = |sign: char, head: &str| {
                diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
            };
            self.lines.0 += count('+', "+++ ");
            self.lines.1 += count('-', "--- ");
            let names = DEFINITION.captures_iter(diff).filter_map(|found| found.get(1).or(found.get(2)));
            for name in names.filter(|name| !BRANCHES.contains(&name.as_str())) {
                if self.defined.len() < MOST_NAMES && !self.defined.iter().any(|known| known == name.as_str())
                {
                    self.defined.push(name.as_str().to_owned());
                }
            }
        }
        self.done.push((verb, id));
    }
}

pub fn render(folded: &[&HistoryEntry], limits: &Thresholds, max_tokens: u64) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut files: Vec<TouchedFile> = Vec::new();
    let mut ran: Vec<(String, String)> = Vec::new();
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut folder: Option<String> = None;
    for entry in folded {
        match &*entry.item {
            Item::ToolCall(call) => drop(calls.insert(&call.id, call)),
            Item::Assistant { text, .. } => words.push(text.trim()),
            Item::Image(image) => {
                let line = image.placeholder(LEFT_OUT);
                ran.push((line.clone(), line));
            }
            Item::ToolResult(result) => match file_of(result, calls.get(&*result.call_id).copied()) {
                Some((path, verb)) => {
                    let file = file_at(&mut files, &path);
                    if result.envelope.status == Status::Error {
                        file.failed.push(entry.id);
                    } else {
                        file.add(verb, entry.id, result);
                    }
                }
                // The to-do list has its own recap.
                None if matches!(&*result.envelope.data.observation, Observation::Todos(_)) => {}
                None => {
                    let data = &result.envelope.data;
                    for path in data.changed().iter().take(MOST_NAMES) {
                        file_at(&mut files, path).add(BY_COMMAND.to_owned(), entry.id, result);
                    }
                    folder = data.command().and_then(|ran| ran.cwd.clone()).or(folder);
                    let (what, how) = action(result, calls.get(&*result.call_id).copied());
                    ran.retain(|(known, _)| *known != what);
                    let line = format!("{} {what}{how}", entry.id);
                    ran.push((what, line));
                }
            },
            _ => {}
        }
    }
    let said = kept_words(&words, limits.words_tokens);
    let (read, changed): (Vec<&TouchedFile>, Vec<&TouchedFile>) =
        files.iter().partition(|file| file.is_only_read());
    let [read, changed] = [read, changed].map(|files| files.into_iter().map(TouchedFile::line).collect());
    let mut ran: Vec<String> = ran.into_iter().map(|(_, line)| line).collect();
    ran.extend(
        folder
            .filter(|folder| folder != ".")
            .map(|folder| format!("Afterwards the current folder was {folder}")),
    );
    let mut sections = [(SAID, said), ("Files:", changed), ("Files only read:", read), ("Ran:", ran)];
    loop {
        let whole = written(&sections);
        if u64::from(estimate(&whole)) <= max_tokens {
            return whole;
        }
        // Cut the oldest actions first, then files that were only read, then the oldest words, then other files.
        let Some(at) = [3, 2, 0, 1].into_iter().find(|at| sections[*at].1.len() > 1) else { return whole };
        let lines = &mut sections[at].1;
        let less = (lines.len() / 4).max(1);
        lines.drain(..less);
    }
}

fn file_at<'a>(files: &'a mut Vec<TouchedFile>, path: &str) -> &'a mut TouchedFile {
    let at = files.iter().position(|file| file.path == path).unwrap_or_else(|| {
        files.push(TouchedFile { path: path.to_owned(), ..TouchedFile::default() });
        files.len() - 1
    });
    &mut files[at]
}

fn written(sections: &[(&str, Vec<String>)]) -> String {
    let mut out = String::from("[Steps folded to save room; Recall {\"id\":n} opens #n.");
    for (heading, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        // What the agent said is quoted without bullets.
        let between = if *heading == SAID { "\n" } else { "\n- " };
        out.push_str(&format!("\n{heading}{between}{}", lines.join(between)));
    }
    out.push(']');
    out
}

/// The newest words that fit, in their original order; each whole.
fn kept_words(words: &[&str], max_tokens: u32) -> Vec<String> {
    let mut left = max_tokens;
    let mut kept: Vec<String> = Vec::new();
    for text in words.iter().rev().filter(|text| !text.is_empty()) {
        let Some(rest) = left.checked_sub(estimate(text)) else {
            if kept.is_empty() {
                kept.push(text::elide(text, LONG_WORDS_CHARS));
            }
            break;
        };
        left = rest;
        kept.push((*text).to_owned());
    }
    kept.reverse();
    kept
}

/// The file that a call was about, and what it did there. `None` for searches and commands.
fn file_of(result: &ToolResult, call: Option<&ToolCall>) -> Option<(String, String)> {
    let data = &result.envelope.data;
    if let Some(view) = data.view() {
        let lines = view.start_line.zip(view.end_line).map(|(from, to)| format!(" {from}-{to}"));
        return Some((view.path.clone()?, format!("read{}", lines.unwrap_or_default())));
    }
    let Some((path, touch)) = data.touched() else {
        return Some((working_set::failed_edit(result, call?)?, String::new()));
    };
    let is_told = !matches!(touch, Touch::Listed | Touch::Searched | Touch::Noted);
    is_told.then(|| (path.to_owned(), touch.into_str().to_owned()))
}

/// Any other call: what ran and how it ended, with the most telling line for a failure or a check.
fn action(result: &ToolResult, call: Option<&ToolCall>) -> (String, String) {
    let envelope = &result.envelope;
    let failed = match (envelope.data.exit_code().filter(|code| *code != 0), envelope.status) {
        (Some(code), _) => format!(" → exit {code}"),
        (None, Status::Error) => " → failed".to_owned(),
        _ => String::new(),
    };
    let subject = match &*envelope.data.observation {
        Observation::Command(Command { command: Some(command), .. }) => {
            format!("`{}`", text::one_line(&without_scripts(command), COMMAND_CHARS))
        }
        Observation::Search(Search { pattern: Some(pattern), path, .. }) => {
            let place = path.as_deref().map(|path| format!(" in {path}")).unwrap_or_default();
            format!("{} {}{place}", result.tool, text::one_line(pattern, COMMAND_CHARS))
        }
        _ => {
            let subject =
                envelope.data.subject().map(str::to_owned).or_else(|| values(call?)).unwrap_or_default();
            // A tool called through a lookup has the lookup's name in its result.
            let tool = call.map_or(&*result.tool, |call| &*call.name);
            format!("{tool} {}", text::one_line(&subject, COMMAND_CHARS)).trim_end().to_owned()
        }
    };
    if let Observation::Search(Search { total_matches: Some(matches), .. }) = &*envelope.data.observation {
        return (
            subject,
            format!(" → {}", text::plural(usize::try_from(*matches).unwrap_or(usize::MAX), "match")),
        );
    }
    let is_check =
        matches!(&*envelope.data.observation, Observation::Command(Command { check: Some(_), .. }));
    let line =
        if failed.is_empty() && !is_check { None } else { telling_line(&envelope.body, !failed.is_empty()) };
    let between = if failed.is_empty() { " → " } else { ": " };
    let line = line.map(|line| format!("{between}{}", text::one_line(line, LINE_CHARS))).unwrap_or_default();
    (subject, format!("{failed}{line}"))
}

/// The argument values, such as the address of a page or the number of an issue.
fn values(call: &ToolCall) -> Option<String> {
    let args = call.parsed_args().ok()?;
    let values = args.as_object()?.values().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    Some(values.collect::<Vec<_>>().join(" "))
}

/// The command without the texts of its heredocs: what ran stands around them.
fn without_scripts(command: &str) -> String {
    static HEREDOC: Pattern = Pattern::new(r#"<<-?\s*['"\\]?(\w+)"#);
    let mut ends: VecDeque<String> = VecDeque::new();
    let mut kept: Vec<&str> = Vec::new();
    for line in command.lines() {
        match ends.front() {
            Some(end) if line.trim() == end => drop(ends.pop_front()),
            Some(_) => {}
            None => {
                kept.push(line);
                ends.extend(HEREDOC.captures_iter(line).map(|found| found[1].to_owned()));
            }
        }
    }
    kept.join("\n")
}

/// A command that succeeded may print source code after its result: there only a count or its last line tells.
fn telling_line(body: &str, failed: bool) -> Option<&str> {
    static FRAME: Pattern = Pattern::new(r#"^(\d+: \w|at \S+[:/(]|File ")"#);
    static COUNT: Pattern = Pattern::new(
        r"\b\d+ (?:tests? )?(?:pass|fail)(?:ed|ing)\b|^[#ℹ] (?:pass|fail) \d|^OK\b|^FAILED \(|\bTests run: \d|^(?:ok|FAIL)\s+\S+\s+\S",
    );
    // A line that ends with a colon only introduces the next one.
    let tells = |line: &&str| {
        !line.is_empty() && !line.ends_with(':') && !FRAME.is_match(line) && !line.starts_with(NOTE_PREFIX)
    };
    let lines = || body.lines().map(|line| line.trim_matches(['=', ' ', '\t'])).filter(tells);
    lines()
        .rfind(|line| COUNT.is_match(line) || failed && lines::is_error(line))
        .or_else(|| lines().next_back())
}

/// An entry, whether it is kept, and its text, if not as it was sent.
type Seen<'a> = (&'a HistoryEntry, bool, Option<&'a str>);

pub fn views<'a>(entries: impl Iterator<Item = Seen<'a>>) -> Option<String> {
    let mut views: Vec<(&str, &str, (u64, u64))> = Vec::new();
    let mut renewed_before: HashSet<&str> = HashSet::new();
    let mut in_view: HashSet<ItemId> = HashSet::new();
    for (entry, kept, text) in entries {
        // A reference shows nothing once its target is gone.
        let is_seen = kept
            && entry.form() <= FormName::Filtered
            && references::of(entry).all(|id| in_view.contains(&id));
        in_view.extend(is_seen.then_some(entry.id));
        if let Some(path) = working_set::viewed_path(&entry.item).filter(|_| is_seen) {
            let before = renewed::is_renewed(entry).then(|| entry.text()).filter(|_| text.is_none());
            match before {
                Some(_) => drop(renewed_before.insert(path)),
                None => drop(renewed_before.remove(path)),
            }
            let renewed = text.or(Some(entry.text())).and_then(renewed::range);
            let lines = renewed.map_or_else(|| working_set::range(&entry.item), |(lines, _)| lines);
            views.retain(|(known, _, seen)| *known != path || *seen != lines);
            let state = renewed.map_or("", |(_, is_current)| if is_current { RENEWED } else { CHANGED });
            views.push((path, state, lines));
        } else if let Item::ToolResult(result) = &*entry.item {
            let edited = working_set::changed_path(&entry.item).map(|(path, _)| path);
            let by_command = result.envelope.data.changed();
            let is_old = entry.form() >= FormName::Folded;
            let has_it = |view: &(&str, &str, _)| {
                !kept && view.1 == RENEWED && (is_old || !renewed_before.contains(view.0))
            };
            let is_changed = |path: &str| edited == Some(path) || by_command.iter().any(|file| file == path);
            let changed = views.iter_mut().filter(|view| is_changed(view.0) && !has_it(view));
            changed.for_each(|view| view.1 = CHANGED);
        }
    }
    views.sort();
    let of_state = |views: &[(&str, &str, (u64, u64))]| {
        let ranges = joined(views.iter().map(|view| view.2));
        format!("{}{}", ranges.iter().map(shown).collect::<Vec<_>>().join(","), views[0].1)
    };
    let of_file = |views: &[(&str, &str, (u64, u64))]| {
        let states: Vec<String> = views.chunk_by(|one, other| one.1 == other.1).map(of_state).collect();
        format!("\n- {}{}", views[0].0, states.join(";"))
    };
    let lines: String = views.chunk_by(|one, other| one.0 == other.0).map(of_file).collect();
    (!lines.is_empty()).then(|| format!("\nIn view at this point:{lines}"))
}

fn joined(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut().filter(|last| from <= last.1.saturating_add(1)) {
            Some(last) => last.1 = last.1.max(to),
            None => joined.push((from, to)),
        }
    }
    joined
}

fn shown(range: &(u64, u64)) -> String {
    match range {
        (1, u64::MAX) => String::new(),
        (from, u64::MAX) => format!(" from {from}"),
        (from, to) => format!(" {from}-{to}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::history::manager::HistoryManager;
    use crate::session::record::{Batch, CauseKind};
    use base::model::envelope::Envelope;

    fn entry(id: u64, tool: &str, envelope: Envelope) -> HistoryEntry {
        HistoryEntry::new(
            ItemId(id),
            Arc::new(Item::ToolResult(ToolResult::new("c", tool, envelope))),
            None,
            0,
        )
    }

    #[test]
    fn a_line_tells_the_file_of_a_failed_edit_what_edits_define_and_what_searches_found() {
        let call = |id: u64, tool: &str, args: &str| {
            let call = ToolCall { id: "c".into(), name: tool.into(), args: args.into() };
            HistoryEntry::new(ItemId(id), Arc::new(Item::ToolCall(call)), None, 0)
        };
        let limits = Thresholds::of(base::config::settings::Profile::Default, 32_000);
        let note = |entries: &[HistoryEntry]| render(&entries.iter().collect::<Vec<_>>(), &limits, 1_000);
        let failed = Envelope::error(base::model::envelope::ErrorCode::InvalidParam, "occurs 2 times");
        let edit = [
            call(1, "MultiEdit", r#"{"path":"a.py","edits":[]}"#),
            entry(2, "MultiEdit", failed.clone()),
            call(3, "Bash", r#"{"path":"a.py"}"#),
            entry(4, "Bash", failed),
        ];
        assert!(
            note(&edit).ends_with("Files:\n- a.py: failed #2\nRan:\n- #4 Bash a.py → failed]"),
            "{}",
            note(&edit)
        );
        let diff = "@@ -1,1 +1,4 @@\n+def new():\n+    pass\n+\n def old():\n";
        let added = Envelope::success("").with("path", "a.py").with("applied", true).with("diff", diff);
        let told = note(&[entry(1, "Edit", added)]);
        assert!(told.ends_with("(+3 −0 lines: new)]"), "not the line below a blank one: {told}");
        let diff = "@@ -1,1 +1,4 @@\n+ * function that is called\n+  deprecated(message) {\n+    if (message) {\n+class A extends B {\n+type of x\n";
        let added = Envelope::success("").with("path", "a.js").with("applied", true).with("diff", diff);
        let told = note(&[entry(1, "Edit", added)]);
        assert!(told.ends_with("lines: deprecated, A)]"), "{told}");
        let search = |found: u64| Envelope::success("").with("pattern", "x").with("total_matches", found);
        let told = note(&[entry(1, "Grep", search(0)), entry(2, "Grep", search(3).with("path", "src"))]);
        assert!(told.ends_with("- #1 Grep x → 0 matches\n- #2 Grep x in src → 3 matches]"), "{told}");
        let page = |id: u64, args: &str| {
            [call(id, "WebFetch", args), entry(id + 1, "WebFetch", Envelope::success("page"))]
        };
        let pages = [page(1, r#"{"url":"https://a.org"}"#), page(3, r#"{"url":"https://b.org","depth":2}"#)];
        let told = note(&pages.concat());
        assert!(told.ends_with("- #2 WebFetch https://a.org\n- #4 WebFetch https://b.org 2]"), "{told}");
        let server = |id: u64, tool: &str, answer: Envelope| {
            [call(id, tool, r#"{"path":"a.py"}"#), entry(id + 1, "MoreTools", answer)]
        };
        let boom = Envelope::error(base::model::envelope::ErrorCode::ExecutionError, "boom");
        let told = note(&[server(1, "x.edit", boom), server(3, "x.show", Envelope::success("a"))].concat());
        assert!(told.ends_with("- #2 x.edit a.py → failed\n- #4 x.show a.py]"), "{told}");
        let trace = "error: it broke\n   4: core::panicking::panic\n   at src/error.rs:3:1\n  5: main::fails";
        let panicked = Envelope::success("").with("command", "./a").with("exit_code", 101);
        let told = note(&[entry(1, "Bash", panicked.with_body("output", trace))]);
        assert!(told.ends_with("`./a` → exit 101: error: it broke]"), "{told}");
        let tested = Envelope::success("").with("command", "pytest -q | tail; grep -n a Makefile");
        let check = serde_json::json!({"name": "pytest", "kind": "test", "decides": false});
        let tested = tested.with("exit_code", 0).with("check", check);
        let output = "== 4 passed in 0.1s ==\n12:test:\n    assert error == 0\n14-";
        let told = note(&[entry(1, "Bash", tested.with_body("output", output))]);
        assert!(told.ends_with(" → 4 passed in 0.1s]"), "not the source below it: {told}");
        let ended = |output: &str, code: i64| {
            let ran = Envelope::success("").with("command", "x").with("exit_code", code);
            let check = serde_json::json!({"name": "x", "kind": "test", "decides": false});
            let ran = ran.with("check", check).with_body("output", output);
            note(&[entry(1, "Bash", ran)])
        };
        let note_first = "Note: the edit to a.py earlier in this reply failed, so this ran without it.\ncat: b: No such file";
        for (output, code, line) in [
            ("ok 1 - a\n# pass 5\n# fail 0\n# duration_ms 110.7", 0, "# fail 0"),
            ("ℹ pass 5\nℹ fail 2\nℹ duration_ms 1", 0, "ℹ fail 2"),
            ("..\nRan 2 tests in 0.1s\n\nOK (skipped=1)\nbye", 0, "OK (skipped=1)"),
            ("FAILED (failures=1)\nsee log", 0, "FAILED (failures=1)"),
            (
                "[INFO] Tests run: 5, Failures: 0\n[INFO] Finished at: noon",
                0,
                "[INFO] Tests run: 5, Failures: 0",
            ),
            (note_first, 3, "cat: b: No such file"),
        ] {
            let told = ended(output, code);
            assert!(told.ends_with(&format!(" {line}]")), "{told}");
        }
        let script =
            "cat > /tmp/fix.py <<'PY'\nimport os\nPY\npython /tmp/fix.py; cat <<A <<-B\na\nA\nb\n\tB\nls";
        let ran = Envelope::success("").with("command", script).with("exit_code", 0);
        let check = serde_json::json!({"name": "python /tmp/fix.py", "kind": "run", "decides": false});
        let ran = ran.with("check", check).with_body("output", "it._instance = error.instance\n{'a': 1}");
        let told = note(&[entry(1, "Bash", ran)]);
        let only_commands = "`cat > /tmp/fix.py <<'PY' python /tmp/fix.py; cat <<A <<-B ls` → {'a': 1}]";
        assert!(told.ends_with(only_commands), "{told}");
    }

    #[test]
    fn what_commands_changed_and_the_folder_they_ended_in_are_told() {
        let limits = Thresholds::of(base::config::settings::Profile::Default, 32_000);
        let note = |entries: &[HistoryEntry]| render(&entries.iter().collect::<Vec<_>>(), &limits, 1_000);
        let view = Envelope::success("").with("path", "a.rs").with("start_line", 1).with("end_line", 9);
        let read = entry(1, "Read", view.with_body("content", "text"));
        let moves = |folder: &str| {
            let ran = Envelope::success("").with("command", "cd b; sed -i …").with("cwd", folder);
            entry(2, "Bash", ran.with("changed", serde_json::json!(["a.rs", "b/c.rs"])))
        };
        let told = note(&[read.clone(), moves("b")]);
        let files = "Files:\n- a.rs: changed by command #2\n- b/c.rs: changed by command #2\n";
        assert!(told.contains(files), "{told}");
        assert!(told.ends_with("- Afterwards the current folder was b]"), "{told}");
        assert!(!note(&[moves(".")]).contains("folder was"));
        let seen = views([(&read, true, None), (&moves("."), false, None)].into_iter()).unwrap_or_default();
        assert!(seen.ends_with("a.rs 1-9 (as it was before later edits)"), "{seen}");
    }

    #[test]
    fn a_view_that_an_earlier_fold_updated_is_current_until_the_next_edit_leaves() {
        let item =
            |tool: &str, envelope: Envelope| Arc::new(Item::ToolResult(ToolResult::new("c", tool, envelope)));
        let edit = || item("Edit", Envelope::success("").with("path", "a.rs").with("applied", true));
        let view = Envelope::success("").with("path", "a.rs").with("start_line", 1).with("end_line", 2);
        let mut history = HistoryManager::default();
        history.push(ItemId(1), item("Read", view.with_body("content", "1\told\n2\tend")), None);
        history.push(ItemId(2), edit(), None);
        let text = "1\tnew\n2\tmore\n3\tend\n[lines 1-3 of a.rs with your edits since]";
        let cause = || CauseKind::SoftCap;
        history.adopt(&Batch::with_texts(vec![(ItemId(1), Arc::from(text))], FormName::Filtered, cause()));
        history.adopt(&Batch::plain(vec![ItemId(2)], FormName::Gone, cause()));
        let seen = |history: &HistoryManager| {
            views(history.entries().iter().map(|entry| (entry, entry.id == ItemId(1), None)))
        };
        let current = "\nIn view at this point:\n- a.rs 1-3 (with your edits)";
        assert_eq!(seen(&history).as_deref(), Some(current));
        history.push(ItemId(3), edit(), None);
        let old = "\nIn view at this point:\n- a.rs 1-3 (as it was before later edits)";
        assert_eq!(seen(&history).as_deref(), Some(old));
    }

    #[test]
    fn a_view_from_before_an_edit_says_so_also_when_the_edit_is_folded() {
        let view = Envelope::success("").with("path", "a.rs").with("start_line", 1).with("end_line", 9);
        let read = |id| entry(id, "Read", view.clone().with_body("content", "text"));
        let edit = |id| entry(id, "Edit", Envelope::success("").with("path", "a.rs").with("applied", true));
        let note = |entries: &[(HistoryEntry, bool)]| {
            views(entries.iter().map(|(entry, kept)| (entry, *kept, None))).unwrap_or_default()
        };
        let before = note(&[(read(1), true), (edit(2), false)]);
        assert_eq!(before, "\nIn view at this point:\n- a.rs 1-9 (as it was before later edits)");
        let after = note(&[(edit(1), false), (read(2), true), (read(3), false)]);
        assert_eq!(after, "\nIn view at this point:\n- a.rs 1-9");
        let page = |id, from: u64, to: u64| {
            let view = Envelope::success("").with("path", "a.rs").with("start_line", from);
            (entry(id, "Read", view.with("end_line", to).with_body("content", "text")), true)
        };
        let pages = [page(1, 40, 60), page(2, 100, 120), page(3, 1, 39)];
        let (before, after) = (page(5, 200, 220), page(6, 61, 70));
        let all = [&pages[..], &[(edit(4), true), before, after]].concat();
        assert_eq!(
            note(&all),
            "\nIn view at this point:\n- a.rs 61-70, 200-220; 1-60, 100-120 (as it was before later edits)"
        );
    }
}
