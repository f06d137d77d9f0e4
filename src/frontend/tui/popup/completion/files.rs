//! The `@` popup: fuzzy completion of workspace paths. Ranks a given list; doesn't read the disk. Each
//! further key searches only the previous matches.

use std::sync::Arc;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// For a single letter, which most paths have; the list starts with the most useful ones.
const RANKED: usize = 50_000;
const OFFERED: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub at: usize,
    pub query: String,
}

/// An `@` after an ASCII letter or digit (an e-mail address) doesn't count.
pub fn token(text: &str, cursor: usize) -> Option<Token> {
    let before = text.get(..cursor)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = &before[line_start..];
    let free = |at: usize| !line[..at].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
    if let Some(at) = line.rfind("@\"").filter(|at| free(*at) && !line[at + 2..].contains('"')) {
        return Some(Token { at: line_start + at, query: line[at + 2..].to_owned() });
    }
    let word = line
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
    let at = word + line[word..].rfind('@').filter(|at| free(word + at))?;
    Some(Token { at: line_start + at, query: line[at + 1..].to_owned() })
        .filter(|token| !token.query.contains('"'))
}

impl Token {
    /// Whether a path is complete and followed by text without a blank, as in Chinese.
    pub fn goes_on(&self, paths: &[String]) -> bool {
        let more =
            |path: &String| self.query.strip_prefix(path.as_str()).and_then(|rest| rest.chars().next());
        paths.iter().filter(|path| !path.ends_with('/')).filter_map(more).any(|next| !next.is_ascii())
    }
}

#[derive(Clone, Debug)]
pub struct FileRanking {
    pub token: Token,
    paths: Option<Arc<[String]>>,
    candidates: Vec<u32>,
    best: Vec<u32>,
    /// Found, but not offered.
    pub more: usize,
}

impl FileRanking {
    pub fn new(token: Token, paths: Option<Arc<[String]>>) -> Self {
        let mut ranking = Self { token, paths, candidates: Vec::new(), best: Vec::new(), more: 0 };
        ranking.start();
        ranking
    }

    pub fn set_paths(&mut self, paths: &Arc<[String]>) -> bool {
        if self.paths.as_ref() == Some(paths) {
            return false;
        }
        self.paths = Some(Arc::clone(paths));
        self.start();
        true
    }

    pub fn set_token(&mut self, token: Token) -> bool {
        if token == self.token {
            return false;
        }
        let narrowed = token.at == self.token.at && token.query.starts_with(&self.token.query);
        self.token = token;
        if narrowed {
            self.rank()
        } else {
            self.start()
        }
        true
    }

    pub fn found(&self) -> impl Iterator<Item = &String> {
        self.best.iter().filter_map(|index| self.paths.as_ref()?.get(*index as usize))
    }

    pub fn nothing(&self) -> &'static str {
        if self.paths.is_none() { "  Listing files…" } else { "  No matching files · Esc to close" }
    }

    fn start(&mut self) {
        let count = self.paths.as_ref().map_or(0, |paths| paths.len());
        self.candidates = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
        self.rank();
    }

    fn rank(&mut self) {
        self.best.clear();
        let Some(paths) = &self.paths else { return };
        if self.token.query.is_empty() {
            let nested = |index: &u32| paths[*index as usize].trim_end_matches('/').contains('/');
            let (top, below) = (self.candidates.iter(), self.candidates.iter().filter(|at| nested(at)));
            self.best = top.filter(|at| !nested(at)).chain(below).copied().take(OFFERED).collect();
            self.more = self.candidates.len() - self.best.len();
            return;
        }
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let pattern =
            Pattern::new(&self.token.query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        let mut buffer = Vec::new();
        let mut scored = Vec::with_capacity(self.candidates.len());
        let one_letter = self.token.query.chars().nth(1).is_none();
        self.candidates.retain(|index| {
            if one_letter && *index as usize >= RANKED {
                return true;
            }
            let path = &paths[*index as usize];
            let score = pattern.score(Utf32Str::new(path, &mut buffer), &mut matcher);
            // A folder that is typed out already has nothing to add.
            let is_typed = path.ends_with('/') && *path == self.token.query;
            if let Some(score) = score.filter(|_| !is_typed) {
                scored.push((std::cmp::Reverse(score), path.len(), *index));
            }
            score.is_some()
        });
        self.more = scored.len().saturating_sub(OFFERED);
        if self.more > 0 {
            scored.select_nth_unstable(OFFERED);
            scored.truncate(OFFERED);
        }
        scored.sort_unstable();
        self.best = scored.into_iter().map(|(_, _, index)| index).collect();
    }
}

/// Folders stay open for more.
pub fn insertion(path: &str) -> String {
    let quote = if path.contains(char::is_whitespace) { "\"" } else { "" };
    let end = if path.ends_with('/') { "" } else { quote };
    let space = if path.ends_with('/') { "" } else { " " };
    format!("@{quote}{path}{end}{space}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn query(text: &str) -> Option<String> {
        token(text, text.len()).map(|token| token.query)
    }

    #[test]
    fn tokens() {
        assert_eq!(query("see @src/a").as_deref(), Some("src/a"));
        assert_eq!(query("@").as_deref(), Some(""));
        assert_eq!(query("(@x").as_deref(), Some("x"));
        assert_eq!(query("请检查@core/a").as_deref(), Some("core/a"));
        assert_eq!(query("me@x.org"), None);
        assert_eq!(query("@a b"), None);
        assert_eq!(query("@\"a b").as_deref(), Some("a b"));
        assert_eq!(query("@\"a b\" c"), None);
    }

    #[test]
    fn text_behind_a_path() {
        let goes_on = |text: &str| token(text, text.len()).unwrap().goes_on(&["a.py".to_owned()]);
        assert!(
            goes_on("看看@a.py的内容") && !goes_on("看看@a.py") && !goes_on("@a.pyc") && !goes_on("@b.py的")
        );
    }

    #[test]
    fn the_last_of_many_is_found() {
        let path = |number: usize| format!("src/module{number}/file.rs");
        let paths: Arc<[String]> = (0..RANKED + 9).map(path).chain(["z/needle.py".to_owned()]).collect();
        let at = |query: &str| Token { at: 0, query: query.to_owned() };
        let mut popup = FileRanking::new(at("n"), Some(paths));
        popup.set_token(at("ne"));
        popup.set_token(at("need"));
        assert_eq!(popup.found().collect::<Vec<_>>(), ["z/needle.py"]);
    }

    #[test]
    fn the_top_level_comes_first_and_no_typed_folder() {
        let deep = (0..60).map(|number| format!("pkg/{number}.rs"));
        let paths: Arc<[String]> = deep.chain(["src/".to_owned(), "src/a.rs".to_owned()]).collect();
        let at = |query: &str| Token { at: 0, query: query.to_owned() };
        let mut popup = FileRanking::new(at(""), Some(paths));
        assert_eq!((popup.found().next().unwrap().as_str(), popup.more), ("src/", 12));
        popup.set_token(at("src/"));
        assert_eq!(popup.found().collect::<Vec<_>>(), ["src/a.rs"]);
    }

    #[test]
    fn ranking_narrows_and_widens() {
        let paths: Arc<[String]> =
            ["src/tui/view.rs", "src/tui/app.rs", "docs/a view.md", "src/"].map(str::to_owned).into();
        let at = |query: &str| Token { at: 0, query: query.to_owned() };
        let mut popup = FileRanking::new(at(""), Some(paths));
        assert_eq!(popup.best.len(), 4);
        popup.set_token(at("view"));
        assert_eq!(popup.best.len(), 2);
        popup.set_token(at("viewrs"));
        assert_eq!(popup.found().next().unwrap(), "src/tui/view.rs");
        popup.set_token(at("app"));
        assert_eq!(popup.found().next().unwrap(), "src/tui/app.rs");
        assert_eq!(insertion("docs/a view.md"), "@\"docs/a view.md\" ");
        assert_eq!(insertion("src/"), "@src/");
    }
}
