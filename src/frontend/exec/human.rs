//! Output for people: the answer on standard output (so that `> answer.md` works), progress on standard error.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use super::printer::{LINE_CHARS, ModelAnswer, Printer, declined, end_words, result_line};
use base::config::settings::Permission;
use base::format::diff_lines::{self, DiffLine};
use base::model::envelope::{Envelope, Status};
use base::model::item::{Item, ReminderTopic};
use base::model::usage::{PriceUsed, Usage};
use base::protocol::approval::{FORBIDDEN, Question};
use base::protocol::event::{EndReason, Event, Level, ServiceRow, TurnEnd, silence};
use base::protocol::goal::{GoalRound, GoalState};
use base::sanitize::clean;
use base::text;

const OUTPUT_LINES: usize = 3;
const USER_LINES: usize = 60;
const DIFF_LINES: usize = 24;

const BOLD: Option<u8> = Some(1);
const DIM: Option<u8> = Some(2);
const RED: Option<u8> = Some(31);
const GREEN: Option<u8> = Some(32);
const YELLOW: Option<u8> = Some(33);

pub struct Human<O, L> {
    out: O,
    log: L,
    color: bool,
    quiet: bool,
    /// The last assistant text, until it's clear whether it's the answer.
    held: Option<Arc<str>>,
    cut: bool,
    partial: String,
    titles: HashMap<Arc<str>, String>,
    last_started: Option<Arc<str>>,
    cost: Option<(f64, PriceUsed)>,
    permission: Permission,
    most_permission: Permission,
    forbidden: u32,
    goal: Option<GoalState>,
}

impl<O: Write, L: Write> Human<O, L> {
    pub fn new(out: O, log: L, color: bool) -> Self {
        Self {
            out,
            log,
            color,
            quiet: false,
            held: None,
            cut: false,
            partial: String::new(),
            titles: HashMap::new(),
            last_started: None,
            cost: None,
            permission: Permission::Ask,
            most_permission: Permission::Full,
            forbidden: 0,
            goal: None,
        }
    }

    pub fn quiet(out: O, log: L) -> Self {
        Self { quiet: true, ..Self::new(out, log, false) }
    }

    /// Ignores write errors: with standard error closed, the answer may still be wanted.
    pub fn line(&mut self, color: Option<u8>, line: &str) {
        if self.quiet && color != RED && color != YELLOW {
            return;
        }
        let line = clean(line);
        let _ = match color.filter(|_| self.color) {
            Some(code) => writeln!(self.log, "\u{1b}[{code}m{line}\u{1b}[0m"),
            None => writeln!(self.log, "{line}"),
        };
        self.last_started = None;
    }

    fn release(&mut self) {
        if let Some(text) = self.held.take() {
            self.line(None, text.trim_end());
        }
    }

    fn started(&mut self, call_id: &Arc<str>, title: &str) {
        self.release();
        let title = text::one_line(&clean(title), LINE_CHARS);
        self.line(BOLD, &format!("> {title}"));
        self.titles.insert(Arc::clone(call_id), title);
        self.last_started = Some(Arc::clone(call_id));
    }

    fn done(&mut self, call_id: &Arc<str>, tool: &str, envelope: &Envelope) {
        let title = self.titles.remove(call_id).unwrap_or_else(|| tool.to_owned());
        let result = result_line(envelope);
        let line = if self.last_started.as_ref() == Some(call_id) {
            format!("  {result}")
        } else {
            format!("  {title}: {result}")
        };
        let paint = if envelope.status == Status::Error { RED } else { DIM };
        self.line(paint, &line);
        if envelope.data.exit_code().is_some() {
            let lines: Vec<&str> = envelope.body.lines().filter(|line| !line.trim().is_empty()).collect();
            let most = if envelope.data.by_user() { USER_LINES } else { OUTPUT_LINES };
            for line in &lines[lines.len().saturating_sub(most)..] {
                self.line(DIM, &format!("    {}", text::elide(line, LINE_CHARS)));
            }
        }
        if let Some(diff) = envelope.data.diff() {
            self.diff(diff);
        }
    }

    fn diff(&mut self, diff: &str) {
        let (mut rows, mut hidden) = (Vec::new(), 0);
        for line in diff_lines::read(diff) {
            match line {
                DiffLine::Row { sign: '+', text, .. } => rows.push((GREEN, format!("+{text}"))),
                DiffLine::Row { sign: '-', text, .. } => rows.push((RED, format!("-{text}"))),
                DiffLine::Row { text, .. } => rows.push((DIM, format!(" {text}"))),
                DiffLine::Hunk(line) => rows.push((DIM, line.to_owned())),
                // With several files, each is named.
                DiffLine::Header(line) if !rows.is_empty() && line.starts_with("+++ ") => {
                    rows.push((DIM, line.to_owned()));
                }
                DiffLine::Header(_) => {}
                DiffLine::Cut(_, cut) => hidden += cut.lines,
            }
        }
        for (paint, row) in rows.iter().take(DIFF_LINES) {
            self.line(*paint, &format!("    {}", text::elide(row, LINE_CHARS)));
        }
        hidden += rows.len().saturating_sub(DIFF_LINES);
        if hidden > 0 {
            let more = text::plural(hidden, "more line");
            self.line(DIM, &format!("    … {more}"));
        }
    }
}

impl<O: Write, L: Write> Printer for Human<O, L> {
    fn after_end(&mut self, event: &Event) {
        if matches!(event, Event::Notice { .. }) {
            let _ = self.event(event);
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::TextDelta(delta) => self.partial.push_str(delta),
            Event::Item { item, .. } => {
                if let Item::Assistant { text, .. } = &**item {
                    let before = if std::mem::take(&mut self.cut) { self.held.take() } else { None };
                    self.release();
                    self.partial.clear();
                    let whole = |before| format!("{before}{text}").into();
                    self.held = Some(before.map_or_else(|| Arc::clone(text), whole));
                }
            }
            Event::ToolStarted { call_id, title, .. } => self.started(call_id, title),
            Event::ToolDone { result, .. } => {
                let why = result.envelope.error.as_ref().map_or("", |error| &error.message);
                self.forbidden += u32::from(FORBIDDEN.iter().any(|start| why.starts_with(start)));
                if !self.quiet {
                    self.done(&result.call_id, &result.tool, &result.envelope);
                }
            }
            Event::Notice { level, text } => {
                let (word, paint) = match level {
                    Level::Info => ("note", DIM),
                    Level::Warning => ("warning", YELLOW),
                    Level::Error => ("error", RED),
                };
                self.line(paint, &format!("{word}: {text}"));
            }
            Event::Retrying { attempt, of, wait_ms, reason } => {
                self.partial.clear();
                let wait = seconds(*wait_ms);
                self.line(YELLOW, &format!("attempt {attempt} of {of} in {wait}: {reason}"));
            }
            Event::Silent { since_ms, left_ms, alive } => {
                self.line(DIM, &silence(&seconds(*since_ms), left_ms.map(seconds), *alive));
            }
            Event::Nudge(nudge) => {
                self.cut = nudge.kind == ReminderTopic::Cut;
                self.line(DIM, &format!("· {}", nudge.short));
            }
            Event::Review(review) => self.line(DIM, &format!("· {}", review.short())),
            Event::Goal(state) => {
                let line = state.rounds.last().map_or_else(|| state.line(), GoalRound::line);
                if state.rounds.last().is_some_and(GoalRound::goes_on) {
                    self.release();
                }
                self.line(DIM, &format!("· {line}"));
                self.goal = Some(state.clone());
            }
            Event::Session(session) => {
                (self.permission, self.most_permission) = (session.permission, session.most_permission);
            }
            Event::Permission(permission) => self.permission = *permission,
            Event::Compacting { running: true } => self.line(DIM, "compacting older turns"),
            Event::Window(window) => {
                self.cost = window.cost_usd.map(|cost| (cost, window.price)).or(self.cost)
            }
            _ => {}
        }
        Ok(())
    }

    fn denied(&mut self, question: &Question) -> io::Result<()> {
        let (_, title, reason) = declined(question);
        let line = format!("denied: {} ({reason})", text::one_line(title, LINE_CHARS));
        self.line(YELLOW, &line);
        Ok(())
    }

    fn end(&mut self, end: &TurnEnd, answer: &ModelAnswer, _: u8) -> io::Result<()> {
        let written = if end.reason == EndReason::Done {
            let output = answer.output.as_ref().map(|output| output.to_string().into());
            match output.or(self.held.take()) {
                Some(answer) => writeln!(self.out, "{}", clean(answer.trim_end())),
                None => Ok(()),
            }
        } else {
            self.release();
            let partial = std::mem::take(&mut self.partial);
            if !partial.trim().is_empty() {
                self.line(None, partial.trim_end());
            }
            Ok(())
        }
        .and_then(|()| self.out.flush());
        if let Some(state) = self.goal.take().filter(|state| !state.rounds.is_empty()) {
            self.line(None, &state.report());
        }
        let (_, message, hint) = end_words(&end.reason);
        if let Some(message) = message {
            self.line(RED, &format!("error: {message}"));
        }
        if let Some(hint) = hint {
            self.line(if self.quiet { RED } else { None }, &format!("hint: {hint}"));
        }
        if end.denied > 0 {
            let calls = text::plural(end.denied as usize, "call");
            let more = [Permission::Auto, Permission::Full]
                .into_iter()
                .filter(|_| end.denied > self.forbidden)
                .filter(|level| self.permission < *level && *level <= self.most_permission)
                .map(|level| level.into_str());
            let more = more.collect::<Vec<_>>().join(" or ");
            let hint = if more.is_empty() { more } else { format!("; allow more with --permission {more}") };
            self.line(YELLOW, &format!("{calls} denied{hint}"));
        }
        if !end.set_aside.is_empty() {
            let files = end.set_aside.join(", ");
            let how = "`mycode sandbox restore` lists what was moved, `mycode trust` accepts rules";
            self.line(YELLOW, &format!("Set aside: {files} ({how})"));
        }
        if !end.services.is_empty() {
            let count = text::plural(end.services.len(), "service");
            self.line(None, &format!("Still running: {count}"));
        }
        for service in &end.services {
            let ServiceRow { pid, command, log, stop, .. } = service;
            let command = text::one_line(command, LINE_CHARS);
            self.line(None, &format!("pid {pid}  {command}  (log {log}; to stop it: {stop})"));
        }
        let usage = &end.usage;
        let mut summary = text::plural(end.steps as usize, "step");
        if *usage != Usage::default() {
            let [input, cached, output] = [usage.input, usage.cached, usage.output].map(text::human_tokens);
            summary.push_str(&format!(", {input} tokens in ({cached} cached), {output} out"));
        }
        if let Some((cost, price)) = self.cost {
            summary.push_str(&format!(", session ${cost:.4}{}", price.note()));
        }
        summary.push_str(&format!(", {}", seconds(end.elapsed_ms)));
        self.line(DIM, &summary);
        written
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::model::envelope::ErrorCode;
    use base::model::item::{ItemId, ToolResult};
    use base::model::observation::{Observation, Todos};

    fn assistant(text: &str) -> Event {
        Event::Item { id: ItemId(1), item: Arc::new(Item::assistant(text)) }
    }

    fn started(id: &str, title: &str) -> Event {
        Event::ToolStarted {
            call_id: id.into(),
            tool: "T".into(),
            title: title.to_owned(),
            args: "{}".into(),
        }
    }

    fn done(id: &str, envelope: Envelope) -> Event {
        let result = ToolResult::new(id, "T", envelope);
        Event::ToolDone { id: ItemId(2), result: Arc::new(result) }
    }

    fn show(events: &[Event], reason: EndReason, color: bool) -> (String, String) {
        let mut human = Human::new(Vec::new(), Vec::new(), color);
        for event in events {
            assert!(human.event(event).is_ok());
        }
        let usage = Usage { input: 12_345, cached: 10_000, output: 99, ..Usage::default() };
        let end = TurnEnd { reason, steps: 2, usage, elapsed_ms: 1_234, ..TurnEnd::default() };
        assert!(human.end(&end, &ModelAnswer::default(), 0).is_ok());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&human.out), text(&human.log))
    }

    #[test]
    fn standard_output_holds_the_answer() {
        let events = [
            Event::TextDelta("I look".to_owned()),
            assistant("I look."),
            started("a", "Read x"),
            started("b", "Bash y"),
            done("a", Envelope::success("").with_body("content", "1\n2\n")),
            done("b", Envelope::error(ErrorCode::Timeout, "after\n120 s")),
            started("c", "Edit \u{1b}[31mz"),
            done("c", Envelope::success("Edited z")),
            assistant("All \u{1b}[1mdone\u{1b}[0m.\n"),
        ];
        let (out, log) = show(&events, EndReason::Done, false);
        assert_eq!(out, "All done.\n");
        insta::assert_snapshot!(log, @r"
        I look.
        > Read x
        > Bash y
          Read x: 2 lines
          Bash y: TIMEOUT: after 120 s
        > Edit z
          Edited z
        2 steps, 12.3k tokens in (10.0k cached), 99 out, 1.2 s
        ");
    }

    #[test]
    fn unfinished_task_output() {
        let todos = Todos { todos: None, recap: Some("[0/1] Pending: it.".to_owned()) };
        let events = [
            assistant("Trying."),
            started("a", "LS"),
            done("a", Envelope::success("")),
            started("b", "TodoWrite plan"),
            done("b", Envelope::success("ok").observed(Observation::Todos(todos))),
            Event::Retrying { attempt: 2, of: 6, wait_ms: 500, reason: "busy".to_owned() },
            Event::TextDelta("half an".to_owned()),
        ];
        let reason = EndReason::ProviderFailed {
            message: "server error".to_owned(),
            hint: "try later".to_owned(),
            prompt_returned: None,
        };
        let (out, log) = show(&events, reason, false);
        assert_eq!(out, "");
        insta::assert_snapshot!(log, @r"
        Trying.
        > LS
          ok
        > TodoWrite plan
          [0/1] Pending: it.
        attempt 2 of 6 in 0.5 s: busy
        half an
        error: server error
        hint: try later
        2 steps, 12.3k tokens in (10.0k cached), 99 out, 1.2 s
        ");
    }

    #[test]
    fn what_allows_more_is_more_than_now() {
        for (permission, most, why, told) in [
            (
                Permission::Ask,
                Permission::Full,
                "a command",
                "1 call denied; allow more with --permission auto or full\n",
            ),
            (
                Permission::Auto,
                Permission::Full,
                "a command",
                "1 call denied; allow more with --permission full\n",
            ),
            (
                Permission::Ask,
                Permission::Auto,
                "a command",
                "1 call denied; allow more with --permission auto\n",
            ),
            (Permission::Auto, Permission::Auto, "a command", "1 call denied\n"),
            (Permission::Full, Permission::Full, "a command", "1 call denied\n"),
            (Permission::Ask, Permission::Full, FORBIDDEN[1], "1 call denied\n"),
        ] {
            let (mut out, mut log) = (Vec::new(), Vec::new());
            let mut human = Human::new(&mut out, &mut log, false);
            human.most_permission = most;
            let _ = human.event(&Event::Permission(permission));
            human.quiet = true;
            let _ = human.event(&done("a", Envelope::error(ErrorCode::PermissionDenied, why)));
            let end = TurnEnd {
                reason: EndReason::Done,
                steps: 1,
                denied: 1,
                usage: Usage::default(),
                elapsed_ms: 0,
                ..TurnEnd::default()
            };
            let _ = human.end(&end, &ModelAnswer::default(), 1);
            let log = String::from_utf8_lossy(&log);
            assert!(log.starts_with(told), "{log}");
        }
    }

    #[test]
    fn color_only_when_asked() {
        let events = [started("a", "LS")];
        assert!(!show(&events, EndReason::Done, false).1.contains('\u{1b}'));
        assert!(show(&events, EndReason::Done, true).1.contains("\u{1b}[1m> LS\u{1b}[0m"));
    }
}
