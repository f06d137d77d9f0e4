//! Picks the lines with the most names not yet in view for their size. Verbatim lines represent a text better
//! than an index of names: they can be quoted, edited and found again. Pure.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::identifiers;
use crate::tokens::estimate::estimate;

const LINE_BYTES: usize = 480;

/// Ascending positions to keep in about `max_tokens`; each costs `frame` extra. `seen`: names in view.
pub fn choose<'a>(
    lines: &[&'a str],
    seen: impl IntoIterator<Item = &'a str>,
    max_tokens: u64,
    frame: u32,
) -> Vec<usize> {
    let mut covered: HashSet<&str> = seen.into_iter().collect();
    let mut known: HashSet<&str> = HashSet::new();
    let mut names: HashMap<usize, Vec<(&str, f64)>> = HashMap::new();
    let mut heap = BinaryHeap::new();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        if line.len() > LINE_BYTES || !known.insert(line) {
            continue;
        }
        let told: Vec<(&str, f64)> =
            identifiers::ranked(line).filter(|(name, _)| !covered.contains(name)).collect();
        if told.is_empty() {
            continue;
        }
        let tokens = estimate(line) + frame;
        heap.push(Candidate { density: density(&told, &covered, tokens), tokens, at });
        names.insert(at, told);
    }
    let (mut chosen, mut left) = (Vec::new(), max_tokens);
    while let Some(best) = heap.pop() {
        let Some(told) = names.get(&best.at).filter(|_| u64::from(best.tokens) <= left) else { continue };
        // Lines chosen since then may have brought its names.
        let now = density(told, &covered, best.tokens);
        if now <= 0.0 {
            continue;
        }
        if heap.peek().is_some_and(|next| now < next.density) {
            heap.push(Candidate { density: now, ..best });
            continue;
        }
        covered.extend(told.iter().map(|(name, _)| *name));
        left -= u64::from(best.tokens);
        chosen.push(best.at);
    }
    chosen.sort_unstable();
    chosen
}

fn density(told: &[(&str, f64)], covered: &HashSet<&str>, tokens: u32) -> f64 {
    let mut counted: Vec<&str> = Vec::with_capacity(told.len());
    let mut worth = 0.0;
    for (name, its) in told {
        if !covered.contains(name) && !counted.contains(name) {
            counted.push(name);
            worth += its;
        }
    }
    worth / f64::from(tokens.max(1))
}

struct Candidate {
    density: f64,
    tokens: u32,
    at: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.density.total_cmp(&other.density).then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_once() {
        let lines = [
            "a + b",
            "let total_sum = add_all(first_part, second_part);",
            "fn add_all(items: Vec)",
            "use other_module::OtherThing;",
        ];
        assert_eq!(choose(&lines, [], 1_000, 1), [1, 2, 3], "a line without names tells nothing");
        assert_eq!(choose(&lines, ["items", "add_all"], 1_000, 1), [1, 3]);
        assert_eq!(
            choose(&["let one_name = another_name(third_name);", "kappa"], [], 5, 1),
            [1],
            "what fits"
        );
        assert!(choose(&[], [], 10, 1).is_empty());
    }
}
