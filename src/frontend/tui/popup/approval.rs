//! Approval dialogs for calls and plans: show exactly what will happen and take the answer. A single Enter
//! never approves, since it may have been meant for the composer: the first only selects a choice.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use super::list::turned;
use crate::tui::composer::buffer::Buffer;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap::{self, LinesWithCaret};
use crate::tui::terminal::keymap;
use crate::tui::transcript::diff;
use base::config::settings::Permission;
use base::protocol::approval::{Answer, ApprovalRequest, PlanRequest};
use base::sanitize;
use base::text;

/// Detail lines shown before the user expands it.
const FOLDED_LINES: usize = 12;
/// Bytes of detail drawn at most; the rest is announced.
const DETAIL_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug, PartialEq)]
struct Choice {
    letter: char,
    /// One word, for small screens.
    short: &'static str,
    text: String,
    reply: Reply,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Answer(Answer),
    /// Open this file in the user's editor; the question stays open.
    Edit(String),
}

#[derive(Clone, Debug, Default)]
pub struct Approval {
    /// Such as `Allow`, before the title.
    verb: &'static str,
    title: String,
    reason: String,
    detail: String,
    is_diff: bool,
    choices: Vec<Choice>,
    chosen: Option<usize>,
    /// The note for a "no", while being written.
    note: Option<Buffer>,
    scroll: usize,
    unfolded: bool,
    /// Search text for the detail; being typed while `searching`.
    search: Buffer,
    searching: bool,
}

impl Approval {
    pub fn of_call(request: ApprovalRequest) -> Self {
        let choice = |letter, short, text: String, answer| Choice {
            letter,
            short,
            text,
            reply: Reply::Answer(answer),
        };
        let plain = |text: &str, most| text::one_line(&sanitize::reveal(text), most);
        let mut choices = vec![choice('y', "once", "Yes, once".to_owned(), Answer::Once)];
        if let Some(scope) = &request.session_scope {
            let text = format!("Yes, for this session: {}", plain(scope, 200));
            choices.push(choice('s', "session", text, Answer::Session));
        }
        if let Some(prefix) = &request.always_prefix {
            let text = format!("Always allow `{}` in this project", plain(prefix, 60));
            choices.push(choice('a', "always", text, Answer::Always));
        }
        let no = "No (Esc) · Tab: no, and tell the model why".to_owned();
        choices.push(choice('n', "no", no, Answer::No { note: String::new() }));
        let ApprovalRequest { title, reason, detail, is_diff, agent, .. } = request;
        let reason = match agent {
            Some(agent) => format!("asked by the sub-agent {agent}; {reason}"),
            None => reason,
        };
        Self { verb: "Allow", title, reason, detail, is_diff, choices, ..Self::default() }
    }

    /// The plan's text is already in the transcript.
    pub fn of_plan(request: PlanRequest) -> Self {
        let accept = |permission| Reply::Answer(Answer::Accept { permission });
        let no = Reply::Answer(Answer::No { note: String::new() });
        let choices = [
            ('y', "ask", "Yes, and ask before each change", accept(Permission::Ask)),
            ('a', "auto", "Yes, and work without asking inside the workspace", accept(Permission::Auto)),
            ('e', "edit", "Edit the plan first", Reply::Edit(request.path.clone())),
            ('n', "no", "Not yet (Esc) · Tab: say what to change", no),
        ];
        let choices = choices
            .into_iter()
            .map(|(letter, short, text, reply)| Choice { letter, short, text: text.to_owned(), reply })
            .collect();
        Self { verb: "Carry out", title: request.path, choices, ..Self::default() }
    }

    pub fn choice_texts(&self) -> Vec<String> {
        self.choices.iter().map(|choice| choice.text.clone()).collect()
    }

    /// Whether a letter is a command here rather than text for the composer.
    pub fn takes_letter(&self, letter: char) -> bool {
        let place = letter.to_digit(10).map(|digit| digit as usize);
        matches!(letter, 'v' | '/')
            || place.is_some_and(|place| (1..=self.choices.len()).contains(&place))
            || self.choices.iter().any(|choice| choice.letter == letter)
    }

    pub fn writes(&self) -> bool {
        self.note.is_some() || self.searching
    }

    /// Returns the answer, if any. `size` is the screen's columns and rows.
    pub fn key(&mut self, key: KeyEvent, size: (u16, u16)) -> Option<Reply> {
        if self.note.is_some() {
            return self.note_key(key);
        }
        if self.searching {
            self.search_key(key, size);
            return None;
        }
        if matches!(key.code, KeyCode::PageDown | KeyCode::PageUp | KeyCode::Home | KeyCode::End) {
            self.page(key.code, size);
            return None;
        }
        let count = self.choices.len();
        match key.code {
            KeyCode::Esc => return Some(Reply::Answer(Answer::No { note: String::new() })),
            KeyCode::Tab => self.note = Some(Buffer::default()),
            KeyCode::Down | KeyCode::Up => {
                self.chosen = turned(self.chosen, key.code == KeyCode::Down, count)
            }
            // The first Enter only shows what a second one would choose.
            KeyCode::Enter => match self.chosen {
                Some(index) => return self.choices.get(index).map(|choice| choice.reply.clone()),
                None => self.chosen = Some(0),
            },
            _ => match keymap::plain_char(key)?.to_ascii_lowercase() {
                digit @ '1'..='9' => {
                    let choice = self.choices.get(digit as usize - '1' as usize)?;
                    return Some(choice.reply.clone());
                }
                'v' => {
                    self.unfolded = !self.unfolded;
                    self.scroll = 0;
                }
                '/' => {
                    self.searching = true;
                    self.search.reset();
                }
                letter => {
                    let choice = self.choices.iter().find(|choice| choice.letter == letter)?;
                    return Some(choice.reply.clone());
                }
            },
        }
        None
    }

    fn page(&mut self, key: KeyCode, (columns, rows): (u16, u16)) {
        self.unfolded = true;
        let page = self.page_rows(usize::from(rows));
        let last = self.whole_detail(usize::from(columns), Theme::new(false)).len().saturating_sub(page);
        self.scroll = match key {
            KeyCode::PageDown => (self.scroll + page).min(last),
            KeyCode::PageUp => self.scroll.min(last).saturating_sub(page),
            KeyCode::Home => 0,
            _ => last,
        };
    }

    /// Detail rows on a screen with `rows` rows, minus title, reason, choices and separators.
    fn page_rows(&self, rows: usize) -> usize {
        let around = 5 + 2 * usize::from(!self.reason.is_empty()) + self.choices.len();
        rows.saturating_sub(around).max(1)
    }

    fn search_key(&mut self, key: KeyEvent, (columns, _): (u16, u16)) {
        match key.code {
            KeyCode::Esc => self.searching = false,
            // The next match after the first visible row, wrapping around.
            KeyCode::Enter => {
                self.searching = false;
                let wanted = self.search.text().to_lowercase();
                let lines = self.whole_detail(usize::from(columns), Theme::new(false));
                let found = |line: &Line<'_>| line.to_string().to_lowercase().contains(&wanted);
                let next = lines.iter().skip(self.scroll + 1).position(found).map(|at| at + self.scroll + 1);
                if let Some(at) = next.or_else(|| lines.iter().position(found)) {
                    (self.scroll, self.unfolded) = (at, true);
                }
            }
            _ => self.search.type_key(key),
        }
    }

    pub fn paste(&mut self, text: &str) {
        if let Some(note) = &mut self.note {
            note.paste_line(text);
        }
    }

    fn note_key(&mut self, key: KeyEvent) -> Option<Reply> {
        let note = self.note.as_mut()?;
        match key.code {
            KeyCode::Enter => {
                return Some(Reply::Answer(Answer::No { note: note.text().trim().to_owned() }));
            }
            KeyCode::Esc | KeyCode::Tab => self.note = None,
            _ => note.type_key(key),
        }
        None
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> LinesWithCaret {
        let question = format!("? {} ", self.verb);
        let room_for_title = width.saturating_sub(question.len());
        let title = text::one_line(&sanitize::reveal(&self.title), room_for_title.saturating_sub(4).max(8));
        let mut head = vec![Line::from(vec![
            Span::styled(question, theme.warning()),
            Span::styled(wrap::clip(&title, room_for_title), theme.strong()),
        ])];
        if !self.reason.is_empty() {
            let reason = text::one_line(&sanitize::reveal(&self.reason), 300);
            head.extend(wrap::wrap_text(&reason, theme.dim(), "  ", "  ", width).into_iter().take(2));
        }
        let (mut foot, caret) = self.foot(width, theme);
        if self.note.is_none() && foot.len() >= room {
            foot = self.short_foot(width, theme);
        }
        let limit = room.saturating_sub(head.len() + foot.len());
        let limit = if self.unfolded { limit } else { limit.min(FOLDED_LINES) };
        let mut lines = head;
        lines.extend(self.detail(width, limit, theme));
        // On a tiny screen the title and the choices take precedence over the detail.
        let excess = (lines.len() + foot.len()).saturating_sub(room);
        lines.drain(1..(1 + excess).min(lines.len()));
        let hidden = (lines.len() + foot.len()).saturating_sub(room.max(1));
        let caret = caret.map(|(row, column)| ((lines.len() + row).saturating_sub(hidden), column));
        lines.extend(foot.into_iter().skip(hidden));
        (lines, caret)
    }

    fn whole_detail(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let whole = &self.detail;
        let cut = text::floor_boundary(whole, DETAIL_BYTES);
        let mut all = if self.is_diff {
            diff::render(&sanitize::reveal(&whole[..cut]), width, usize::MAX, theme)
        } else {
            wrap::wrap_text(sanitize::reveal(&whole[..cut]).trim_end(), theme.plain(), "  ", "  ", width)
        };
        if cut < whole.len() {
            let rest = text::human_bytes((whole.len() - cut) as u64);
            all.push(Line::styled(
                format!("  … {rest} more not shown; answer no if you need to see all of it"),
                theme.warning(),
            ));
        }
        all
    }

    fn detail(&self, width: usize, limit: usize, theme: Theme) -> Vec<Line<'static>> {
        let all = self.whole_detail(width, theme);
        if all.len() <= limit {
            return all;
        }
        let body = limit.saturating_sub(1);
        let start = self.scroll.min(all.len().saturating_sub(body));
        let below = all.len().saturating_sub(start + body);
        let mut shown: Vec<Line<'static>> = all.into_iter().skip(start).take(body).collect();
        let hidden = match (start, below) {
            (0, below) => text::plural(below, "more line"),
            (start, 0) => format!("{} above", text::plural(start, "line")),
            _ => format!("{} above, {below} below", text::plural(start, "line")),
        };
        let unfold = if self.unfolded { "v collapse" } else { "v expand" };
        let more = if self.searching {
            format!("  /{}▏ · Enter finds", self.search.text())
        } else {
            format!("  … {hidden} · PgUp/PgDn · {unfold} · / search")
        };
        shown.push(wrap::line(&more, width, theme.dim()));
        shown.truncate(limit);
        shown
    }

    /// One line of letters, for screens without a row per choice.
    fn short_foot(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let of = |(index, choice): (usize, &Choice)| {
            let mark = if self.chosen == Some(index) { "▸" } else { "" };
            format!("{mark}{} {}", choice.letter, choice.short)
        };
        let text = self.choices.iter().enumerate().map(of).collect::<Vec<_>>().join(" · ");
        wrap::wrap_text(&text, theme.accent(), "", "", width)
    }

    fn foot(&self, width: usize, theme: Theme) -> LinesWithCaret {
        if let Some(note) = &self.note {
            let label = "  No, because: ";
            let room = width.saturating_sub(label.len() + 1);
            // A long note scrolls so that the caret stays visible.
            let before = wrap::tail(&note.text()[..note.cursor()], room);
            let column = label.len() + wrap::width(before);
            let shown = format!("{before}{}", &note.text()[note.cursor()..]);
            let line = Line::from(vec![
                Span::styled(label, theme.warning()),
                Span::raw(wrap::clip(&shown, room + 1)),
            ]);
            let help = Line::styled("  Enter sends · Esc back", theme.dim());
            return (vec![line, help], Some((0, column)));
        }
        let lines: Vec<Line<'static>> = self
            .choices
            .iter()
            .enumerate()
            .map(|(index, choice)| {
                let (mark, style) = theme.row(self.chosen == Some(index));
                Line::from(vec![
                    Span::styled(mark, style),
                    Span::styled(
                        choice.letter.to_string(),
                        theme.accent().add_modifier(ratatui::style::Modifier::BOLD),
                    ),
                    Span::styled(format!(" {}", wrap::clip(&choice.text, width.saturating_sub(5))), style),
                ])
            })
            .collect();
        (lines, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyModifiers;

    fn press(approval: &mut Approval, code: KeyCode) -> Option<Answer> {
        match approval.key(KeyEvent::new(code, KeyModifiers::NONE), (80, 24))? {
            Reply::Answer(answer) => Some(answer),
            Reply::Edit(_) => None,
        }
    }

    fn approval(always: Option<&str>) -> Approval {
        Approval::of_call(ApprovalRequest {
            call_id: "c".to_owned(),
            tool: "Bash".to_owned(),
            title: "cargo test".to_owned(),
            detail: "cargo test".to_owned(),
            is_diff: false,
            reason: "commands ask first".to_owned(),
            always_prefix: always.map(str::to_owned),
            session_scope: Some("this exact command".to_owned()),
            agent: None,
        })
    }

    #[test]
    fn approval_on_small_screens() {
        for room in 1..12 {
            let (lines, _) = approval(Some("cargo test")).lines(20, room, Theme::new(false));
            assert!(lines[0].to_string().contains("Allow"), "{room}: {lines:?}");
            assert!(lines.len() <= room, "{room}: {lines:?}");
            let shown: String = lines.iter().map(ToString::to_string).collect();
            assert!(room < 3 || shown.contains("n No") || shown.contains("n no"), "{room}: {lines:?}");
        }
    }

    #[test]
    fn first_enter_selects() {
        let mut question = approval(None);
        assert_eq!(press(&mut question, KeyCode::Enter), None);
        assert_eq!(press(&mut question, KeyCode::Enter), Some(Answer::Once), "the first made it visible");
        assert_eq!(press(&mut question, KeyCode::Char('2')), Some(Answer::Session));
        assert_eq!(press(&mut question, KeyCode::Char('4')), None, "there are three");
        assert_eq!(press(&mut question, KeyCode::Char('a')), None, "always was not offered");
        assert_eq!(press(&mut question, KeyCode::Char('y')), Some(Answer::Once));
        assert_eq!(press(&mut question, KeyCode::Esc), Some(Answer::No { note: String::new() }));
    }

    #[test]
    fn denial_with_note() {
        let mut question = approval(Some("cargo test"));
        press(&mut question, KeyCode::Tab);
        for c in "yes?".chars() {
            assert_eq!(press(&mut question, KeyCode::Char(c)), None);
        }
        assert_eq!(press(&mut question, KeyCode::Enter), Some(Answer::No { note: "yes?".to_owned() }));
    }

    #[test]
    fn arrows_choose() {
        let mut question = approval(Some("cargo test"));
        for _ in 0..3 {
            press(&mut question, KeyCode::Down);
        }
        assert_eq!(press(&mut question, KeyCode::Enter), Some(Answer::Always));
    }
}
