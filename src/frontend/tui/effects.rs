//! Effects of the reducer other than drawing and sending. All but [`copying`] block, so they run off the loop;
//! what they return comes back as a message.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tui::msg::Msg;
use crate::tui::popup::completion::shell_words::last_word;
use base::config::remember;
use base::config::theme::ThemeName;
use base::process::timeout;
use base::protocol::event::{Event, Level};

/// Longer sequences than 100,000 bytes aren't sent, as in hterm's osc52.sh. Some terminals accept less:
/// Contour 51,200 bytes, xterm without graphics 20,000.
pub const MOST_COPIED: usize = 74_994;
/// GNU screen passes on at most 768 bytes at once since 4.2.1 (hterm's osc52.sh), escapes included.
const SCREEN_PART: usize = 760;
const PATIENCE: Duration = Duration::from_secs(2);

pub fn keep_theme(config: &Path, name: ThemeName) -> Option<Msg> {
    let why = remember::choose(config, "theme", name.into_str()).err()?;
    let text = format!("Couldn't save the theme ({why}); it applies to this session only.");
    Some(Msg::Event(Box::new(Event::Notice { level: Level::Warning, text })))
}

/// `folder` is the workspace.
pub fn complete_shell(before: String, folder: &Path) -> Msg {
    let (at, program) = last_word(&before);
    let words = candidates(&before[at..], program, folder);
    Msg::ShellWords { before, words }
}

/// Loads `text` into tmux's buffer and the clipboard (`load-buffer -w`, since 3.2): `set-clipboard` defaults
/// to `external`, which drops OSC 52 from programs (`input_osc_52_parse` in tmux's input.c).
pub fn copy_to_tmux(text: &str) {
    let mut command = Command::new("tmux");
    timeout::ask(command.args(["load-buffer", "-w", "-"]), text.as_bytes(), PATIENCE);
}

/// The bytes that put `text` into the clipboard (OSC 52, xterm control sequences). In tmux they reach the
/// terminal with `allow-passthrough on`; [`copy_to_tmux`] covers the rest. GNU screen has no OSC 52 but
/// passes on DCS strings (ansi.c), in parts. VTE and Apple's Terminal don't support it.
pub fn copying(text: &str, var: impl Fn(&str) -> bool) -> Vec<u8> {
    let plain = format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
    if var("TMUX") {
        format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")).into_bytes()
    } else if var("STY") {
        let parts = plain.as_bytes().chunks(SCREEN_PART);
        parts.flat_map(|part| [b"\x1bP", part, b"\x1b\\"].concat()).collect()
    } else {
        plain.into_bytes()
    }
}

const MOST: usize = 200;

/// Sorted programs or paths that start with `word`. Blocks.
fn candidates(word: &str, program: bool, folder: &Path) -> Vec<String> {
    let word = word.replace('\\', "");
    let found = if program && !word.contains('/') { programs(&word) } else { paths(&word, folder) };
    found.into_iter().take(MOST).collect()
}

fn programs(word: &str) -> BTreeSet<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter_map(|folder| fs::read_dir(folder).ok());
    let runs = |entry: &fs::DirEntry| {
        fs::metadata(entry.path()).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let names = folders.flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.starts_with(word))?;
        runs(&entry).then_some(name)
    });
    names.collect()
}

fn paths(word: &str, folder: &Path) -> BTreeSet<String> {
    let (parent, begun) =
        word.rsplit_once('/').map_or(("", word), |(parent, rest)| (&word[..=parent.len()], rest));
    let looked: PathBuf = match (parent.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folder.join(parent),
    };
    let entries = fs::read_dir(looked).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let wanted = name.starts_with(begun) && (!name.starts_with('.') || begun.starts_with('.'));
        let end = if wanted && entry.path().is_dir() { "/" } else { "" };
        wanted.then(|| format!("{parent}{name}{end}"))
    });
    names.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn clipboard() {
        let of = |text: &str, set: &str| String::from_utf8(copying(text, |name| name == set)).unwrap();
        assert_eq!(of("hi", ""), "\x1b]52;c;aGk=\x07");
        assert_eq!(of("hi", "TMUX"), "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\");
        assert_eq!(of("hi", "STY"), "\x1bP\x1b]52;c;aGk=\x07\x1b\\");
        assert_eq!(of(&"x".repeat(3_000), "STY").matches("\x1bP").count(), 6);
    }
}
