//! What each entry could become (a pointer, part of a digest), what that saves, and the batches that do it;
//! the policy decides when. Digests keep verbatim lines of what they replace, but none for names in view in
//! an observation that stays, so digests mention each name only once.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::batch::Batch;
use super::cache_model::RewriteCandidate;
use super::fold::{self, FoldRange};
use super::thresholds::Thresholds;
use super::working_set;
use crate::compress::{identifiers, telling_lines, tool_result};
use crate::history::entry::{self, HistoryEntry};
use crate::history::manager::HistoryManager;
use crate::history::references;
use crate::session::record::{Cause, FormName};
use crate::tokens::estimate;
use base::model::item::{Item, ItemId};

const POINTER_TOKENS: u32 = 40;
/// Recreated digests keep at least this share of the lines they would have had, whatever the landing.
const LEAST_LINES: f64 = 0.2;
/// Tokens that a line in a digest costs on top of its own.
const LINE_TOKENS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rewrite {
    Keep,
    Point,
    /// Part of the fold range with this index.
    Fold(usize),
}

pub struct RewritePlan<'a> {
    entries: &'a [HistoryEntry],
    limits: &'a Thresholds,
    rewrites: Vec<Rewrite>,
    /// One per entry; a fold range counts as one, under its first entry.
    pub candidates: Vec<RewriteCandidate>,
    ranges: Vec<FoldRange>,
    /// Tokens for the lines of all digests together; if `None`, each digest has its own budget.
    lines_tokens: Option<u64>,
}

impl<'a> RewritePlan<'a> {
    pub fn of(history: &'a HistoryManager, limits: &'a Thresholds) -> Self {
        let mut plan = Self::unfolded(history, limits, false);
        let estimate = |part: &[HistoryEntry]| {
            fold::head_estimate(part, limits) + fold::lines_budget(part, limits) * 2 / 3
        };
        plan.add_folds(history, estimate);
        plan.add_pointers(history);
        plan
    }

    /// Everything dispensable in its smaller form, all digests recreated, to leave about `landing` tokens.
    pub fn anew(history: &'a HistoryManager, limits: &'a Thresholds, landing: u64) -> Self {
        let mut plan = Self::unfolded(history, limits, true);
        plan.add_folds(history, |part| u64::from(estimate::estimate(&fold::head(part, limits.words_chars))));
        plan.add_pointers(history);
        let folded = plan.ranges.iter().enumerate().filter(|(number, _)| plan.is_folded(*number));
        let most: u64 =
            folded.map(|(_, fold)| fold::lines_budget(&plan.entries[fold.range.clone()], limits)).sum();
        let least = (most as f64 * LEAST_LINES) as u64;
        plan.lines_tokens = Some(landing.saturating_sub(plan.left()).clamp(least, most));
        plan
    }

    pub fn left(&self) -> u64 {
        self.candidates.iter().map(|candidate| candidate.then).sum::<u64>() + self.lines_tokens.unwrap_or(0)
    }

    fn is_folded(&self, number: usize) -> bool {
        self.rewrites[self.ranges[number].range.start] == Rewrite::Fold(number)
    }

    fn unfolded(history: &'a HistoryManager, limits: &'a Thresholds, again: bool) -> Self {
        let entries = history.entries();
        let candidates = entries.iter().map(|entry| RewriteCandidate::stays(entry.tokens())).collect();
        let ranges = fold::foldable(history, limits, again);
        let rewrites = vec![Rewrite::Keep; entries.len()];
        Self { entries, limits, rewrites, candidates, ranges, lines_tokens: None }
    }

    fn referenced(&self, history: &HistoryManager) -> HashSet<ItemId> {
        references::referenced(self.entries, history.requests(), self.limits.set_requests)
    }

    fn add_folds(&mut self, history: &HistoryManager, estimate: impl Fn(&[HistoryEntry]) -> u64) {
        let referenced = self.referenced(history);
        for (number, fold) in self.ranges.iter().enumerate() {
            let part = &self.entries[fold.range.clone()];
            let tokens = entry::tokens_of(part);
            let then = estimate(part);
            if part.iter().any(|entry| entry.pinned || referenced.contains(&entry.id)) || then >= tokens {
                continue;
            }
            for index in fold.range.clone() {
                self.rewrites[index] = Rewrite::Fold(number);
                self.candidates[index] = RewriteCandidate { now: 0, then: 0, overdue: 0 };
            }
            self.candidates[fold.range.start] = RewriteCandidate { now: tokens, then, overdue: fold.overdue };
        }
    }

    fn add_pointers(&mut self, history: &HistoryManager) {
        let limits = self.limits;
        let now = history.requests();
        let referenced = self.referenced(history);
        let kept = working_set::protected(self.entries, now, limits.set_requests, limits.set_tokens);
        let stale = working_set::superseded(self.entries);
        for (index, entry) in self.entries.iter().enumerate() {
            let age = now.saturating_sub(entry.arrived_at);
            let smaller = entry.form() < FormName::Pointer && entry.tokens() > POINTER_TOKENS;
            let free = !entry.pinned && !kept.contains(&entry.id) && !referenced.contains(&entry.id);
            if self.rewrites[index] == Rewrite::Keep
                && stale.contains(&entry.id)
                && age >= limits.fresh
                && smaller
                && free
            {
                self.rewrites[index] = Rewrite::Point;
                self.candidates[index] = RewriteCandidate {
                    now: u64::from(entry.tokens()),
                    then: u64::from(POINTER_TOKENS),
                    overdue: age - limits.fresh,
                };
            }
        }
    }

    /// The index after what belongs to the entry at `index`: a range is folded as a unit.
    pub fn end_of(&self, index: usize) -> usize {
        match self.rewrites[index] {
            Rewrite::Fold(number) => self.ranges[number].range.end,
            _ => index + 1,
        }
    }

    fn names_in_view(&self, chosen: &Range<usize>) -> HashSet<&'a str> {
        let stays = |(index, entry): (usize, &'a HistoryEntry)| {
            let rewritten = chosen.contains(&index) && self.rewrites[index] != Rewrite::Keep;
            let observed = matches!(&*entry.item, Item::ToolResult(_)) || entry.form() == FormName::Folded;
            (!rewritten && observed).then(|| entry.text())
        };
        self.entries.iter().enumerate().filter_map(stays).flat_map(identifiers::names).collect()
    }

    fn lines_together(&self, tokens: u64, in_view: &HashSet<&str>) -> Vec<Vec<&'a str>> {
        let folded = (0..self.ranges.len()).filter(|number| self.is_folded(*number));
        let lines: Vec<(usize, &str)> = folded
            .flat_map(|number| {
                let part = &self.entries[self.ranges[number].range.clone()];
                fold::lines(part).map(move |line| (number, line))
            })
            .collect();
        let texts: Vec<&str> = lines.iter().map(|(_, line)| *line).collect();
        let mut by_range = vec![Vec::new(); self.ranges.len()];
        for at in telling_lines::choose(&texts, in_view.iter().copied(), tokens, LINE_TOKENS) {
            by_range[lines[at].0].push(lines[at].1);
        }
        by_range
    }

    pub fn batches(&self, chosen: Range<usize>, cause: &Cause) -> Vec<Batch> {
        let in_view = self.names_in_view(&chosen);
        let together = self.lines_tokens.map(|tokens| self.lines_together(tokens, &in_view));
        let mut pointed: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut folded: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut gone: Vec<ItemId> = Vec::new();
        for index in chosen.clone() {
            let entry = &self.entries[index];
            match (self.rewrites[index], &*entry.item) {
                (Rewrite::Point, Item::ToolResult(result)) => {
                    pointed.push((entry.id, tool_result::pointer(entry.id, result).into()));
                }
                (Rewrite::Fold(number), _) => {
                    let range = self.ranges[number].range.clone();
                    if range.start == index {
                        let part = &self.entries[range];
                        let head = fold::head(part, self.limits.words_chars);
                        let lines = match &together {
                            Some(lines) => lines[number].clone(),
                            None => {
                                let seen = identifiers::names(&head).chain(in_view.iter().copied());
                                let lines: Vec<&str> = fold::lines(part).collect();
                                let budget = fold::lines_budget(part, self.limits);
                                let kept = telling_lines::choose(&lines, seen, budget, LINE_TOKENS);
                                kept.into_iter().map(|at| lines[at]).collect()
                            }
                        };
                        let digest = fold::digest(head, &lines);
                        if entry.form() != FormName::Folded || entry.text() != digest {
                            folded.push((entry.id, digest.into()));
                        }
                    } else if range.start >= chosen.start && entry.form() != FormName::Gone {
                        gone.push(entry.id);
                    }
                }
                _ => {}
            }
        }
        let with_texts = |texts, form| Batch::with_texts(texts, form, cause.clone());
        let mut batches = vec![
            with_texts(pointed, FormName::Pointer),
            with_texts(folded, FormName::Folded),
            Batch::plain(gone, FormName::Gone, cause.clone()),
        ];
        batches.retain(|batch| !batch.items.is_empty());
        batches
    }
}
