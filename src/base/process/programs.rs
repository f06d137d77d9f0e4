//! Which programs are installed, by looking along `PATH`: none is started. And the user's own editor.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::system::os;

pub fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).any(|folder| folder.is_absolute() && is_executable(&folder.join(name)))
}

/// What runs command lines: small containers have only `sh`.
pub fn shell() -> &'static str {
    static SHELL: LazyLock<&str> = LazyLock::new(|| if is_installed("bash") { "bash" } else { "sh" });
    *SHELL
}

/// Our own program. Linux marks the name of one that an update has replaced; then it is the new one.
pub fn own() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let unmarked = path.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    unmarked.map_or(path.as_path(), Path::new).canonicalize()
}

pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && os::facts(&meta).mode & 0o111 != 0)
}

/// What does the work of a program that is missing, if that is installed.
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

/// The editor's name from `$VISUAL`, else `$EDITOR`, in a terminal else `vi`, and the command that opens `file` in it.
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
