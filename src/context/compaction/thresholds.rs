//! What `eco`, `default` and `high` mean: one row of thresholds each. They differ in how much of the past stays word for
//! word, not in the rules. Found on recorded sessions with `mycode replay --trace` (`shared/CONTEXT.md` has the findings).

use crate::config::settings::Profile;

/// The thresholds of one profile. Ages are in requests, sizes in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The largest command output, file view, search result and other result that is taken up whole.
    pub run_tokens: u32,
    pub view_tokens: u32,
    pub search_tokens: u32,
    pub other_tokens: u32,
    /// Observations younger than this are never touched: what was just seen is about to be used.
    pub fresh: u64,
    /// The newest view of a file stays whole this long, all of them up to this size (80 % of what edits quote is from
    /// the last 3 requests, 92 % from the last 20).
    pub set_requests: u64,
    pub set_tokens: u64,
    /// Size of a mask as a share of what it masks, and the size under which masking is not worth a pointer.
    pub mask_share: f64,
    pub mask_from_tokens: u32,
    /// Age at which an observation is masked.
    pub mask_after: u64,
    /// Size of the index of names in a mask or digest, as a share of what it stands for.
    pub names_share: f64,
    /// Arguments of old calls (written files, replaced text) are masked at this age.
    pub args_after: u64,
    /// Finished turns that stay as they are; older ones are folded.
    pub fold_turns: usize,
    /// Steps older than this are folded even inside the running turn.
    pub fold_steps: u64,
    /// Characters that a digest keeps of each of the agent's messages.
    pub words_chars: usize,
    /// Above this size a batch is made whether or not it pays, and it lands under the second.
    pub soft_cap: u64,
    pub landing: u64,
}

const ECO: Thresholds = Thresholds {
    run_tokens: 4_000,
    view_tokens: 12_000,
    search_tokens: 3_000,
    other_tokens: 4_000,
    fresh: 5,
    set_requests: 15,
    set_tokens: 24_000,
    mask_share: 0.2,
    mask_from_tokens: 120,
    mask_after: 20,
    names_share: 0.2,
    args_after: 15,
    fold_turns: 2,
    fold_steps: 40,
    words_chars: 600,
    soft_cap: 52_000,
    landing: 36_000,
};

const DEFAULT: Thresholds = Thresholds {
    run_tokens: 6_000,
    view_tokens: 16_000,
    search_tokens: 5_000,
    other_tokens: 6_000,
    fresh: 5,
    set_requests: 15,
    set_tokens: 24_000,
    mask_share: 0.35,
    mask_from_tokens: 150,
    mask_after: 50,
    names_share: 0.25,
    args_after: 25,
    fold_turns: 4,
    fold_steps: 60,
    words_chars: 1000,
    soft_cap: 60_000,
    landing: 48_000,
};

const HIGH: Thresholds = Thresholds {
    run_tokens: 16_000,
    view_tokens: 32_000,
    search_tokens: 16_000,
    other_tokens: 16_000,
    fresh: 15,
    set_requests: 25,
    set_tokens: 32_000,
    mask_share: 0.35,
    mask_from_tokens: 250,
    mask_after: 150,
    names_share: 0.7,
    args_after: 200,
    fold_turns: 16,
    fold_steps: 200,
    words_chars: 8000,
    soft_cap: 82_000,
    landing: 74_000,
};

impl Thresholds {
    /// The thresholds of `profile` in a window of `window` tokens: in a small one the sizes shrink with it.
    pub fn of(profile: Profile, window: u64) -> Self {
        let row = match profile {
            Profile::Eco => ECO,
            Profile::Default => DEFAULT,
            Profile::High => HIGH,
        };
        let small = |tokens: u32, share: u64| tokens.min(u32::try_from(window / share).unwrap_or(u32::MAX));
        Self {
            run_tokens: small(row.run_tokens, 8),
            view_tokens: small(row.view_tokens, 6),
            search_tokens: small(row.search_tokens, 8),
            other_tokens: small(row.other_tokens, 8),
            set_tokens: row.set_tokens.min(window / 4),
            soft_cap: row.soft_cap.min(window * 7 / 10),
            landing: row.landing.min(window * 4 / 10),
            ..row
        }
    }

    /// The next step when a batch does not land: younger text may go.
    pub fn tighter(self) -> Self {
        Self {
            fresh: (self.fresh / 2).max(1),
            set_requests: self.set_requests / 2,
            set_tokens: self.set_tokens / 2,
            mask_share: self.mask_share * 0.6,
            mask_after: self.mask_after / 2,
            names_share: self.names_share * 0.6,
            args_after: self.args_after / 2,
            fold_turns: self.fold_turns.saturating_sub(1),
            fold_steps: (self.fold_steps / 2).max(4),
            words_chars: (self.words_chars * 2 / 3).max(160),
            ..self
        }
    }
}
