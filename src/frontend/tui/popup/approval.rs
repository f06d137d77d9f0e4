//! Approval dialogs for calls and plans: show exactly what will happen and take the answer. Enter takes the
//! marked choice; while none is marked, it marks the first.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use super::list::turned;
use crate::tui::composer::buffer::Buffer;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap::{self, LinesWithCaret};
use crate::tui::terminal::keymap;
use crate::tui::transcript::diff;
use base::config::settings::Permission;
use base::protocol::approval::{Answer, ApprovalRequest, PlanRequest};
use base::{sanitize, text};

const CALL: &str = "Allow";
const FOLDED_LINES: usize = 12;
const NARROW: usize = 40;
const DETAIL_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug, PartialEq)]
struct Choice {
    letter: char,
    short: &'static str,
    text: String,
    reply: ApprovalReply,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalReply {
    Answer(Answer),
    Edit(String),
    Stop,
}

#[derive(Clone, Debug, Default)]
pub struct Approval {
    verb: &'static str,
    title: String,
    reason: String,
    detail: String,
    is_diff: bool,
    choices: Vec<Choice>,
    pub chosen: Option<usize>,
    note: Option<Buffer>,
    scroll: usize,
    pub unfolded: bool,
    explained: bool,
    explanation: Vec<String>,
    search: Option<Buffer>,
}

impl Choice {
    fn new(letter: char, short: &'static str, text: impl Into<String>, reply: ApprovalReply) -> Self {
        Self { letter, short, text: text.into(), reply }
    }
}

impl Approval {
    pub fn of_call(request: ApprovalRequest) -> Self {
        let plain = |text: &str, most| text::one_line(&sanitize::reveal(text), most);
        let mut choices = vec![Choice::new('y', "once", "Yes, once", ApprovalReply::Answer(Answer::Once))];
        let mut explanation: Vec<String> = request.parts.iter().map(|part| plain(part, 300)).collect();
        explanation.push("y: this call only.".to_owned());
        if let Some(scope) = &request.session_scope {
            let text = format!("Yes, and don't ask again this session: {}", plain(scope, 200));
            choices.push(Choice::new('s', "session", text, ApprovalReply::Answer(Answer::Session)));
            explanation.push(format!("s: {}, without asking until you quit.", plain(scope, 300)));
        }
        if let Some(prefix) = &request.always_prefix {
            let text = format!("Always allow `{}` in this project", plain(prefix, 60));
            choices.push(Choice::new('a', "always", text, ApprovalReply::Answer(Answer::Always)));
            let prefix = plain(prefix, 300);
            let rule = format!("commands that begin with `{prefix}` never ask again");
            explanation.push(format!("a: in this project, {rule}; /permission revokes it."));
        }
        choices.push(Choice::new('n', "no", "No", ApprovalReply::Answer(Answer::no())));
        let no = "n: nothing runs, and the model continues without it. Esc ends the turn.";
        explanation.push(no.to_owned());
        let ApprovalRequest { title, reason, detail, is_diff, agent, .. } = request;
        let reason = match agent {
            Some(agent) => format!("asked by the sub-agent {agent}; {reason}"),
            None => reason,
        };
        Self { verb: CALL, title, reason, detail, is_diff, choices, explanation, ..Self::default() }
    }

    /// The plan's text is already in the transcript.
    pub fn of_plan(request: PlanRequest) -> Self {
        let accept = |permission| ApprovalReply::Answer(Answer::Accept { permission });
        let inside = "Yes, and don't ask inside the workspace (sandboxed)";
        let choices = vec![
            Choice::new('y', "ask", "Yes, and ask before each change", accept(Permission::Ask)),
            Choice::new('a', "auto", inside, accept(Permission::Auto)),
            Choice::new('e', "edit", "Edit the plan first", ApprovalReply::Edit(request.path.clone())),
            Choice::new('n', "no", "Not yet", ApprovalReply::Answer(Answer::no())),
        ];
        Self { verb: "Carry out", title: request.path, choices, ..Self::default() }
    }

    pub fn choice_texts(&self) -> Vec<String> {
        self.choices.iter().map(|choice| choice.text.clone()).collect()
    }

    /// Whether a letter is a command here rather than text for the composer; marks its choice.
    pub fn takes_letter(&mut self, letter: char) -> bool {
        let choice = self.choice_of(letter);
        self.chosen = choice.or(self.chosen);
        choice.is_some() || letter.eq_ignore_ascii_case(&'v')
    }

    /// Whether a letter needs no Enter: it answers for this call only, or unfolds the detail.
    pub fn acts_alone(&self, letter: char) -> bool {
        let choice = self.choice_of(letter).map(|index| &self.choices[index].reply);
        matches!(choice, None | Some(ApprovalReply::Answer(Answer::Once | Answer::No { .. })))
    }

    fn choice_of(&self, letter: char) -> Option<usize> {
        let letter = letter.to_ascii_lowercase();
        let place = letter.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
        let by_letter = || self.choices.iter().position(|choice| choice.letter == letter);
        place.filter(|place| *place < self.choices.len()).or_else(by_letter)
    }

    pub fn writes(&self) -> bool {
        self.note.is_some() || self.search.is_some()
    }

    /// `size` is the screen's columns and rows.
    pub fn key(&mut self, key: KeyEvent, size: (u16, u16)) -> Option<ApprovalReply> {
        if let Some(note) = &mut self.note {
            match key.code {
                KeyCode::Enter => {
                    let note = note.text().trim().to_owned();
                    return Some(ApprovalReply::Answer(Answer::No { note }));
                }
                KeyCode::Esc | KeyCode::Tab => self.note = None,
                _ => note.type_key(key),
            }
            return None;
        }
        if self.search.is_some() {
            self.search_key(key, size);
            return None;
        }
        if matches!(key.code, KeyCode::PageDown | KeyCode::PageUp | KeyCode::Home | KeyCode::End) {
            self.page(key.code, size);
            return None;
        }
        match key.code {
            KeyCode::Esc => return Some(ApprovalReply::Stop),
            KeyCode::Char('e') if key.modifiers == KeyModifiers::CONTROL => self.explained = !self.explained,
            KeyCode::Tab => self.note = Some(Buffer::default()),
            KeyCode::Down | KeyCode::Up => {
                self.chosen = turned(self.chosen, key.code == KeyCode::Down, self.choices.len())
            }
            KeyCode::Enter => match self.chosen {
                Some(index) => return self.choices.get(index).map(|choice| choice.reply.clone()),
                None => self.chosen = Some(0),
            },
            _ => match keymap::plain_char(key)?.to_ascii_lowercase() {
                'v' => {
                    self.unfolded = !self.unfolded && self.is_cut(size);
                    self.scroll = 0;
                }
                '/' => self.search = Some(Buffer::default()),
                letter => return Some(self.choices[self.choice_of(letter)?].reply.clone()),
            },
        }
        None
    }

    pub fn is_cut(&self, size: (u16, u16)) -> bool {
        self.plain_detail(size.0).len() > FOLDED_LINES.min(self.page_rows(size))
    }

    fn plain_detail(&self, columns: u16) -> Vec<Line<'static>> {
        self.whole_detail(usize::from(columns), Theme::new(false))
    }

    fn page(&mut self, key: KeyCode, size: (u16, u16)) {
        if !self.is_cut(size) {
            return;
        }
        self.unfolded = true;
        let page = self.page_rows(size);
        let last = self.plain_detail(size.0).len().saturating_sub(page);
        self.scroll = match key {
            KeyCode::PageDown => (self.scroll + page).min(last),
            KeyCode::PageUp => self.scroll.min(last).saturating_sub(page),
            KeyCode::Home => 0,
            _ => last,
        };
    }

    fn page_rows(&self, (columns, rows): (u16, u16)) -> usize {
        let around = 5 + 2 * usize::from(!self.reason.is_empty()) + self.foot_rows(usize::from(columns));
        usize::from(rows).saturating_sub(around).max(1)
    }

    fn search_key(&mut self, key: KeyEvent, (columns, _): (u16, u16)) {
        match (key.code, &mut self.search) {
            (KeyCode::Esc, _) => self.search = None,
            // The next match after the first visible row, wrapping around.
            (KeyCode::Enter, search) => {
                let wanted = search.take().unwrap_or_default().text().to_lowercase();
                let lines = self.plain_detail(columns);
                let found = |line: &Line<'_>| line.to_string().to_lowercase().contains(&wanted);
                let next = lines.iter().skip(self.scroll + 1).position(found).map(|at| at + self.scroll + 1);
                if let Some(at) = next.or_else(|| lines.iter().position(found)) {
                    (self.scroll, self.unfolded) = (at, true);
                }
            }
            (_, search) => search.iter_mut().for_each(|search| search.type_key(key)),
        }
    }

    pub fn foot_rows(&self, width: usize) -> usize {
        self.foot(width, Theme::new(false)).0.len()
    }

    pub fn paste(&mut self, text: &str) -> bool {
        let field = self.search.as_mut().or(self.note.as_mut());
        field.map(|field| field.paste_line(text)).is_some()
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme, armed: bool) -> LinesWithCaret {
        let question = format!("? {} ", self.verb);
        let counts = if self.is_diff && width >= NARROW { diff::counts(&self.detail) } else { (0, 0) };
        let counts = match counts {
            (0, 0) => String::new(),
            (added, removed) => format!("  +{added} -{removed}"),
        };
        let room_for_title = width.saturating_sub(question.len() + counts.len());
        let title = sanitize::reveal(&self.title);
        // A change, and a command that the title cuts, matter more than the reason and the choices' full texts.
        let wanted = match wrap::width(&title) > room_for_title {
            _ if self.is_diff => 3,
            true => 2,
            false => 0,
        };
        let most = room_for_title.saturating_sub(4).max(8);
        let title = if self.is_diff { text::short_path(&title, most) } else { text::one_line(&title, most) };
        let mut head = vec![Line::from(vec![
            Span::styled(question, theme.question()),
            Span::styled(wrap::clip(&title, room_for_title), theme.strong()),
            Span::styled(counts, theme.dim()),
        ])];
        if !self.reason.is_empty() {
            let reason = text::one_line(&sanitize::reveal(&self.reason), 300);
            head.extend(wrap::wrap_text(&reason, theme.dim(), "  ", "  ", width).into_iter().take(2));
        }
        let (mut foot, caret) = self.foot(width, theme);
        if self.note.is_none() && (!armed || head.len() + wanted + foot.len() > room) {
            foot.truncate(foot.len() - self.help(width, theme).len());
        }
        if self.note.is_none() && 1 + wanted + foot.len() > room {
            foot = self.short_foot(width, theme);
        }
        if head.len() + wanted + foot.len() > room {
            head.truncate(1);
        }
        let limit = room.saturating_sub(head.len() + foot.len());
        let limit = if self.unfolded { limit } else { limit.min(FOLDED_LINES) };
        let mut lines = head;
        lines.extend(self.detail(width, limit, theme));
        let hidden = (lines.len() + foot.len()).saturating_sub(room.max(1));
        let caret = caret.map(|(row, column)| ((lines.len() + row).saturating_sub(hidden), column));
        lines.extend(foot.into_iter().skip(hidden));
        (lines, caret)
    }

    fn whole_detail(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        if self.explained {
            let wrapped = |line: &String| wrap::wrap_text(line, theme.plain(), "  ", "    ", width);
            return self.explanation.iter().flat_map(wrapped).collect();
        }
        let whole = &self.detail;
        let cut = whole.floor_char_boundary(DETAIL_BYTES);
        let mut all = if self.is_diff {
            diff::render(&sanitize::reveal(&whole[..cut]), width, usize::MAX, theme)
        } else {
            wrap::wrap_text(sanitize::reveal(&whole[..cut]).trim_end(), theme.plain(), "  ", "  ", width)
        };
        if cut < whole.len() {
            let rest = text::human_bytes((whole.len() - cut) as u64);
            let text = format!("  … {rest} not shown. Answer no if you need to see it all");
            all.push(Line::styled(text, theme.warning()));
        }
        all
    }

    fn detail(&self, width: usize, limit: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut all = self.whole_detail(width, theme);
        if all.len() <= limit {
            return all;
        }
        let body = limit.saturating_sub(1).max(1);
        if self.is_diff && width < diff::SIDE_BY_SIDE && !self.unfolded && !self.explained {
            let shown = &self.detail[..self.detail.floor_char_boundary(DETAIL_BYTES)];
            let both_sides = diff::render(&sanitize::reveal(shown), width, body, theme);
            all.splice(..body, both_sides.into_iter().take(body));
        }
        let start = self.scroll.min(all.len().saturating_sub(body));
        let below = all.len().saturating_sub(start + body);
        let mut shown: Vec<Line<'static>> = all.into_iter().skip(start).take(body).collect();
        let hidden = match (start, below) {
            (0, below) => text::plural(below, "more line"),
            (start, 0) => format!("{} above", text::plural(start, "line")),
            _ => format!("{} above, {below} below", text::plural(start, "line")),
        };
        let unfold = if self.unfolded { "v collapse" } else { "v expand" };
        let more = match &self.search {
            Some(search) => format!("  /{}▏ · Enter to find", search.text()),
            None if theme.is_plain() => format!("  … {hidden}. v shows all."),
            None => format!("  … {hidden} · PgUp/PgDn · {unfold} · / search"),
        };
        shown.push(wrap::line(&more, width, theme.dim()));
        shown.truncate(limit);
        shown
    }

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
            // A long note scrolls to keep the caret visible.
            let before = wrap::tail(&note.text()[..note.cursor()], room);
            let column = label.len() + wrap::width(before);
            let shown = format!("{before}{}", &note.text()[note.cursor()..]);
            let shown = Span::raw(wrap::clip(&shown, room + 1));
            let line = Line::from(vec![Span::styled(label, theme.warning()), shown]);
            let help = Line::styled("  Enter to send · Esc to go back", theme.dim());
            return (vec![line, help], Some((0, column)));
        }
        let letter = theme.accent().add_modifier(ratatui::style::Modifier::BOLD);
        let mut lines = Vec::new();
        for (index, choice) in self.choices.iter().enumerate() {
            let (mark, style) = theme.row(self.chosen == Some(index));
            let head =
                [Span::styled(mark, style), Span::styled(choice.letter.to_string(), letter), Span::raw(" ")];
            let text = [Span::styled(choice.text.clone(), style)];
            lines.extend(wrap::wrap_spans(&text, &head, &[Span::raw("    ")], width));
        }
        lines.extend(self.help(width, theme));
        (lines, None)
    }

    fn help(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let more = if self.verb == CALL { "no, because … · Ctrl-E: why" } else { "what to change" };
        let letters = self.choices.iter().map(|choice| choice.letter);
        let (alone, marked): (Vec<char>, Vec<char>) = letters.partition(|letter| self.acts_alone(*letter));
        let joined =
            |letters: Vec<char>| letters.into_iter().map(String::from).collect::<Vec<_>>().join(", ");
        let marked = if marked.is_empty() { String::new() } else { format!("{}, ", joined(marked)) };
        let help = format!("{} at once · {marked}↑↓ + Enter · Tab: {more} · Esc: stop", joined(alone));
        wrap::wrap_text(&help, theme.dim(), "  ", "  ", width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(approval: &mut Approval, code: KeyCode) -> Option<Answer> {
        match approval.key(KeyEvent::new(code, KeyModifiers::NONE), (80, 24))? {
            ApprovalReply::Answer(answer) => Some(answer),
            ApprovalReply::Edit(_) | ApprovalReply::Stop => None,
        }
    }

    fn approval(always: Option<&str>) -> Approval {
        Approval::of_call(ApprovalRequest {
            call_id: "c".to_owned(),
            args: String::new(),
            tool: "Bash".to_owned(),
            title: "cargo test".to_owned(),
            detail: "cargo test".to_owned(),
            is_diff: false,
            reason: "commands ask first".to_owned(),
            always_prefix: always.map(str::to_owned),
            session_scope: Some("this exact command".to_owned()),
            parts: Vec::new(),
            agent: None,
        })
    }

    #[test]
    fn approval_on_small_screens() {
        for room in 1..12 {
            let (lines, _) = approval(Some("cargo test")).lines(20, room, Theme::new(false), true);
            assert!(lines[0].to_string().contains("Allow"), "{room}: {lines:?}");
            assert!(lines.len() <= room, "{room}: {lines:?}");
            let shown: String = lines.iter().map(ToString::to_string).collect();
            assert!(room < 3 || shown.contains("n No") || shown.contains("n no"), "{room}: {lines:?}");
        }
        // A command that the title cuts is shown below it.
        let command = "mkdir -p some/long/path && touch some/long/path/file.txt".to_owned();
        let long = Approval { title: command.clone(), detail: command, ..approval(None) };
        let (lines, _) = long.lines(40, 4, Theme::new(false), false);
        let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert!(shown[2].contains("file.txt") && shown[3].contains("n no"), "{shown:?}");
        // A change is shown without the lines before it.
        let detail = "@@ -1,4 +1,4 @@\n a\n b\n-old\n+new\n c\n".to_owned();
        let title = "Edit services/authentication/src/main/java/Token.java".to_owned();
        let edit = Approval { title, detail, is_diff: true, ..approval(None) };
        let (lines, _) = edit.lines(60, 5, Theme::new(false), true);
        let shown: String = lines.iter().map(ToString::to_string).collect();
        assert!(shown.contains("-old") && shown.contains("+new") && shown.contains("n no"), "{shown}");
        assert!(shown.starts_with("? Allow Edit services/authentication/…/Token.java  +1 -1"), "{shown}");
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
        let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!(question.key(escape, (80, 24)), Some(ApprovalReply::Stop));
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
