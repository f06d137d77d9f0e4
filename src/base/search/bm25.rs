//! BM25F over a small in-memory set of documents, each with a few weighted fields.

use std::collections::{HashMap, HashSet};

use super::words::{self, Term};

/// How soon repetitions of a term stop counting (Robertson's usual values).
const SATURATION: f64 = 1.2;
/// How much long documents are penalized, 0–1.
const LENGTH_PENALTY: f64 = 0.75;

pub fn rarity(of: usize, total: usize) -> f32 {
    let (of, total) = (of as f32, total as f32);
    (1.0 + (total - of + 0.5).max(0.0) / (of + 0.5)).ln()
}

#[derive(Debug, Default)]
struct Document {
    counts: HashMap<Box<str>, f32>,
    length: f32,
}

/// Documents are numbered in insertion order.
#[derive(Debug, Default)]
pub struct Corpus {
    documents: Vec<Document>,
    containing: HashMap<Box<str>, u32>,
    total_length: f64,
    interest: Option<HashSet<Box<str>>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScoredDocument {
    pub document: usize,
    pub score: f64,
    /// Positions of the matching terms in the query.
    pub matched: Vec<usize>,
}

impl Corpus {
    /// Supports only queries for these terms, which saves memory.
    pub fn only(query: &[Term]) -> Self {
        let interest = query.iter().map(|term| term.text.as_str().into()).collect();
        Self { interest: Some(interest), ..Self::default() }
    }

    pub fn add(&mut self, fields: &[(f32, &str)]) {
        let mut document = Document::default();
        for (weight, text) in fields {
            words::each(text, |term, _| {
                document.length += 1.0;
                if self.interest.as_ref().is_some_and(|interest| !interest.contains(term)) {
                    return;
                }
                *document.counts.entry(term.into()).or_default() += weight;
            });
        }
        for term in document.counts.keys() {
            *self.containing.entry(term.clone()).or_default() += 1;
        }
        self.total_length += f64::from(document.length);
        self.documents.push(document);
    }

    pub fn holding(&self, term: &str) -> u32 {
        self.containing.get(term).copied().unwrap_or(0)
    }

    pub fn score(&self, document: usize, term: &str) -> f64 {
        let Some(document) = self.documents.get(document) else { return 0.0 };
        let Some(count) = document.counts.get(term) else { return 0.0 };
        let mean_length = (self.total_length / self.documents.len() as f64).max(1.0);
        let norm = 1.0 - LENGTH_PENALTY + LENGTH_PENALTY * f64::from(document.length) / mean_length;
        let (count, rarity) = (f64::from(*count), rarity(self.holding(term) as usize, self.documents.len()));
        f64::from(rarity) * count * (SATURATION + 1.0) / (count + SATURATION * norm)
    }

    pub fn rank(&self, query: &[Term]) -> Vec<ScoredDocument> {
        let hit = |document| {
            let scores: Vec<f64> = query.iter().map(|term| self.score(document, &term.text)).collect();
            let matched = (0..query.len()).filter(|place| scores[*place] > 0.0).collect();
            ScoredDocument { document, score: scores.iter().sum(), matched }
        };
        let all = (0..self.documents.len()).map(hit);
        let mut hits: Vec<ScoredDocument> = all.filter(|hit| !hit.matched.is_empty()).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_terms_and_strong_fields() {
        let mut corpus = Corpus::default();
        corpus.add(&[(3.0, "cache"), (1.0, "notes about the server and its cache")]);
        corpus.add(&[(3.0, "server"), (1.0, "the server restarts; clear the cache of the proxy")]);
        corpus.add(&[(3.0, "server limits"), (1.0, "rate limits of the server")]);
        let order = |query: &str| -> Vec<usize> {
            corpus.rank(&words::telling(query)).into_iter().map(|hit| hit.document).collect()
        };
        assert_eq!(order("cache"), [0, 1]);
        assert_eq!(order("rate limit of the server")[0], 2);
        assert_eq!(order("zebra"), Vec::<usize>::new());
        assert_eq!(corpus.rank(&words::telling("proxy cache"))[0].matched.len(), 2);

        let query = words::telling("rate limit of the server");
        let mut narrow = Corpus::only(&query);
        narrow.add(&[(3.0, "cache"), (1.0, "notes about the server and its cache")]);
        narrow.add(&[(3.0, "server"), (1.0, "the server restarts; clear the cache of the proxy")]);
        narrow.add(&[(3.0, "server limits"), (1.0, "rate limits of the server")]);
        assert_eq!(narrow.rank(&query), corpus.rank(&query));
    }

    #[test]
    fn text_without_spaces() {
        let mut corpus = Corpus::default();
        corpus.add(&[(1.0, "数据库连接超时")]);
        corpus.add(&[(1.0, "缓存设计")]);
        assert_eq!(corpus.rank(&words::telling("连接超时怎么办"))[0].document, 0);
        assert_eq!(corpus.rank(&words::telling("缓存"))[0].document, 1);
    }
}
