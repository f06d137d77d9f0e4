//! Thresholds for `eco`, `default` and `high`, which differ in how much of the past stays verbatim. Found by
//! trials over recorded sessions (`mycode replay --trace`, `--set`); `mycode help replay` has results for sources left out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use base::config::settings::{ContextSettings, Profile, TINY_WINDOW_TOKENS};

const WIDE_WINDOW_TOKENS: u64 = 100_000;

/// Ages are in requests, sizes in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// The largest output of each kind that is sent in full on arrival.
    pub run_tokens: u32,
    /// Output of Read, of edits, and of commands that show files or a diff.
    pub view_tokens: u32,
    pub search_tokens: u32,
    /// Output of sub-agents, web pages and MCP servers.
    pub other_tokens: u32,
    /// How long an item stays complete after a later result refers to it.
    pub fresh_requests: u64,
    /// Younger calls are folded only when they must be.
    pub keep_requests: u64,
    /// The newest view of a file is spared so long, within `view_budget`; after an edit only for `alone_requests`.
    pub view_requests: u64,
    pub view_budget: u64,
    pub alone_requests: u64,
    /// A view this old at the last rewrite isn't spared again, unless its file is being edited.
    pub unused_requests: u64,
    /// Factors for the age of these views, relative to other results.
    pub edited_weight: f64,
    pub read_weight: f64,
    /// Limits for the agent's words in a note, and for recent and older notes.
    pub words_tokens: u32,
    pub note_tokens: u64,
    pub old_note_tokens: u64,
    pub closing_turns: usize,
    /// Above `soft_cap` the history is folded down to `landing`.
    pub soft_cap: u64,
    pub landing: u64,
    /// Newest views stop leaving at this percentage of the soft cap.
    pub view_share: u64,
    /// Landing sizes with an expired cache, and at the user's turn.
    pub cold_landing: u64,
    pub turn_landing: u64,
    /// Tokens that a rewrite must save at the user's turn, and with an expired cache.
    pub epoch_saves: u64,
    pub cold_epoch_saves: u64,
    pub epoch_requests: u64,
}

impl Thresholds {
    /// The thresholds for a window of `window` tokens; in a small one the sizes shrink with it.
    pub fn of(profile: Profile, window: u64) -> Self {
        let column = match profile {
            Profile::Eco => 0,
            Profile::Default => 1,
            Profile::High => 2,
        };
        let small = |tokens: [u32; 3], share: u64| {
            tokens[column].min(u32::try_from(window / share).unwrap_or(u32::MAX))
        };
        // The views of a few files would fill a small window; one of 32k has no room for them.
        let is_small = window < WIDE_WINDOW_TOKENS;
        let keeps_views = is_small && window >= 3 * TINY_WINDOW_TOKENS && profile != Profile::Eco;
        // Arrays are eco, default, high.
        Self {
            run_tokens: small([2_000, 2_500, 4_000], 8),
            view_tokens: small([30_000; 3], 3),
            search_tokens: small([2_000, 2_500, 3_000], 8),
            other_tokens: small([4_000, 8_000, 12_000], 12),
            fresh_requests: 3,
            keep_requests: [2, 2, 3][column].min(window / 8_000).max(1),
            view_requests: 60,
            view_budget: if keeps_views {
                window / 2
            } else {
                [24_000, 48_000, 64_000][column].min(window * 3 / 8)
            },
            alone_requests: 10,
            unused_requests: if keeps_views { 10 } else { 5 },
            edited_weight: 0.02,
            read_weight: 0.1,
            words_tokens: small([400, 600, 800], 60),
            note_tokens: [1_200, 1_600, 2_000][column].min(window / 20),
            old_note_tokens: [300, 400, 500][column].min(window / 80),
            closing_turns: [1, 3, 3][column],
            soft_cap: [90_000, 95_000, 100_000][column].min(window * 85 / 100),
            view_share: if is_small { 80 } else { [0, 30, 40][column] },
            landing: if keeps_views { window / 2 } else { [16_000, 20_000, 30_000][column].min(window / 2) },
            cold_landing: [10_000, 16_000, 25_000][column].min(window / 2),
            turn_landing: [20_000, 30_000, 35_000][column].min(window / 2),
            epoch_saves: [10_000, 14_000, 16_000][column].min(window / 8),
            cold_epoch_saves: if is_small { window * 3 / 16 } else { [3_000, 3_000, 4_000][column] },
            epoch_requests: [20, 20, 25][column],
        }
    }

    pub fn of_settings(settings: &ContextSettings) -> Self {
        Self::of(settings.profile, settings.window_tokens)
    }

    pub fn with(self, name: &str, value: f64) -> Option<Self> {
        let mut all = serde_json::to_value(self).ok()?;
        let old = all.get_mut(name)?;
        *old = if old.is_f64() { Value::from(value) } else { Value::from(value as u64) };
        serde_json::from_value(all).ok()
    }
}
