//! Whether to trust a folder's configuration and held-back rules files: asked before the screen opens, as that decides on the
//! model and its instructions.

use std::path::Path;

use super::ask::{answer, yes};
use crate::cli::report::{self, Failure};
use base::config::paths::Paths;
use base::config::trusted::held_back::HeldBack;
use base::config::trusted::own_files::OwnFiles;
use base::config::trusted::trust::{Definition, Trust};
use base::config::trusted::{active, project_file};
use base::text::{elide, plural};
use base::{file, sanitize};

const MAX_RULES_BYTES: u64 = 1024 * 1024;
const SHOWN_LINES: usize = 20;
const SHOWN_CHARS: usize = 160;

/// Asks if the folder wants something that needs trust, and wasn't trusted or refused in its present form.
pub fn ask_trust(workspace: &Path) -> Result<(), Failure> {
    let project_state = Paths::from_env().project(workspace);
    ask_rules(&HeldBack::new(&project_state))?;
    ask_agents(workspace, &project_state)?;
    let Some((settings, wishes)) = project_file::wishes(workspace)? else { return Ok(()) };
    let trust = Trust::read(&project_state);
    if wishes.is_empty() || trust.holds(&settings) || trust.refused(&settings) {
        return Ok(());
    }
    let wishes: Vec<String> = wishes.iter().map(|wish| format!("  {}\n", sanitize::reveal(wish))).collect();
    report::print(&format!(
        "{} wants to set:\n{}This controls where your prompts go and what may run. Do you trust it?\n\
         [y] yes, this version   [n] no, and don't ask again   [l] later (default): ",
        sanitize::reveal(&settings.name),
        wishes.concat()
    ))?;
    decide(&trust, &[settings])
}

/// Asks about what is new or has changed; the rest stays trusted.
fn ask_agents(workspace: &Path, project_state: &Path) -> Result<(), Failure> {
    let trust = Trust::read(project_state);
    let mut open = OwnFiles::of_project(workspace).definitions(workspace);
    open.retain(|one| !trust.holds(one) && !trust.refused(one));
    if open.is_empty() {
        return Ok(());
    }
    let changes = active::differences(&open, &trust);
    report::print(&format!(
        "{}This project defines {}: {}. They control what the model does here and what runs. Do you trust them?\n\
         [y] yes, these versions   [n] no, and don't ask again   [l] later (default): ",
        sanitize::reveal(&changes),
        active::kinds(&open),
        sanitize::reveal(&active::names(&open, &trust))
    ))?;
    decide(&trust, &open)
}

fn decide(trust: &Trust, all: &[Definition]) -> Result<(), Failure> {
    match answer()?.as_str() {
        "y" | "yes" => trust.give(all)?,
        "n" | "no" => trust.refuse(all)?,
        _ => {}
    }
    Ok(())
}

/// Asks about rules files that appeared or changed while a command ran, and haven't changed since.
fn ask_rules(held_back: &HeldBack) -> Result<(), Failure> {
    let mut shown = String::new();
    for (path, hash) in held_back.list() {
        let Ok((bytes, _)) = file::read(&path, MAX_RULES_BYTES) else { continue };
        if file::hash(&bytes) != hash {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        shown.push_str(&format!("{}:\n", sanitize::reveal(&path.display().to_string())));
        for line in text.lines().take(SHOWN_LINES) {
            shown.push_str(&format!("  {}\n", sanitize::reveal(&elide(line, SHOWN_CHARS))));
        }
        let more = text.lines().count().saturating_sub(SHOWN_LINES);
        if more > 0 {
            shown.push_str(&format!("  ({} more)\n", plural(more, "line")));
        }
    }
    if shown.is_empty() {
        return Ok(());
    }
    if yes(&format!(
        "{shown}This appeared or changed while a command ran. Use it as project rules?\n\
         [y] yes, this version   [n] not now (default): "
    ))? {
        held_back.release()?;
    }
    Ok(())
}
