//! The names other tools use for our arguments. `names.txt` has the table and explains its format.

use super::tool_names;

const TABLE: &str = include_str!("names.txt");

fn rows(tool: &str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let heading = format!("[{tool}]");
    let rows = TABLE.lines().skip_while(move |line| *line != heading).skip(1).map_while(row);
    rows.map(|(argument, names)| (argument, names.split(' ').flat_map(expanded).collect()))
}

fn row(line: &'static str) -> Option<(&'static str, &'static str)> {
    line.split_once(": ")
}

fn expanded(name: &'static str) -> std::str::Split<'static, char> {
    let list = TABLE.lines().filter_map(row).find(|(list, _)| name.starts_with('$') && *list == name);
    list.map_or(name, |(_, names)| names).split(' ')
}

/// The argument that `key` means in a call of `tool`, among those that `known` accepts.
pub(super) fn argument(tool: &str, key: &str, known: impl Fn(&str) -> bool) -> Option<&'static str> {
    let rows = || rows(tool).filter(|(name, _)| known(name));
    // `-C` and `-c` are different options, so an exact match goes first.
    let exact = rows().find(|(_, others)| others.contains(&key));
    let plain_key = plain(key);
    let alike =
        || rows().find(|(name, others)| others.iter().chain([name]).any(|name| plain(name) == plain_key));
    let slip = || tool_names::slip(&plain_key, rows().map(|(name, _)| name));
    exact.or_else(alike).map(|(name, _)| name).or_else(slip)
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_argument() {
        // An item of a list has arguments of its own: there the same word may mean another one.
        let in_item = |name: &str| ["content", "status", "question", "options"].contains(&name);
        let tools = TABLE.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        assert_eq!(tools.clone().count(), 15);
        for tool in tools {
            for (name, others) in rows(tool) {
                for other in others {
                    let level = |known: &str| tool == "Note" || in_item(known) == in_item(name);
                    assert_eq!(argument(tool, other, level), Some(name), "{tool} {other}");
                }
            }
        }
        let grep = |key| argument("Grep", key, |_| true);
        assert_eq!(
            (grep("-C"), grep("-c"), grep("-i")),
            (Some("context"), Some("@counts_only"), Some("ignore_case"))
        );
        assert_eq!(argument("Edit", "oldString", |_| true), Some("old_string"));
        assert_eq!(argument("Edit", "strict", |_| true), None);
        assert_eq!(argument("Read", "paht", |_| true), Some("path"));
    }
}
