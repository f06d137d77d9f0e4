//! Converts other agents' change formats to V4A patches: the SEARCH/REPLACE blocks of Cline, Roo Code and Aider (as in their
//! prompts and parsers in public repositories, November 2026), and unified diffs.

use base::pattern::Pattern;

/// `path` is the file named in the call. `None` if it is a V4A patch already, or in none of these formats.
pub(crate) fn as_v4a(text: &str, path: Option<&str>) -> Option<String> {
    if text.contains("*** Begin Patch") {
        return None;
    }
    let body = if text.starts_with("*** ") {
        Some(format!("{}\n", text.trim_end()))
    } else {
        blocks(text, path).or_else(|| unified(text, path))
    };
    Some(format!("*** Begin Patch\n{}*** End Patch", body?))
}

fn blocks(text: &str, path: Option<&str>) -> Option<String> {
    static BLOCK: Pattern = Pattern::new(include_str!("search_replace.regex"));
    let (mut file, mut body, mut end) = (path, String::new(), 0);
    for found in BLOCK.captures_iter(text) {
        let whole = found.get(0)?;
        // Aider names the file above the block.
        let above = &text[end..whole.start()];
        let name = above.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with("```"));
        file = path.or(name).or(file);
        let (removed, added) = (marked('-', &found["old"]), marked('+', &found["new"]));
        let header = if removed.is_empty() { "Add" } else { "Update" };
        let start = if removed.is_empty() { "" } else { "@@\n" };
        body += &format!("*** {header} File: {}\n{start}{removed}{added}", file?);
        end = whole.end();
    }
    (!body.is_empty()).then_some(body)
}

fn marked(mark: char, lines: &str) -> String {
    lines.lines().map(|line| format!("{mark}{line}\n")).collect()
}

fn unified(text: &str, path: Option<&str>) -> Option<String> {
    let mut body = String::new();
    let mut lines = text.lines().peekable();
    let (mut in_hunk, mut removes) = (false, false);
    while let Some(line) = lines.next() {
        let next = lines.peek().and_then(|next| next.strip_prefix("+++ "));
        if let (Some(from), Some(to)) = (line.strip_prefix("--- "), next) {
            lines.next();
            let (from, to) = (named(from), named(to));
            let file = path.or(to).or(from)?;
            let header = if from.is_none() { "Add" } else { "Update" };
            removes = to.is_none();
            body += &format!("*** {} File: {file}\n", if removes { "Delete" } else { header });
            in_hunk = false;
        } else if line.starts_with("@@") {
            if body.is_empty() {
                body = format!("*** Update File: {}\n", path?);
            }
            in_hunk = true;
            let adds = body.lines().next_back().is_some_and(|last| last.starts_with("*** Add"));
            body += if removes || adds { "" } else { "@@\n" };
        } else if line.starts_with("diff --git ") {
            in_hunk = false;
        } else if in_hunk && !removes && !line.starts_with('\\') {
            body += if line.is_empty() { " " } else { line };
            body.push('\n');
        }
    }
    in_hunk.then_some(body)
}

/// The path in a diff's header; `None` if it means no file.
fn named(header: &str) -> Option<&str> {
    let path = header.split('\t').next().unwrap_or(header).trim();
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null").then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_others() {
        let patch = |body: &str| Some(format!("*** Begin Patch\n{body}*** End Patch"));
        let changed = "*** Update File: a.py\n@@\n-x = 1\n+x = 2\n";
        for text in [
            "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n",
            "------- SEARCH\nx = 1\n=======\nx = 2\n+++++++ REPLACE",
            "<<<<<<< SEARCH\n:start_line:3\n-------\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE",
            "@@ -1 +1 @@\n-x = 1\n+x = 2\n\\ No newline at end of file",
        ] {
            assert_eq!(as_v4a(text, Some("a.py")), patch(changed), "{text}");
        }
        for text in [
            "a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```",
            "diff --git a/a.py b/a.py\nindex 1..2\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@ def f():\n-x = 1\n+x = 2\n",
            "*** Update File: a.py\n@@\n-x = 1\n+x = 2",
        ] {
            assert_eq!(as_v4a(text, None), patch(changed), "{text}");
        }
        let two =
            "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+y\n--- a/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n";
        let files = "*** Add File: b.py\n+y\n*** Delete File: c.py\n";
        assert_eq!(as_v4a(two, None), patch(files));
        let new = "<<<<<<< SEARCH\n=======\ny\n>>>>>>> REPLACE";
        assert_eq!(as_v4a(new, Some("b.py")), patch("*** Add File: b.py\n+y\n"));
        for text in ["*** Begin Patch\n*** End Patch", "<<<<<<< SEARCH\nx\n=======\ny", "x = 1", ""] {
            assert_eq!(as_v4a(text, Some("a.py")), None, "{text}");
        }
    }
}
