//! Files that a task asks for by name, such as `write the result to out/report.csv`.

use super::claims::sentences;
use base::pattern::{Pattern, PhrasePattern};

const MOST: usize = 3;

/// Paths that the task asks to create, in prose and backticks but not in code blocks.
pub fn wanted(task: &str) -> Vec<String> {
    static MAKES: PhrasePattern = PhrasePattern::new(include_str!("words/path_makes.regex"));
    static LEADS_AWAY: PhrasePattern = PhrasePattern::new(include_str!("words/path_leads_away.regex"));
    static INTO: PhrasePattern = PhrasePattern::new(include_str!("words/path_into.regex"));
    static NEVER: PhrasePattern = PhrasePattern::new(include_str!("words/path_never.regex"));
    static PATH: Pattern = Pattern::new(include_str!("words/path.regex"));
    let mut found: Vec<String> = Vec::new();
    let prose = without_code(task);
    for sentence in sentences(&prose) {
        if !MAKES.is_match(sentence) || NEVER.is_match(sentence) {
            continue;
        }
        for path in PATH.captures_iter(sentence).filter_map(|found| found.name("path")) {
            let before = &sentence[..path.start()];
            let in_url = before
                .rsplit(char::is_whitespace)
                .next()
                .is_some_and(|word| word.contains("://") || word.ends_with('<'));
            let odd =
                before.ends_with(['*', '$', '{', '<', '%', '/', '@', '~']) || path.as_str().starts_with('@');
            let is_value = before
                .split_whitespace()
                .next_back()
                .is_some_and(|word| word.len() > 2 && word.starts_with("--"));
            let in_command = before.matches('`').count() % 2 == 1 && !before.ends_with('`');
            let asked = MAKES.is_match(before) && (!LEADS_AWAY.is_match(before) || INTO.is_match(before));
            let name = path.as_str().trim_start_matches("./").to_owned();
            if asked && !in_url && !odd && !is_value && !in_command && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found.truncate(MOST);
    found
}

/// The text without fenced blocks and indented lines, which contain logs and diffs.
fn without_code(task: &str) -> String {
    let mut fenced = false;
    let prose = task.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let quoted = ["    ", "\t", ">", "+", "diff ", "@@"].iter().any(|mark| line.starts_with(mark));
        !fenced && !fence && !quoted
    });
    prose.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_to_be_made() {
        for (task, paths) in [
            ("Write the sums to `out/report.csv`.", vec!["out/report.csv"]),
            (
                "Create a script named clean.py that reads data.csv and saves result.json.",
                vec!["clean.py", "result.json"],
            ),
            ("Write the answer in /app/answer.txt", vec!["/app/answer.txt"]),
            ("The final script must be at tools/run.sh.", vec!["tools/run.sh"]),
            ("Results go to build/out.json please.", vec!["build/out.json"]),
            ("Add a case in src/a.rs", vec![]),
            ("Fix the bug in src/a.rs", vec![]),
            ("Remove old.py and tidy up", vec![]),
            ("Look at @a.png and src/b.py", vec![]),
            ("Add a test to tests/test_a.py", vec!["tests/test_a.py"]),
            ("Read https://example.org/a.json and write nothing", vec![]),
            ("Rename a.py to b.py", vec![]),
            ("Generate a report: `tool run -o report.json URL`", vec![]),
            ("It fails to create events (`src/types.go:104` rejects them)", vec![]),
            ("The file should be at ~/.tool/auth.json", vec![]),
            ("For --output x.csv write x.csv.meta too.", vec![]),
            ("Generate a config like sample.toml", vec![]),
            ("Save it at ./conf/app.yaml.\n```\nwrite x to y.txt\n```", vec!["conf/app.yaml"]),
        ] {
            assert_eq!(wanted(task), paths, "{task}");
        }
    }
}
