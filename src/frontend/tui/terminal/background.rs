//! Terminal capabilities: number of colors, dark or light background. The background query (OSC 11, xterm
//! control sequences) is sent at startup; on a slow line the answer arrives among the keys, and
//! [`LateAnswer`] keeps it out of the composer.

use crossterm::event::{Event, KeyModifiers};

use crate::tui::render::links;
use crate::tui::render::theme::{Background, Depth, Look};
use base::config::theme::ThemeName;

pub const QUESTION: &str = "\x1b]11;?\x1b\\";
const MOST_CHARS: usize = 40;

/// The Linux console (vt.c, 2026-11-22) and GNU screen 4 ignore the query; screen 5 would set a color (display.c).
pub fn may_ask(var: impl Fn(&str) -> Option<String>) -> bool {
    let term = var("TERM").unwrap_or_default();
    let screen = term.starts_with("screen") && var("TMUX").is_none();
    term != "linux" && !screen && var("STY").is_none()
}

pub fn depth(var: impl Fn(&str) -> Option<String>) -> Depth {
    let var = |name: &str| var(name).unwrap_or_default();
    let term = var("TERM");
    let full = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour"];
    if !var("NO_COLOR").is_empty() {
        Depth::None
    } else if ["truecolor", "24bit"].contains(&var("COLORTERM").as_str())
        || full.iter().any(|known| term.starts_with(known))
        || term.ends_with("-direct")
        || !var("WT_SESSION").is_empty()
        || var("TERM_PROGRAM") == "iTerm.app"
    {
        Depth::TrueColor
    } else if term.contains("256color") {
        Depth::TwoHundredFiftySix
    } else {
        Depth::Sixteen
    }
}

pub fn look(name: ThemeName, answer: Option<Background>) -> Look {
    let var = |name: &str| std::env::var(name).ok();
    let is_console = || (var("TERM")? == "linux").then_some(Background::Dark);
    let background = answer.or_else(|| from_variable(&var("COLORFGBG")?)).or_else(is_console);
    links::enable(links::taken_by(var));
    Look { name, depth: depth(var), background }
}

/// The last part of `COLORFGBG` is the background's number.
pub fn from_variable(value: &str) -> Option<Background> {
    let number: u8 = value.rsplit(';').next()?.parse().ok()?;
    match number {
        0..=6 | 8 => Some(Background::Dark),
        7 | 9..=15 => Some(Background::Light),
        _ => None,
    }
}

/// Such as `11;rgb:1e1e/1e1e/1e1e`, with one to four digits per part.
pub fn parse(answer: &str) -> Option<Background> {
    let (_, colors) = answer.split_once("11;rgb")?;
    let mut parts = colors.trim_start_matches('a').strip_prefix(':')?.split('/').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        let digits = &part[..end.min(4)];
        let most =
            16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1).filter(|most| *most > 0)?;
        Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(most))
    });
    let mut next = || parts.next().flatten();
    let (red, green, blue) = (next()?, next()?, next()?);
    let light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5;
    Some(if light { Background::Light } else { Background::Dark })
}

#[derive(Debug, Default)]
pub struct LateAnswer {
    awaited: bool,
    held: Vec<Event>,
    text: String,
}

impl LateAnswer {
    pub fn new(awaited: bool) -> Self {
        Self { awaited, ..Self::default() }
    }

    /// Returns the remaining events, and the answer when complete.
    pub fn filter(&mut self, events: Vec<Event>) -> (Vec<Event>, Option<Background>) {
        if !self.awaited {
            return (events, None);
        }
        let (mut passed, mut found) = (Vec::new(), None);
        for event in events {
            let key = event.as_key_event();
            let c = key.and_then(|key| key.code.as_char()).unwrap_or('\0');
            let modifiers = key.map_or(KeyModifiers::NONE, |key| key.modifiers);
            let ends = matches!((c, modifiers), ('\\', KeyModifiers::ALT) | ('g', KeyModifiers::CONTROL));
            if self.held.is_empty() {
                if (c, modifiers) == (']', KeyModifiers::ALT) {
                    self.held.push(event);
                } else {
                    passed.push(event);
                }
            } else if ends && self.text.starts_with("11;") {
                found = parse(&self.text);
                *self = Self::default();
            } else if "0123456789abcdefABCDEF;rgb:/".contains(c) && self.text.len() < MOST_CHARS {
                self.text.push(c);
                self.held.push(event);
            } else {
                passed.append(&mut self.held);
                passed.push(event);
                self.text.clear();
            }
        }
        (passed, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode, KeyEvent};

    fn keys(text: &str) -> Vec<Event> {
        let key = |c: char| match c {
            '<' => KeyEvent::new(KeyCode::Char(']'), KeyModifiers::ALT),
            '>' => KeyEvent::new(KeyCode::Char('\\'), KeyModifiers::ALT),
            c => KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE),
        };
        text.chars().map(|c| Event::Key(key(c))).collect()
    }

    #[test]
    fn backgrounds() {
        assert_eq!(parse("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"), Some(Background::Dark));
        assert_eq!(parse("11;rgb:ff/f6/e3"), Some(Background::Light));
        assert_eq!(parse("11;rgba:ffff/ffff/ffff/ffff"), Some(Background::Light));
        assert_eq!(parse("11;rgb:/zz"), None);
        assert_eq!(from_variable("15;0"), Some(Background::Dark));
        assert_eq!(from_variable("0;default;15"), Some(Background::Light));
        assert_eq!(from_variable("default"), None);
    }

    #[test]
    fn a_late_answer_is_not_typed() {
        let mut late = LateAnswer::new(true);
        assert_eq!(late.filter(keys("a<")).0, keys("a"));
        assert_eq!(late.filter(keys("11;rgb:ffff/ff")).0, []);
        assert_eq!(late.filter(keys("ff/ffff>b")), (keys("b"), Some(Background::Light)));
        assert_eq!(late.filter(keys("<x")), (keys("<x"), None), "no answer is awaited any more");
        let mut late = LateAnswer::new(true);
        assert_eq!(late.filter(keys("<1x")), (keys("<1x"), None), "the user's own keys come back");
    }

    #[test]
    fn depths() {
        let of = |vars: &[(&str, &str)]| {
            depth(|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[("TERM", "xterm-256color")]), Depth::TwoHundredFiftySix);
        assert_eq!(of(&[("TERM", "tmux-256color"), ("COLORTERM", "truecolor")]), Depth::TrueColor);
        assert_eq!(of(&[("TERM", "linux")]), Depth::Sixteen);
        assert_eq!(of(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")]), Depth::None);
    }
}
