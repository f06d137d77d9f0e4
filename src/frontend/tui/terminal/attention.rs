//! Calls a user who looks elsewhere: the terminal's title says what goes on, and when the agent asks or is done, the bell
//! rings and the terminal shows a notification where it can.
//!
//! Sequences (looked up 2026-11-22): OSC 9 `ESC ] 9 ; text BEL` is iTerm2's, and WezTerm (its notification_handling), Warp
//! (openai/codex#17174) and Zed (zed#58014) take it; OSC 777 `ESC ] 777 ; notify ; title ; text BEL` is urxvt's, which foot,
//! Ghostty, Konsole and Fedora's VTE know (VTE itself ignores it), and Windows Terminal where the user allows it
//! (microsoft/terminal#20012); kitty has OSC 99 (sw.kovidgoyal.net/kitty/desktop-notifications). Each terminal gets one of
//! them, or it would show two. tmux passes on what stands in `ESC P tmux; … ESC \` with each escape doubled: with
//! `allow-passthrough on` (3.3) from panes that are seen, with `all` (3.4) from each; else it drops it, as GNU screen does. The
//! bell it reports itself. Titles are kept and given back with `CSI 22 ; 2 t` and `CSI 23 ; 2 t`
//! (xterm ctlseqs, XTWINOPS), which unknowing terminals ignore.

use std::time::Duration;

use crate::tui::app::App;
use base::config::settings::Notify;
use base::sanitize;
use base::text;

/// Where the terminal does not tell whether it has the focus, somebody who has pressed no key for so long looks elsewhere.
const AWAY: Duration = Duration::from_secs(10);

/// Keeps the title that the terminal has, or gives it back.
pub const KEEP_TITLE: &str = "\x1b[22;2t";
pub const RESTORE_TITLE: &str = "\x1b]2;\x07\x1b[23;2t";

/// How a terminal shows a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Osc9,
    Osc777,
    Osc99,
    /// The bell is all that it has.
    Bell,
}

/// What the agent does, as far as somebody elsewhere cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Activity {
    #[default]
    Idle,
    Working,
    Asking,
}

/// What was told so far.
pub struct Attention {
    notify: Notify,
    channel: Channel,
    tmux: bool,
    titles: bool,
    title: String,
    activity: Activity,
}

/// Whether the terminal shows titles: the Linux console has none, and in GNU screen they name windows.
pub fn has_titles(var: impl Fn(&str) -> Option<String>) -> bool {
    let term = var("TERM").unwrap_or_default();
    !(term == "linux" || term == "dumb" || (term.starts_with("screen") && var("TMUX").is_none()))
}

impl Attention {
    /// `var` reads the environment.
    pub fn new(notify: Notify, var: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            notify,
            channel: channel(&var),
            tmux: var("TMUX").is_some(),
            titles: has_titles(&var),
            title: String::new(),
            activity: Activity::Idle,
        }
    }

    /// The title is to be set anew: another program has had the terminal.
    pub fn forget_title(&mut self) {
        self.title.clear();
    }

    /// What is to be written because of what has changed; mostly nothing.
    pub fn news(&mut self, app: &App) -> String {
        let mut out = String::new();
        let title = title(app);
        if self.titles && title != self.title {
            out.push_str(&format!("\x1b]2;{title}\x07"));
            self.title = title;
        }
        let activity = activity(app);
        let before = std::mem::replace(&mut self.activity, activity);
        let calls = match (before, activity) {
            (Activity::Idle | Activity::Working, Activity::Asking) => Some("asks you something"),
            (Activity::Working | Activity::Asking, Activity::Idle) if app.session.is_some() => {
                Some("is done")
            }
            _ => None,
        };
        if let Some(what) = calls.filter(|_| self.notify != Notify::Off && is_away(app)) {
            out.push_str(&self.call(&format!("{} {what}", project(app))));
        }
        out
    }

    fn call(&self, text: &str) -> String {
        let sequence = match self.channel {
            _ if self.notify == Notify::Bell => String::new(),
            Channel::Osc9 => format!("\x1b]9;mycode: {text}\x07"),
            Channel::Osc777 => format!("\x1b]777;notify;mycode;{text}\x07"),
            Channel::Osc99 => format!("\x1b]99;;mycode: {text}\x1b\\"),
            Channel::Bell => String::new(),
        };
        let sequence = match sequence.as_str() {
            "" => sequence,
            plain if self.tmux => format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")),
            _ => sequence,
        };
        format!("\x07{sequence}")
    }
}

/// By the variables that terminals set; they reach into tmux as well.
fn channel(var: impl Fn(&str) -> Option<String>) -> Channel {
    let text = |name| var(name).unwrap_or_default().to_lowercase();
    let (term, program) = (text("TERM"), text("TERM_PROGRAM"));
    let is = |name: &str| term.contains(name) || program.contains(name);
    if is("kitty") || var("KITTY_WINDOW_ID").is_some() {
        Channel::Osc99
    } else if is("ghostty")
        || is("foot")
        || is("rxvt")
        || ["VTE_VERSION", "KONSOLE_VERSION", "WT_SESSION"].iter().any(|name| var(name).is_some())
    {
        Channel::Osc777
    } else if is("iterm")
        || is("wezterm")
        || is("warp")
        || is("zed")
        || ["ITERM_SESSION_ID", "WEZTERM_PANE"].iter().any(|name| var(name).is_some())
    {
        Channel::Osc9
    } else {
        Channel::Bell
    }
}

fn activity(app: &App) -> Activity {
    match (app.questions.is_empty(), app.turn.is_some()) {
        (false, _) => Activity::Asking,
        (true, true) => Activity::Working,
        (true, false) => Activity::Idle,
    }
}

fn is_away(app: &App) -> bool {
    match app.focused {
        Some(focused) => !focused,
        None => app.now.saturating_sub(app.typed_at) >= AWAY,
    }
}

/// The name of the project's folder.
fn project(app: &App) -> String {
    let folder = app.session.as_ref().map_or("", |info| info.workspace.trim_end_matches('/'));
    let name = folder.rsplit('/').next().unwrap_or_default();
    text::one_line(&sanitize::clean(name), 40)
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
        let session = serde_json::json!({"id": "a", "model": "m", "provider": "p", "permission": "ask",
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
        app.questions.push(OpenQuestion::new(1, Question::Ask { questions }, true));
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
