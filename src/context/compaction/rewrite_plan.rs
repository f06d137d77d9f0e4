//! What each entry of the history could become (masked, a pointer, part of a digest) and what that would save; and the
//! batches that carry out a part of it. Decides nothing about when: that is the policy's.
//!
//! What is left out is stood for by lines of it, word for word. A name that stands in an observation which stays in view needs
//! no other line; so the digests of one batch, and those of earlier batches, tell each name once.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::batch::Batch;
use super::cache_model::RewriteCandidate;
use super::fold::{self, FoldRange};
use super::thresholds::Thresholds;
use super::working_set;
use crate::context::compress::{identifiers, mask, telling_lines, tool_result};
use crate::context::history::entry::{self, Entry};
use crate::context::history::manager::HistoryManager;
use crate::context::history::references;
use crate::model::item::{Item, ItemId};
use crate::session::record::FormName;

/// About how many tokens a pointer takes.
const POINTER_TOKENS: u32 = 40;
/// Digests that are made anew keep at least this share of the lines that they would have had, whatever the landing.
const LEAST_LINES: f64 = 0.2;
/// A line in a digest costs so many tokens beside its own.
const LINE_TOKENS: u32 = 2;

/// What one entry may become.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rewrite {
    Keep,
    Mask,
    Point,
    /// Part of the fold range with this index.
    Fold(usize),
}

/// What each entry could become, by the thresholds of a profile.
pub struct RewritePlan<'a> {
    entries: &'a [Entry],
    limits: &'a Thresholds,
    rewrites: Vec<Rewrite>,
    /// One for each entry; a fold range counts as a whole, under its first entry.
    pub candidates: Vec<RewriteCandidate>,
    ranges: Vec<FoldRange>,
    /// Tokens for the lines of all digests together, chosen among all; else each digest has its own.
    lines_tokens: Option<u64>,
}

impl<'a> RewritePlan<'a> {
    pub fn of(history: &'a HistoryManager, limits: &'a Thresholds) -> Self {
        let mut plan = Self::unfolded(history, limits, false);
        let estimate =
            |part: &[Entry]| fold::head_estimate(part, limits) + fold::lines_budget(part, limits) * 2 / 3;
        plan.add_folds(history, estimate);
        plan.add_single(history);
        plan
    }

    /// Everything dispensable in its smaller form, and all digests made anew, so that about `landing` tokens are left.
    pub fn anew(history: &'a HistoryManager, limits: &'a Thresholds, landing: u64) -> Self {
        let mut plan = Self::unfolded(history, limits, true);
        plan.add_folds(history, |part| fold::head_estimate(part, limits));
        plan.add_single(history);
        let folded = plan.ranges.iter().enumerate().filter(|(number, _)| plan.is_folded(*number));
        let most: u64 =
            folded.map(|(_, fold)| fold::lines_budget(&plan.entries[fold.range.clone()], limits)).sum();
        let least = (most as f64 * LEAST_LINES) as u64;
        plan.lines_tokens = Some(landing.saturating_sub(plan.left()).clamp(least, most));
        plan
    }

    /// About how many tokens of the history are left.
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

    fn add_folds(&mut self, history: &HistoryManager, estimate: impl Fn(&[Entry]) -> u64) {
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

    fn add_single(&mut self, history: &HistoryManager) {
        let limits = self.limits;
        let now = history.requests();
        let referenced = self.referenced(history);
        let kept = working_set::protected(self.entries, now, limits.set_requests, limits.set_tokens);
        let stale = working_set::superseded(self.entries);
        for (index, entry) in self.entries.iter().enumerate() {
            let age = now.saturating_sub(entry.arrived_at);
            if self.rewrites[index] != Rewrite::Keep || entry.pinned || age < limits.fresh {
                continue;
            }
            if kept.contains(&entry.id) || referenced.contains(&entry.id) {
                continue;
            }
            let tokens = entry.tokens();
            let maskable = |from_age: u64, from_tokens: u32| {
                age >= from_age && entry.form() < FormName::Masked && tokens >= from_tokens
            };
            let (rewrite, then, from) = match &*entry.item {
                Item::ToolResult(_) if entry.form() < FormName::Pointer && stale.contains(&entry.id) => {
                    (Rewrite::Point, POINTER_TOKENS, limits.fresh)
                }
                Item::ToolResult(_) if maskable(limits.mask_after, limits.mask_from_tokens) => {
                    let names = (f64::from(tokens) * limits.lines_share) as u32;
                    (Rewrite::Mask, mask_budget(tokens, limits) + names + 20, limits.mask_after)
                }
                Item::ToolCall(_) if maskable(limits.args_after, limits.mask_from_tokens * 2) => {
                    (Rewrite::Mask, mask_budget(tokens, limits) + 40, limits.args_after)
                }
                _ => continue,
            };
            if then < tokens {
                self.rewrites[index] = rewrite;
                self.candidates[index] = RewriteCandidate {
                    now: u64::from(tokens),
                    then: u64::from(then),
                    overdue: age - from.min(age),
                };
            }
        }
    }

    /// Behind what belongs to the entry at `index`: a range is folded as a whole.
    pub fn end_of(&self, index: usize) -> usize {
        match self.rewrites[index] {
            Rewrite::Fold(number) => self.ranges[number].range.end,
            _ => index + 1,
        }
    }

    /// The names in observations, and in lines of them, that the rewriting of `chosen` leaves in view.
    fn names_in_view(&self, chosen: &Range<usize>) -> HashSet<&'a str> {
        let stays = |(index, entry): (usize, &'a Entry)| {
            let rewritten = chosen.contains(&index) && self.rewrites[index] != Rewrite::Keep;
            let observed = matches!(&*entry.item, Item::ToolResult(_)) || entry.form() == FormName::Folded;
            (!rewritten && observed).then(|| entry.text())
        };
        self.entries.iter().enumerate().filter_map(stays).flat_map(identifiers::names).collect()
    }

    /// The lines for the digest of each range.
    fn lines_together(&self, tokens: u64, in_view: &HashSet<&str>) -> Vec<Vec<&'a str>> {
        let folded = (0..self.ranges.len()).filter(|number| self.is_folded(*number));
        let lines: Vec<(usize, &str)> = folded
            .flat_map(|number| {
                let part = &self.entries[self.ranges[number].range.clone()];
                fold::result_lines(part).map(move |line| (number, line))
            })
            .collect();
        let mut used = NamesUsed::of(self.entries);
        let seen = in_view.iter().copied().chain(used.since(ItemId(0)).iter().copied());
        let texts: Vec<&str> = lines.iter().map(|(_, line)| *line).collect();
        let mut by_range = vec![Vec::new(); self.ranges.len()];
        for at in telling_lines::choose(&texts, seen, tokens, LINE_TOKENS) {
            by_range[lines[at].0].push(lines[at].1);
        }
        by_range
    }

    /// The batches that rewrite the entries in `chosen`.
    pub fn batches(&self, chosen: Range<usize>, cause: &str) -> Vec<Batch> {
        let mut used = NamesUsed::of(self.entries);
        let in_view = self.names_in_view(&chosen);
        let together = self.lines_tokens.map(|tokens| self.lines_together(tokens, &in_view));
        let mut masked: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut pointed: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut folded: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut gone: Vec<ItemId> = Vec::new();
        // From the end, so that the names used behind an entry are gathered once and not for each entry anew.
        for index in chosen.clone().rev() {
            let entry = &self.entries[index];
            let budget = mask_budget(entry.tokens(), self.limits);
            match (self.rewrites[index], &*entry.item) {
                (Rewrite::Mask, Item::ToolCall(call)) => {
                    let args = mask::args(entry.id, call, budget);
                    masked.extend(args.map(|args| (entry.id, args.into())));
                }
                (Rewrite::Mask, _) => {
                    let names = (f64::from(entry.tokens()) * self.limits.lines_share) as u32;
                    let text =
                        mask::mask(entry.id, entry.text(), used.since(entry.id), &in_view, budget, names);
                    masked.extend(text.map(|text| (entry.id, text.into())));
                }
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
                                let used = used.since(part.last().map_or(entry.id, |last| last.id));
                                let seen = identifiers::names(&head).chain(used.iter().copied());
                                let seen = seen.chain(in_view.iter().copied());
                                let lines: Vec<&str> = fold::result_lines(part).collect();
                                let budget = fold::lines_budget(part, self.limits);
                                let kept = telling_lines::choose(&lines, seen, budget, LINE_TOKENS);
                                kept.into_iter().map(|at| lines[at]).collect()
                            }
                        };
                        folded.push((entry.id, fold::digest(head, &lines).into()));
                    } else if range.start >= chosen.start && entry.form() != FormName::Gone {
                        gone.push(entry.id);
                    }
                }
                _ => {}
            }
        }
        gone.reverse();
        let with_texts = |mut texts: Vec<(ItemId, Arc<str>)>, form| {
            texts.reverse();
            Batch::with_texts(texts, form, cause.to_owned())
        };
        let mut batches = vec![
            with_texts(masked, FormName::Masked),
            with_texts(pointed, FormName::Pointer),
            with_texts(folded, FormName::Folded),
            Batch::plain(gone, FormName::Gone, cause.to_owned()),
        ];
        batches.retain(|batch| !batch.items.is_empty());
        batches
    }
}

fn mask_budget(tokens: u32, limits: &Thresholds) -> u32 {
    (f64::from(tokens) * limits.mask_share) as u32
}

/// The names in messages and arguments, by item: what an observation is cited by.
struct NamesUsed<'a> {
    /// What has not been gathered yet, oldest first.
    texts: Vec<(ItemId, &'a str)>,
    gathered: HashSet<&'a str>,
}

impl<'a> NamesUsed<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let text = |entry: &'a Entry| {
            let text: &str = match &*entry.item {
                Item::Assistant { text, .. } => text,
                Item::ToolCall(call) => &call.args,
                Item::User(message) => &message.text,
                _ => return None,
            };
            Some((entry.id, text))
        };
        Self { texts: entries.iter().filter_map(text).collect(), gathered: HashSet::new() }
    }

    /// Names used behind `id`; to be asked from the newest entry to the oldest.
    fn since(&mut self, id: ItemId) -> &HashSet<&'a str> {
        while let Some((_, text)) = self.texts.pop_if(|(at, _)| *at > id) {
            self.gathered.extend(identifiers::identifiers(text));
        }
        &self.gathered
    }
}
