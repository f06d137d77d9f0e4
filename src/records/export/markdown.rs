//! Markdown for pasting: the messages, and one line per call with its diff.

use std::collections::HashMap;
use std::fmt::Write as _;

use base::model::envelope::Envelope;
use base::model::item::Item;
use base::text::one_line;
use base::{clock, sanitize};
use context::session::effective::{EffectiveEntry, EffectiveSession};
use frontend::tui::transcript::tool;

pub fn title(session: &EffectiveSession) -> String {
    let first = session.items().find_map(|(_, item)| match item.as_ref() {
        Item::User(message) => Some(one_line(&sanitize::clean(&message.text), 100)),
        _ => None,
    });
    first.unwrap_or_else(|| "Empty session".to_owned())
}

pub fn facts(session: &EffectiveSession) -> String {
    let Some(meta) = &session.meta else { return "mycode".to_owned() };
    let folder = meta.workspace.rsplit('/').next().unwrap_or_default();
    let date = clock::local(meta.created_ms);
    let date = date.get(..16).unwrap_or(&date);
    format!("mycode {} · session {} · {date} · {}", meta.app, meta.id, sanitize::clean(folder))
}

pub fn outcome(envelope: &Envelope) -> (String, Option<String>) {
    let outcome = tool::outcome(envelope);
    let failed = if outcome.failed { "failed: " } else { "" };
    (format!("{failed}{}", one_line(&sanitize::clean(&outcome.summary), 200)), outcome.diff)
}

pub fn render(session: &EffectiveSession) -> String {
    let mut out = format!("# {}\n\n*{}*\n", title(session), facts(session));
    let mut titles: HashMap<&str, String> = HashMap::new();
    let mut in_calls = false;
    for (_, standing) in &session.all {
        let EffectiveEntry::Item(_, item) = standing else { continue };
        if let Item::ToolResult(result) = item.as_ref() {
            let title = titles.remove(result.call_id.as_ref()).unwrap_or_else(|| result.tool.to_string());
            let (summary, diff) = outcome(&result.envelope);
            let gap = if in_calls { "" } else { "\n" };
            let _ = writeln!(out, "{gap}- {} — {summary}", code_span(&title));
            if let Some(diff) = diff {
                let _ = write!(out, "\n{}\n", indented(&fenced("diff", diff.trim_end())));
            }
            in_calls = true;
            continue;
        }
        match item.as_ref() {
            Item::ToolCall(call) => {
                titles.insert(&call.id, call.title());
                continue;
            }
            Item::User(message) => {
                let _ = write!(out, "\n## User\n\n{}\n", sanitize::clean(&message.text).trim());
            }
            Item::Assistant { text, .. } => {
                let _ = write!(out, "\n{}\n", sanitize::clean(text).trim());
            }
            Item::Image(image) => {
                let _ = write!(out, "\n{}\n", image.placeholder(""));
            }
            Item::Summary(_) => out.push_str("\n*Earlier turns were summarized here.*\n"),
            Item::Reasoning(_) | Item::Reminder(_) | Item::ToolResult(_) => continue,
        }
        in_calls = false;
    }
    out
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn code_span(text: &str) -> String {
    let text = one_line(&sanitize::clean(text), 200);
    let marks = "`".repeat(longest_run(&text) + 1);
    let pad = if marks.len() > 1 { " " } else { "" };
    format!("{marks}{pad}{text}{pad}{marks}")
}

fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", sanitize::clean(text))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
