//! HTML: one self-contained file, light or dark as the reader prefers. No scripts, and only safe links.

use std::collections::HashMap;
use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::markdown::{facts, outcome, title};
use base::model::item::{Item, ToolResult};
use base::sanitize;
use context::session::effective::{EffectiveEntry, EffectiveSession};
use frontend::tui::render::highlight::languages;
use frontend::tui::render::highlight::scanner::{self, Role, State};

const STYLE: &str = include_str!("style.css");

pub fn render(session: &EffectiveSession) -> String {
    let mut body = String::new();
    let mut titles: HashMap<&str, String> = HashMap::new();
    for (_, standing) in &session.all {
        let EffectiveEntry::Item(_, item) = standing else { continue };
        let _ = match item.as_ref() {
            Item::ToolCall(call) => {
                titles.insert(&call.id, call.title());
                Ok(())
            }
            Item::ToolResult(result) => {
                let title = titles.remove(result.call_id.as_ref()).unwrap_or_else(|| result.tool.to_string());
                writeln!(body, "{}", call(&title, result))
            }
            Item::User(message) => writeln!(body, "<div class=\"user\">{}</div>", escaped(&message.text)),
            Item::Assistant { text, .. } => writeln!(body, "<div class=\"answer\">{}</div>", answer(text)),
            Item::Reasoning(reasoning) if !reasoning.text.trim().is_empty() => writeln!(
                body,
                "<details><summary>Thinking</summary><pre>{}</pre></details>",
                escaped(&reasoning.text)
            ),
            Item::Image(image) => writeln!(body, "<p>{}</p>", escaped(&image.placeholder(""))),
            Item::Summary(_) => writeln!(body, "<p><em>Earlier turns were summarized here.</em></p>"),
            Item::Reasoning(_) | Item::Reminder(_) => Ok(()),
        };
    }
    page(&title(session), &facts(session), &body)
}

pub fn of_markdown(title: &str, text: &str) -> String {
    page(title, "", &answer(text))
}

fn page(title: &str, facts: &str, body: &str) -> String {
    let (title, facts) = (escaped(title), escaped(facts));
    let heading = if facts.is_empty() {
        String::new()
    } else {
        format!("<h1>{title}</h1>\n<p class=\"facts\">{facts}</p>\n")
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n{heading}{body}</body>\n</html>\n"
    )
}

fn call(title: &str, result: &ToolResult) -> String {
    let (summary, diff) = outcome(&result.envelope);
    let text = match diff {
        Some(diff) => code("diff", &diff),
        None => escaped(&result.envelope.body),
    };
    format!(
        "<details><summary><code>{}</code> <span>{}</span></summary><pre>{text}</pre></details>",
        escaped(title),
        escaped(&summary)
    )
}

/// Markdown as HTML: embedded HTML stays text, and only web links are kept.
fn answer(markdown: &str) -> String {
    let text = sanitize::clean(markdown);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut block: Option<(String, String)> = None;
    let events = Parser::new_ext(&text, options).filter_map(|event| match event {
        Event::Start(Tag::CodeBlock(kind)) => {
            let language = match &kind {
                CodeBlockKind::Fenced(language) => language.to_string(),
                CodeBlockKind::Indented => String::new(),
            };
            block = Some((language, String::new()));
            None
        }
        Event::Text(text) if block.is_some() => {
            if let Some((_, code)) = &mut block {
                code.push_str(&text);
            }
            None
        }
        Event::End(TagEnd::CodeBlock) => {
            let (language, text) = block.take().unwrap_or_default();
            let html = format!("<pre>{}</pre>\n", code(&language, &text));
            Some(Event::Html(CowStr::from(html)))
        }
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if may_open(&dest_url) { dest_url } else { CowStr::Borrowed("#") };
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        // Images would be loaded from other servers.
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        event => Some(event),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

fn may_open(address: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

fn code(language: &str, text: &str) -> String {
    let Some(language) = languages::find(language) else { return escaped(text) };
    let (mut out, mut state) = (String::new(), State::default());
    for line in sanitize::clean(text).trim_end_matches('\n').split('\n') {
        for (range, role) in scanner::scan(language, line, &mut state) {
            let part = escaped(&line[range]);
            let class = format!("{role:?}").to_lowercase();
            let _ = match role {
                Role::Plain => write!(out, "{part}"),
                _ => write!(out, "<span class=\"{class}\">{part}</span>"),
            };
        }
        out.push('\n');
    }
    out
}

pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in sanitize::clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs() {
        let html = answer(
            "See <script>x</script> [a](javascript:x) ![p](http://x/y) [b](https://b)\n\n```js\nlet a = \"<b>\";\n```",
        );
        assert!(
            !html.contains("<script") && !html.contains("javascript:") && !html.contains("<img"),
            "{html}"
        );
        assert!(html.contains("href=\"https://b\""), "{html}");
        assert!(html.contains("<span class=\"keyword\">let</span>"), "{html}");
        assert!(html.contains("&quot;&lt;b&gt;&quot;"), "{html}");
    }
}
