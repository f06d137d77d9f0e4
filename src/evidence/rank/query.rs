//! Parses a task text: weighted words, identifiers, dotted names, paths, quoted texts and stack frames.

use rustc_hash::FxHashMap;

use crate::terms::{language, translate};
use base::pattern::Pattern;
use base::search::words::{self, TermKind, listed};

const MAX_WORDS: usize = 160;
const MAX_TEXT_BYTES: usize = 60_000;
/// A longer quoted text isn't a message or name.
const MAX_QUOTED_BYTES: usize = 160;
/// A complete identifier counts more than a word.
const IDENTIFIER_WEIGHT: f32 = 1.3;

const OTHER_SPELLING: f32 = 0.8;
const OTHER_SPELLING_SURE: f32 = 0.6;
const MAX_SPELT: usize = 60;

#[derive(Clone, Debug, PartialEq)]
pub struct QueryWord {
    pub term: String,
    pub weight: f32,
    pub in_title: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Query {
    pub title: String,
    pub words: Vec<QueryWord>,
    /// Lower-case names that look like code, with a confidence of 0–1.
    pub identifiers: Vec<(String, f32)>,
    /// `a.b.c` and `a::b::c` as parts.
    pub dotted: Vec<Vec<String>>,
    pub paths: Vec<String>,
    pub quoted: Vec<String>,
    /// Files in stack traces, innermost first.
    pub frames: Vec<String>,
    pub about_tests: bool,
    pub about_documents: bool,
}

// Only Latin, Greek and Cyrillic: all of Unicode would take a hundred times as long to compile.
static LINK: Pattern = Pattern::new(r#"https?://[^\s)>\]"']+"#);
static PATH: Pattern = Pattern::new(include_str!("query_path.regex"));
static COMPOUND: Pattern = Pattern::new(include_str!("query_compound.regex"));
static DOTTED: Pattern = Pattern::new(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|#|->)[A-Za-z_][A-Za-z0-9_]*)+");
static NAME: Pattern = Pattern::new(r"[A-Za-z_$][A-Za-z0-9_]*(?:\(|(?-u:\b))");
static PYTHON_FRAME: Pattern = Pattern::new(r#"File "([^"\n]+)", line [0-9]+"#);
static PLACE: Pattern = Pattern::new(include_str!("query_place.regex"));
static QUOTED: Pattern =
    Pattern::new("`([^`\n]+)`|\"([^\"\n]+)\"|(?:^|[^A-Za-z0-9_])'([^'\n]+)'|“([^”\n]+)”|「([^」\n]+)」");

impl Query {
    pub fn parse(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        let text = without_comments(text);
        let text = without_form(&text);
        let mut query = Self::default();
        let mut plain = text.clone();
        for link in LINK.found_by(&["://"], &text) {
            query.paths.extend(linked_path(&link[0]));
            plain = plain.replacen(&link[0], " ", 1);
        }
        let text = plain;
        query.title = title_of(&text).to_owned();
        query.frames = frames(&text);
        for found in PATH.found_by(&["/", "\\", "."], &text) {
            let path = found[0].trim_matches(['.', '/', '\\']).replace('\\', "/");
            if path.len() > 3 {
                add_new(&mut query.paths, path, 100);
            }
        }
        for found in DOTTED.found_by(&[".", "::", "#", "->"], &text) {
            let parts: Vec<String> = found[0]
                .split(['.', ':', '#', '>', '-'])
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect();
            add_new(&mut query.dotted, parts, 100);
        }
        for found in QUOTED.found_by(&["`", "\"", "'", "“", "「"], &text) {
            let inner = (1..=5).find_map(|group| found.get(group)).map_or("", |group| group.as_str().trim());
            if (3..=MAX_QUOTED_BYTES).contains(&inner.len()) {
                add_new(&mut query.quoted, inner.to_owned(), 60);
            }
        }
        let rest = text.find(&query.title).map_or(&*text, |at| &text[at + query.title.len()..]);
        // Add the English words that code uses to the task's own, because comments may be in the task's language.
        let languages = language::of(&text);
        let with_english = |part: &str| format!("{part}\n{}", translate::english(part, &languages).join(" "));
        let (title, rest) = (with_english(&query.title), with_english(rest));
        query.identifiers = identifiers(&format!("{title}\n{rest}"), &query.quoted);
        query.words = weighted(&title, &rest);
        query.add_other_spellings(&text);
        let title = title.to_lowercase();
        let says = |words: &[&str]| {
            words.iter().any(|word| title.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word))
        };
        query.about_tests = says(&["test", "tests", "unittest", "testsuite", "flaky"]);
        query.about_documents =
            says(&["doc", "docs", "documentation", "readme", "typo", "changelog", "tutorial"]);
        query
    }

    /// `--dry-run`, `dry_run` and `dryRun` are one name: whichever the task uses, all are searched.
    fn add_other_spellings(&mut self, text: &str) {
        for found in COMPOUND.captures_iter(text).take(MAX_SPELT) {
            let mut parts: Vec<String> = Vec::new();
            for piece in found[0].split(['-', '_']) {
                words::parts(piece, |part| parts.push(part.to_lowercase()));
            }
            for spelt in [parts.join("_"), parts.concat()] {
                if self.words.len() < MAX_WORDS && !self.words.iter().any(|word| word.term == spelt) {
                    let in_title = self.title.contains(&found[0]);
                    self.words.push(QueryWord { term: spelt.clone(), weight: OTHER_SPELLING, in_title });
                }
                if !self.identifiers.iter().any(|(known, _)| *known == spelt) {
                    self.identifiers.push((spelt, OTHER_SPELLING_SURE));
                }
            }
        }
    }
}

fn add_new<T: PartialEq>(list: &mut Vec<T>, found: T, most: usize) {
    if list.len() < most && !list.contains(&found) {
        list.push(found);
    }
}

const HEADINGS: &str = "\
    bug report describe description the issue feature request summary problem what happened version \
    environment prerequisites checklist current expected actual behavior steps to reproduce";

fn frames(text: &str) -> Vec<String> {
    let paths = |pattern: &'static Pattern, sign: &str| -> Vec<String> {
        pattern.found_by(&[sign], text).map(|found| found[1].replace('\\', "/")).collect()
    };
    let (mut found, mut others) = (paths(&PYTHON_FRAME, "File \""), paths(&PLACE, ":"));
    // Python puts the innermost frame last; all others put it first.
    let python = |path: &&String| path.ends_with(".py");
    if others.iter().filter(python).count() * 2 > others.len() {
        others.reverse();
    }
    found.reverse();
    let mut unique = Vec::new();
    found.into_iter().chain(others).for_each(|path| add_new(&mut unique, path, 60));
    unique
}

/// The first line that isn't just a form's heading.
fn title_of(text: &str) -> &str {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let says_something = |line: &&str| {
        let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.any(|word| !words::listed(HEADINGS, &word.to_lowercase()))
    };
    lines().take(6).find(says_something).or_else(|| lines().next()).unwrap_or("")
}

/// Removes markup comments, in which templates put instructions.
fn without_comments(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        clean.push_str(&rest[..start]);
        let Some(end) = rest[start..].find("-->") else {
            rest = &rest[start..];
            break;
        };
        rest = &rest[start + end + 3..];
    }
    clean.push_str(rest);
    clean
}

/// The file in a link to a forge's source view.
fn linked_path(link: &str) -> Option<String> {
    let (_, rest) = link.split_once("/blob/").or_else(|| link.split_once("/src/"))?;
    let (_, path) = rest.split_once('/')?;
    let path = path.split(['#', '?']).next().unwrap_or(path);
    (path.contains('.')).then(|| path.to_owned())
}

/// Confidence that a plain word is a name.
pub const PLAIN_WORD: f32 = 0.2;

/// Names that look like code: inner capitals, underscores, a call's parenthesis, or backticks.
fn identifiers(text: &str, quoted: &[String]) -> Vec<(String, f32)> {
    let mut found: FxHashMap<String, f32> = FxHashMap::default();
    let mut order = Vec::new();
    let mut note = |name: &str, sure: f32| {
        let name = name.to_lowercase();
        let known = found.entry(name.clone()).or_insert_with(|| {
            order.push(name);
            0.0
        });
        *known = known.max(sure);
    };
    for capture in NAME.captures_iter(text) {
        let called = capture[0].ends_with('(');
        let name = capture[0].trim_end_matches('(').trim_start_matches('$');
        if name.len() < 3 {
            continue;
        }
        let inner = name.trim_matches('_');
        let compound = inner.contains('_')
            || inner.chars().skip(1).any(char::is_uppercase) && inner.chars().any(char::is_lowercase);
        let capital = inner.starts_with(char::is_uppercase);
        if compound {
            note(name, 1.0);
        } else if called {
            note(name, 0.8);
        } else if capital {
            note(name, 0.4);
        } else {
            note(name, PLAIN_WORD);
        }
    }
    for inner in quoted {
        if inner.chars().all(|c| c.is_alphanumeric() || c == '_') && inner.len() >= 3 {
            note(inner, 0.8);
        }
    }
    order
        .into_iter()
        .take(400)
        .map(|name| {
            let sure = found[&name];
            (name, sure)
        })
        .collect()
}

/// Stop words: common in English or in every issue. Rarity in the project covers the rest.
const STOP: &str = include_str!("stop_words.txt");

fn weighted(title: &str, rest: &str) -> Vec<QueryWord> {
    let mut words: Vec<QueryWord> = Vec::new();
    let mut known: FxHashMap<String, (usize, f32, f32)> = FxHashMap::default();
    let mut add = |term: &str, part: TermKind, in_title: bool, words: &mut Vec<QueryWord>| {
        if term.chars().count() < 2 || STOP.split_whitespace().any(|known| known == term) {
            return;
        }
        let base = match part {
            TermKind::Identifier => IDENTIFIER_WEIGHT,
            TermKind::Word => 1.0,
            TermKind::Part => 0.8,
        };
        match known.get_mut(term) {
            Some((at, times, best)) => {
                *times += 1.0;
                *best = best.max(base);
                words[*at].weight = *best * (1.0 + times.ln() * 0.5).min(2.5);
            }
            None if words.len() < MAX_WORDS => {
                known.insert(term.to_owned(), (words.len(), 1.0, base));
                words.push(QueryWord { term: term.to_owned(), weight: base, in_title });
            }
            None => {}
        }
    };
    words::each(title, |term, part| add(term, part, true, &mut words));
    words::each(rest, |term, part| add(term, part, false, &mut words));
    words
}

/// A heading with one of these words is about the environment…
const SURROUNDINGS: &str = "\
    environment environments version versions platform checklist validations prerequisites info conduct \
    preflight freeze willing os browser browsers duplicates";
/// …if all its other words are among these.
const BESIDE: &str = "\
    env system information operating installed packages package setup software device checks pip code my \
    your the and of a used using you are what which details other submit pr python node rust go search \
    searched";

/// Keeps the first line, and everything if nothing else would be left. Checkboxes and version lists of issue forms go.
fn without_form(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut held_back = false;
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let fence = trimmed.starts_with("```");
        if !fenced && let Some(heading) = heading(trimmed) {
            held_back = number > 0 && tells_surroundings(heading);
        }
        fenced ^= fence;
        if number == 0 || !held_back && (fenced || !is_box(trimmed)) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if kept.trim().lines().count() < 2 { text.to_owned() } else { kept }
}

/// The words of a heading: `### Versions` or `**Versions**` alone on a line.
fn heading(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches('#');
    let strong = line.strip_prefix("**").and_then(|rest| {
        let rest = rest.trim_end_matches(':');
        rest.strip_suffix("**")
    });
    if bare.len() < line.len() && bare.starts_with(' ') { Some(bare.trim()) } else { strong }
}

fn tells_surroundings(heading: &str) -> bool {
    let heading = heading.to_lowercase();
    let words = || heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let tells = |word: &str| listed(SURROUNDINGS, word);
    words().any(tells) && words().all(|word| tells(word) || listed(BESIDE, word))
}

fn is_box(line: &str) -> bool {
    let rest = line.trim_start_matches(['-', '*', '+']).trim_start();
    ["[ ]", "[x]", "[X]"].iter().any(|mark| rest.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_order() {
        let text = "panic\ngoroutine 1:\nmain.stop()\n\t/go/src/app/stop.go:12 +0x1\nmain.main()\n\t/go/src/app/main.go:7\n  at Row.total (Row.java:31)";
        assert_eq!(frames(text), ["/go/src/app/stop.go", "/go/src/app/main.go", "Row.java"]);
    }

    #[test]
    fn query_parts() {
        let text = "parseRow() drops `empty cells`\n<!-- template -->\nSee https://forge.example/a/b/blob/main/src/table/row.rs#L3 and app.models.Basket.\nFile \"/usr/lib/x/outer.py\", line 3, in go\nFile \"/home/me/inner.py\", line 9, in stop\n";
        let query = Query::parse(text);
        assert_eq!(query.title, "parseRow() drops `empty cells`");
        assert!(query.words[0].in_title && query.words[0].term == "pars");
        assert_eq!(query.identifiers[0], ("parserow".to_owned(), 1.0));
        assert_eq!(query.quoted, ["empty cells", "/usr/lib/x/outer.py", "/home/me/inner.py"]);
        assert_eq!(query.paths[0], "src/table/row.rs");
        assert!(query.dotted.iter().any(|name| name.join("/") == "app/models/Basket"));
        assert_eq!(query.frames, ["/home/me/inner.py", "/usr/lib/x/outer.py"]);
        assert!(query.words.iter().all(|word| word.term != "templat"));
        assert_eq!(Query::parse("It doesn't say 'no such row', and it won't stop").quoted, ["no such row"]);
        assert_eq!(Query::parse("修改src/table/row.rs文件").paths, ["src/table/row.rs"]);
    }

    #[test]
    fn other_spellings() {
        let query = Query::parse("The option --dry-run and keepAlive\n");
        for spelt in ["dry_run", "dryrun", "keep_alive", "keepalive"] {
            assert!(query.words.iter().any(|word| word.term == spelt), "{spelt}");
            assert!(query.identifiers.iter().any(|(name, _)| name == spelt), "{spelt}");
        }
    }

    #[test]
    fn title_of_a_form() {
        assert_eq!(
            Query::parse("### Bug report\n\n**Description**\nOven stays cold\n").title,
            "Oven stays cold"
        );
        assert_eq!(Query::parse("Description").title, "Description");
    }

    #[test]
    fn any_text_is_taken() {
        for text in ["", "\n\n", "修复登录超时", "<!--", "a\u{0}b", &"x".repeat(100_000)] {
            Query::parse(text);
        }
        assert!(Query::parse("修复登录超时").words.iter().any(|word| word.term == "登录"));
    }

    #[test]
    fn issue_form_sections() {
        let text = "Oven stays cold\n- [x] I searched\n### What happens\nIt [ ] beeps\n### Version & OS\nbaker 1.2\n```\n# Not a heading\n```\n### Log\nE42\n";
        assert_eq!(without_form(text), "Oven stays cold\n### What happens\nIt [ ] beeps\n### Log\nE42\n");
        for text in ["", "### Version", "Version\n- [x] yes", "修复"] {
            assert_eq!(without_form(text), text);
        }
        let about = "Title\n### Version parsing fails\nhere\n";
        assert_eq!(without_form(about), about);
    }
}
