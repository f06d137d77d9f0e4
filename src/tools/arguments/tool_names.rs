//! Other agents' names for our tools, and prefixes that servers add to a name.

use base::search::fuzzy;

const TABLE: &str = include_str!("tool_names.txt");
/// Shorter names resemble too many others.
const SLIP_CHARS: usize = 4;
/// Minimum length of another agent's name for correcting a typo.
const LONG_CHARS: usize = 8;

/// Our tool that a name refers to, among `known`; `None` if none or several match.
pub fn meant<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let wanted = plain(bare(name));
    let near =
        |other: &str| other.len() >= LONG_CHARS && strsim::damerau_levenshtein(&plain(other), &wanted) == 1;
    named(name, known).or_else(|| slip(&wanted, known.iter().copied())).or_else(|| foreign(known, near))
}

/// Our tool with this name, or another agent's name for it; typos aren't corrected.
pub fn named<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let (name, wanted) = (bare(name), plain(bare(name)));
    let ours = known.iter().copied();
    let exact =
        ours.clone().find(|ours| *ours == name).or_else(|| ours.clone().find(|ours| plain(ours) == wanted));
    exact.or_else(|| foreign(known, |other| plain(other) == wanted))
}

fn foreign<'a>(known: &[&'a str], is_it: impl Fn(&str) -> bool) -> Option<&'a str> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "));
    let mut tools = rows.filter(|(_, names)| names.split(' ').any(&is_it)).map(|(tool, _)| tool);
    let tool = tools.next().filter(|_| tools.next().is_none())?;
    known.iter().copied().find(|ours| *ours == tool)
}

pub fn is_answer(name: &str) -> bool {
    named(name, &["Answer"]).is_some()
}

/// The name that is one typo away, if there is only one.
pub(super) fn slip<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut near = known
        .filter(|ours| ours.len() >= SLIP_CHARS && strsim::damerau_levenshtein(&plain(ours), wanted) == 1);
    near.next().filter(|_| near.next().is_none())
}

pub fn near<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    fuzzy::nearest_name(bare(name), known.iter().copied())
}

/// Strips `functions.`, `default_api:`, `:0` and the marks of a chat template.
fn bare(name: &str) -> &str {
    let name = name.split("<|").find(|part| !part.is_empty()).unwrap_or(name).trim();
    let starts =
        ["functions.", "function.", "default_api.", "default_api:", "tools.", "tool.", "repo_browser."];
    let name = starts.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    match name.rsplit_once(':') {
        Some((front, number)) if number.chars().all(|c| c.is_ascii_digit()) && !number.is_empty() => front,
        _ => name,
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '-', ' '], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others() {
        let known = ["Read", "Edit", "Write", "Bash", "Grep", "Glob", "LS", "MultiEdit", "TodoWrite", "Task"];
        for (name, ours) in [
            ("read_file", "Read"),
            ("ReadFile", "Read"),
            ("functions.exec_command", "Bash"),
            ("default_api:run_shell_command", "Bash"),
            ("Bash:0", "Bash"),
            ("bash<|channel|>commentary", "Bash"),
            ("multi_edit", "MultiEdit"),
            ("Grap", "Grep"),
            ("Raed", "Read"),
            ("update_plan", "TodoWrite"),
            ("list_directory", "LS"),
            ("read_files", "Read"),
            ("run", "Bash"),
            ("run_comand", "Bash"),
        ] {
            assert_eq!(meant(name, &known), Some(ours), "{name}");
        }
        for name in ["frobnicate", "apply_magic", "x", "server.tool"] {
            assert_eq!(meant(name, &known), None, "{name}");
        }
    }

    #[test]
    fn a_name_means_one_tool() {
        let mut all: Vec<String> = TABLE
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(|line| line.split_once(": ").map_or("", |(_, names)| names).split(' '))
            .map(plain)
            .collect();
        all.sort();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
