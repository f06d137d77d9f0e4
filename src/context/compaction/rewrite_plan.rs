//! What each entry of the history could become (masked, a pointer, part of a digest) and what that would save; and the
//! batches that carry out a part of it. Decides nothing about when: that is the policy's.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::batch::Batch;
use super::cache_model::RewriteCandidate;
use super::fold::{self, FoldRange};
use super::thresholds::Thresholds;
use super::working_set;
use crate::context::compress::{identifiers, mask, tool_result};
use crate::context::history::entry::{self, Entry};
use crate::context::history::manager::HistoryManager;
use crate::context::history::references;
use crate::model::item::{Item, ItemId};
use crate::session::record::FormName;

/// About how many tokens a pointer takes.
const POINTER_TOKENS: u32 = 40;

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
}

impl<'a> RewritePlan<'a> {
    pub fn of(history: &'a HistoryManager, limits: &'a Thresholds) -> Self {
        let entries = history.entries();
        let now = history.requests();
        let candidates = entries.iter().map(|entry| RewriteCandidate::stays(entry.tokens())).collect();
        let ranges = fold::foldable(history, limits);
        let rewrites = vec![Rewrite::Keep; entries.len()];
        let mut plan = Self { entries, limits, rewrites, candidates, ranges };
        let referenced = references::referenced(entries, now, limits.set_requests);
        plan.add_folds(&referenced);
        plan.add_single(now, &referenced);
        plan
    }

    fn add_folds(&mut self, referenced: &HashSet<ItemId>) {
        for (number, fold) in self.ranges.iter().enumerate() {
            let part = &self.entries[fold.range.clone()];
            let tokens = entry::tokens_of(part);
            let then = fold::digest_estimate(part, self.limits);
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

    fn add_single(&mut self, now: u64, referenced: &HashSet<ItemId>) {
        let limits = self.limits;
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

    /// The batches that rewrite the entries in `chosen`.
    pub fn batches(&self, chosen: Range<usize>, cause: &str) -> Vec<Batch> {
        let mut used = NamesUsed::of(self.entries);
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
                    let text = mask::mask(entry.id, entry.text(), used.since(entry.id), budget, names);
                    masked.extend(text.map(|text| (entry.id, text.into())));
                }
                (Rewrite::Point, Item::ToolResult(result)) => {
                    pointed.push((entry.id, tool_result::pointer(entry.id, result).into()));
                }
                (Rewrite::Fold(number), _) => {
                    let range = self.ranges[number].range.clone();
                    if range.start == index {
                        let part = &self.entries[range];
                        let used = used.since(part.last().map_or(entry.id, |last| last.id));
                        let names = fold::lines_budget(part, self.limits);
                        let digest = fold::digest(part, used, self.limits.words_chars, names);
                        folded.push((entry.id, digest.into()));
                    } else if range.start >= chosen.start {
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
