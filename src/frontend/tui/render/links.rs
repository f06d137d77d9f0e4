//! Terminal hyperlinks (OSC 8). A span carries its link's number as underline color, which nothing else uses,
//! so it survives wrapping and reaches every cell; the screen turns it into the sequence.
//!
//! Support (as of 2026-11-22): <https://github.com/Alhadis/OSC8-Adoption>; index.js of the npm package
//! `supports-hyperlinks`; Contour's docs/vt-extensions; Warp per warpdotdev/warp#9850, up to 2,083 bytes; Rio
//! per can1357/oh-my-pi#12263. Konsole needs the user's permission. tmux keeps links since 3.4
//! (tmux/tmux#3660) and passes them on if `terminal-features` has `hyperlinks`. The Linux console (vt.c)
//! ignores the sequence, as does GNU screen (ansi.c), which prints anything beyond 767 bytes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use ratatui::style::{Color, Style};
use ratatui::text::Span;

const MOST_BYTES: usize = 2_000;
const MOST_LINKS: usize = 10_000;
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

static WANTED: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Known {
    numbers: HashMap<Arc<str>, u32>,
    addresses: Vec<Arc<str>>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

pub fn enable(taken: bool) {
    WANTED.store(taken, Ordering::Relaxed);
}

pub fn taken_by(var: impl Fn(&str) -> Option<String>) -> bool {
    let var = |name: &str| var(name).unwrap_or_default();
    let number = |name: &str| var(name).parse::<u32>().unwrap_or(0);
    let (program, term) = (var("TERM_PROGRAM"), var("TERM"));
    if !var("TMUX").is_empty() {
        let version = var("TERM_PROGRAM_VERSION");
        let (major, minor) = version.split_once('.').unwrap_or((&version, "0"));
        let digits = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse::<u32>().unwrap_or(0)
        };
        return program == "tmux" && (digits(major), digits(minor)) >= (3, 4);
    }
    if !var("STY").is_empty() || !var("INSIDE_EMACS").is_empty() || term.starts_with("screen") {
        return false;
    }
    let programs = ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "WarpTerminal", "rio", "zed"];
    let terms = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm"];
    programs.contains(&program.as_str())
        || terms.iter().any(|known| term.starts_with(known))
        || !var("WT_SESSION").is_empty()
        || number("VTE_VERSION") >= 5_000
        || number("KONSOLE_VERSION") >= 201_200
}

/// Unchanged if the terminal has no links or the address isn't safe to open.
pub fn style(style: Style, address: &str) -> Style {
    let safe = address.len() <= MOST_BYTES
        && SCHEMES.iter().any(|scheme| address.starts_with(scheme))
        && address.bytes().all(|byte| byte.is_ascii_graphic());
    if !safe || !WANTED.load(Ordering::Relaxed) {
        return style;
    }
    let mut known = KNOWN.lock();
    let number = match known.numbers.get(address) {
        Some(number) => *number,
        None if known.addresses.len() >= MOST_LINKS => return style,
        None => {
            let (address, number) = (Arc::<str>::from(address), known.addresses.len() as u32);
            known.numbers.insert(Arc::clone(&address), number);
            known.addresses.push(address);
            number
        }
    };
    let [_, high, middle, low] = number.to_be_bytes();
    style.underline_color(Color::Rgb(high, middle, low))
}

pub fn of(color: Color) -> Option<(u32, Arc<str>)> {
    let Color::Rgb(high, middle, low) = color else { return None };
    let number = u32::from_be_bytes([0, high, middle, low]);
    let known = KNOWN.lock();
    let address = known.addresses.get(number as usize)?;
    Some((number, Arc::clone(address)))
}

pub fn push(spans: &mut Vec<Span<'static>>, text: &str, plain: Style, link: Style) {
    let mut rest = text;
    while WANTED.load(Ordering::Relaxed) {
        let found = SCHEMES[..2].iter().filter_map(|scheme| rest.find(scheme)).min();
        let Some(at) = found else { break };
        let end = rest[at..].find(|c: char| !c.is_ascii_graphic() || "<>\"`".contains(c));
        let address = rest[at..end.map_or(rest.len(), |end| at + end)]
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '\'']);
        if at > 0 {
            spans.push(Span::styled(rest[..at].to_owned(), plain));
        }
        spans.push(Span::styled(address.to_owned(), style(link, address)));
        rest = &rest[at + address.len()..];
    }
    if !rest.is_empty() {
        spans.push(Span::styled(rest.to_owned(), plain));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_links() {
        let taken = |vars: &[(&str, &str)]| {
            taken_by(|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(taken(&[("TERM_PROGRAM", "iTerm.app")]));
        assert!(taken(&[("TERM", "xterm-kitty")]));
        assert!(taken(&[("VTE_VERSION", "7600")]) && !taken(&[("VTE_VERSION", "4600")]));
        assert!(taken(&[("TMUX", "x"), ("TERM_PROGRAM", "tmux"), ("TERM_PROGRAM_VERSION", "3.4")]));
        assert!(taken(&[("TMUX", "x"), ("TERM_PROGRAM", "tmux"), ("TERM_PROGRAM_VERSION", "3.5a")]));
        for old in ["3.3a", "", "next-3.3"] {
            assert!(
                !taken(&[("TMUX", "x"), ("TERM_PROGRAM", "tmux"), ("TERM_PROGRAM_VERSION", old)]),
                "{old}"
            );
        }
        assert!(!taken(&[("TMUX", "x"), ("WT_SESSION", "y")]) && !taken(&[("TERM", "linux")]));
        assert!(!taken(&[("STY", "x"), ("WT_SESSION", "y")]));
    }
}
