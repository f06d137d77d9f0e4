//! Renders the model's Markdown as wrapped, styled lines.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::highlight::languages::{self, CodeLanguage};
use super::highlight::scanner::{self, State};
use super::table::MarkdownTable;
use super::theme::Theme;
use super::{links, wrap};
use base::sanitize;

const BULLET: &str = "• ";
/// A line of this width whose sentence goes on was broken for a narrow page, so it continues here.
const FULL_LINE: usize = 60;

/// The text may be unfinished (streaming).
pub fn render(markdown: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    render_from(markdown, width, theme, None)
}

/// For a text that continues a code block: it repeats the fence; `open` is the scanner's state.
pub fn render_from(markdown: &str, width: usize, theme: Theme, open: Option<State>) -> Vec<Line<'static>> {
    let text = sanitize::clean(markdown);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { width, theme, styles: vec![theme.plain()], goes_on: open, ..Writer::default() };
    let mut events = Parser::new_ext(&text, options).peekable();
    while let Some(event) = events.next() {
        match event {
            Event::SoftBreak => writer.soft_break(events.peek()),
            event => writer.event(event),
        }
    }
    writer.end_block();
    writer.lines
}

#[derive(Default)]
struct Writer {
    width: usize,
    theme: Theme,
    lines: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// The next number, and the width of the current item's marker.
    lists: Vec<(Option<u64>, usize)>,
    marker: Option<String>,
    /// Each with the number of lists around it.
    quotes: Vec<usize>,
    code: Option<String>,
    language: Option<&'static CodeLanguage>,
    /// The scanner's state if the first code block is a continuation.
    goes_on: Option<State>,
    link: Option<(String, usize)>,
    in_brackets: bool,
    table: Option<MarkdownTable>,
    gap: bool,
    /// Where the model's current line begins in `spans`, in bytes.
    line_start: usize,
}

impl Writer {
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, change: impl Fn(Style) -> Style) {
        let style = change(self.style());
        self.styles.push(style);
    }

    fn pop_style(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    fn text(&mut self, text: &str, style: Style) {
        let spans = match self.table.as_mut().and_then(MarkdownTable::cell) {
            Some(cell) => cell,
            None => &mut self.spans,
        };
        if self.link.is_some() {
            spans.push(Span::styled(text.to_owned(), style));
        } else {
            links::push(spans, text, style, style.patch(self.theme.link()));
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            // `<REDACTED:key-1>` or `<line:column>`: no address, so the brackets stay.
            Event::Start(Tag::Link { link_type: LinkType::Autolink, dest_url, .. })
                if !dest_url.contains("://") =>
            {
                self.in_brackets = true;
                self.text("<", self.style());
            }
            Event::End(TagEnd::Link) if std::mem::take(&mut self.in_brackets) => self.text(">", self.style()),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match self.code.as_mut() {
                Some(code) => code.push_str(&text),
                None => self.text(&text, self.style()),
            },
            Event::Code(text) => self.text(&text, self.style().patch(self.theme.code())),
            Event::Html(text) | Event::InlineHtml(text) => {
                self.text(text.trim_end_matches('\n'), self.style())
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, self.style()),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), self.style()),
            Event::SoftBreak | Event::HardBreak => self.flush(),
            Event::Rule => {
                self.end_block();
                self.open_block();
                let rule = "─".repeat(if self.theme.is_plain() { 0 } else { self.width.min(40) });
                self.lines.push(Line::styled(rule, self.theme.dim()));
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                let mark = if done { "☑ " } else { "☐ " };
                match &mut self.marker {
                    Some(bullet) if bullet == BULLET => mark.clone_into(bullet),
                    _ => self.text(mark, self.style()),
                }
            }
        }
    }

    /// Keeps the model's line, unless it was only broken to fit a width.
    fn soft_break(&mut self, next: Option<&Event<'_>>) {
        let line: String = self.spans.iter().map(|span| span.content.as_ref()).collect();
        let line = &line[self.line_start.min(line.len())..];
        let begins = match next {
            Some(Event::Text(text)) => text.split(' ').next().is_some_and(|word| word.ends_with([':', '：'])),
            next => matches!(next, Some(Event::Start(Tag::Strong))),
        };
        let ends = line.ends_with(['.', ':', '!', '?', ';', '。', '：', '！', '？', '；']);
        if self.link.is_none() && (begins || ends || wrap::width(line) < FULL_LINE) {
            return self.flush();
        }
        // Chinese and Japanese have no spaces between words; Korean has.
        let wide = |c: char| ('\u{2e80}'..'\u{ac00}').contains(&c) || ('\u{f900}'..='\u{ffef}').contains(&c);
        if !line.ends_with(wide) {
            self.text(" ", self.style());
        }
        self.line_start = self.spans.iter().map(|span| span.content.len()).sum();
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open_block(),
            Tag::Heading { level, .. } => {
                self.end_block();
                self.open_block();
                let mut heading = self.theme.heading();
                if level == HeadingLevel::H1 {
                    heading = heading.add_modifier(Modifier::UNDERLINED);
                }
                self.styles.push(heading);
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                self.quotes.push(self.lists.len());
            }
            Tag::CodeBlock(kind) => {
                self.end_block();
                self.open_block();
                self.language = None;
                if let CodeBlockKind::Fenced(language) = &kind
                    && !language.is_empty()
                {
                    self.language = languages::find(language);
                    let label = sanitize::clean(language).into_owned();
                    if self.goes_on.is_none() {
                        self.emit(vec![Span::styled(format!("  {label}"), self.theme.dim())]);
                    }
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.open_block();
                }
                self.lists.push((first, 0));
            }
            Tag::Item => {
                self.flush();
                self.gap = false;
                let Some((number, hang)) = self.lists.last_mut() else { return };
                let marker = number.map_or_else(|| BULLET.to_owned(), |number| format!("{number}. "));
                (*number, *hang) = (number.map(|number| number + 1), wrap::width(&marker));
                self.marker = Some(marker);
            }
            Tag::Table(alignments) => {
                self.end_block();
                self.open_block();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableHead => {
                self.push_style(|style| style.add_modifier(Modifier::BOLD));
                self.table.iter_mut().for_each(MarkdownTable::begin_row);
            }
            Tag::TableRow => self.table.iter_mut().for_each(MarkdownTable::begin_row),
            Tag::TableCell => self.table.iter_mut().for_each(MarkdownTable::begin_cell),
            Tag::Emphasis => self.push_style(|style| style.add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.push_style(|style| style.add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.push_style(|style| style.add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), self.spans.len()));
                let link = links::style(self.theme.link(), &dest_url);
                self.push_style(|style| style.patch(link));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.pop_style();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.quotes.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.marker = None;
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                if self.marker.is_some() && self.spans.is_empty() {
                    self.emit(Vec::new());
                }
                self.flush();
                self.gap = false;
            }
            TagEnd::TableHead => self.pop_style(),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.lines.extend(table.lines(self.width, self.theme));
                    self.gap = true;
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.pop_style(),
            TagEnd::Link | TagEnd::Image => {
                self.pop_style();
                if let Some((url, from)) = self.link.take().filter(|_| self.table.is_none()) {
                    let shown: String =
                        self.spans.iter().skip(from).map(|span| span.content.as_ref()).collect();
                    let bare = url.strip_prefix("mailto:").unwrap_or(&url);
                    if !url.is_empty() && shown != bare {
                        let style = links::style(self.theme.dim(), &url);
                        let url = sanitize::clean(&url).into_owned();
                        self.spans.push(Span::styled(format!(" ({url})"), style));
                    }
                }
            }
            _ => {}
        }
    }

    fn open_block(&mut self) {
        if self.gap && !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.gap = false;
    }

    fn end_block(&mut self) {
        if !self.spans.is_empty() {
            self.flush();
            self.gap = true;
        } else if !self.lines.is_empty() {
            self.gap = true;
        }
    }

    fn flush(&mut self) {
        self.line_start = 0;
        if !self.spans.is_empty() {
            let spans = std::mem::take(&mut self.spans);
            self.emit(spans);
        }
    }

    /// Open quote bars and indents: before the next line, and before those that continue it.
    fn margins(&mut self) -> [Vec<Span<'static>>; 2] {
        let mut margins = [Vec::new(), Vec::new()];
        let mut left = 12;
        for depth in 0..=self.lists.len() {
            if let Some((_, hang)) = depth.checked_sub(1).and_then(|at| self.lists.get(at)) {
                let hang = if depth == self.lists.len() { *hang } else { left.min(*hang) };
                left = left.saturating_sub(hang);
                margins.iter_mut().for_each(|margin| margin.push(Span::raw(" ".repeat(hang))));
            }
            if let Some(marker) = self.marker.take_if(|_| depth == self.lists.len()) {
                *margins[0].last_mut().unwrap_or(&mut Span::default()) =
                    Span::styled(marker, self.theme.accent());
            }
            for _ in self.quotes.iter().filter(|around| **around == depth) {
                margins.iter_mut().for_each(|margin| margin.push(Span::styled("▌ ", self.theme.dim())));
            }
        }
        margins
    }

    fn emit(&mut self, spans: Vec<Span<'static>>) {
        let [first, rest] = self.margins();
        self.lines.extend(wrap::wrap_spans(&spans, &first, &rest, self.width));
    }

    fn end_code(&mut self) {
        let Some(code) = self.code.take() else { return };
        let mut state = self.goes_on.take().unwrap_or_default();
        // Code keeps its indentation: cut at the edge, not wrapped at words.
        let [mut margin, rest] = self.margins();
        let max = self.width.saturating_sub(2 + wrap::spans_width(&rest)).max(1);
        for line in code.strip_suffix('\n').unwrap_or(&code).split('\n') {
            let spans = code_spans(self.language, line, &mut state, self.theme);
            for row in wrap::hard_rows(&spans, max) {
                let margin = std::mem::replace(&mut margin, rest.clone());
                self.lines.push(Line::from([margin, vec![Span::raw("  ")], row].concat()));
            }
        }
        self.gap = true;
    }
}

pub fn code_blocks(markdown: &str) -> Vec<String> {
    let (mut blocks, mut open) = (Vec::new(), None);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => open = Some(String::new()),
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            Event::Text(text) => open.iter_mut().for_each(|block| block.push_str(&text)),
            _ => {}
        }
    }
    blocks
}

pub fn code_spans(
    language: Option<&CodeLanguage>,
    line: &str,
    state: &mut State,
    theme: Theme,
) -> Vec<Span<'static>> {
    let Some(language) = language else {
        return vec![Span::styled(wrap::detab(line).into_owned(), theme.code())];
    };
    let parts = scanner::scan(language, line, state).into_iter();
    parts
        .map(|(part, role)| Span::styled(wrap::detab(&line[part]).into_owned(), theme.syntax(role)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(markdown: &str, width: usize) -> String {
        render(markdown, width, Theme::new(false))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn the_common_constructs() {
        let text = "# Title\nSome *text* with `code` and [a link](http://x.y).\n\n- one\n- two\n  - deep\n\n1. a\n2. b\n\n```rust\nfn main() {}\n\n  // x\n```\n\n> quoted\n\nend";
        insta::assert_snapshot!(shown(text, 60), @r#"
        Title

        Some text with code and a link (http://x.y).

        • one
        • two
          • deep

        1. a
        2. b

          rust
          fn main() {}
          
            // x

        ▌ quoted

        end
        "#);
    }

    #[test]
    fn code_and_quotes_stand_below_the_text_of_their_item() {
        let text = "9. nine\n10. ten\n\n    more\n\n    ```sh\n    ls\n    ```\n\n    > said\n\n    - in\n\n> - a\n>\n>   b";
        insta::assert_snapshot!(shown(text, 60), @r#"
        9. nine
        10. ten

            more

              sh
              ls

            ▌ said
            • in

        ▌ • a

        ▌   b
        "#);
    }

    #[test]
    fn what_only_looks_like_an_address_keeps_its_brackets() {
        assert_eq!(
            shown("Key <REDACTED:token-2>, see <https://a.b>.", 60),
            "Key <REDACTED:token-2>, see https://a.b."
        );
    }

    #[test]
    fn the_models_lines_are_kept_but_not_those_of_a_narrow_page() {
        let long = "The session is opened twice, once by the list and once by the";
        for (text, width, lines) in [
            ("Status: ok\nTime: **3 s**", 60, "Status: ok\nTime: 3 s"),
            ("一行目\n二行目", 60, "一行目\n二行目"),
            ("- one\n  two\n\n> a\n> b", 60, "• one\n  two\n\n▌ a\n▌ b"),
            (&format!("{long}\nwriter, so\nit fails"), 80, &format!("{long} writer, so\nit fails")),
            (&format!("{long}.\nIt fails."), 80, &format!("{long}.\nIt fails.")),
            (&format!("{long}\n**Fix:** no\nLine: 1"), 80, &format!("{long}\nFix: no\nLine: 1")),
            (&format!("{}\nつ", "日".repeat(30)), 80, &format!("{}つ", "日".repeat(30))),
            ("[a\nb](http://x.y)", 60, "a b (http://x.y)"),
        ] {
            assert_eq!(shown(text, width), lines);
        }
    }

    #[test]
    fn tables_shrink_to_the_width() {
        insta::assert_snapshot!(shown("| name | what it does |\n|---|---|\n| a | a rather long explanation |\n| b | short |\n", 24), @r#"
        name │ what it does
        ─────┼──────────────────
        a    │ a rather long
             │ explanation
        b    │ short
        "#);
    }

    proptest! {
        #[test]
        fn any_text_at_any_width_fits(text in "([a-z#*`>|\\-\n 0-9.\\[\\]()!~_]|日|👍){0,120}", width in 8usize..60) {
            for line in render(&text, width, Theme::new(true)) {
                // Deep nesting may leave less room than one wide character takes.
                prop_assert!(wrap::width(&line.to_string()) <= width + 16);
            }
        }
    }
}
