//! Changes in the forms of other agents, as a V4A patch: the SEARCH/REPLACE blocks of Cline, Roo Code and Aider (as their prompts
//! and parsers in public repositories have them, November 2026), and unified diffs.

/// `path` is the file that the call names. `None`: it is a V4A patch, or none of these.
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
    let (mut old, mut new): (Option<String>, Option<String>) = (None, None);
    let mut file = path.map(str::to_owned);
    let mut body = String::new();
    for line in text.lines() {
        match (&mut old, &mut new) {
            (None, _) if is_mark(line, ['<', '-'], "SEARCH") => old = Some(String::new()),
            // Aider names the file above the block.
            (None, _) => {
                let name = line.trim();
                if path.is_none() && !name.is_empty() && !name.starts_with("```") {
                    file = Some(name.to_owned());
                }
            }
            (Some(_), None) if is_mark(line, ['='; 2], "") => new = Some(String::new()),
            (Some(old), None) if old.is_empty() && is_note(line) => {}
            (Some(old), None) => push(old, '-', line),
            (Some(removed), Some(added)) if is_mark(line, ['>', '+'], "REPLACE") => {
                let header = if removed.is_empty() { "Add" } else { "Update" };
                let start = if removed.is_empty() { "" } else { "@@\n" };
                body += &format!("*** {header} File: {}\n{start}{removed}{added}", file.as_deref()?);
                (old, new) = (None, None);
            }
            (Some(_), Some(new)) => push(new, '+', line),
        }
    }
    (old.is_none() && !body.is_empty()).then_some(body)
}

fn push(part: &mut String, mark: char, line: &str) {
    part.push(mark);
    part.push_str(line);
    part.push('\n');
}

/// Such as `<<<<<<< SEARCH`.
fn is_mark(line: &str, of: [char; 2], word: &str) -> bool {
    let line = line.trim_end();
    of.iter().any(|mark| {
        let rest = line.trim_start_matches(*mark);
        line.len() - rest.len() >= 5 && rest.trim_end_matches('>').trim() == word
    })
}

/// Roo's lines between `SEARCH` and the text.
fn is_note(line: &str) -> bool {
    line.starts_with(":start_line:") || line.starts_with(":end_line:") || is_mark(line, ['-'; 2], "")
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

/// The path in a header of a diff; `None`: there is no such file.
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
