//! The user's own editor.

use std::path::Path;
use std::process::Command;

/// The editor's name from `$VISUAL`, else `$EDITOR`, and the command that opens `file` in it.
pub fn command(file: &Path) -> Option<(String, Command)> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR"))?;
    // The variable may contain options, so the shell splits it, as git does.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg("sh").arg(file);
    Some((editor, command))
}
