//! Finds tools and skills for a question in plain words: BM25 over names and descriptions, where a word also matches its
//! synonyms, and names count by how much of them was asked for.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::bm25::Corpus;
use super::fold::stem;
use super::words::{self, Term, TermKind, listed};

const IN_NAME_FIRST_SENTENCE_AND_REST: [f32; 3] = [2.0, 1.5, 1.0];
const BY_MEANING: f64 = 0.6;
const SERVER_NAMED: f64 = 1.8;
const FIRST_SENTENCE: usize = 200;
const OTHER_INTENT: f64 = 0.4;
/// "Which tickets are open" asks for a list.
const ASKS_FOR_MANY: f64 = 1.4;
const ASKING: &str = "how what what's which who whose when where why is are was were did does do has have show list get find search read view";
const CHANGING: &str = "create add reply update delete remove post write edit patch set move rename send upload assign unassign cancel approve unapprove merge archive unarchive resolve reschedule";

const READING: &str = "get list search read find show retrieve query view";
const REMOVING: &str = "delete remove clear kill";

const GLUE: &str = "a about again all am an and any are as at away be by can could did do does for from give had has have how i in is it \
    its let me my of off on or our out over please should so some tell that the their them there these they this those to up us was we \
    were what when where which who why will with would you your if whenever just now please want need like onto into than then here \
    very really way something someone anything somehow";

/// Synonyms, one group per line, for words on which users and tool authors differ. A phrase is written `like_this`.
static MEANINGS: LazyLock<HashMap<String, HashSet<String>>> = LazyLock::new(|| {
    let mut meanings: HashMap<String, HashSet<String>> = HashMap::new();
    for line in include_str!("meanings.txt").lines() {
        let form = |word: &str| word.split('_').map(stem).collect::<Vec<_>>().join("_");
        let words: Vec<String> = line.split(' ').map(form).collect();
        for word in &words {
            meanings.entry(word.clone()).or_default().extend(words.iter().cloned());
        }
    }
    meanings
});

/// For each word or phrase of the question ("take the file out"), the words that match it and their weights.
fn asked(mut left: &[&str]) -> Vec<Vec<(String, f64)>> {
    let mut asked = Vec::new();
    while let [word, after @ ..] = left {
        let phrase = |next: &&str| format!("{}_{}", stem(&word.to_lowercase()), stem(&next.to_lowercase()));
        let mut phrases = after.iter().map(phrase);
        left = after;
        match phrases.find(|phrase| MEANINGS.contains_key(phrase)) {
            Some(phrase) => asked.push(phrase),
            None if listed(GLUE, &word.to_lowercase()) => {}
            None => words::each(word, |word, _| asked.push(word.to_owned())),
        }
    }
    let with_meanings = |word: String| {
        let others = MEANINGS.get(&word).into_iter().flatten().map(|other| (other.clone(), BY_MEANING));
        others.chain([(word.clone(), 1.0)]).collect()
    };
    asked.into_iter().map(with_meanings).collect()
}

/// `things` are names, optionally with a server's name and a dot before them, and descriptions.
pub fn best(query: &str, things: &[(&str, &str)], most: usize) -> Vec<usize> {
    let mut raw = Vec::new();
    words::raw(query, |word| raw.push(word));
    let asks = raw.first().is_some_and(|word| listed(ASKING, &word.to_lowercase()));
    let asked = asked(&raw);
    let means = |verbs: &str, words: &[Vec<(String, f64)>]| {
        verbs.split(' ').any(|verb| words.iter().flatten().any(|(word, _)| word == stem(verb)))
    };
    let plural = |word: &&str| word.ends_with('s') && stem(word) != *word && !listed(GLUE, word);
    let asks_for_many = asks && raw.iter().any(plural);
    // A request begins with its verb.
    let wants_change = !asks && means(CHANGING, asked.get(..1).unwrap_or_default());
    let wants_removal = means(REMOVING, &asked);
    let term = |(text, _): &(String, f64)| Term { text: text.clone(), kind: TermKind::Word };
    let mut corpus = Corpus::only(&asked.iter().flatten().map(term).collect::<Vec<_>>());
    let [of_name, of_first, of_rest] = IN_NAME_FIRST_SENTENCE_AND_REST;
    for (name, description) in things {
        let (first, rest) = first_sentence(description);
        corpus.add(&[(of_name, name), (of_first, first), (of_rest, rest)]);
    }
    let mut found: Vec<(f64, usize)> = Vec::new();
    for (at, (name, _)) in things.iter().enumerate() {
        let (server, name) = name.split_once('.').unwrap_or(("", name));
        let (mut parts, mut covered) = (HashSet::new(), HashSet::new());
        words::each(name, |word, kind| _ = kind != TermKind::Identifier && parts.insert(word.to_owned()));
        // In some servers, every tool's name begins with the server's.
        words::each(server, |word, _| _ = name.to_lowercase().starts_with(word) && parts.remove(word));
        let mut score = 0.0;
        for answers in &asked {
            let scores = answers.iter().map(|(word, weight)| weight * corpus.score(at, word));
            score += scores.fold(0.0, f64::max);
            covered.extend(answers.iter().map(|(word, _)| word).filter(|word| parts.contains(*word)));
        }
        score *= 1.0 + covered.len() as f64 / parts.len().max(1) as f64;
        let named = |verbs: &str| verbs.split(' ').any(|verb| parts.contains(stem(verb)));
        if asks && named(CHANGING) || wants_change && named(READING) || !wants_removal && named(REMOVING) {
            score *= OTHER_INTENT;
        }
        if asks_for_many && parts.contains("list") {
            score *= ASKS_FOR_MANY;
        }
        if raw.iter().any(|word| word.len() > 2 && server.to_lowercase().starts_with(&word.to_lowercase())) {
            score *= SERVER_NAMED;
        }
        found.extend((score > 0.0).then_some((score, at)));
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.into_iter().take(most).map(|(_, at)| at).collect()
}

fn first_sentence(text: &str) -> (&str, &str) {
    let end = [". ", ": ", "; ", "\n"].iter().filter_map(|end| text.find(end)).min();
    text.split_at(end.unwrap_or_else(|| text.floor_char_boundary(FIRST_SENTENCE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_questions_find_their_tool() {
        let table = include_str!("../../../tests/fixtures/more_tools.txt");
        let (tools, questions) = table.split_once("---").unwrap_or_default();
        let rows =
            |text: &'static str| text.lines().filter(|line| line.contains(" | ") && !line.starts_with('#'));
        let tool =
            |row: &'static str| row.split_once(" | ").map(|(name, told)| (name, told.replace(" | ", "\n")));
        let tools: Vec<(&str, String)> = rows(tools).filter_map(tool).collect();
        let things: Vec<(&str, &str)> = tools.iter().map(|(name, told)| (*name, told.as_str())).collect();
        let (mut first, mut five, mut missed) = (0, 0, Vec::new());
        for row in rows(questions) {
            let (question, right) = row.split_once(" | ").unwrap_or_default();
            let found: Vec<&str> = best(question, &things, 5).into_iter().map(|at| things[at].0).collect();
            first += usize::from(found.first().is_some_and(|name| listed(right, name)));
            if found.iter().any(|name| listed(right, name)) {
                five += 1;
            } else {
                missed.push(format!("{question}: {found:?}"));
            }
        }
        assert!(first >= 24 && five == 30, "R@1 {first}, R@5 {five} of 30: {missed:#?}");
    }
}
