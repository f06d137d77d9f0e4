//! Groups keys that arrive together. Terminals without bracketed paste send pastes as key presses; one by
//! one, a megabyte would take minutes and its first line break would send it. Many plain characters at once, or
//! several lines, therefore count as a paste. A key whose escape sequence arrives in two parts is put together.

use std::io;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::{Stream, StreamExt, poll};
use tokio::time::error::Elapsed;

use super::setup;
use super::split_key::{self, KeyBurst};

const PASTE_CHARS: usize = 200;
/// So many bytes after a line end make it part of a paste.
const SECOND_LINE: usize = 4;
const MOST_CHARS: usize = 64 * 1024;
/// A paste arrives in portions at most this far apart.
const SAME_PASTE: Duration = Duration::from_millis(150);
/// How long after a line end it counts as Enter.
const MORE_WITHIN: Duration = Duration::from_millis(15);

const ESCAPE: Event = Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));

#[derive(Debug, Default)]
pub struct PasteDetector {
    last_paste: Option<Instant>,
}

impl PasteDetector {
    pub async fn gather(
        &mut self,
        first: Event,
        keys: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
    ) -> KeyBurst {
        let goes_on = self.last_paste.is_some_and(|at| at.elapsed() < SAME_PASTE);
        let mut burst = gather(first, keys, goes_on).await;
        if burst.events.last() == Some(&ESCAPE) {
            split_key::join(&mut burst, keys).await;
        }
        if matches!(burst.events.first(), Some(Event::Paste(_))) {
            self.last_paste = Some(Instant::now());
        }
        burst
    }
}

async fn gather(
    first: Event,
    keys: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
    continued: bool,
) -> KeyBurst {
    let mut pasting = continued;
    let mut text = String::new();
    let mut count = 0;
    let mut behind = Vec::new();
    let mut ended = false;
    let mut next = Some(first);
    while let Some(event) = next.take() {
        match plain(&event) {
            // In a paste, a line end is Enter only if nothing or a command key follows.
            Some('\n') if pasting || count >= PASTE_CHARS => match more(keys, pasting).await {
                Ok(Some(Ok(after))) => match plain(&after) {
                    Some(c) => {
                        pasting = true;
                        text.extend(['\n', c]);
                        count += 2;
                    }
                    None => behind.extend([event, after]),
                },
                Ok(_) => {
                    ended = true;
                    behind.push(event);
                }
                // The last line end of a paste doesn't send it.
                Err(_) if !continued && text.contains('\n') => {
                    text.push('\n');
                    break;
                }
                Err(_) => behind.push(event),
            },
            Some(c) => {
                text.push(c);
                count += 1;
            }
            None => behind.push(event),
        }
        if !behind.is_empty() || count >= MOST_CHARS {
            break;
        }
        match poll!(keys.next()) {
            Poll::Ready(Some(Ok(event))) => next = Some(event),
            Poll::Ready(_) => ended = true,
            // A line that arrived with its end may be the first of several.
            Poll::Pending if count > 1 && text.ends_with('\n') => {
                if let Ok(more) = more(keys, false).await {
                    ended = !matches!(more, Some(Ok(_)));
                    next = more.and_then(Result::ok);
                }
            }
            Poll::Pending => {}
        }
    }
    let mut events = events_of(&text, pasting || count >= PASTE_CHARS || is_lines(&text));
    events.extend(behind);
    KeyBurst { events, ended }
}

/// Whether text that arrived together is several lines rather than a command or an answer and further keys.
fn is_lines(text: &str) -> bool {
    let is_command = |line: &str| {
        let name = line.split_whitespace().next().and_then(|word| word.strip_prefix('/'));
        name.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == ':'))
    };
    let is_first = |line: &str| line.len() > 1 && !is_command(line);
    text.split_once('\n').is_some_and(|(first, rest)| is_first(first) && rest.len() >= SECOND_LINE)
}

async fn more(
    keys: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
    pasting: bool,
) -> Result<Option<io::Result<Event>>, Elapsed> {
    setup::rearm_waiting_input();
    tokio::time::timeout(if pasting { SAME_PASTE } else { MORE_WITHIN }, keys.next()).await
}

fn events_of(text: &str, pasted: bool) -> Vec<Event> {
    if pasted && !text.is_empty() {
        return vec![Event::Paste(text.to_owned())];
    }
    text.chars().map(|c| Event::Key(KeyEvent::new(key_of(c), KeyModifiers::NONE))).collect()
}

/// Returns `\n` for Enter and a tab for Tab.
fn plain(event: &Event) -> Option<char> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release || !(key.modifiers - KeyModifiers::SHIFT).is_empty() {
        return None;
    }
    match key.code {
        KeyCode::Char(c) => Some(c),
        KeyCode::Enter if key.modifiers.is_empty() => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

fn key_of(c: char) -> KeyCode {
    match c {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        c => KeyCode::Char(c),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn press(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn keys(text: &str) -> Vec<Event> {
        text.chars().map(|c| press(key_of(c))).collect()
    }

    /// As if all events were there at once; also returns whether the reader ended.
    async fn gathered(mut events: Vec<Event>, pasting: bool, ends: bool) -> (Vec<Event>, bool) {
        let rest = events.split_off(1);
        let rest = stream::iter(rest.into_iter().map(Ok));
        let first = events.remove(0);
        let burst = if ends {
            gather(first, &mut rest.boxed(), pasting).await
        } else {
            gather(first, &mut rest.chain(stream::pending()).boxed(), pasting).await
        };
        (burst.events, burst.ended)
    }

    #[tokio::test]
    async fn keys_and_pastes() {
        for typed in [keys("ls\n"), keys("/find\nq/quit\n"), keys("y\nthen this")] {
            assert_eq!(gathered(typed.clone(), false, false).await, (typed, false));
        }
        for lines in ["one line\nand two\n", "/usr/lib/a.py:3: error\n  in f\n", "// a comment\nlet x = 1;\n"]
        {
            let pasted = vec![Event::Paste(lines.to_owned())];
            assert_eq!(gathered(keys(lines), false, false).await, (pasted, false));
        }
        let long = "word ".repeat(60);
        let whole = format!("{long}\nsecond line\n\nthird");
        assert_eq!(gathered(keys(&whole), false, false).await, (vec![Event::Paste(whole)], false));
        let escape = [keys("ab"), vec![press(KeyCode::Esc)]].concat();
        assert_eq!(gathered(escape.clone(), false, false).await, (escape, false));
    }

    #[tokio::test]
    async fn line_end_after_paste() {
        let long = "word ".repeat(60);
        let enter = || press(KeyCode::Enter);
        let pasted = |behind: Vec<Event>| [vec![Event::Paste(long.clone())], behind].concat();
        assert_eq!(gathered(keys(&format!("{long}\n")), false, false).await, (pasted(vec![enter()]), false));
        assert_eq!(gathered(keys(&format!("{long}\n")), false, true).await, (pasted(vec![enter()]), true));
        let up = [keys(&format!("{long}\n")), vec![press(KeyCode::Up)]].concat();
        assert_eq!(gathered(up, false, false).await, (pasted(vec![enter(), press(KeyCode::Up)]), false));
    }

    #[tokio::test]
    async fn continued_paste() {
        assert_eq!(gathered(keys("\nab"), true, false).await, (vec![Event::Paste("\nab".to_owned())], false));
        assert_eq!(gathered(keys("\n"), true, false).await, (keys("\n"), false));
        assert_eq!(
            gathered(vec![press(KeyCode::Esc)], true, false).await,
            (vec![press(KeyCode::Esc)], false)
        );
    }
}
