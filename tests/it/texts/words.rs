//! Words that give a translation away: none in what users and models read. The list is that of our style guide; what is
//! awkward but right is reworded rather than exempted.

use regex::Regex;
use walkdir::WalkDir;

/// What is refused, and in the same text what allows it.
const REFUSED: &[(&str, &str)] = &[
    (
        r"\b(is|are|was) (no|none) ",
        r"[Tt]here (is|are|was) no|\bno (longer|more|user|such|other|sub-agent)\b",
    ),
    (r"\b(go|goes|going|went) on\b", r"\bon running\b"),
    (r"\bnot known (what|where|which)\b|\bvalue is not known\b", ""),
    (r"\b(is|was|are|were|be) told\b", ""),
    (r"\b(can't|cannot|could not) be (kept|held|judged|noted)\b", ""),
    (r"\b(gives|gave) (it|all|one|no|nothing|the (original|arguments|first))\b", ""),
    (r"\bstands? (in|at|before|behind|below|here)\b|\bwhat stands\b", r"\bin the way\b"),
    (r"\bwhat holds\b|\bno longer holds?\b|\bholds? (here|only|instead|alone)\b", ""),
    (r"\bbegun\b|\bif wanted\b|\bwhere the \w+ lists\b", ""),
    (r"\bbeside\b", "\\{beside\\}|\\{\"beside\""),
    (r"\bbehind (it|its|them|a|an)\b", ""),
    (r"(?i)\b(some|no)body\b", ""),
    (r"(?i)\b(anew|once more|seldom|gravest|mend|shall)\b", "shall I"),
    (r"\bpresent (folder|epoch|level)\b", ""),
    (r"\bby leave\b|\bas the model gets\b", ""),
    (r"\bnothing of\b|\bhas to do with\b", ""),
    (r"\bended (with \{|by\b)|\bwas ended\b|\bended with exit\b", ""),
    (r"\bno sign of life\b|\bsaid nothing\b|\bserver gave up\b", ""),
    (r"\bleads? (elsewhere|out of)\b", ""),
    (r"\bit wants\b|\bwants (a|another|requests)\b|\bwant it to\b", ""),
    (r"\b(left|stays?) as it (is|was)\b|\bas it came\b", ""),
    (r"\bis there already\b", ""),
    (r"\b(by|for) (it|them)self\b|\basks beyond\b|\bbeyond it\b", ""),
    (r"\b(said|says|as a) no\b", ""),
    (r"\bwithout a question\b|\bneeds? no question\b|\bwaits for a question\b", ""),
    (r"\bcounts? for (it|files|a)\b|\bruns or counts\b", ""),
    (r"\bfrom here on\b", ""),
    (
        r"\btakes? (it |this )?back (a|·)|\btakes? it back\b|\btakes over (the|those)\b|\bTake over (servers|those)\b",
        "",
    ),
    (r"\bso (soon|long)\b", ""),
    (
        r"\b(Enter|Tab|Esc|Up|Alt-T) (sends|finds|keeps|takes|steers|uses|sets|declines|closes|edits|restores|folds)\b",
        "",
    ),
    (r"\bwhite space\b", ""),
    (r"\bspoken\b", ""),
    (r", for (you|they|we|nobody)\b|; for (you|they) ", ""),
    (r"\bbut auto\b", ""),
    (r"\bthe nearest (of|that)\b", ""),
    (r"\bthe whole is\b|\bthe whole text\b", ""),
    (r"\b(is|are) (not )?known here\b|\bas the case may be\b", ""),
    (r"\blies (in|at|outside|behind|below)\b", ""),
    (r"\bholds (a|an|the same|\{)", ""),
    (r"\bthere is no (option|mode|method|skill|server|threshold) ", ""),
    (r"\bas far as the\b|\bthe restriction to\b", ""),
    (r"\b(not|was|were) begun\b|\b(can't|cannot|did not) begin\b", ""),
    (r"\bhalf way\b|\bgone round\b|\bgo(es)? on running\b|\bruns on$", ""),
    (r"\bin another way\b|\banother \w+ than\b|\botherwise than\b", ""),
    (r"\btakes? (it|them) over\b", ""),
    (r"\bcan(no|')t be (made|looked at|taken out)\b", r"made (private|read-only)"),
    (r"\b(works?|reach(es)?) beyond\b|\bwould win\b|\bforbade\b|\bgrave\b", ""),
    (r"\bthe beginning of it\b|\b(comes?|came) to its end\b", ""),
    (r"^it is (a number|text|I/N|untrusted|default|read-only) ?(,|or|of|with)", ""),
    (r", and changes nothing\b|\bfinds out how\b|\bis as it\b|\bdid what\b", ""),
    (r"\bas (it|they) (was|were|came)\b", r"\bas it was (before|shown)|\bwhere it was\b"),
];

/// The string literals of a source file, without its tests. Continued lines are joined.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let literal =
        Regex::new(r##"(?s)//[^\n]*|'(?:\\.[^']*|[^'\\\n])'|r#"(.*?)"#|"((?:\\.|[^"\\])*)""##).unwrap();
    let continued = Regex::new(r"\\\n\s*").unwrap();
    let found = literal.captures_iter(source).filter_map(|found| found.get(1).or(found.get(2)));
    found.map(|text| continued.replace_all(text.as_str(), "").into_owned()).collect()
}

fn help_texts(source: &str) -> impl Iterator<Item = String> {
    source.lines().filter_map(|line| line.trim().strip_prefix("///")).map(str::to_owned)
}

#[test]
fn no_text_sounds_translated() {
    let refused: Vec<(Regex, Option<Regex>)> = REFUSED
        .iter()
        .map(|(word, unless)| {
            let unless =
                Some(unless).filter(|unless| !unless.is_empty()).map(|unless| Regex::new(unless).unwrap());
            (Regex::new(word).unwrap(), unless)
        })
        .collect();
    let files = ["src", "prompts", "README.md", "config.toml"].into_iter().flat_map(WalkDir::new).flatten();
    let mut found = Vec::new();
    for file in files.filter(|file| file.file_type().is_file()) {
        let name = file.path().to_string_lossy().into_owned();
        let is_data = ["models.toml", "vendors.toml", "language_servers.toml", "programs.txt"];
        if name.ends_with("_tests.rs")
            || name.contains("/terms/")
            || is_data.iter().any(|data| name.ends_with(data))
        {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(file.path()) else { continue };
        let mut texts: Vec<String> = match name.ends_with(".rs") {
            true => literals(&text),
            false => text.lines().map(str::to_owned).collect(),
        };
        if name.starts_with("src/cli/") && text.contains("use clap::") {
            texts.extend(help_texts(&text));
        }
        for text in texts {
            let fits = |(word, unless): &&(Regex, Option<Regex>)| {
                word.is_match(&text) && !unless.as_ref().is_some_and(|unless| unless.is_match(&text))
            };
            found.extend(refused.iter().filter(fits).map(|(word, _)| format!("{name}: {word}\n    {text}")));
        }
    }
    assert!(found.is_empty(), "reword these:\n{}", found.join("\n"));
}
