//! What leaves the history and what stays for the next edit: units, order, occasions, and the page that the
//! model then reads.

use std::sync::Arc;

use base::config::settings::{ContextSettings, Origin, Profile};
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::model::item::{Item, ItemId, Reminder, ReminderTopic, ToolResult, UserMessage};
use base::model::request::Message;
use context::compaction::fold_plan::{FoldGoal, FoldPlan};
use context::compaction::policy::{self, PolicyInputs};
use context::compaction::thresholds::Thresholds;
use context::compress::tool_result::ToolResultCompressor;
use context::history::manager::HistoryManager;
use context::history::normalize;
use context::session::record::CauseKind;

use crate::texts::page::page;

struct Session {
    history: HistoryManager,
    next: u64,
}

impl Session {
    fn new(task: &str) -> Self {
        let mut session = Self { history: HistoryManager::default(), next: 1 };
        session.push(Item::User(UserMessage::new(task)));
        session
    }

    fn push(&mut self, item: Item) {
        self.history.push(ItemId(self.next), Arc::new(item), None);
        self.next += 1;
    }

    /// A user message, after the turn before has ended with `answer`.
    fn turn(&mut self, answer: &str, task: &str) {
        self.push(Item::assistant(answer));
        self.history.count_request();
        self.history.end_turn();
        self.push(Item::User(UserMessage::new(task)));
    }

    /// One reply with its calls: each tool, its arguments and its answer.
    fn step(&mut self, words: &str, calls: Vec<(&str, String, Envelope)>) {
        if !words.is_empty() {
            self.push(Item::assistant(words));
        }
        let first = self.next;
        for (number, (tool, args, _)) in calls.iter().enumerate() {
            let id = format!("c{}", first + number as u64);
            self.push(Item::ToolCall(ToolCall {
                id: id.into(),
                name: (*tool).into(),
                args: args.as_str().into(),
            }));
        }
        for (number, (tool, _, envelope)) in calls.into_iter().enumerate() {
            self.push(Item::ToolResult(ToolResult::new(
                format!("c{}", first + number as u64),
                tool,
                envelope,
            )));
        }
        self.history.count_request();
    }

    fn fold(&mut self, window: u64, cold: bool) -> bool {
        let settings = ContextSettings::for_window(window, Origin::User);
        let situation = PolicyInputs {
            settings: &settings,
            limits: Thresholds::of(Profile::Default, window),
            cold,
            turn_start: self.history.at_turn_start(),
            fixed_tokens: 2_000,
            scale: 1.0,
        };
        let batches = policy::before_request(&self.history, &situation);
        batches.iter().for_each(|batch| self.history.adopt(batch));
        !batches.is_empty()
    }

    fn messages(&self) -> Vec<Message> {
        let messages: Vec<Message> =
            self.history.entries().iter().filter_map(|entry| entry.message().cloned()).collect();
        assert!(normalize::normalize(messages.clone()) == messages, "calls and results are paired");
        messages
    }

    /// The messages as a page.
    fn page(&self) -> String {
        let shown = |message: &Message| match message {
            Message::User(text) => format!("USER {text}"),
            Message::System(text) => format!("SYSTEM {text}"),
            Message::Assistant(said) => format!("ASSISTANT {}", said.text),
            Message::Call(call) => format!("CALL {} {}", call.name, call.args),
            Message::Result { text, .. } => {
                let lines: Vec<&str> = text.lines().collect();
                match lines[..] {
                    [first, .., last] if lines.len() > 6 => {
                        format!("RESULT {first}\n… {} lines …\n{last}", lines.len() - 2)
                    }
                    _ => format!("RESULT {text}"),
                }
            }
            Message::Reasoning(_) | Message::Image(_) => String::new(),
        };
        self.messages().iter().map(|message| shown(message) + "\n").collect()
    }
}

fn read(path: &str, lines: u64) -> (&'static str, String, Envelope) {
    let body: String =
        (1..=lines).map(|n| format!("{n}\tlet value_{n} = compute_{path}({n}) + offset;\n")).collect();
    let envelope = Envelope::success("").with("path", path).with("start_line", 1).with("end_line", lines);
    ("Read", format!("{{\"path\":\"{path}\"}}"), envelope.with_body("content", body))
}

fn edit(path: &str, n: u64) -> (&'static str, String, Envelope) {
    let args = format!("{{\"path\":\"{path}\",\"old_string\":\"value_{n}\",\"new_string\":\"sum_{n}\"}}");
    let diff = format!(
        "--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n-value_{n}\n+pub fn sum_{n}() {{\n+    part_{n}\n+}}\n"
    );
    let envelope = Envelope::success("1 replacement").with("path", path).with("applied", true);
    ("Edit", args, envelope.with("diff", diff))
}

fn run(command: &str, code: i64, output: &str) -> (&'static str, String, Envelope) {
    let envelope = Envelope::success("").with("command", command).with("exit_code", code);
    let envelope = if code == 0 { envelope } else { envelope.partial() };
    ("Bash", format!("{{\"command\":\"{command}\"}}"), envelope.with_body("stdout", output))
}

fn noise(n: u64) -> String {
    (0..160).map(|line| format!("module_{n} part {line}: compiled in {} ms\n", line * 7 % 90)).collect()
}

#[test]
fn what_shows_files_or_a_diff_arrives_whole() {
    let limits = Thresholds::of(Profile::Default, 128_000);
    let body: String = (0..900).map(|n| format!("    let value_{n} = part({n}) + offset;\n")).collect();
    let shown = |command: &str| {
        let mut session = Session::new("Look at it.");
        session.step("", vec![run(command, 0, &body)]);
        let cut = ToolResultCompressor::on_arrival(&session.history, &limits);
        cut.map(|batch| batch.texts[0].to_string())
    };
    for command in [
        "cat src/main.rs",
        "cd src && sed -n '1,40p;60,900p' main.rs",
        "ls && nl -ba src/main.rs | head -900",
        "for f in src/*.rs; do echo $f; cat $f; done",
        "test -f a.rs && cat a.rs || true",
        "git diff main -- src",
        "rg -n 'let (value|part)' src | head -900",
    ] {
        assert_eq!(shown(command), None, "{command}");
    }
    for command in
        ["rg -n 'let (value|part)' src", "cat part.rs; make", "cargo test", "git log -p && cargo test"]
    {
        let text = shown(command).unwrap();
        assert!(text.contains("value_0") && text.len() < body.len() / 2, "{command}: {text}");
    }
}

#[test]
fn files_of_one_reply_leave_one_by_one_and_those_being_edited_last() {
    let mut session = Session::new("Rename the values in six files.");
    let files: Vec<String> = (0..6).map(|n| format!("src/part_{n}.rs")).collect();
    session.step("I read all six.", files.iter().map(|path| read(path, 180)).collect());
    for n in 0..16 {
        session.step("", vec![edit(&files[0], n), run(&format!("make step{n}"), 0, &noise(n))]);
        session.fold(64_000, false);
    }
    let page = session.page();
    assert!(page.contains("[Steps folded"), "{page}");
    for path in &files[1..] {
        let view = format!("RESULT 1\tlet value_1 = compute_{path}(1)");
        assert!(page.contains(&view), "{path} is about to be edited, but gone:\n{page}");
    }
}

#[test]
fn a_view_that_outlives_the_edits_of_its_file_shows_them() {
    let mut session = Session::new("Rename a value.");
    session.step("", vec![read("a.rs", 180)]);
    let old = "let value_90 = compute_a.rs(90) + offset;";
    let diff = format!("--- a/a.rs\n+++ b/a.rs\n@@ -90,1 +90,2 @@\n-{old}\n+// The sum.\n+let sum = 90;\n");
    let envelope = Envelope::success("1 replacement").with("path", "a.rs").with("applied", true);
    session.step("", vec![("Edit", "{}".to_owned(), envelope.with("diff", diff))]);
    for n in 0..30 {
        session.step("", ["a", "b"].map(|part| run(&format!("make {part}{n}"), 0, &noise(n))).into());
        if session.fold(32_000, true) {
            break;
        }
    }
    let messages = session.messages();
    let shown = |text: &str| messages.iter().any(|message| format!("{message:?}").contains(text));
    assert!(
        shown("90\\t// The sum.\\n91\\tlet sum = 90;\\n92\\tlet value_91 ") && !shown(old),
        "{}",
        session.page()
    );
    assert!(shown("- a.rs 1-181 (with your edits)]"), "{}", session.page());
}

#[test]
fn what_stands_before_a_fold_stays_in_the_cache_if_that_costs_less() {
    let mut session = Session::new("Rename the values in three files.");
    session.step("", ["a.rs", "b.rs", "c.rs"].map(|path| read(path, 150)).into());
    session.step("First the calls.", vec![edit("a.rs", 1), edit("d.rs", 2)]);
    let mut kept = Vec::new();
    for n in 0..20 {
        session.step("", ["a", "b"].map(|part| run(&format!("make {part}{n}"), 0, &noise(n))).into());
        let before = session.messages();
        if session.fold(32_000, false) {
            kept.push(before.iter().zip(session.messages()).take_while(|(old, new)| **old == *new).count());
            let page = session.page();
            let edit = page.contains("CALL Edit {\"path\":\"a.rs\"");
            assert!(edit || page.contains("a.rs 1-152 (with your edits)"), "the view is old:\n{page}");
            let told = |n: u64| page.matches(&format!("`make a{n}`")).count() <= 1;
            assert!((0..n).all(told), "told twice:\n{page}");
        }
    }
    assert!(kept.iter().all(|kept| *kept >= 7), "the views: {kept:?}");
    assert!(kept.iter().filter(|kept| **kept > 9).count() > 1, "the first note and more: {kept:?}");
}

#[test]
fn words_stay_in_the_order_in_which_they_were_said() {
    let mut session = Session::new("Look at a file.");
    session.step("The first plan.", vec![read("src/kept.rs", 90), run("make first", 0, &noise(1))]);
    let remind = |session: &mut Session, text: &str, about| {
        session.push(Item::Reminder(Reminder { text: text.into(), about }));
    };
    remind(&mut session, "To-dos [0/2]", ReminderTopic::Todos);
    remind(&mut session, "Say what you found.", ReminderTopic::Fold);
    session.step("A better plan.", vec![run("make second", 0, &noise(2))]);
    remind(&mut session, "To-dos [1/2]", ReminderTopic::Todos);
    for n in 0..30 {
        session.step("", ["a", "b"].map(|part| run(&format!("make {part}{n}"), 0, &noise(n))).into());
        if session.fold(32_000, true) {
            break;
        }
    }
    let page = session.page();
    assert!(page.contains("You said:\nThe first plan.\nA better plan.\n"), "{page}");
    assert!(page.contains("CALL Read {\"path\":\"src/kept.rs\"}") && !page.contains("Say what"), "{page}");
    assert!(!page.contains("To-dos [0/2]"), "an old state reads like an order:\n{page}");
}

/// Whether for any room the view that is read first leaves only after the other.
fn leaves_last(task: &str, first: &str, other: &str) -> bool {
    let mut session = Session::new(task);
    for path in [first, other] {
        session.step("", vec![run(&format!("make {path}"), 0, &noise(1)), read(path, 60)]);
    }
    let result = |path: &str| {
        let body = format!("1\tlet value_1 = compute_{path}(1)");
        session.history.entries().iter().find(|entry| entry.text().starts_with(&body)).map(|entry| entry.id)
    };
    let (first, other) = (result(first), result(other));
    (0..session.history.tokens()).step_by(5).all(|view_landing| {
        let goal = FoldGoal { landing: 0, view_landing, keep_requests: 0, at_most: false };
        let plan = FoldPlan::new(&session.history, &Thresholds::of(Profile::Default, 64_000), goal);
        let batches = plan.batches(&CauseKind::SoftCap.because("room"));
        let leaves = |id| batches.iter().any(|batch| batch.items.iter().any(|item| Some(*item) == id));
        leaves(other) || !leaves(first)
    })
}

#[test]
fn the_oldest_view_leaves_first_and_what_the_user_named_last() {
    assert!(!leaves_last("Look at two files.", "src/old.rs", "src/new.rs"));
    assert!(leaves_last("The total in old.rs is wrong.", "src/old.rs", "src/new.rs"));
    assert!(!leaves_last("The total in very_old.rs is wrong.", "src/old.rs", "src/new.rs"));
}

#[test]
fn files_that_only_earlier_turns_touched_leave_with_other_results() {
    let mut session = Session::new("Look at one file.");
    session.step("", vec![read("src/old.rs", 120)]);
    session.turn("Done.", "Now run everything.");
    let is_spared = |session: &Session| {
        let goal = FoldGoal { landing: 0, view_landing: u64::MAX, keep_requests: 0, at_most: false };
        let plan = FoldPlan::new(&session.history, &Thresholds::of(Profile::Default, 64_000), goal);
        let batches = plan.batches(&CauseKind::SoftCap.because("room"));
        let is_view = |item: &Item| matches!(item, Item::ToolResult(result) if &*result.tool == "Read");
        let view = session.history.entries().iter().find(|entry| is_view(&entry.item)).unwrap();
        !batches.iter().any(|batch| batch.items.contains(&view.id))
    };
    session.step("", vec![run("make 0", 0, &noise(0))]);
    assert!(is_spared(&session), "the new turn may still need it");
    session.step("", vec![run("make 1", 0, &noise(1))]);
    session.step("", vec![run("make 2", 0, &noise(2))]);
    assert!(!is_spared(&session));
}

#[test]
fn what_a_sub_agent_found_out_leaves_after_what_commands_print() {
    let mut session = Session::new("Find out how the parts fit together.");
    let report = Envelope::success("The parts meet in main.").with_body("answer", noise(1));
    session.step("", vec![("Task", r#"{"prompt":"How do they fit?"}"#.to_owned(), report)]);
    session.step("", vec![run("make all", 0, &noise(2))]);
    let landing = session.history.tokens() * 2 / 3;
    let goal = FoldGoal { landing, view_landing: landing, keep_requests: 0, at_most: false };
    let plan = FoldPlan::new(&session.history, &Thresholds::of(Profile::Default, 64_000), goal);
    let batches = plan.batches(&CauseKind::SoftCap.because("room"));
    let leaves = |tool: &str| {
        let of_tool = |item: &Item| matches!(item, Item::ToolResult(result) if &*result.tool == tool);
        let entry = session.history.entries().iter().find(|entry| of_tool(&entry.item)).unwrap();
        batches.iter().any(|batch| batch.items.contains(&entry.id))
    };
    assert!(leaves("Bash") && !leaves("Task"), "{batches:?}");
}

#[test]
fn a_plan_with_nothing_to_do_keeps_the_notes() {
    let mut session = Session::new("Look at everything.");
    for n in 0..12 {
        session.step(
            "",
            vec![run(&format!("make part{n}"), 0, &noise(n)), read(&format!("src/part_{n}.rs"), 120)],
        );
    }
    session.turn("All fine.", "And now?");
    assert!(session.fold(64_000, true));
    let limits = Thresholds::of(Profile::Default, 64_000);
    let goal = FoldGoal { landing: u64::MAX, view_landing: u64::MAX, keep_requests: 0, at_most: false };
    let plan = FoldPlan::new(&session.history, &limits, goal);
    assert_eq!(plan.batches(&CauseKind::SoftCap.because("nothing")), []);
    assert_eq!(plan.left(), session.history.tokens());
}

#[test]
fn nothing_is_folded_within_a_turn_because_it_pays() {
    let mut session = Session::new("Look at everything.");
    for n in 0..40 {
        session.step("", vec![run(&format!("make part{n}"), 0, &noise(n % 3))]);
        assert!(!session.fold(1_000_000, false) || session.history.tokens() > 80_000, "step {n}");
        if session.history.tokens() > 80_000 {
            break;
        }
    }
}

#[test]
fn what_the_model_reads_after_a_fold() {
    let mut session = Session::new("The login times out after a minute. Find out why and mend it.");
    session.step(
        "I look for the timeout first.",
        vec![run("rg -n timeout src", 0, &noise(1)), read("src/login.rs", 400)],
    );
    session.step(
        "The limit is read twice: `login.rs` takes it from the session, `session.rs` from the settings. The second wins.",
        vec![read("src/session.rs", 640), read("src/settings.rs", 220)],
    );
    session.step(
        "",
        vec![
            edit("src/session.rs", 12),
            run("cargo test login", 101, "running 3 tests\ntest expires ... FAILED\nerror: test failed\n"),
        ],
    );
    session.step(
        "The test still expects 60 s.",
        vec![edit("tests/login.rs", 3), run("cargo test login", 0, "test result: ok. 3 passed\n")],
    );
    session
        .turn("The limit was read twice. It now comes from the settings alone.", "Make it configurable too.");
    assert!(session.fold(128_000, true), "a cold cache and much to leave");
    let mut pages = format!("# A new turn, with a cold cache\n\n{}", session.page());
    session.step("", vec![edit("src/settings.rs", 9)]);
    for n in 0..24 {
        session.step("", vec![run(&format!("make part{n}"), i64::from(n % 8 == 7) * 2, &noise(n))]);
        session.fold(32_000, false);
    }
    pages.push_str(&format!("\n# A long turn in a window of 32k\n\n{}", session.page()));
    session.turn("It is configurable: `login.timeout_s` in the settings.", "Thanks. Now the docs.");
    session.fold(32_000, true);
    pages.push_str(&format!("\n# The turn after that\n\n{}", session.page()));
    page("context.txt", &pages);
}
