//! Alerts a user who is looking elsewhere: window title, bell, and desktop notifications where supported.
//!
//! Sequences (as of 2026-11-22): OSC 9 `ESC ] 9 ; text BEL` (iTerm2, WezTerm per its notification_handling,
//! Warp per openai/codex#17174, Zed per zed#58014); OSC 777 `ESC ] 777 ; notify ; title ; text BEL` (urxvt,
//! foot, Ghostty, Konsole, Fedora's VTE but not VTE itself, Windows Terminal if the user allows it:
//! microsoft/terminal#20012); OSC 99 (kitty: sw.kovidgoyal.net/kitty/desktop-notifications). Each terminal
//! gets only one, or it would show two. tmux passes on `ESC P tmux; … ESC \` with doubled escapes: with
//! `allow-passthrough on` (3.3) from visible panes, with `all` (3.4) from all; otherwise it drops it, as does
//! GNU screen. Titles are saved and restored with `CSI 22 ; 2 t` and `CSI 23 ; 2 t` (xterm ctlseqs,
//! XTWINOPS); other terminals ignore these.

use std::time::Duration;

use crate::tui::app::App;
use crate::tui::render::wrap;
use base::config::settings::Notify;

/// If the terminal doesn't report focus, a user without a key press for this long counts as away.
const AWAY: Duration = Duration::from_secs(10);

pub const KEEP_TITLE: &str = "\x1b[22;2t";
pub const RESTORE_TITLE: &str = "\x1b]2;\x07\x1b[23;2t";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Activity {
    #[default]
    Idle,
    Working,
    Asking,
}

pub struct Attention {
    notify: Notify,
    /// What goes before and after a notification's text; `None`: only the bell.
    channel: Option<(&'static str, &'static str)>,
    tmux: bool,
    titles: bool,
    title: String,
    activity: Activity,
}

/// Whether the terminal has titles: the Linux console doesn't, and in GNU screen they'd name windows.
pub fn has_titles(var: impl Fn(&str) -> Option<String>) -> bool {
    let term = var("TERM").unwrap_or_default();
    !(term == "linux" || term == "dumb" || (term.starts_with("screen") && var("TMUX").is_none()))
}

impl Attention {
    pub fn new(notify: Notify, var: impl Fn(&str) -> Option<String>) -> Self {
        let (tmux, titles) = (var("TMUX").is_some(), has_titles(&var));
        Self { notify, channel: channel(&var), tmux, titles, title: String::new(), activity: Activity::Idle }
    }

    /// Another program had the terminal, so the title must be set again.
    pub fn forget_title(&mut self) {
        self.title.clear();
    }

    /// The sequences for changes since the last call.
    pub fn news(&mut self, app: &App) -> String {
        let mut out = String::new();
        let title = title(app);
        if self.titles && title != self.title {
            out.push_str(&format!("\x1b]2;{title}\x07"));
            self.title = title;
        }
        let activity = activity(app);
        let before = std::mem::replace(&mut self.activity, activity);
        let away = app.focused.map_or(app.now.saturating_sub(app.typed_at) >= AWAY, |focused| !focused);
        let calls = match (before, activity) {
            (Activity::Idle | Activity::Working, Activity::Asking) => Some("needs your input"),
            (Activity::Working | Activity::Asking, Activity::Idle) if app.session.is_some() => {
                Some("finished")
            }
            _ => None,
        };
        if let Some(what) = calls.filter(|_| self.notify != Notify::Off && away) {
            out.push_str(&self.call(&format!("{} {what}", project(app))));
        }
        out
    }

    fn call(&self, text: &str) -> String {
        let Some((before, behind)) = self.channel.filter(|_| self.notify != Notify::Bell) else {
            return "\x07".to_owned();
        };
        let plain = format!("{before}{text}{behind}");
        match self.tmux {
            true => format!("\x07\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")),
            false => format!("\x07{plain}"),
        }
    }
}

/// Uses terminal variables that are also visible inside tmux.
fn channel(var: impl Fn(&str) -> Option<String>) -> Option<(&'static str, &'static str)> {
    let text = |name| var(name).unwrap_or_default().to_lowercase();
    let (term, program) = (text("TERM"), text("TERM_PROGRAM"));
    let is = |names: &[&str]| names.iter().any(|name| term.contains(name) || program.contains(name));
    let has = |names: &[&str]| names.iter().any(|name| var(name).is_some());
    if is(&["kitty"]) || has(&["KITTY_WINDOW_ID"]) {
        Some(("\x1b]99;;mycode: ", "\x1b\\"))
    } else if is(&["ghostty", "foot", "rxvt"]) || has(&["VTE_VERSION", "KONSOLE_VERSION", "WT_SESSION"]) {
        Some(("\x1b]777;notify;mycode;", "\x07"))
    } else if is(&["iterm", "wezterm", "warp", "zed"]) || has(&["ITERM_SESSION_ID", "WEZTERM_PANE"]) {
        Some(("\x1b]9;mycode: ", "\x07"))
    } else {
        None
    }
}

fn activity(app: &App) -> Activity {
    match (app.questions.is_empty(), app.turn.is_some()) {
        (false, _) => Activity::Asking,
        (true, true) => Activity::Working,
        (true, false) => Activity::Idle,
    }
}

fn project(app: &App) -> String {
    let folder = app.session.as_ref().map_or("", |info| info.workspace.trim_end_matches('/'));
    let name = folder.rsplit('/').next().unwrap_or_default();
    wrap::one_line(name, 40)
}

fn title(app: &App) -> String {
    let mark = match activity(app) {
        Activity::Idle => "",
        Activity::Working => "… ",
        Activity::Asking => "? ",
    };
    match project(app).as_str() {
        "" => "mycode".to_owned(),
        project => format!("{mark}{project} · mycode"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::popup::question::OpenQuestion;
    use crate::tui::render::theme::Theme;
    use base::protocol::approval::{AskedQuestion, Question};
    use base::protocol::event::SessionInfo;

    fn app() -> App {
        let session = serde_json::json!({"id": "a", "model": "m", "provider": "p", "permission": "ask", "most_permission": "full",
            "workspace": "/home/me/shop\u{1b}]2;x", "turns": 0, "offer_init": false});
        let session: Option<SessionInfo> = serde_json::from_value(session).ok();
        let mut app = App::new(Theme::new(false), (80, 24));
        (app.session, app.focused) = (session, Some(false));
        app
    }

    fn attention(notify: Notify, vars: &'static [(&'static str, &'static str)]) -> Attention {
        Attention::new(notify, |name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn asks(app: &mut App) {
        app.begin_turn();
        let questions =
            vec![AskedQuestion { question: "?".to_owned(), options: Vec::new(), optional: false }];
        app.questions.push(OpenQuestion::new(1, Question::Ask { questions }, true, false));
    }

    #[test]
    fn each_terminal_in_its_way() {
        for (vars, expected) in [
            (&[("TERM_PROGRAM", "iTerm.app")][..], "\x07\x1b]9;mycode: "),
            (&[("TERM", "xterm-kitty")], "\x07\x1b]99;;mycode: "),
            (&[("TERM", "foot")], "\x07\x1b]777;notify;mycode;"),
            (&[("WT_SESSION", "x")], "\x07\x1b]777;notify;mycode;"),
            (&[("TERM", "xterm-ghostty")], "\x07\x1b]777;notify;mycode;"),
            (&[("TMUX", "x"), ("WEZTERM_PANE", "0")], "\x07\x1bPtmux;\x1b\x1b]9;mycode: "),
        ] {
            let (mut attention, mut app) = (attention(Notify::Auto, vars), app());
            attention.news(&app);
            asks(&mut app);
            let news = attention.news(&app);
            assert!(news.contains(expected), "{vars:?}: {news:?}");
            assert_eq!(attention.news(&app), "", "once");
        }
        for (notify, vars) in [(Notify::Bell, &[("TERM", "foot")][..]), (Notify::Auto, &[("TERM", "linux")])]
        {
            let (mut attention, mut app) = (attention(notify, vars), app());
            attention.news(&app);
            asks(&mut app);
            assert!(attention.news(&app).ends_with('\x07'));
        }
    }

    #[test]
    fn only_somebody_elsewhere_is_called() {
        let mut attention = attention(Notify::Auto, &[("TERM", "linux")]);
        let mut app = app();
        let mut turn = |focused, seconds| {
            (app.focused, app.now) = (focused, Duration::from_secs(seconds));
            app.begin_turn();
            attention.news(&app);
            app.turn = None;
            attention.news(&app)
        };
        assert_eq!(turn(Some(false), 1), "\x07");
        assert_eq!(turn(Some(true), 60), "");
        assert_eq!(turn(None, 5), "");
        assert_eq!(turn(None, 60), "\x07");
    }

    #[test]
    fn titles_hold_no_commands() {
        let (mut attention, app) = (attention(Notify::Off, &[]), app());
        let news = attention.news(&app);
        assert_eq!(news.matches('\x1b').count(), 1, "{news:?}");
        assert!(!has_titles(|name| (name == "TERM").then(|| "screen".to_owned())));
    }
}
