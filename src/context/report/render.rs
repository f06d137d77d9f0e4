//! A report as Markdown that also reads well as plain text: one bullet per fact, and a bar chart by day.

use std::collections::BTreeMap;

use super::figures::{DayFigures, Figures};
use super::gather::Report;
use base::clock;
use base::model::usage::Usage;
use base::path::on_one_line;
use base::text::{dollars, human_tokens, plural};

const NAMED_FILES: usize = 8;
const LISTED_SESSIONS: usize = 30;
const BAR: usize = 30;
const LAYERS: [(&str, &str); 6] = [
    ("L1", "system and tools"),
    ("L2", "rules"),
    ("L3", "summaries"),
    ("L4", "messages"),
    ("L5", "reminders"),
    ("L6", "replies and results"),
];

pub fn markdown(report: &Report, heading: &str) -> String {
    let mut out = format!("## {heading}\n\n{}", bullets(report));
    if report.sessions.len() > 1 {
        out.push_str("\n| session | steps | tokens | cost | task |\n|---|---:|---:|---:|---|\n");
        for session in report.sessions.iter().rev().take(LISTED_SESSIONS) {
            let figures = &session.figures;
            out.push_str(&format!(
                "| {} | {} | {} | {} | {} |\n",
                session.id,
                figures.steps,
                human_tokens(figures.tokens.total()),
                figures.cost_usd().map_or_else(|| "?".to_owned(), dollars),
                session.title.replace('|', "\\|")
            ));
        }
        let left = report.sessions.len().saturating_sub(LISTED_SESSIONS);
        if left > 0 {
            out.push_str(&format!("\n{left} older sessions are not listed; --json has them all.\n"));
        }
    }
    if report.total.days.len() > 1 {
        out.push_str(&format!("\n```text\n{}```\n", chart(&report.total.days)));
    }
    out
}

pub fn bullets(report: &Report) -> String {
    let total = &report.total;
    let began = report.sessions.iter().map(|session| session.began_ms).min().unwrap_or(0);
    let ended = report.sessions.iter().map(|session| session.ended_ms).max().unwrap_or(0);
    let mut work = format!("{} of work", duration(total.active_ms));
    work.push_str(&format!(", {} to {}", clock::local(began), clock::local(ended)));
    let mut rows = vec![("Time", work)];
    let mut turns = format!("{}, {}", count(total.turns, "turn"), count(total.steps, "step"));
    if report.sessions.len() > 1 {
        turns = format!("{}, {turns}", plural(report.sessions.len(), "session"));
    }
    rows.push(("Work", turns));
    rows.push(("Commands", some(total.commands(), |n| failed(n, total.failed_commands))));
    rows.push(("Changed", changed(total)));
    rows.push(("Notes written", some(total.notes, |n| n.to_string())));
    rows.push(("Other tools", tools(total)));
    rows.push(("Tokens", tokens(total)));
    rows.push(("Entered the window", layers(total)));
    rows.push(("Prompt rewritten", epochs(total)));
    rows.push(("Summaries of old turns", some(total.compactions, |n| n.to_string())));
    rows.push(("Cost", cost(total)));
    let failures = total.failures.iter().map(|(why, n)| format!("{why} ({n})"));
    let nudges = total.nudges.iter().map(|(topic, nudges)| {
        let followed = some(nudges.followed, |n| format!(" ({n} followed by a call)"));
        format!("{topic} {}{followed}", nudges.told)
    });
    rows.push(("Nudges", nudges.collect::<Vec<_>>().join(", ")));
    rows.push(("Turns that ended early", failures.collect::<Vec<_>>().join(", ")));
    rows.push(("Unreadable logs", some(report.unreadable as u64, |n| n.to_string())));
    rows.retain(|(_, value)| !value.is_empty());
    rows.into_iter().map(|(name, value)| format!("- {name}: {value}\n")).collect()
}

fn some(count: u64, text: impl Fn(u64) -> String) -> String {
    if count == 0 { String::new() } else { text(count) }
}

fn count(count: u64, noun: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

fn failed(all: u64, failed: u64) -> String {
    format!("{all}{}", some(failed, |n| format!(" ({n} failed)")))
}

pub fn duration(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn changed(total: &Figures) -> String {
    if total.files.is_empty() {
        return String::new();
    }
    let lines = total.lines();
    let mut files: Vec<_> = total.files.iter().collect();
    files.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.added + lines.removed));
    let name = |path: &str| format!("`{}`", on_one_line(path).replace('`', "'"));
    let mut names: Vec<String> = files.iter().take(NAMED_FILES).map(|(path, _)| name(path)).collect();
    let more = files.len().saturating_sub(NAMED_FILES);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let files = plural(total.files.len(), "file");
    format!("{files}, +{} −{} lines: {}", lines.added, lines.removed, names.join(", "))
}

fn tools(total: &Figures) -> String {
    let mut tools: Vec<_> =
        total.tools.iter().filter(|(name, _)| !["Bash", "Note"].contains(&name.as_str())).collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.calls));
    let tools = tools.into_iter().map(|(name, tool)| format!("{name} {}", failed(tool.calls, tool.errors)));
    tools.collect::<Vec<_>>().join(", ")
}

fn tokens(total: &Figures) -> String {
    let tokens = &total.tokens;
    if tokens.total() == 0 {
        return String::new();
    }
    let thinking = some(tokens.reasoning, |n| format!(", {} of it thinking", human_tokens(n)));
    format!(
        "{} in ({:.0}% from the cache), {} out{thinking}",
        human_tokens(tokens.input),
        total.cached_percent(),
        human_tokens(tokens.output)
    )
}

fn layers(total: &Figures) -> String {
    let layers = LAYERS.iter().filter_map(|(layer, name)| {
        total.layers.get(layer).map(|tokens| format!("{layer} {name} {}", human_tokens(*tokens)))
    });
    layers.collect::<Vec<_>>().join(", ")
}

fn epochs(total: &Figures) -> String {
    let epochs = total.epochs.iter().map(|(cause, epoch)| {
        format!(
            "{cause} {}: {} tokens read again, {} saved in each request",
            epoch.count,
            human_tokens(epoch.tokens_lost),
            human_tokens(epoch.tokens_saved)
        )
    });
    epochs.collect::<Vec<_>>().join("; ")
}

fn cost(total: &Figures) -> String {
    let Some(sum) = total.cost_usd() else {
        return if total.models.is_empty() { "" } else { "unknown: the model table has no price" }.to_owned();
    };
    let models = total.models.iter().map(|(name, model)| {
        let note = model.price.unwrap_or_default().note();
        format!("{name} {}{note}", model.cost_usd.map_or_else(|| "price unknown".to_owned(), dollars))
    });
    format!("{} ({})", dollars(sum), models.collect::<Vec<_>>().join(", "))
}

/// What a session cost, by model, as label and value.
pub fn costs(report: &Report) -> Vec<(String, String)> {
    let total = &report.total;
    let mut rows = Vec::new();
    let row = |tokens: &Usage, cost: Option<f64>| {
        let cached = tokens.cached as f64 * 100.0 / tokens.input.max(1) as f64;
        let cost = cost.map_or_else(|| "price unknown".to_owned(), dollars);
        let (read, written) = (human_tokens(tokens.input), human_tokens(tokens.output));
        format!("{cost} · {read} in ({cached:.0}% cached) · {written} out")
    };
    for (name, model) in &total.models {
        let asked = count(model.requests, "request");
        let note = model.price.unwrap_or_default().note();
        rows.push((name.clone(), format!("{} · {asked}{note}", row(&model.tokens, model.cost_usd))));
    }
    rows.push(("total".to_owned(), row(&total.tokens, total.cost_usd())));
    rows
}

fn chart(days: &BTreeMap<String, DayFigures>) -> String {
    let most = days.values().map(|day| day.tokens).max().unwrap_or(0).max(1);
    let row = |(date, day): (&String, &DayFigures)| {
        let length = (day.tokens as f64 * BAR as f64 / most as f64).ceil() as usize;
        let bar = "█".repeat(length);
        let tokens = human_tokens(day.tokens);
        let cost = if day.cost_usd > 0.0 { format!("  {}", dollars(day.cost_usd)) } else { String::new() };
        format!("{date}  {bar:<BAR$}  {tokens:>6} tokens  {:>4} steps{cost}\n", day.steps)
    };
    days.iter().map(row).collect()
}
