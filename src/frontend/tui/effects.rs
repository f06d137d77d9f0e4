//! Effects of the reducer other than drawing and sending: the clipboard, the user's editor, completion from the disk.
//! What blocks runs off the loop, with time limits; what it returns comes back as a message.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tui::msg::Msg;
use crate::tui::popup::completion::complete;
use base::config::files::source;
use base::config::theme::ThemeName;
use base::folder::atomic_write::{self, Expect};
use base::process::{programs, timeout};
use base::protocol::event::{Event, Level};
use base::{clock, file};

/// hterm's osc52.sh sends at most 100,000 bytes. Contour accepts 51,200, xterm without graphics 20,000.
pub const MOST_COPIED: usize = 74_994;
/// GNU screen passes on at most 768 bytes at once since 4.2.1 (hterm's osc52.sh), escapes included.
const SCREEN_PART: usize = 760;
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_WORDS: usize = 200;
const CLIPBOARD_PATIENCE: Duration = Duration::from_secs(5);
const MAX_TEXT_BYTES: u64 = 8 * 1024 * 1024;
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// AppleScript prints it as `«data PNGf89504E…»`.
const MAC_PICTURE: &str =
    "osascript -e 'the clipboard as «class PNGf»' | sed 's/.*PNGf//' | tr -cd 0-9A-F | xxd -r -p";
const POWERSHELL: &str = "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; \
    $i = [Windows.Forms.Clipboard]::GetImage(); if ($i) { $m = New-Object IO.MemoryStream; \
    $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }";

pub fn keep_theme(config: &Path, name: ThemeName) -> Option<Msg> {
    let why = source::choose(config, "theme", name.into_str()).err()?;
    let text = format!("Couldn't save the theme ({why}); it applies to this session only.");
    Some(Msg::Event(Box::new(Event::Notice { level: Level::Warning, text })))
}

pub fn complete_shell(before: String, folder: &Path) -> Msg {
    let words = match complete::outside(&before) {
        Some(token) => paths(&token.query, folder).into_iter().take(MOST_WORDS).collect(),
        None => {
            let (at, program) = complete::last_word(&before);
            candidates(&before[at..], program, folder)
        }
    };
    Msg::ShellWords { before, words }
}

/// tmux's `set-clipboard` defaults to `external`, which drops OSC 52 from programs (tmux's input.c); `-w` is known since 3.2.
/// Apple's Terminal has no OSC 52.
pub fn copy_by_program(text: &str, var: impl Fn(&str) -> bool) {
    let all: [(bool, &str, &[&str]); 2] = [
        (var("TMUX"), "tmux", &["load-buffer", "-w", "-"]),
        (cfg!(target_os = "macos") && !var("SSH_CONNECTION"), "pbcopy", &[]),
    ];
    for (_, program, args) in all.into_iter().filter(|(here, ..)| *here) {
        timeout::ask(Command::new(program).args(args), text.as_bytes(), PATIENCE);
    }
}

/// The bytes that put `text` into the clipboard (OSC 52, xterm control sequences). In tmux they reach the
/// terminal with `allow-passthrough on`; [`copy_by_program`] covers the rest. GNU screen has no OSC 52 but
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

fn candidates(word: &str, program: bool, folder: &Path) -> Vec<String> {
    let word = word.replace('\\', "");
    let found = if program && !word.contains('/') { programs(&word) } else { paths(&word, folder) };
    found.into_iter().take(MOST_WORDS).collect()
}

fn programs(word: &str) -> BTreeSet<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter_map(|folder| fs::read_dir(folder).ok());
    let names = folders.flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.starts_with(word))?;
        programs::is_executable(&entry.path()).then_some(name)
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

pub async fn edit(file: &Path) -> Result<(), String> {
    let Some((name, command)) = programs::editor(file) else {
        return Err(format!("No editor is set. Set EDITOR, or edit {} yourself.", file.display()));
    };
    match tokio::process::Command::from(command).status().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("The editor `{name}` exited with {status}. Try again, or correct EDITOR.")),
        Err(error) => Err(format!("The editor `{name}` can't be started ({error}). Correct EDITOR.")),
    }
}

/// Uses a temporary file in `folder`.
pub async fn compose(folder: &Path, text: &str) -> Result<String, String> {
    let path = folder.join(format!("text-{}.md", std::process::id()));
    if programs::editor(&path).is_none() {
        return Err("No editor is set. Set EDITOR, such as `export EDITOR=vim`.".to_owned());
    }
    let failed = |why: String| format!("Couldn't open the text in the editor ({why}). It is unchanged.");
    keep(folder, &path, text.as_bytes()).map_err(failed)?;
    let written = match edit(&path).await {
        Ok(()) => file::read(&path, MAX_TEXT_BYTES).map_err(|error| failed(error.to_string())),
        Err(message) => Err(message),
    };
    let _ = fs::remove_file(&path);
    let written = written?.0;
    let written = String::from_utf8_lossy(&written);
    // Editors add a final line break.
    Ok(written.strip_suffix('\n').filter(|_| !text.ends_with('\n')).unwrap_or(&written).to_owned())
}

fn keep(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), String> {
    file::create_private_folder(folder).map_err(|error| error.to_string())?;
    atomic_write::write_private(path, bytes, Expect::Anything).map_err(|error| error.to_string())
}

pub fn paste_picture(folder: &Path) -> Result<String, String> {
    let programs = clipboard_programs();
    if programs.is_empty() {
        return Err("no clipboard here; paste the picture's path".to_owned());
    }
    let found = programs.into_iter().find_map(|mut command| {
        let out = timeout::ask(&mut command, b"", CLIPBOARD_PATIENCE)?;
        let decoded = || STANDARD.decode(out.trim_ascii()).ok();
        if out.starts_with(PNG) { Some(out) } else { decoded().filter(|bytes| bytes.starts_with(PNG)) }
    });
    let picture = found.ok_or("no picture in the clipboard")?;
    let path = folder.join(format!("pasted-{}.png", clock::now_ms()));
    forget_old(folder);
    keep(folder, &path, &picture).map_err(|why| format!("the picture can't be saved: {why}"))?;
    Ok(path.to_string_lossy().into_owned())
}

/// Safe to delete: sent pictures are in the session log.
fn forget_old(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Only xclip is tested. WSL's `GetImage` needs `-STA`. Anything but PNG counts as no picture.
fn clipboard_programs() -> Vec<Command> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let all: [(bool, &str, &[&str]); 5] = [
        (set("WAYLAND_DISPLAY"), "wl-paste", &["--type", "image/png"]),
        (set("DISPLAY"), "xclip", &["-selection", "clipboard", "-t", "image/png", "-o"]),
        (cfg!(target_os = "macos"), "pngpaste", &["-"]),
        (cfg!(target_os = "macos"), "sh", &["-c", MAC_PICTURE]),
        (set("WSL_DISTRO_NAME"), "powershell.exe", &["-NoProfile", "-STA", "-Command", POWERSHELL]),
    ];
    let here = all.into_iter().filter(|(here, ..)| *here);
    here.map(|(_, program, args)| {
        let mut command = Command::new(program);
        command.args(args);
        command
    })
    .collect()
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
