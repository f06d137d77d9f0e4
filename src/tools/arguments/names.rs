//! The names other tools use for our arguments (Claude Code, Codex, OpenHands, SWE-agent, Gemini, Cursor,
//! pi), which models learned in training. Case, `_` and `-` are ignored, so `filePath` and `old-string` need
//! no entry. `translate` converts names starting with `@`, which have no direct equivalent here.

type Names = &'static [&'static str];
type Row = (&'static str, &'static [Names]);

const FILE: Names = &[
    "file_path",
    "file",
    "file_name",
    "target_file",
    "absolute_path",
    "absolute_file_path",
    "full_path",
    "path_name",
];
const FOLDER: Names = &[
    "directory",
    "dir",
    "folder",
    "dir_path",
    "directory_path",
    "folder_path",
    "target_directory",
    "search_path",
    "search_directory",
    "relative_workspace_path",
    "cwd",
    "workdir",
    "root",
];
const LIMIT: Names =
    &["head_limit", "max_results", "max_matches", "max_count", "max", "count", "num_results", "n", "top_k"];
const QUERY: Names = &["q", "search", "search_query", "question", "text", "term", "search_term", "keywords"];
const OLD: Names = &[
    "old_str",
    "old_text",
    "old",
    "old_content",
    "old_code",
    "search",
    "find",
    "original",
    "original_text",
    "from",
];
const NEW: Names = &[
    "new_str",
    "new_text",
    "new",
    "new_content",
    "new_code",
    "replace",
    "replacement",
    "replace_with",
    "updated",
    "to",
];
const ALL: Names = &["all", "replace_all_occurrences", "global", "allow_multiple", "multiple"];
const EDITS: Names = &["changes", "replacements", "operations", "modifications"];

const TABLE: &[(&str, &[Row])] = &[
    ("LS", &[("path", &[FILE, FOLDER]), ("limit", &[LIMIT]), ("offset", &[&["start", "skip"]])]),
    (
        "Glob",
        &[
            (
                "pattern",
                &[&["glob", "glob_pattern", "file_pattern", "include", "name", "regex"], QUERY, &["query"]],
            ),
            ("path", &[FOLDER]),
            ("limit", &[LIMIT]),
        ],
    ),
    (
        "Grep",
        &[
            ("pattern", &[&["regex", "regexp", "search_pattern", "query", "-e"], QUERY]),
            ("path", &[FILE, FOLDER, &["paths"]]),
            (
                "include",
                &[&[
                    "glob",
                    "globs",
                    "glob_pattern",
                    "file_pattern",
                    "include_pattern",
                    "includes",
                    "file_glob",
                ]],
            ),
            ("ignore_case", &[&["-i", "case_insensitive", "insensitive"]]),
            ("@case_sensitive", &[&["case_sensitive", "match_case"]]),
            ("context", &[&["-C", "context_lines", "lines_of_context"]]),
            ("@after", &[&["-A", "after_context", "lines_after", "after"]]),
            ("@before", &[&["-B", "before_context", "lines_before", "before"]]),
            ("limit", &[&["-m"], LIMIT]),
            ("output_mode", &[&["mode", "output"]]),
            ("@names_only", &[&["-l", "files_with_matches", "files_only", "names_only"]]),
            ("@counts_only", &[&["-c", "count_only"]]),
            ("@type", &[&["type", "file_type", "-t", "language"]]),
            ("@literal", &[&["-F", "literal", "fixed_strings", "fixed_string", "is_literal"]]),
            ("@regex", &[&["is_regex", "is_regexp", "use_regex", "-E", "-P"]]),
            ("@word", &[&["-w", "whole_word", "word"]]),
            ("@as_always", &[&["-n", "line_numbers", "show_line_numbers", "-r", "recursive", "-H"]]),
        ],
    ),
    (
        "Read",
        &[
            ("path", &[FILE]),
            (
                "start_line",
                &[&[
                    "offset",
                    "start",
                    "line_start",
                    "from",
                    "from_line",
                    "line",
                    "line_number",
                    "start_line_one_indexed",
                ]],
            ),
            (
                "limit",
                &[&[
                    "num_lines",
                    "number_of_lines",
                    "line_count",
                    "max_lines",
                    "line_limit",
                    "count",
                    "length",
                    "n",
                ]],
            ),
            (
                "@end",
                &[&[
                    "end",
                    "end_line",
                    "line_end",
                    "to",
                    "to_line",
                    "end_line_one_indexed",
                    "end_line_one_indexed_inclusive",
                ]],
            ),
            ("@range", &[&["view_range", "line_range", "lines", "range"]]),
            ("@whole", &[&["should_read_entire_file", "read_entire_file"]]),
        ],
    ),
    (
        "Edit",
        &[
            ("path", &[FILE]),
            ("old_string", &[OLD]),
            ("new_string", &[NEW]),
            ("replace_all", &[ALL]),
            ("edits", &[EDITS]),
        ],
    ),
    (
        "MultiEdit",
        &[
            ("path", &[FILE]),
            ("edits", &[EDITS]),
            ("old_string", &[OLD]),
            ("new_string", &[NEW]),
            ("replace_all", &[ALL]),
        ],
    ),
    (
        "Write",
        &[
            ("path", &[FILE]),
            (
                "content",
                &[&["contents", "file_text", "text", "file_content", "new_content", "code", "data", "body"]],
            ),
        ],
    ),
    (
        "Bash",
        &[
            (
                "command",
                &[&[
                    "cmd",
                    "script",
                    "code",
                    "bash_command",
                    "shell_command",
                    "command_line",
                    "commands",
                    "bash",
                ]],
            ),
            ("timeout_ms", &[&["timeout_milliseconds", "timeout_millis"]]),
            ("@timeout", &[&["timeout", "time_limit", "max_time"]]),
            ("@seconds", &[&["timeout_seconds", "timeout_secs", "timeout_sec", "timeout_s"]]),
            ("directory", &[&["working_directory", "working_dir", "work_dir", "path"], FOLDER]),
            ("background", &[&["run_in_background", "is_background", "in_background", "detach"]]),
        ],
    ),
    (
        "TodoWrite",
        &[
            ("todos", &[&["todo_list", "todo", "items", "tasks", "plan", "list"]]),
            ("summary", &[&["explanation"]]),
            ("content", &[&["step", "task", "title", "text", "description", "name", "todo"]]),
            ("status", &[&["state"]]),
        ],
    ),
    (
        "AskUser",
        &[
            ("questions", &[&["prompts"]]),
            ("question", &[&["text", "prompt", "message"]]),
            ("options", &[&["choices", "answers", "suggestions"]]),
        ],
    ),
    ("Recall", &[("id", &[&["item", "item_id", "number"]]), ("query", &[QUERY])]),
    (
        "Note",
        &[
            ("action", &[&["command", "operation", "op"]]),
            ("id", &[&["note_id"]]),
            ("title", &[&["name"]]),
            ("content", &[&["contents", "text", "body", "note"]]),
            ("type", &[&["kind", "note_type"]]),
            ("files", &[FILE, &["paths"]]),
            ("query", &[&["q", "search"]]),
            ("limit", &[LIMIT]),
        ],
    ),
    ("Locate", &[("query", &[QUERY, &["task", "description"]]), ("k", &[LIMIT, &["limit"]])]),
    (
        "Job",
        &[
            ("id", &[&["job", "job_id", "bash_id", "shell_id", "task_id", "session_id"]]),
            ("stop", &[&["kill", "terminate"]]),
        ],
    ),
];

/// The argument that `key` means in a call of `tool`, among those that `known` accepts.
pub(super) fn argument(tool: &str, key: &str, known: impl Fn(&str) -> bool) -> Option<&'static str> {
    let (_, rows) = TABLE.iter().find(|(name, _)| *name == tool)?;
    let rows = || rows.iter().filter(|(name, _)| known(name));
    // `-C` and `-c` are different options, so an exact match goes first.
    let exact = rows().find(|(_, others)| others.iter().any(|others| others.contains(&key)));
    let plain_key = plain(key);
    let alike = || {
        rows().find(|(name, others)| {
            let mut names = others.iter().copied().flatten().chain([name]);
            names.any(|name| plain(name) == plain_key)
        })
    };
    exact.or_else(alike).map(|(name, _)| *name)
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
        for (tool, rows) in TABLE {
            for (name, others) in *rows {
                for other in others.iter().copied().flatten() {
                    let level = |known: &str| *tool == "Note" || in_item(known) == in_item(name);
                    assert_eq!(argument(tool, other, level), Some(*name), "{tool} {other}");
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
    }
}
