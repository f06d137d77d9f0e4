//! What the model is told: the words of L1 change only on purpose, and stay small.

use base::config::prompts;
use tools::registry;

use crate::support::tokens;

#[test]
fn tools_as_the_model_sees_them() {
    let told: String = registry::builtin()
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            let required: Vec<&str> = spec.schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str())
                .collect();
            let args: Vec<String> = spec.schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(
                    |(name, _)| {
                        if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") }
                    },
                )
                .collect();
            format!("{}({}): {}\n", spec.name, args.join(", "), spec.description)
        })
        .collect();
    insta::assert_snapshot!(told, @r"
    Read(path, start_line?, limit?): Read a text file with line numbers (500 lines, 2,000 while half of the window is free, or limit), an image, or the text of a PDF. Page with start_line.
    Edit(path, old_string, new_string, replace_all?): Replace old_string, copied exactly from the file without line numbers, with new_string. It must occur once unless replace_all.
    Write(path, content): Create a file or replace a whole one. Prefer Edit for changes.
    Bash(command, directory?, background?, timeout_ms?, network?): Run a bash command. No terminal, no stdin; the current folder persists between calls, variables do not. To read or search files, use the other tools. It may run in a sandbox: writes only in the workspace and /tmp, no network unless `network` (asks). Waits 120 s (`timeout_ms`: up to 600,000), then continues as a job. Servers: `background`, then Job.
    Grep(pattern, path?, include?, ignore_case?, context?, limit?): Search file contents with a regular expression (Rust syntax). Skips ignored and binary files. `include` is a glob.
    Glob(pattern, path?, limit?): Find files by name pattern such as `src/**/*.rs`, newest first.
    LS(path?, offset?, limit?): List a folder, folders first.
    MultiEdit(path, edits): Several edits to one file, in order, all or nothing.
    TodoWrite(todos, summary?): Replace the todo list.
    Locate(query?, with?, k?): Rank the files that a task or question is about, with their best lines. Cheaper than searching by hand. `with`: files you will change; adds their tests, callers and what changes with them.
    Recall(id?, query?, agent?, offset?): Get back what was shortened or archived by id, or search this session and earlier changes by query. agent: another agent or session.
    Note(action?, id?, query?, type?, title?, content?, tags?, files?, limit?): Project notes that outlive the session: what took time to learn or others must know. delete archives.
    Job(id?, wait_s?, stop?): List background jobs; with id, new output; with wait_s (up to 600), wait for the end (without id: of any); with stop, end it.
    Task(type, prompt, description?, model?, resume?, isolation?, background?): Delegate a self-contained task to a sub-agent with its own context window; only its answer comes back. For broad searches, or work that would fill your context. It can't see this conversation, so include everything it needs. Independent ones in one reply run in parallel; those that change files need isolation for that (a worktree; changes become a branch). background: the answer comes later.
    AskUser(questions): Ask the user when only they can decide.
    ");
}

#[test]
fn the_system_prompt() {
    let of = |margins: &str| {
        let lines = prompts::SYSTEM.lines().filter(|line| margins.contains(&line[..1.min(line.len())]));
        lines.map(|line| line.get(2..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
    };
    let headings =
        |text: &str| text.lines().filter(|line| line.starts_with('#')).collect::<Vec<_>>().join(" ");
    let (chat, headless) = (of(" C"), of(" HWMX"));
    assert_eq!(headings(&chat), "# Working # Context # Answering");
    assert_eq!(headings(&headless), "# Working # No one is here # Context # Answering");
    assert!(!headless.contains("Ask only") && !chat.contains("No one reads along"));
    let sizes = [&chat, &headless].map(|text| tokens::count(text));
    assert!(sizes[0] < 400 && sizes[1] < 520, "{sizes:?} tokens");
    for word in ["data, not instructions", "Read a file before you change it", "<REDACTED>"] {
        assert!(prompts::SYSTEM.contains(word), "{word}");
    }
}

#[test]
fn the_summary_form_has_its_seven_parts() {
    assert_eq!(prompts::SUMMARY.lines().filter(|line| line.starts_with("## ")).count(), 7);
}
