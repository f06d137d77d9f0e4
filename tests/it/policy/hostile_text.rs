//! Whatever the model, the tools, the files or the session list bring: no character of it reaches the terminal that could
//! steer it or deceive the reader, on the screen and in `exec`'s plain output.

use std::sync::Arc;
use std::time::Duration;

use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::{Item, ItemId};
use base::protocol::approval::{ApprovalRequest, AskedQuestion, Question};
use base::protocol::event::{EndReason, Event, FailureCause, JobRow, Level, SessionInfo, SessionRow};
use base::protocol::ledger::{LedgerRow, LedgerView};
use base::protocol::lists::{ModelRow, PreviewMessage, RuleRow};
use base::protocol::rewind::{PointId, RewindPoint};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use frontend::exec::human::Human;
use frontend::exec::printer::{ModelAnswer, Printer};
use frontend::tui::app::App;
use frontend::tui::msg::{Cmd, Msg};
use frontend::tui::render::theme::Theme;
use frontend::tui::render::view;
use frontend::tui::terminal::screen::Screen;
use frontend::tui::update::on_message::update;
use proptest::prelude::*;
use ratatui::layout::Size;

use crate::support::fake_engine as fake;

/// The pieces that hostile text is made of.
const PIECES: &[&str] = &[
    "rm -rf x",
    "a",
    " ",
    "世界",
    "\n",
    "\t",
    "\r",
    "\0",
    "\u{8}",
    "\u{7f}",
    "\u{1b}[2J",
    "\u{1b}[1;1H",
    "\u{1b}c",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]52;c;QUFB\u{7}",
    "\u{1b}]8;;http://x\u{1b}\\",
    "\u{1b}P1$r\u{1b}\\",
    "\u{1b}",
    "\u{9b}31m",
    "\u{9d}0;x\u{9c}",
    "\u{85}",
    "\u{202e}",
    "\u{202a}",
    "\u{2066}",
    "\u{2069}",
    "\u{200e}",
    "\u{200b}",
    "\u{2060}",
    "\u{feff}",
    "\u{61c}",
    "\u{e0041}",
    "\u{2028}",
    "`",
    "**",
    "[x](y)",
    "- ",
    "| a | b |\n|---|---|\n",
];

fn hostile() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 1..12).prop_map(|pieces| pieces.concat())
}

/// Characters that command the terminal, reorder what is read, or hide.
fn is_bad(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Plays messages and gives every cell that was ever shown.
struct Stage {
    app: App,
    screen: Screen<Vec<u8>>,
    seen: String,
    /// The commands that the screen itself writes: none of those that hostile text is made of.
    own: regex::Regex,
    /// What was taken in when a bad character was first seen.
    first_bad: Option<String>,
}

impl Stage {
    fn new() -> Self {
        let own = r"\r|\n|\x1b\[(\d+[ABCGHL]|2?K|J|H|[\d;]*m|\?(25|7|1049)[hl])";
        let own = regex::Regex::new(own).unwrap();
        let screen = Screen::new(Vec::new(), Size::new(90, 40), true);
        Self { app: App::new(Theme::new(true), (90, 40)), screen, seen: String::new(), own, first_bad: None }
    }

    fn take_in(&mut self, msg: Msg) {
        let from: String = format!("{msg:?}").chars().take(60).collect();
        let (mut lines, mut last) = (Vec::new(), self.app.last_printed);
        for cmd in update(&mut self.app, msg) {
            if let Cmd::Print(entry) = cmd {
                lines.extend(entry.lines(last, 90, self.app.theme));
                last = Some(entry.kind());
            }
        }
        let picture = view::picture(&self.app, 90, usize::from(self.screen.room()));
        self.screen.show(lines, &picture).unwrap();
        let written = String::from_utf8(std::mem::take(self.screen.output())).unwrap();
        self.seen.push_str(&self.own.replace_all(&written, ""));
        if self.first_bad.is_none() && self.seen.contains(is_bad) {
            self.first_bad = Some(from);
        }
    }

    fn event(&mut self, event: Event) {
        self.take_in(Msg::Event(Box::new(event)));
    }

    fn press(&mut self, code: KeyCode) {
        self.take_in(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.press(KeyCode::Char(c));
        }
    }
}

fn events(text: &str) -> Vec<Event> {
    let own = || text.to_owned();
    let envelope = Envelope::success(text).with_body("output", own());
    vec![
        Event::Session(SessionInfo { model: own(), workspace: own(), id: own(), ..fake::session() }),
        Event::TurnStarted { text: own() },
        Event::ReasoningDelta(own()),
        Event::TextDelta(own()),
        Event::TextDelta("\n".to_owned()),
        Event::Item { id: ItemId(1), item: Arc::new(Item::assistant(text)) },
        Event::ToolWaiting { call_id: "z".into(), title: own() },
        fake::started("a", text, text),
        Event::ToolProgress { call_id: "a".into(), tail: own() },
        fake::result("a", "Bash", envelope),
        fake::started("b", "Read", text),
        fake::result("b", "Read", Envelope::error(ErrorCode::NotFound, own())),
        Event::CallArriving { name: own(), bytes: 4_000 },
        Event::Retrying { attempt: 2, of: 6, wait_ms: 500, reason: own() },
        Event::Notice { level: Level::Error, text: own() },
        Event::Jobs(vec![JobRow { id: 1, command: own(), ended: Some(own()) }]),
        Event::SandboxLacks(own()),
        Event::Steered { text: own() },
        Event::TurnEnded(
            match fake::turn_end(EndReason::Failed {
                message: own(),
                hint: own(),
                cause: FailureCause::Other,
                prompt_returned: None,
            }) {
                Event::TurnEnded(end) => end,
                _ => unreachable!(),
            },
        ),
    ]
}

fn approval(text: &str, is_diff: bool) -> Question {
    Question::Approval(ApprovalRequest {
        call_id: "c".to_owned(),
        args: String::new(),
        tool: text.to_owned(),
        title: text.to_owned(),
        detail: text.to_owned(),
        is_diff,
        reason: text.to_owned(),
        always_prefix: Some(text.to_owned()),
        session_scope: Some("this exact command".to_owned()),
        parts: Vec::new(),
        agent: None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_on_the_screen_steers_it(text in hostile()) {
        let mut stage = Stage::new();
        for event in events(&text) {
            stage.event(event);
        }
        stage.app.now = Duration::from_secs(1);
        stage.type_text("/jobs");
        stage.press(KeyCode::Enter);
        stage.type_text("@");
        stage.event(Event::Files([text.clone()].into()));
        stage.press(KeyCode::Tab);
        stage.take_in(Msg::Paste(text.clone()));
        stage.take_in(Msg::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        for is_diff in [false, true] {
            stage.event(Event::Ask { id: 1, question: approval(&text, is_diff) });
            stage.event(Event::AskClosed { id: 1 });
        }
        let asked = AskedQuestion { question: text.clone(), options: vec![text.clone()], optional: false };
        stage.event(Event::Ask { id: 2, question: Question::Ask { questions: vec![asked] } });
        stage.event(Event::AskClosed { id: 2 });
        let row = SessionRow { id: text.clone(), title: text.clone(), turns: 1, updated_ms: 0, workspace: text.clone(), ..SessionRow::default() };
        stage.event(Event::JobOutput { id: 1, text: text.clone() });
        stage.press(KeyCode::Esc);
        stage.press(KeyCode::Esc);
        stage.event(Event::Sessions(vec![row]));
        let said = PreviewMessage { by_user: true, text: text.clone() };
        stage.event(Event::SessionPreview { session: text.clone(), messages: vec![said] });
        stage.press(KeyCode::Esc);
        stage.type_text("/model");
        stage.press(KeyCode::Enter);
        let model = ModelRow { name: text.clone(), ..ModelRow::default() };
        stage.event(Event::Models(vec![model]));
        stage.press(KeyCode::Esc);
        stage.type_text("/permission");
        stage.press(KeyCode::Enter);
        stage.event(Event::Rules(vec![RuleRow { text: text.clone(), kept: true }]));
        stage.press(KeyCode::Esc);
        stage.event(Event::Status(vec![(text.clone(), text.clone())]));
        stage.press(KeyCode::Esc);
        let point = RewindPoint {
            id: PointId::Turn(ItemId(1)),
            name: text.clone(),
            title: text.clone(),
            ms: 0,
            files: 1,
            plus: 1,
            minus: 1,
            conversation: true,
        };
        stage.event(Event::RewindPoints(vec![point]));
        stage.press(KeyCode::Esc);
        stage.type_text("/context");
        stage.press(KeyCode::Enter);
        let row = LedgerRow {
            id: text.clone(), layer: text.clone(), origin: text.clone(), tokens: 1, form: text.clone(), pinned: true,
        };
        stage.event(Event::Ledger(LedgerView { rows: vec![row], window_origin: text.clone(), ..fake::ledger() }));
        let bad: Vec<char> = stage.seen.chars().filter(|c| is_bad(*c)).collect();
        prop_assert!(bad.is_empty(), "{bad:?} from {text:?} at {:?}", stage.first_bad);
    }

    #[test]
    fn nothing_that_exec_prints_steers_the_terminal(text in hostile()) {
        let (mut out, mut log) = (Vec::new(), Vec::new());
        let mut human = Human::new(&mut out, &mut log, false);
        for event in events(&text) {
            match event {
                Event::TurnEnded(end) => human.end(&end, &ModelAnswer::default(), 1).unwrap(),
                event => human.event(&event).unwrap(),
            }
        }
        human.denied(&approval(&text, false)).unwrap();
        drop(human);
        for written in [out, log] {
            let written = String::from_utf8(written).unwrap();
            let bad: Vec<char> = written.chars().filter(|c| is_bad(*c) && !matches!(c, '\n' | '\t')).collect();
            prop_assert!(bad.is_empty(), "{bad:?} from {text:?}");
        }
    }

    /// What the user says yes to stands there with nothing left out: what takes no room is written out.
    #[test]
    fn an_approval_hides_nothing(front in "[a-z]{1,8}", hidden in prop::sample::select(vec![
        '\u{200c}', '\u{200d}', '\u{fe0f}', '\u{ad}', '\u{1b}', '\u{202e}', '\u{200b}', '\u{3164}', '\u{e0101}',
    ])) {
        let mut stage = Stage::new();
        stage.event(Event::Session(fake::session()));
        stage.event(Event::Ask { id: 1, question: approval(&format!("{front}{hidden}"), false) });
        let written = format!("{front}<U+{:04X}>", u32::from(hidden));
        prop_assert!(stage.seen.contains(&written), "{written}");
        prop_assert!(!stage.seen.contains(hidden));
    }
}
