//! Finds tools for a question in plain words: BM25 over the parts of their names, their descriptions and the names of their
//! parameters, where words of one meaning count as one.

use std::collections::HashMap;
use std::sync::LazyLock;

use base::model::call::ToolSpec;
use base::search::bm25::Corpus;
use base::search::words::{self, listed};

/// Of a match in the name, the description and a parameter's name.
const WEIGHTS: [f32; 3] = [2.0, 1.0, 0.5];

const GLUE: &str = "a about all am an and any are as at be by can could did do does for from give had has have how i in is it \
    its let me my of on or our please should so some tell that the their them there these they this those to up us was we \
    were what when where which who why will with would you your";

/// Words of one meaning, in which questions and the authors of tools differ: a line each.
const SAME: &str = include_str!("meanings.txt");

/// The number of each word's meaning in [`SAME`], by its stem.
static MEANINGS: LazyLock<HashMap<String, Vec<usize>>> = LazyLock::new(|| {
    let mut meanings: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, same) in SAME.lines().enumerate() {
        words::each(same, |word, _| meanings.entry(word.to_owned()).or_default().push(number));
    }
    meanings
});

/// A made-up word for each meaning of the text's words.
fn meanings(text: &str) -> String {
    let mut numbers = Vec::new();
    words::each(text, |word, _| numbers.extend(MEANINGS.get(word).into_iter().flatten()));
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().map(|number: usize| format!("zq{} ", "x".repeat(number + 1))).collect()
}

pub fn best(specs: &[ToolSpec], query: &str, most: usize) -> Vec<usize> {
    let mut asked = String::new();
    words::raw(query, |word| {
        if !listed(GLUE, &word.to_lowercase()) {
            asked.push_str(word);
            asked.push(' ');
        }
    });
    asked.push_str(&meanings(&asked));
    let mut terms = words::terms(&asked);
    terms.sort_by(|one, other| one.text.cmp(&other.text));
    terms.dedup_by(|one, other| one.text == other.text);
    let mut corpus = Corpus::only(&terms);
    let [of_name, of_description, of_parameters] = WEIGHTS;
    for spec in specs {
        let parameters = spec.schema["properties"].as_object();
        let parameters: Vec<&str> = parameters.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        corpus.add(&[
            (of_name, &spec.name),
            (of_name, &meanings(&spec.name)),
            (of_description, &spec.description),
            (of_description, &meanings(&spec.description)),
            (of_parameters, &parameters.join(" ")),
        ]);
    }
    corpus.rank(&terms).into_iter().take(most).map(|hit| hit.document).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    #[test]
    fn plain_questions_find_their_tool() {
        let table = include_str!("../../../tests/fixtures/more_tools.txt");
        let (tools, questions) = table.split_once("---").unwrap_or_default();
        let rows =
            |text: &'static str| text.lines().filter(|line| line.contains(" | ") && !line.starts_with('#'));
        let specs: Vec<ToolSpec> = rows(tools)
            .map(|row| {
                let [name, description, parameters] =
                    [0, 1, 2].map(|at| row.split('|').nth(at).unwrap_or("").trim());
                let properties: Map<String, Value> =
                    parameters.split_whitespace().map(|name| (name.to_owned(), json!({}))).collect();
                let schema = json!({"type": "object", "properties": properties});
                ToolSpec { name: name.into(), description: description.into(), schema }
            })
            .collect();
        let (mut first, mut five, mut missed) = (0, 0, Vec::new());
        for row in rows(questions) {
            let (question, right) = row.split_once(" | ").unwrap_or_default();
            let found: Vec<&str> = best(&specs, question, 5).into_iter().map(|at| &*specs[at].name).collect();
            first += usize::from(found.first().is_some_and(|name| listed(right, name)));
            if found.iter().any(|name| listed(right, name)) {
                five += 1;
            } else {
                missed.push(format!("{question}: {found:?}"));
            }
        }
        assert!(first >= 22 && five >= 29, "R@1 {first}, R@5 {five} of 30: {missed:#?}");
    }
}
