//! Resizing loses and doubles nothing: whatever size the terminal takes, and whenever the chat hears of it, each finished
//! line stands in scrollback and screen once, in order.

use std::fmt::Write as _;

use frontend::tui::render::view::Drawing;
use frontend::tui::terminal::screen::Screen as Viewport;
use proptest::prelude::*;
use ratatui::layout::Size;
use ratatui::text::Line;

use crate::support::answer::answer;
use crate::support::emulator::Emulator;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

#[derive(Clone, Debug)]
enum Step {
    /// So many finished lines, and a viewport of so many rows; whether its caret is the terminal's own cursor.
    Frame {
        printed: usize,
        rows: usize,
        still: bool,
    },
    /// The terminal takes this height; the chat may hear of it only after the next frame.
    Resize {
        rows: u16,
        late: bool,
    },
    Popup,
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..6usize, 1..12usize, any::<bool>())
            .prop_map(|(printed, rows, still)| Step::Frame { printed, rows, still }),
        4 => (2..40u16, any::<bool>()).prop_map(|(rows, late)| Step::Resize { rows, late }),
        1 => Just(Step::Popup),
        1 => Just(Step::Clear),
    ]
}

fn drawing(rows: usize, still: bool, number: usize) -> Drawing {
    let lines = (0..rows).map(|row| Line::from(format!("view {number} {row}"))).collect();
    // The own cursor stands at the top only, as nothing else is certain on a screen that shrinks below the viewport.
    Drawing { lines, caret: Some((3, 0)), still, ..Drawing::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_line_once(steps in prop::collection::vec(step(), 1..60), rows in 2..40u16) {
        let mut terminal = Emulator::new(60, rows);
        terminal.parser.process(b"$ earlier 1\r\n$ earlier 2\r\n$ mycode\r\n");
        let mut screen = Viewport::new(terminal, Size::new(60, rows), true);
        let mut expected: Vec<String> =
            ["$ earlier 1", "$ earlier 2", "$ mycode"].map(str::to_owned).to_vec();
        let mut last = drawing(3, true, 0);
        screen.show(Vec::new(), &last).unwrap();
        let mut actual = Size::new(60, rows);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Frame { printed, rows, still } => {
                    // A frame that is in flight and higher than the screen has become scrolls, and nothing can take it back.
                    if rows >= usize::from(actual.height) {
                        screen.resize(actual);
                    }
                    let lines: Vec<String> = (0..printed).map(|line| format!("line {number} {line}")).collect();
                    last = drawing(rows, still, number);
                    screen.show(lines.iter().cloned().map(Line::from).collect(), &last).unwrap();
                    expected.extend(lines);
                    screen.resize(actual);
                }
                Step::Resize { rows, late } => {
                    screen.output().resize(60, rows);
                    actual = Size::new(60, rows);
                    if !late {
                        screen.resize(actual);
                    }
                }
                Step::Popup => {
                    screen.resize(actual);
                    screen.show(Vec::new(), &Drawing { popup: true, ..drawing(9, false, number) }).unwrap();
                }
                Step::Clear => {
                    screen.resize(actual);
                    screen.clear().unwrap();
                }
            }
        }
        screen.resize(actual);
        screen.show(Vec::new(), &last).unwrap();
        screen.leave().unwrap();
        let all = screen.output().lines();
        let found: Vec<&String> = all.iter().filter(|line| !line.is_empty()).collect();
        prop_assert_eq!(found, expected.iter().collect::<Vec<_>>());
    }
}

/// Sixty paragraphs that say which they are.
fn numbered() -> (String, Vec<String>) {
    let lines: Vec<String> = (0..60).map(|number| format!("paragraph {number} of the answer")).collect();
    let mut text = String::new();
    for line in &lines {
        let _ = write!(text, "{line}\n\n");
    }
    (text, lines)
}

#[test]
fn a_narrow_window_cuts_no_word() {
    let line =
        |number: usize| format!("paragraph {number:02} needs more room than sixty columns can give to it");
    let text = (0..40).map(line).collect::<Vec<_>>().join("\n\n");
    let server = FakeServer::start(vec![answer().text(&text).into()]);
    let place = Workplace::new();
    let mut screen = Screen::start(&place, &["--base-url", &server.base_url(), "--model", "m"], 100, 30);
    screen.wait("ask");
    screen.keys("go\r");
    screen.wait("Done");
    for (columns, [first, second]) in [
        (60, ["needs more room than sixty columns can give to", "it"]),
        (40, ["needs more room than sixty", "columns can give to it"]),
    ] {
        screen.resize(columns, 30);
        screen.wait_for("the lines", |screen| screen.lines().any(|row| row.trim_end() == second));
        screen.wait("Type a task");
        let rows: Vec<String> = screen.lines().into_iter().filter(|row| !row.is_empty()).collect();
        let from = rows.iter().position(|row| row.starts_with("paragraph 00")).unwrap();
        let expected =
            (0..40).flat_map(|number| [format!("paragraph {number:02} {first}"), second.to_owned()]);
        assert_eq!(rows[from..from + 80], expected.collect::<Vec<_>>());
        assert_eq!(rows.iter().filter(|row| row.starts_with("paragraph")).count(), 40);
    }
}

#[test]
fn what_is_above_a_short_session_stays() {
    let mut terminal = Emulator::new(60, 20);
    terminal.parser.process(b"$ earlier\r\n$ mycode\r\n");
    let mut screen = Viewport::new(terminal, Size::new(60, 20), false);
    let view = drawing(3, true, 0);
    let printed = ["first", "a line of more than forty columns, which wraps"].map(Line::from);
    screen.show(printed.to_vec(), &view).unwrap();
    screen.output().resize(40, 20);
    screen.resize(Size::new(40, 20));
    assert!(screen.is_torn());
    let wrapped = ["first", "a line of more than forty columns, which", "wraps"];
    screen.rewrap(wrapped.map(Line::from).to_vec(), &view).unwrap();
    let shown = screen.output().lines();
    assert_eq!(shown[..5], [&["$ earlier", "$ mycode"][..], &wrapped].concat());
}

/// tmux wraps a row as far as it was ever written, unless all of it was cleared.
#[test]
fn a_row_that_becomes_shorter_is_cleared_as_a_whole() {
    let mut screen = Viewport::new(Vec::new(), Size::new(60, 20), true);
    let view = |text: &str| Drawing { lines: vec![Line::from(text.to_owned())], ..Drawing::default() };
    screen.show(Vec::new(), &view("a row that ends at the edge")).unwrap();
    screen.output().clear();
    screen.show(Vec::new(), &view("a row")).unwrap();
    let written = String::from_utf8_lossy(screen.output()).into_owned();
    assert!(written.contains("\u{1b}[2Ka row") && !written.contains("\u{1b}[K"), "{written:?}");
}

#[test]
fn answer_that_streams_through_a_storm_of_sizes() {
    let (text, lines) = numbered();
    let server = FakeServer::start(vec![answer().text(&text).bytes_per_chunk(120).gated().into()]);
    let place = Workplace::new();
    let mut screen = Screen::start(&place, &["--base-url", &server.base_url(), "--model", "m"], 100, 30);
    screen.wait("ask");
    screen.keys("go\r");
    server.wait_for_requests(1);
    let sizes = [(100, 24), (100, 30), (90, 12), (100, 30), (70, 40), (100, 8), (60, 20)];
    for number in 0..60 {
        server.release(4);
        let (columns, rows) = sizes[number % sizes.len()];
        screen.resize(columns, rows);
        screen.wait_for("the composer", |screen| screen.contains('›'));
    }
    server.release(10_000);
    screen.wait("Type a task");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    let all = screen.lines();
    let mut found: Vec<&String> = all.iter().filter(|line| line.starts_with("paragraph")).collect();
    // On a busy machine a size may come between two writes.
    assert!(found.len() <= lines.len() + 2, "{} of {}\n{}", found.len(), lines.len(), all.join("\n"));
    found.dedup();
    assert_eq!(found, lines.iter().collect::<Vec<_>>(), "{}", all.join("\n"));
}

/// Rows below the last that shows something.
fn blank_below(screen: &Screen, rows: usize) -> usize {
    let contents = screen.wait_for("anything", |_| true);
    rows - contents.trim_end().lines().count()
}

#[test]
fn popup_and_clear() {
    let (text, lines) = numbered();
    let server = FakeServer::start(vec![answer().text(&text).into()]);
    let place = Workplace::new();
    let mut screen = Screen::start(&place, &["--base-url", &server.base_url(), "--model", "m"], 80, 24);
    screen.wait("ask");
    screen.keys("go\r");
    screen.wait("Done");
    let whole = |screen: &str| screen.contains("Type a task") && screen.contains("/help");
    let before = screen.wait_for("the composer", whole);
    screen.keys("/context\r");
    screen.wait("L1 System");
    screen.keys("\u{1b}");
    let after = screen.wait_for("the composer again", whole);
    assert_eq!(after, before, "a popup leaves the screen as it was");
    assert_eq!(blank_below(&screen, 24), 0);
    // The list of commands below the composer takes rows and gives them back.
    screen.keys("/");
    screen.wait("/model");
    screen.keys("\u{7f}");
    screen
        .wait_for("the list is gone", |screen| !screen.contains("/model") && screen.contains("Type a task"));
    let shown = screen.wait_for("anything", |_| true);
    assert!(shown.contains("✓ Done"), "{shown}");
    let above = shown.lines().take_while(|line| !line.starts_with('─')).last();
    assert!(above.is_some_and(|line| line.starts_with("✓ Done")), "no rows stay empty above:\n{shown}");
    screen.keys("\u{c}");
    screen.wait_for("an empty screen", |screen| {
        !screen.contains("paragraph") && screen.contains("Type a task")
    });
    screen.keys("/clear\r");
    screen.wait_for("a new session", |screen| !screen.contains("paragraph") && screen.contains("session"));
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    let all = screen.lines();
    let found: Vec<&String> = all.iter().filter(|line| line.starts_with("paragraph")).collect();
    assert_eq!(found, lines.iter().collect::<Vec<_>>(), "{}", all.join("\n"));
}

/// A slow line carries some ten kilobytes a second.
#[test]
fn a_streamed_answer_is_not_written_over_and_over() {
    let (text, _) = numbered();
    let text = text.replace(
        " of the answer",
        " of the answer, and much more of what such an answer says, word by word by word by word",
    );
    let slow = std::time::Duration::from_millis(4);
    let server = FakeServer::start(vec![answer().text(&text).bytes_per_chunk(200).slow(slow).into()]);
    let place = Workplace::new();
    let mut screen = Screen::start(&place, &["--base-url", &server.base_url(), "--model", "m"], 100, 30);
    screen.wait("ask");
    let before = screen.raw().len();
    screen.keys("go\r");
    screen.wait("Done");
    let written = screen.raw().len() - before;
    assert!(written < 60_000, "{written} bytes for an answer of {}", text.len());
}
