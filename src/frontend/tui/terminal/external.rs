//! External programs: the user's editor and clipboard tools, run off the loop with time limits.
//!
//! Clipboards: xclip (the only one tested), wl-paste, pngpaste, and in WSL
//! `System.Windows.Forms.Clipboard.GetImage` through powershell.exe, which needs a single-threaded apartment
//! (`-STA`). Anything but PNG counts as no picture.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use base::folder::atomic_write::{self, Expect};
use base::process::{editor, timeout};
use base::{clock, file};

const PATIENCE: Duration = Duration::from_secs(5);
const MAX_TEXT_BYTES: u64 = 8 * 1024 * 1024;
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const POWERSHELL: &str = "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; \
    $i = [Windows.Forms.Clipboard]::GetImage(); if ($i) { $m = New-Object IO.MemoryStream; \
    $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray()) }";

pub async fn edit(file: &Path) -> Result<(), String> {
    let Some((name, command)) = editor::command(file) else {
        return Err(format!("No editor is set. Set EDITOR, or edit {} yourself.", file.display()));
    };
    match tokio::process::Command::from(command).status().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("The editor `{name}` exited with {status}. Try again, or correct EDITOR.")),
        Err(error) => Err(format!("The editor `{name}` can't be started ({error}). Correct EDITOR.")),
    }
}

/// Edits `text` in the editor, through a temporary file in `folder`.
pub async fn compose(folder: &Path, text: &str) -> Result<String, String> {
    let path = folder.join(format!("text-{}.md", std::process::id()));
    if editor::command(&path).is_none() {
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

/// Saves the clipboard's picture in `folder`. Blocks.
pub fn paste_picture(folder: &Path) -> Result<String, String> {
    let programs = clipboard_programs();
    if programs.is_empty() {
        return Err("no clipboard here; paste the picture's path".to_owned());
    }
    let found = programs.into_iter().find_map(|mut command| {
        let out = timeout::ask(&mut command, b"", PATIENCE)?;
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

fn clipboard_programs() -> Vec<Command> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let all: [(bool, &str, &[&str]); 4] = [
        (set("WAYLAND_DISPLAY"), "wl-paste", &["--type", "image/png"]),
        (set("DISPLAY"), "xclip", &["-selection", "clipboard", "-t", "image/png", "-o"]),
        (cfg!(target_os = "macos"), "pngpaste", &["-"]),
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
