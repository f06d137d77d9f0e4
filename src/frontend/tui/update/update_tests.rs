//! Tests the reducer from outside: messages in, state and commands out; and no sequence of them may panic.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;
use ratatui::layout::Size;

use super::*;
use crate::tui::render::theme::Theme;
use crate::tui::render::view;
use crate::tui::terminal::screen::Screen;
use crate::tui::transcript::entry::TranscriptEntry;
use base::config::mode::Mode;
use base::config::settings::Permission;
use base::model::envelope::Envelope;
use base::model::item::{Item, ItemId, ToolResult};
use base::model::usage::Usage;
use base::protocol::approval::{Answer, ApprovalRequest, AskedQuestion, Question};
use base::protocol::event::{EndReason, Event, Level, SessionInfo, SessionRow, TurnEnd, WindowState};
use base::protocol::ledger::LedgerView;
use base::protocol::op::{Idle, Op, Quick, Undo, Work};

fn app() -> App {
    App::new(Theme::new(false), (80, 24))
}

fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Vec<Cmd> {
    let mut commands = update(app, Msg::Key(KeyEvent::new(code, modifiers)));
    // Sent with each prompt, for the history search.
    commands.retain(|command| !matches!(command, Cmd::Send(Op::Quick(Quick::Remember { .. }))));
    commands
}

fn key(app: &mut App, code: KeyCode) -> Vec<Cmd> {
    press(app, code, KeyModifiers::NONE)
}

fn ctrl(app: &mut App, c: char) -> Vec<Cmd> {
    press(app, KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn type_text(app: &mut App, text: &str) -> Vec<Cmd> {
    text.chars().flat_map(|c| key(app, KeyCode::Char(c))).collect()
}

fn event(app: &mut App, event: Event) -> Vec<Cmd> {
    update(app, Msg::Event(Box::new(event)))
}

fn submit(text: &str) -> Cmd {
    Cmd::Send(Op::Work(Work::Submit { text: text.to_owned() }))
}

fn info(id: &str) -> SessionInfo {
    SessionInfo {
        id: id.to_owned(),
        model: "m".to_owned(),
        provider: "p".to_owned(),
        permission: Permission::Ask,
        most_permission: Permission::Full,
        mode: Mode::Auto,
        workspace: "/w".to_owned(),
        turns: 0,
        offer_init: false,
        effort: None,
    }
}

fn ended(reason: EndReason) -> Event {
    Event::TurnEnded(TurnEnd {
        reason,
        steps: 1,
        denied: 0,
        usage: Usage::default(),
        elapsed_ms: 5,
        ..TurnEnd::default()
    })
}

fn approval() -> Question {
    Question::Approval(ApprovalRequest {
        call_id: "c".to_owned(),
        args: String::new(),
        tool: "Bash".to_owned(),
        title: "Bash rm -r x".to_owned(),
        detail: "rm -r x".to_owned(),
        is_diff: false,
        reason: "commands ask".to_owned(),
        always_prefix: Some("rm".to_owned()),
        session_scope: Some("this exact command".to_owned()),
        parts: Vec::new(),
        agent: None,
    })
}

#[test]
fn enter_sends_and_then_steers() {
    let mut app = app();
    type_text(&mut app, "do it");
    assert_eq!(key(&mut app, KeyCode::Enter), [submit("do it")]);
    event(&mut app, Event::TurnStarted { text: "do it".to_owned() });
    type_text(&mut app, "faster");
    assert_eq!(key(&mut app, KeyCode::Enter), [submit("faster")]);
    assert_eq!(app.queued, ["faster"]);
    let printed = event(&mut app, Event::Steered { text: "faster".to_owned() });
    assert_eq!(printed, [Cmd::Print(TranscriptEntry::User("faster".into()))]);
    assert!(app.queued.is_empty());
    assert_eq!(key(&mut app, KeyCode::Esc), [Cmd::Send(Op::Control(Control::Interrupt))]);
    event(&mut app, ended(EndReason::Interrupted { prompt_returned: None }));
    assert!(app.turn.is_none() && !app.needs_tick());
}

#[test]
fn queued_messages_come_back() {
    let mut app = app();
    event(&mut app, Event::TurnStarted { text: "do it".to_owned() });
    for text in ["first", "second"] {
        type_text(&mut app, text);
        key(&mut app, KeyCode::Enter);
    }
    assert_eq!(key(&mut app, KeyCode::Up), [Cmd::Send(Op::Control(Control::TakeBack))]);
    type_text(&mut app, "draft");
    event(&mut app, Event::Steered { text: "first".to_owned() });
    event(&mut app, Event::TakenBack { texts: vec!["second".to_owned()] });
    assert_eq!(app.composer.text(), "second\ndraft");
    assert!(app.queued.is_empty());
    assert_eq!(key(&mut app, KeyCode::Enter), [submit("second\ndraft")]);
}

#[test]
fn control_c() {
    let mut app = app();
    type_text(&mut app, "draft");
    assert!(ctrl(&mut app, 'c').is_empty());
    assert!(app.composer.is_empty());
    key(&mut app, KeyCode::Up);
    assert_eq!(app.composer.text(), "draft");
    ctrl(&mut app, 'c');
    assert!(ctrl(&mut app, 'c').is_empty());
    assert_eq!(ctrl(&mut app, 'c'), [Cmd::Quit]);
    assert_eq!(ctrl(&mut app, 'd'), [Cmd::Quit]);
}

#[test]
fn double_escape() {
    let mut app = app();
    type_text(&mut app, "draft");
    assert_eq!(key(&mut app, KeyCode::Esc), []);
    assert_eq!(app.composer.text(), "draft");
    assert!(app.hint.as_deref().is_some_and(|hint| hint.contains("clear")));
    key(&mut app, KeyCode::Esc);
    assert!(app.composer.is_empty());
    assert_eq!(key(&mut app, KeyCode::Esc), [], "one more only offers to go back");
    app.now += Duration::from_secs(3);
    update(&mut app, Msg::Tick);
    assert!(app.hint.is_none() && !app.needs_tick());
    assert_eq!(key(&mut app, KeyCode::Esc), [], "the offer holds for a moment");
    key(&mut app, KeyCode::Left);
    assert_eq!(key(&mut app, KeyCode::Esc), [], "another key in between begins anew");
    assert_eq!(key(&mut app, KeyCode::Esc), [Cmd::Send(Op::Undo(Undo::ListPoints))]);
    key(&mut app, KeyCode::Up);
    assert_eq!(app.composer.text(), "draft");
}

#[test]
fn a_call_keeps_its_name_while_it_arrives() {
    let mut app = app();
    event(&mut app, Event::TurnStarted { text: "go".to_owned() });
    event(&mut app, Event::CallArriving { name: "Write".to_owned(), bytes: 0 });
    event(&mut app, Event::CallArriving { name: String::new(), bytes: 5_000 });
    let arriving = app.turn.as_ref().and_then(|turn| turn.arriving.clone());
    assert_eq!(arriving, Some(("Write".to_owned(), 5_000)));
}

#[test]
fn line_breaks_do_not_send() {
    let mut app = app();
    type_text(&mut app, "a");
    assert!(press(&mut app, KeyCode::Enter, KeyModifiers::SHIFT).is_empty());
    assert!(press(&mut app, KeyCode::Enter, KeyModifiers::ALT).is_empty());
    ctrl(&mut app, 'j');
    type_text(&mut app, "b\\");
    assert!(key(&mut app, KeyCode::Enter).is_empty());
    assert_eq!(app.composer.text(), "a\n\n\nb\n");
}

#[test]
fn prompt_returned() {
    let mut app = app();
    type_text(&mut app, "hello");
    key(&mut app, KeyCode::Enter);
    let failed = EndReason::ProviderFailed {
        message: "down".to_owned(),
        hint: "start it".to_owned(),
        prompt_returned: Some("hello".to_owned()),
    };
    event(&mut app, ended(failed.clone()));
    assert_eq!(app.composer.text(), "hello");
    type_text(&mut app, "/vim");
    assert_eq!(app.composer.text(), "/vim", "a command isn't the end of the message");
    key(&mut app, KeyCode::Enter);
    assert_eq!(app.composer.text(), "hello", "which comes back after it");
    event(&mut app, ended(failed));
    type_text(&mut app, " a/b");
    assert_eq!(app.composer.text(), "hello a/b");
}

fn letter_alone(app: &mut App, letter: char) -> Vec<Cmd> {
    assert!(key(app, KeyCode::Char(letter)).is_empty());
    assert!(app.needs_tick());
    assert!(update(app, Msg::Tick).is_empty(), "it may be the beginning of a word");
    app.now += Duration::from_millis(300);
    update(app, Msg::Tick)
}

#[test]
fn a_word_is_no_answer() {
    for word in ["yes", "and", "no", "maybe", "search"] {
        let mut app = app();
        event(&mut app, Event::TurnStarted { text: "x".to_owned() });
        event(&mut app, Event::Ask { id: 1, question: approval() });
        assert!(type_text(&mut app, word).is_empty(), "{word}");
        app.now += Duration::from_secs(1);
        assert!(update(&mut app, Msg::Tick).is_empty());
        assert_eq!(app.composer.text(), word);
        assert_eq!(app.questions.len(), 1);
        assert!(!app.needs_tick());
    }
}

#[test]
fn typing_does_not_answer_questions() {
    let mut app = app();
    event(&mut app, Event::TurnStarted { text: "x".to_owned() });
    type_text(&mut app, "I sa");
    event(&mut app, Event::Ask { id: 1, question: approval() });
    assert!(type_text(&mut app, "y yes").is_empty());
    assert_eq!(app.composer.text(), "I say yes");
    key(&mut app, KeyCode::Tab);
    assert!(key(&mut app, KeyCode::Enter).is_empty());
    assert_eq!(
        letter_alone(&mut app, 'y'),
        [Cmd::Send(Op::Control(Control::Answer { id: 1, answer: Answer::Once }))]
    );
    assert_eq!(app.composer.text(), "I say yes");
}

#[test]
fn question_queue() {
    let mut app = app();
    event(&mut app, Event::TurnStarted { text: "x".to_owned() });
    event(&mut app, Event::Ask { id: 1, question: approval() });
    event(&mut app, Event::Ask { id: 2, question: approval() });
    assert!(!app.needs_tick(), "waiting for the user costs nothing");
    assert_eq!(
        letter_alone(&mut app, 'n'),
        [Cmd::Send(Op::Control(Control::Answer { id: 1, answer: Answer::No { note: String::new() } }))]
    );
    assert_eq!(key(&mut app, KeyCode::Char('s')), []);
    assert!(!app.needs_tick(), "what lasts needs Enter");
    assert_eq!(
        key(&mut app, KeyCode::Enter),
        [Cmd::Send(Op::Control(Control::Answer { id: 2, answer: Answer::Session }))]
    );
    event(&mut app, Event::Ask { id: 3, question: approval() });
    event(&mut app, Event::AskClosed { id: 3 });
    assert!(app.questions.is_empty());
    event(&mut app, Event::Ask { id: 4, question: approval() });
    assert_eq!(key(&mut app, KeyCode::Esc), [Cmd::Send(Op::Control(Control::Interrupt))]);
}

#[test]
fn file_completion() {
    let mut app = app();
    assert_eq!(type_text(&mut app, "see @ma"), [Cmd::Send(Op::Quick(Quick::ListFiles))]);
    let paths: Arc<[String]> = ["src/", "src/main.rs", "a b.txt"].map(str::to_owned).into();
    event(&mut app, Event::Files(paths));
    assert!(key(&mut app, KeyCode::Tab).is_empty());
    assert_eq!(app.composer.text(), "see @src/main.rs ");
    assert!(app.completion.is_none());
    assert_eq!(
        type_text(&mut app, "@b.t"),
        [Cmd::Send(Op::Quick(Quick::ListFiles))],
        "files may have come since"
    );
    key(&mut app, KeyCode::Enter);
    assert_eq!(app.composer.text(), "see @src/main.rs @\"a b.txt\" ");
    type_text(&mut app, "@sr");
    key(&mut app, KeyCode::Esc);
    assert!(app.completion.is_none());
    type_text(&mut app, "c");
    assert!(app.completion.is_none(), "stays closed for this token");
}

#[test]
fn a_folder_keeps_the_popup_open() {
    let mut app = app();
    let paths: Arc<[String]> = ["src/", "src/main.rs"].map(str::to_owned).into();
    event(&mut app, Event::Files(paths));
    type_text(&mut app, "@");
    key(&mut app, KeyCode::Tab);
    assert_eq!(app.composer.text(), "@src/");
    assert!(app.completion.is_some());
}

#[test]
fn commands_and_paths() {
    let mut app = app();
    type_text(&mut app, "/cont");
    assert_eq!(key(&mut app, KeyCode::Enter), [Cmd::Send(Op::Control(Control::ShowContext))]);
    assert_eq!(key(&mut app, KeyCode::Esc), []);
    type_text(&mut app, "/model glm-5");
    assert_eq!(
        key(&mut app, KeyCode::Enter),
        [Cmd::Send(Op::Idle(Idle::SetModel { model: "glm-5".to_owned() }))]
    );
    type_text(&mut app, "/permission auto");
    let set = Op::Quick(Quick::SetPermission { permission: Permission::Auto });
    assert_eq!(key(&mut app, KeyCode::Enter), [Cmd::Send(set)]);
    type_text(&mut app, "/compact the tests");
    let focus = Some("the tests".to_owned());
    assert_eq!(key(&mut app, KeyCode::Enter), [Cmd::Send(Op::Work(Work::Compact { focus }))]);
    type_text(&mut app, "/init no");
    assert_eq!(key(&mut app, KeyCode::Enter)[0], Cmd::Send(Op::Quick(Quick::DeclineInit)));
    type_text(&mut app, "/quit");
    assert_eq!(key(&mut app, KeyCode::Enter), [Cmd::Quit]);
    type_text(&mut app, "/etc/hosts is wrong");
    assert_eq!(key(&mut app, KeyCode::Enter), [submit("/etc/hosts is wrong")]);
}

#[test]
fn session_picker() {
    let mut app = app();
    type_text(&mut app, "/resume");
    assert_eq!(key(&mut app, KeyCode::Enter), [Cmd::Send(Op::Quick(Quick::ListSessions))]);
    let row = |id: &str| SessionRow {
        id: id.to_owned(),
        title: "t".to_owned(),
        turns: 1,
        updated_ms: 0,
        workspace: "/w".to_owned(),
        ..SessionRow::default()
    };
    event(&mut app, Event::Sessions(vec![row("a"), row("b")]));
    key(&mut app, KeyCode::Down);
    assert_eq!(
        key(&mut app, KeyCode::Enter),
        [Cmd::Send(Op::Idle(Idle::Resume { session: "b".to_owned() }))]
    );
}

#[test]
fn retry_discards_open_answer() {
    let mut app = app();
    event(&mut app, Event::TurnStarted { text: "x".to_owned() });
    event(&mut app, Event::TextDelta("half".to_owned()));
    let retrying = Event::Retrying { attempt: 2, of: 6, wait_ms: 900, reason: "overloaded".to_owned() };
    assert!(event(&mut app, retrying).is_empty());
    assert!(app.live.pieces.is_empty());
    assert_eq!(
        app.turn.as_ref().and_then(|turn| turn.retry.as_ref()).map(|retry| retry.at),
        Some(Duration::from_millis(900))
    );
    event(&mut app, Event::TextDelta("again".to_owned()));
    let item = Arc::new(Item::assistant("again"));
    let printed = event(&mut app, Event::Item { id: ItemId(1), item });
    assert_eq!(
        printed,
        [Cmd::Print(TranscriptEntry::Answer { markdown: "again".to_owned(), tight: false, code: None })]
    );
}

#[test]
fn silence_and_retry_status() {
    let mut app = app();
    event(&mut app, Event::TurnStarted { text: "x".to_owned() });
    let doing = |app: &App| {
        crate::tui::render::status::activity(app, 100).map(|line| line.to_string()).unwrap_or_default()
    };
    app.now = Duration::from_secs(20);
    event(&mut app, Event::Silent { since_ms: 10_000, left_ms: Some(290_000), alive: false });
    app.now = Duration::from_secs(25);
    let told = doing(&app);
    assert!(told.contains("No data from the server for 15s; giving up in 285s"), "{told}");
    event(&mut app, Event::Silent { since_ms: 10_000, left_ms: None, alive: false });
    assert_eq!(doing(&app).matches("25s").count(), 1, "{}", doing(&app));
    event(&mut app, Event::Retrying { attempt: 2, of: 6, wait_ms: 1_500, reason: "busy".to_owned() });
    assert!(doing(&app).contains("Attempt 2 of 6 in 2s: busy · 25s"), "{}", doing(&app));
    event(&mut app, Event::TextDelta("again".to_owned()));
    assert!(doing(&app).contains("Answering"), "{}", doing(&app));
}

#[test]
fn megabyte_paste() {
    let mut app = app();
    let text = "0123456789abcde\n".repeat(65_536);
    update(&mut app, Msg::Paste(text.clone()));
    assert!(app.composer.text().len() < 10);
    assert_eq!(key(&mut app, KeyCode::Enter), [submit(&text)]);
}

fn any_event() -> impl Strategy<Value = Event> {
    let text = "(\\PC|\n|\t|日|👩‍👩‍👧|`|#|\\*|\u{1b}|\u{202e}|\\|){0,30}";
    let id = "[ab]";
    prop_oneof![
        text.prop_map(Event::TextDelta),
        text.prop_map(Event::ReasoningDelta),
        text.prop_map(|text| Event::TurnStarted { text }),
        text.prop_map(|text| Event::Steered { text }),
        text.prop_map(|text| Event::Notice { level: Level::Error, text }),
        id.prop_map(|id| Event::Session(info(&id))),
        (id, text).prop_map(|(id, title)| Event::ToolStarted {
            call_id: id.into(),
            tool: "Bash".into(),
            title,
            args: "".into()
        }),
        (id, text).prop_map(|(id, tail)| Event::ToolProgress { call_id: id.into(), tail }),
        (id, text).prop_map(|(id, body)| {
            let envelope = Envelope::success("").with("diff", body.as_str()).with_body("stdout", body);
            let result = ToolResult::new(id, "Bash", envelope);
            Event::ToolDone { id: ItemId(1), result: Arc::new(result) }
        }),
        text.prop_map(|text| Event::Item { id: ItemId(2), item: Arc::new(Item::assistant(text)) }),
        (0u64..3).prop_map(|id| Event::Ask { id, question: approval() }),
        text.prop_map(|question| Event::Ask {
            id: 9,
            question: Question::Ask {
                questions: vec![AskedQuestion {
                    question,
                    options: vec!["a".to_owned(), "日本".to_owned()],
                    optional: false
                }]
            }
        }),
        (0u64..3).prop_map(|id| Event::AskClosed { id }),
        Just(Event::Retrying { attempt: 1, of: 6, wait_ms: 10, reason: "r".to_owned() }),
        any::<bool>().prop_map(|running| Event::Compacting { running }),
        Just(Event::Files(["src/", "a b", "日本/x"].map(str::to_owned).into())),
        Just(Event::Window(WindowState { used_tokens: 5, window_tokens: 8_192, ..WindowState::default() })),
        Just(Event::Ledger(LedgerView {
            rows: Vec::new(),
            total_tokens: 0,
            window_tokens: 0,
            window_origin: String::new(),
            error_percent: 0.0,
            epochs: Default::default(),
            agents: Vec::new(),
        })),
        Just(ended(EndReason::Done)),
    ]
}

fn any_msg() -> impl Strategy<Value = Msg> {
    let code = prop_oneof![
        8 => proptest::char::any().prop_map(KeyCode::Char),
        4 => proptest::sample::select(vec!['@', '/', '"', '\\', 'y', 's', ' ', '日', '\u{301}']).prop_map(KeyCode::Char),
        8 => proptest::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::Up, KeyCode::Down, KeyCode::Left, KeyCode::Right,
            KeyCode::Backspace, KeyCode::Delete, KeyCode::Home, KeyCode::End, KeyCode::PageDown, KeyCode::PageUp,
        ]),
    ];
    let modifiers = proptest::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::SHIFT,
    ]);
    prop_oneof![
        6 => (code, modifiers).prop_map(|(code, modifiers)| Msg::Key(KeyEvent::new(code, modifiers))),
        1 => "(\\PC|\n|日){0,40}".prop_map(Msg::Paste),
        1 => (1u16..100, 1u16..40).prop_map(|(columns, rows)| Msg::Resize(columns, rows)),
        1 => Just(Msg::Tick),
        6 => any_event().prop_map(|event| Msg::Event(Box::new(event))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn nothing_panics_at_any_size(msgs in proptest::collection::vec(any_msg(), 0..60), columns in 1u16..90, rows in 1u16..30) {
        let mut app = app();
        let mut screen = Screen::new(Vec::new(), Size::new(columns, rows), true);
        for msg in msgs {
            for cmd in update(&mut app, msg) {
                if let Cmd::Print(entry) = cmd {
                    entry.lines(None, usize::from(columns), app.theme);
                }
            }
            let picture = view::picture(&app, usize::from(columns), usize::from(rows));
            prop_assert!(picture.lines.len() <= usize::from(rows));
            prop_assert!(screen.show(Vec::new(), &picture).is_ok());
        }
    }
}
