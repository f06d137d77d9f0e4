//! The prefix that "always" allows: leading words of a command that also cover similar commands.

use super::command::{AssessedCall, AssessedCommand};
use crate::policy::programs::assessment::Risk;
use crate::policy::programs::table::{self, Class};
use crate::shell::interpret::call::Arg;

/// Subcommands that run other commands, or change what later ones run.
const OPEN_ENDED: &str = "\
    run exec config x dlx shell sh eval repl env tool task compose create init develop submodule bisect rebase \
    filter-branch difftool mergetool alias extension cp remote credential clone install-hooks api auth secret ssh \
    apply archive worktree maintenance global self plugin set";

/// Set for the project's checks, so that no leftovers are used instead of the current code. It steers nothing else.
pub const NO_CACHE: &str = "PYTHONDONTWRITEBYTECODE";

/// With these, `run NAME` starts a script defined by the project.
const NAMED_SCRIPTS: &[&str] = &["npm", "pnpm", "yarn", "bun", "composer", "deno"];

/// `cargo test` for `cargo test --lib x`. `None` unless one call does more than read and the prefix tells enough.
pub fn general_prefix(command: &AssessedCommand) -> Option<String> {
    let mut beyond = command.calls.as_ref().ok()?.iter().filter(|call| call.assessment.risk > Risk::Reads);
    let (Some(one), None) = (beyond.next(), beyond.next()) else { return None };
    let call = &one.call;
    if !can_be_covered(one, false) || call.wrapped || call.is_function {
        return None;
    }
    let words: Vec<&str> = call.argv.iter().take(3).map_while(Arg::certain).collect();
    let program = *words.first()?;
    let name = call.name();
    let row = table::program_row(name);
    let takes_sub = row.is_some_and(|row| row.has("sub"));
    // The other classes run other commands or reach beyond the workspace.
    let open = |class| {
        let works_here = matches!(class, Class::Build | Class::Unsure | Class::Network);
        !works_here && !takes_sub
    };
    let reckless = row.is_some_and(|row| row.has("once") || open(row.class));
    // Rules are compared word by word, split at single spaces.
    let plain =
        |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let sub = words.get(1).copied();
    // Only modules that build, test or check; others could do anything.
    if name.starts_with("python") && sub == Some("-m") && one.assessment.risk == Risk::Workspace {
        let module = words.get(2).filter(|module| plain(program) && plain(module))?;
        return Some(format!("{program} -m {module}"));
    }
    if reckless || !plain(program) {
        return None;
    }
    if sub == Some("run") && NAMED_SCRIPTS.contains(&name) {
        let script = words.get(2).filter(|script| plain(script) && !script.starts_with(['-', '.', '/']))?;
        return Some(format!("{program} run {script}"));
    }
    // For these, the third word decides what they do to a repository.
    if let ("git", Some(sub @ ("remote" | "worktree"))) = (name, sub) {
        let third = words.get(2).filter(|third| plain(third) && !third.starts_with('-'))?;
        return Some(format!("{program} {sub} {third}"));
    }
    let open_ended =
        |sub: &str| OPEN_ENDED.split(' ').any(|open| open == sub.split(':').next().unwrap_or(sub));
    if name == "cargo" && sub == Some("run") {
        return Some(format!("{program} run"));
    }
    if takes_sub {
        let is_make = matches!(name, "make" | "ninja" | "just" | "task");
        return match sub {
            Some(sub) if plain(sub) && !sub.starts_with('-') && !open_ended(sub) && !sub.contains('=') => {
                Some(format!("{program} {sub}"))
            }
            None if is_make && call.argv.len() == 1 => Some(program.to_owned()),
            _ => None,
        };
    }
    match sub {
        Some(sub) if open_ended(sub) => None,
        _ => Some(program.to_owned()),
    }
}

/// Not with secrets, protected or outside paths, an outside folder, variables, or saved output.
fn can_be_covered(assessed: &AssessedCall, with_files: bool) -> bool {
    let call = &assessed.call;
    let risk = assessed.assessment.risk;
    risk < Risk::Guarded
        && risk != Risk::Protected
        && assessed.in_workspace
        && call.hidden.is_none()
        && call.assignments.iter().all(|(name, _)| name == NO_CACHE)
        && (with_files || !call.files.iter().any(|file| file.writes && file.target.text != "/dev/null"))
}

/// `writes`: workspace files may be changed, so output may be saved to them.
pub fn covers<'a>(
    assessed: &AssessedCall,
    writes: bool,
    mut prefixes: impl Iterator<Item = &'a str>,
) -> bool {
    let call = &assessed.call;
    let name = call.name();
    let takes_sub = || table::program_row(name).is_some_and(|row| row.has("sub"));
    can_be_covered(assessed, writes)
        && prefixes.any(|prefix| {
            let mut have = call.argv.iter().map(|arg| arg.certain());
            // Only the user's own flags end with `*`, which allows anything after it.
            let (front, any) = match prefix.strip_suffix('*') {
                Some(front) => (front.trim_end(), true),
                None => (prefix, false),
            };
            let words = front.split(' ').filter(|word| !word.is_empty());
            let mut words = words;
            let matches = !prefix.is_empty() && words.all(|word| have.next().flatten() == Some(word));
            if any {
                return matches;
            }
            // Exact targets only: `make` doesn't cover `make deploy` or `make -f other`.
            matches && !(prefix == name && call.argv.len() > 1 && takes_sub())
        })
}
