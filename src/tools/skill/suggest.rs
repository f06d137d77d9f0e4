//! Which of several described things a text is clearly about: for suggestions that nobody asked for.

use std::collections::HashSet;

use base::search::words;

/// A match in the name counts as two in the description.
const IN_NAME: usize = 2;
/// Minimum points for a suggestion, unless every term of the name matches.
const LEAST: usize = 4;
/// A longer text matches more words by chance: one more point is required per this many terms.
const TERMS_PER_POINT: usize = 15;

/// Those that the text is clearly about, best first, as indexes into `things` (name, description).
pub fn clear(text: &str, things: &[(&str, &str)], most: usize) -> Vec<usize> {
    let asked: HashSet<String> = words::telling(text).into_iter().map(|term| term.text).collect();
    let least = LEAST + asked.len() / TERMS_PER_POINT;
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, (name, description)) in things.iter().enumerate() {
        let of_name: HashSet<String> = parts(name);
        let said = of_name.intersection(&asked).count();
        let points = said * IN_NAME + parts(description).intersection(&asked).count();
        if !of_name.is_empty() && said == of_name.len() || points >= least {
            found.push((points, at));
        }
    }
    found.sort_by_key(|(points, _)| std::cmp::Reverse(*points));
    found.into_iter().take(most).map(|(_, at)| at).collect()
}

fn parts(text: &str) -> HashSet<String> {
    let apart = text.replace(['-', '_', ':', '/', '.'], " ");
    words::telling(&apart).into_iter().map(|term| term.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant() {
        let things = [
            (
                "pdf",
                "Extract text and tables from PDF files, fill forms, merge documents. Use when handling PDFs.",
            ),
            (
                "mcp-builder",
                "Guide for creating MCP servers that let LLMs use external services and APIs through tools.",
            ),
            (
                "webapp-testing",
                "Test local web applications with Playwright: verify frontend functionality, debug UI behavior.",
            ),
        ];
        let clear = |text: &str| clear(text, &things, 2);
        assert_eq!(clear("merge these two pdfs"), [0]);
        assert_eq!(clear("Build an MCP server for our API, with tools"), [1]);
        assert_eq!(clear("verify the frontend behavior with playwright"), [2]);
        for other in [
            "fix the failing test",
            "run the tests",
            "why is the build slow?",
            "read the tables module and add a column",
        ] {
            assert_eq!(clear(other), Vec::<usize>::new(), "{other}");
        }
    }
}
