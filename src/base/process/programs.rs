//! Which programs are installed, found along `PATH` without starting any; and the user's own editor.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::system::os;

pub fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).any(|folder| folder.is_absolute() && is_executable(&folder.join(name)))
}

/// Runs command lines; small containers have only `sh`.
pub fn shell() -> &'static str {
    static SHELL: LazyLock<&str> = LazyLock::new(|| if is_installed("bash") { "bash" } else { "sh" });
    *SHELL
}

/// Our own program. If an update replaced it, Linux marks the name; the new program is used then.
pub fn own() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let unmarked = path.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    unmarked.map_or(path.as_path(), Path::new).canonicalize()
}

pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && os::facts(&meta).mode & 0o111 != 0)
}

/// An installed program that can do the work of a missing one.
pub fn instead_of(name: &str) -> Option<&'static str> {
    let rows = include_str!("instead.txt").lines().filter_map(|line| {
        let (missing, rest) = line.split_once(' ')?;
        let (other, how) = rest.split_once(' ')?;
        Some((missing, other, how))
    });
    rows.filter(|(missing, ..)| *missing == name)
        .find(|(_, other, _)| is_installed(other))
        .map(|(.., how)| how)
}

/// The editor's name (`$VISUAL`, `$EDITOR`, or `vi` in a terminal), and the command that opens `file` in it.
pub fn editor(file: &Path) -> Option<(String, Command)> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let in_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let editor = set("VISUAL")
        .or_else(|| set("EDITOR"))
        .or_else(|| (in_terminal && is_installed("vi")).then(|| "vi".to_owned()))?;
    // The variable may contain options, so the shell splits it, as git does.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg("sh").arg(file);
    Some((editor, command))
}
