//! The screen: commands, events, popups.

use std::fmt::Write;

use base::config::settings::Permission;
use base::model::item::ItemId;
use base::protocol::approval::{AskedQuestion, Question};
use base::protocol::event::{EndReason, Event, FailureCause, JobRow, SessionInfo, SessionRow};
use base::protocol::ledger::ItemHistory;
use base::protocol::notice;
use base::protocol::rewind::{FileAction, PointId, RewindPoint, RewindPreview, RewindRow};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use frontend::tui::app::App;
use frontend::tui::msg::{Cmd, Msg};
use frontend::tui::popup::open::Popup;
use frontend::tui::render::theme::Theme;
use frontend::tui::render::view;
use frontend::tui::update::on_message::update;

use super::page::page;
use crate::support::fake_engine as fake;

/// A screen of 100 columns: what is printed into the scrollback, and what stands below it.
struct Stage {
    app: App,
    text: String,
}

impl Stage {
    fn new() -> Self {
        let mut stage = Self { app: App::new(Theme::new(false), (100, 24)), text: String::new() };
        stage.event(Event::Session(fake::session()));
        stage
    }

    fn take_in(&mut self, msg: Msg) {
        for command in update(&mut self.app, msg) {
            if let Cmd::Print(entry) = command {
                for line in entry.lines(None, 100, self.app.theme) {
                    let _ = writeln!(self.text, "{}", line.to_string().trim_end());
                }
            }
        }
    }

    fn event(&mut self, event: Event) {
        self.take_in(Msg::Event(Box::new(event)));
    }

    fn key(&mut self, code: KeyCode) {
        self.take_in(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn enter(&mut self, line: &str) {
        let _ = writeln!(self.text, "\n› {line}");
        self.take_in(Msg::Paste(line.to_owned()));
        self.key(KeyCode::Enter);
    }

    /// What stands below the scrollback.
    fn view(&mut self, title: &str) {
        let _ = writeln!(self.text, "\n[{title}]");
        for line in view::picture(&self.app, 100, 24).lines {
            let _ = writeln!(self.text, "{}", line.to_string().trim_end());
        }
    }
}

#[test]
fn screen() {
    let mut stage = Stage::new();
    stage.enter("/help");
    if let Some(Popup::Pager(pager)) = &mut stage.app.popup {
        stage.text.extend(pager.text());
        stage.text.push('\n');
    }
    stage.key(KeyCode::Esc);
    for line in [
        "/hlep",
        "/nonsense",
        "/model",
        "/permission",
        "/permission yolo",
        "/context why",
        "/context pin x",
        "/jobs",
        "/jobs stop",
        "/mcp off",
        "/recall",
        "/init no",
        "/init x",
    ] {
        stage.enter(line);
        if stage.app.popup.is_some() {
            stage.key(KeyCode::Esc);
        }
    }
    stage.text.push_str("\n# Events\n");
    let other = SessionInfo { id: "20260103-ef01".to_owned(), ..fake::session() };
    let model =
        SessionInfo { model: "other-model".to_owned(), permission: Permission::Auto, ..other.clone() };
    let job = |ended: Option<&str>| {
        Event::Jobs(vec![JobRow {
            id: 1,
            command: "npm run dev".to_owned(),
            ended: ended.map(str::to_owned),
        }])
    };
    for event in [
        Event::Session(other),
        Event::Session(model),
        Event::Sessions(Vec::new()),
        Event::RewindPoints(Vec::new()),
        job(None),
        job(Some("exit code 1")),
    ] {
        stage.event(event);
    }
    stage.enter("/jobs");
    stage.view("jobs");
    stage.key(KeyCode::Esc);
    stage.text.push_str("\n# During a turn\n");
    stage.enter("fix the sum");
    stage.event(Event::TurnStarted { text: "fix the sum".to_owned() });
    stage.view("working");
    for line in ["/clear", "/init", "/resume", "/rewind", "/context pin 12", "also the test"] {
        stage.enter(line);
    }
    stage.view("queued");
    stage.event(Event::Compacting { running: true });
    stage.view("compacting");
    stage.event(Event::Compacting { running: false });
    stage.event(Event::CallArriving { name: "Write".to_owned(), bytes: 12_000 });
    stage.view("call arriving");
    stage.event(Event::Silent { since_ms: 15_000, left_ms: Some(285_000), alive: false });
    stage.view("silent");
    stage.event(Event::TextDelta("Half an answer,\n\nand".to_owned()));
    let reason = "server error (HTTP 529): busy".to_owned();
    stage.event(Event::Retrying { attempt: 2, of: 6, wait_ms: 4_000, reason });
    stage.view("retrying");
    stage.event(Event::Ask { id: 1, question: fake::approval() });
    stage.view("approval");
    stage.key(KeyCode::Tab);
    stage.view("approval, with a note");
    stage.event(Event::AskClosed { id: 1 });
    stage.take_in(Msg::Paste("typing".to_owned()));
    stage.event(Event::Ask { id: 2, question: fake::approval() });
    stage.view("approval, while typing");
    stage.event(Event::AskClosed { id: 2 });
    let options = vec!["PostgreSQL".to_owned(), "SQLite".to_owned()];
    let ask = |options| Question::Ask {
        questions: vec![AskedQuestion { question: "Which database?".to_owned(), options, optional: false }],
    };
    stage.event(Event::Ask { id: 3, question: ask(options) });
    stage.key(KeyCode::Tab);
    stage.view("question");
    stage.event(Event::AskClosed { id: 3 });
    stage.event(Event::Ask { id: 4, question: ask(Vec::new()) });
    stage.key(KeyCode::Tab);
    stage.view("question without options");
    stage.event(Event::AskClosed { id: 4 });
    stage.key(KeyCode::Esc);
    stage.view("interrupting");

    stage.text.push_str("\n# Ends of a turn\n");
    let hint = || "nothing was lost; send the message again".to_owned();
    let message = || "server error (HTTP 500): oops".to_owned();
    for reason in [
        EndReason::Done,
        EndReason::Interrupted { prompt_returned: None },
        EndReason::Interrupted { prompt_returned: Some("fix the sum".to_owned()) },
        EndReason::StepLimit { limit: 500 },
        EndReason::ProviderFailed { message: message(), hint: hint(), prompt_returned: None },
        EndReason::Failed {
            message: notice::empty_reply().0,
            hint: notice::empty_reply().1,
            cause: FailureCause::Other,
            prompt_returned: None,
        },
    ] {
        stage.event(fake::turn_end(reason));
    }

    stage.text.push_str("\n# Popups\n");
    stage.take_in(Msg::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    stage.view("cleared");
    stage.take_in(Msg::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    stage.view("quit?");
    stage.key(KeyCode::Esc);
    stage.view("rewind?");
    stage.take_in(Msg::Paste("/".to_owned()));
    stage.view("commands");
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Backspace);
    stage.take_in(Msg::Paste("@".to_owned()));
    stage.view("files, not listed yet");
    stage.event(Event::Files(vec!["src/a.rs".to_owned()].into()));
    stage.take_in(Msg::Paste("zzz".to_owned()));
    stage.view("no files");
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    stage.enter("/context");
    stage.view("context, before it is there");
    stage.event(Event::Ledger(fake::ledger()));
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Char('p'));
    stage.view("context");
    stage.event(Event::ItemHistory(ItemHistory {
        id: "#12".to_owned(),
        origin: "Read src/a.rs:1-400".to_owned(),
        arrived_ms: None,
        full_tokens: 9_000,
        tokens: 9_000,
        form: "full".to_owned(),
        pinned: false,
        events: Vec::new(),
        recall: "Recall {\"id\":12}".to_owned(),
    }));
    stage.view("history of an item");
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    let now = base::clock::now_ms();
    let row = |title: &str, age_ms: u64, turns| SessionRow {
        id: "0198".to_owned(),
        title: title.to_owned(),
        turns,
        updated_ms: now - age_ms,
        workspace: "/w".to_owned(),
        ..SessionRow::default()
    };
    stage.event(Event::Sessions(vec![row("fix the sum", 120_000, 1), row("add a flag", 86_400_000 * 3, 12)]));
    stage.view("sessions");
    stage.key(KeyCode::Esc);
    let point = RewindPoint {
        id: PointId::Turn(ItemId(9)),
        name: "9".to_owned(),
        title: "fix the sum".to_owned(),
        ms: now - 120_000,
        files: 2,
        plus: 4,
        minus: 2,
        conversation: true,
    };
    stage.event(Event::RewindPoints(vec![point.clone()]));
    stage.view("rewind");
    let row = |path: &str, action, conflict: Option<&str>| RewindRow {
        path: path.to_owned(),
        action,
        plus: 1,
        minus: 2,
        differs: None,
        conflict: conflict.map(str::to_owned),
        impossible: None,
    };
    stage.event(Event::RewindPreview(RewindPreview {
        point,
        rows: vec![
            row("src/a.rs", FileAction::Restore, None),
            row("src/b.rs", FileAction::Delete, Some("changed since")),
        ],
        outside: vec!["/tmp/out.txt".to_owned()],
        items: 6,
    }));
    stage.view("rewind preview");
    page("screen.txt", &stage.text);
}
