//! Finds conventions in a task's files, such as decorators and error types, that are rare in the rest of the
//! project.

use std::collections::BTreeMap;

use base::pattern::Pattern;

static KINDS: [(&str, Pattern); 5] = [
    ("", Pattern::new(r"(?m-u)^\s*(@[A-Za-z_][\w.]*|#\[[A-Za-z_][\w:]*)")),
    // Not `ENOENT` and the like: licences shout words such as EVENT.
    ("errors: ", Pattern::new(r"(?-u)\b([A-Z]\w*(?:Error|Exception))\b")),
    ("imports: ", Pattern::new(r#"(?m-u)^\s*(?:use|import|from|#include)\s+["'<]?([\w:./@-]+)"#)),
    (
        "database: ",
        Pattern::new(
            r"(?-u)\b((?:\w+\.)?(?:execute|query|select_related|filter_by|commit|rollback|transaction|prepare)\()",
        ),
    ),
    (
        "access: ",
        Pattern::new(r"(?i-u)\b(\w*(?:authori[sz]e|authenticate|permission|require_login|is_allowed)\w*)\("),
    ),
];
const PER_KIND: usize = 5;
const MIN_FILES: usize = 2;

/// One sentence per pattern, most common first; `is_common` recognizes names that all files have.
pub fn discover(texts: &[String], is_common: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut sentences = Vec::new();
    for (word, finder) in &KINDS {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        for text in texts {
            let mut here: Vec<&str> = finder
                .captures_iter(text)
                .filter_map(|found| found.get(1))
                .map(|found| found.as_str())
                .collect();
            here.sort_unstable();
            here.dedup();
            for name in here {
                *files.entry(name).or_default() += 1;
            }
        }
        let mut common: Vec<(&str, usize)> =
            files.into_iter().filter(|(name, count)| *count >= MIN_FILES && !is_common(name)).collect();
        common.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        for (name, count) in common.into_iter().take(PER_KIND) {
            let name = name.trim_end_matches('(');
            sentences.push(format!("{word}`{name}` in {count} of {} files", texts.len()));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_seen_twice() {
        let texts = [
            "# IN NO EVENT\nfrom app import db\n@require_auth\ndef a(): raise CartError\n",
            "# IN NO EVENT\nfrom app import db\n@require_auth\ndef b(): raise CartError\n",
            "@once\ndef c(): pass\n",
        ]
        .map(str::to_owned);
        assert_eq!(
            discover(&texts, &|name| name == "app"),
            ["`@require_auth` in 2 of 3 files", "errors: `CartError` in 2 of 3 files"]
        );
        assert!(discover(&[], &|_| false).is_empty());
    }
}
