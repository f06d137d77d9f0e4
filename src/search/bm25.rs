//! Ranks texts by a few words: BM25 over terms that know identifiers (whole and by their parts) and CJK text (by pairs of
//! characters). Knows nothing of where the texts come from.

use std::collections::HashMap;

/// BM25's usual constants: how soon more of a word stops counting, how much length counts against a text.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The terms of a text, in order: identifiers in lower case, their camelCase and snake_case parts, CJK characters in pairs.
pub fn terms(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut wide: Vec<char> = Vec::new();
    for c in text.chars().chain([' ']) {
        if is_wide(c) {
            add_word(&mut out, &mut word);
            wide.push(c);
            continue;
        }
        if !wide.is_empty() {
            out.extend(wide.iter().map(char::to_string));
            out.extend(wide.windows(2).map(|pair| pair.iter().collect::<String>()));
            wide.clear();
        }
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            add_word(&mut out, &mut word);
        }
    }
    out
}

fn add_word(out: &mut Vec<String>, word: &mut String) {
    if word.is_empty() {
        return;
    }
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut before = '_';
    let chars: Vec<char> = word.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let next_small = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        let turns = c.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_small)
            || c.is_numeric() != before.is_numeric() && before != '_';
        if (c == '_' || turns) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if c != '_' {
            part.extend(c.to_lowercase());
        }
        before = c;
    }
    if !part.is_empty() {
        parts.push(part);
    }
    let whole = word.trim_matches('_').to_lowercase();
    if parts.len() > 1 {
        out.append(&mut parts);
    }
    if !whole.is_empty() {
        out.push(whole);
    }
    word.clear();
}

fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// The texts that hold a term of `query`, best first, with their score; equal ones the newest (last) first.
pub fn rank<'a>(texts: impl Iterator<Item = &'a str>, query: &str) -> Vec<(usize, f64)> {
    let mut wanted: Vec<String> = terms(query);
    wanted.sort();
    wanted.dedup();
    let index: HashMap<&str, usize> =
        wanted.iter().enumerate().map(|(at, term)| (term.as_str(), at)).collect();
    let mut counts: Vec<(Vec<u32>, usize)> = Vec::new();
    let mut holding = vec![0u32; wanted.len()];
    for text in texts {
        let found = terms(text);
        let mut count = vec![0u32; wanted.len()];
        for term in &found {
            if let Some(&at) = index.get(term.as_str()) {
                count[at] += 1;
            }
        }
        for (at, count) in count.iter().enumerate() {
            holding[at] += u32::from(*count > 0);
        }
        counts.push((count, found.len()));
    }
    let total = counts.len() as f64;
    let mean = counts.iter().map(|(_, length)| *length as f64).sum::<f64>() / total.max(1.0);
    let mut ranked: Vec<(usize, f64)> = counts
        .iter()
        .enumerate()
        .filter_map(|(number, (count, length))| {
            let score: f64 = count
                .iter()
                .zip(&holding)
                .filter(|(count, _)| **count > 0)
                .map(|(count, holding)| {
                    let holding = f64::from(*holding);
                    let rare = ((total - holding + 0.5) / (holding + 0.5) + 1.0).ln();
                    let often = f64::from(*count);
                    let length = 1.0 - B + B * *length as f64 / mean.max(1.0);
                    rare * often * (K1 + 1.0) / (often + K1 * length)
                })
                .sum();
            (score > 0.0).then_some((number, score))
        })
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_parts_and_cjk_has_pairs() {
        assert_eq!(
            terms("parseHTTPBody x_max2"),
            ["parse", "http", "body", "parsehttpbody", "x", "max", "2", "x_max2"]
        );
        assert_eq!(terms("設計書 ok"), ["設", "計", "書", "設計", "計書", "ok"]);
    }

    #[test]
    fn the_rarer_word_and_the_shorter_text_win() {
        let texts = ["the tokenBucket limit", "the limit of the limit", "the bucket", "設計の話", "nothing"];
        let order = |query| rank(texts.into_iter(), query).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(order("token bucket"), [0, 2]);
        assert_eq!(order("設計"), [3]);
        assert_eq!(order("absent"), Vec::<usize>::new());
    }
}
