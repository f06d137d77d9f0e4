//! The status line below the composer, and the activity line above it.

use std::time::Duration;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::wrap;
use crate::tui::app::{App, TurnStatus};
use crate::tui::command::models;
use crate::tui::transcript::entry::{duration, sentence};
use crate::tui::transcript::live::Piece;
use base::config::mode::Mode;
use base::config::settings::Permission;
use base::protocol::event::{LOADING, WindowState, silence};
use base::{sanitize, text};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

pub fn frame(app: &App) -> &'static str {
    FRAMES[app.beat % FRAMES.len()]
}

pub fn activity(app: &App, width: usize) -> Option<Line<'static>> {
    let theme = app.theme;
    if app.turn.is_some() && !app.questions.is_empty() {
        return Some(Line::styled("? Waiting for your answer", theme.question()));
    }
    let (doing, since) = match (&app.turn, app.compacting) {
        (Some(turn), compacting) => {
            let doing = if turn.interrupting {
                "Interrupting".to_owned()
            } else if let Some(retry) = &turn.retry {
                // The reason is last, because the end is cut first.
                let reason = wrap::one_line(&retry.reason, 400);
                let left = retry.at.saturating_sub(app.now).as_millis().div_ceil(1000);
                let (attempt, of) = (retry.attempt, retry.of);
                if left > 0 {
                    format!("Attempt {attempt} of {of} in {left}s: {reason}")
                } else {
                    format!("Attempt {attempt} of {of}: {reason}")
                }
            } else if let Some(silent) = &turn.silent {
                let seconds = |time: Duration| format!("{}s", time.as_secs());
                match silent.until {
                    Some(until) => {
                        let left = seconds(until.saturating_sub(app.now));
                        sentence(&silence(
                            &seconds(app.now.saturating_sub(silent.since)),
                            Some(left),
                            silent.alive,
                        ))
                    }
                    None => sentence(LOADING),
                }
            } else if compacting.is_some() {
                "Summarizing older turns".to_owned()
            } else if let Some((name, bytes)) = &turn.arriving {
                let what = if name.is_empty() { "tool" } else { name };
                format!("Writing a {} call ({})", sanitize::clean(what), text::human_bytes(*bytes as u64))
            } else {
                match app.live.pieces.last() {
                    Some(Piece::Reasoning { done: false, .. }) => "Thinking".to_owned(),
                    Some(Piece::Answer(_)) => "Answering".to_owned(),
                    Some(Piece::Tool(_)) => "Running".to_owned(),
                    _ => "Working".to_owned(),
                }
            };
            (doing, turn.started)
        }
        (None, Some(since)) => ("Summarizing older turns".to_owned(), since),
        (None, None) if app.behind > 0 && !app.slow => {
            let doing = format!("{} Printing · {} to come", frame(app), text::plural(app.behind, "line"));
            return Some(wrap::line(&doing, width, theme.accent()));
        }
        (None, None) => return None,
    };
    let mut elapsed = duration(app.now.saturating_sub(since).as_secs());
    elapsed.push_str(&app.turn.as_ref().and_then(|turn| tokens(app, turn)).unwrap_or_default());
    let stop = if width < 40 { "Esc" } else { "Esc to interrupt" };
    let tail = format!(" · {elapsed} · {stop}");
    let room = width.saturating_sub(2 + wrap::width(&tail));
    let doing = if room > 0 { format!(" {}", wrap::clip(&doing, room)) } else { String::new() };
    Some(Line::from(vec![
        Span::styled(format!("{}{doing}", frame(app)), theme.accent()),
        Span::styled(tail, theme.dim()),
    ]))
}

/// The reported tokens of this turn, plus an estimate for the incoming part.
fn tokens(app: &App, turn: &TurnStatus) -> Option<String> {
    let reported = app.window.map_or(0, |window| window.total.total()).saturating_sub(turn.tokens_before);
    let coming = turn.streamed as u64 / 4;
    // Rounded, so that the estimate doesn't change with every frame.
    let (about, sum) = if coming > 0 { ("~", (reported + coming) / 10 * 10) } else { ("", reported) };
    (sum >= 100).then(|| format!(" · {about}{} tokens", text::human_tokens(sum)))
}

pub fn status(app: &App, width: usize) -> Line<'static> {
    let theme = app.theme;
    let facts = facts(app, width.saturating_sub(8 + wrap::width(&vim(app))));
    let waits = !app.questions.is_empty() && app.shown_popup().is_some();
    let left =
        if waits { "? Waiting for your answer · Tab".to_owned() } else { format!("  {}{facts}", vim(app)) };
    let typed = app.composer.text();
    let is_memo = typed.starts_with('#') && !typed.starts_with("##") && !typed.contains('\n');
    let hint = match &app.hint {
        Some(hint) => hint.clone(),
        None if !app.questions.is_empty() => String::new(),
        None if app.slow && app.behind > 0 => format!("{} to come", text::plural(app.behind, "line")),
        None if typed.starts_with('!') => "Enter to run it in your shell".to_owned(),
        None if is_memo => "Enter to save it as a rule or a note".to_owned(),
        None if app.turn.is_some() => "Enter to steer".to_owned(),
        None => "/help".to_owned(),
    };
    // A hint about the last key takes precedence over the facts.
    let room = width.saturating_sub(if app.hint.is_some() && !waits { wrap::width(&hint) + 1 } else { 0 });
    let left = wrap::clip(&left, room);
    let gap = width.saturating_sub(wrap::width(&left) + wrap::width(&hint));
    let mut spans = vec![Span::styled(left, if waits { theme.question() } else { theme.dim() })];
    // The full level stands out if nothing is asked.
    let is_full = app.session.as_ref().is_some_and(|info| info.permission == Permission::Full);
    if let Some(level) = spans[0].content.strip_suffix(Permission::Full.into_str()).filter(|_| is_full) {
        let facts = Span::styled(level.to_owned(), theme.dim());
        spans =
            vec![facts, Span::styled(Permission::Full.into_str(), theme.bad().add_modifier(Modifier::BOLD))];
    }
    if gap > 0 {
        spans.push(Span::raw(" ".repeat(gap)));
        let style = if app.hint.is_some() { theme.warning() } else { theme.dim() };
        spans.push(Span::styled(hint, style));
    }
    Line::from(spans)
}

fn vim(app: &App) -> String {
    match &app.composer.vim {
        None => String::new(),
        Some(vim) if !vim.normal => "INSERT · ".to_owned(),
        Some(vim) if vim.pending.is_empty() => "NORMAL · ".to_owned(),
        Some(vim) => format!("NORMAL {} · ", sanitize::clean(&vim.pending)),
    }
}

/// Cost is dropped first, then token counts, then the model.
fn facts(app: &App, room: usize) -> String {
    let Some(info) = &app.session else { return "Starting…".to_owned() };
    if !info.has_model() {
        return models::NO_MODEL.to_owned();
    }
    let model = wrap::one_line(&info.model, 40);
    let (share, counts) = app.window.as_ref().and_then(window).unzip();
    let cost = app.window.as_ref().and_then(|window| window.cost_usd).map(|cost| format!("${cost:.2}"));
    let both = share.as_ref().zip(counts.as_ref()).map(|(share, counts)| format!("{share} {counts}"));
    let running = app.jobs.iter().filter(|job| job.ended.is_none()).count();
    let jobs = (running > 0).then(|| text::plural(running, "job"));
    let confines = matches!(info.permission, Permission::ReadOnly | Permission::Auto);
    let lacks = app.sandbox_lacks.as_ref().filter(|_| confines).map(|missing| format!(" (no {missing})"));
    let permission = Some(format!("{}{}", info.permission.into_str(), lacks.unwrap_or_default()));
    let model = Some(model);
    let mode = (info.mode != Mode::Auto).then(|| format!("{} mode", info.mode.into_str()));
    let fullest_first = [
        vec![&model, &both, &cost, &jobs, &mode, &permission],
        vec![&model, &both, &jobs, &mode, &permission],
        vec![&model, &share, &jobs, &mode, &permission],
        vec![&share, &jobs, &mode, &permission],
    ];
    let joined =
        fullest_first.map(|facts| facts.into_iter().flatten().cloned().collect::<Vec<_>>().join(" · "));
    let last = joined[joined.len() - 1].clone();
    joined.into_iter().find(|facts| wrap::width(facts) <= room).unwrap_or(last)
}

fn window(window: &WindowState) -> Option<(String, String)> {
    if window.window_tokens == 0 {
        return None;
    }
    let percent = window.used_tokens.saturating_mul(100) / window.window_tokens;
    let about = if window.estimated { "~" } else { "" };
    let whole = text::human_tokens(window.window_tokens).replace(".0k", "k").replace(".0M", "M");
    Some((format!("{about}{percent}%"), format!("{}/{whole}", text::human_tokens(window.used_tokens))))
}
