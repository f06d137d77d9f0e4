//! What `eco`, `default` and `high` mean: thresholds. They differ in how much of the past stays word for word, not in the
//! rules. Found on recorded sessions with `mycode replay --trace` (`shared/CONTEXT.md` has the findings).

use crate::config::settings::Profile;

/// The thresholds of one profile. Ages are in requests, sizes in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The largest command output, file view, search result and other result that is sent whole.
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
    pub forced_cap: u64,
    pub forced_landing: u64,
}

pub fn tune(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

impl Thresholds {
    /// The thresholds of `profile` in a window of `window` tokens: in a small one the sizes shrink with it.
    pub fn of(profile: Profile, window: u64) -> Self {
        let column = match profile {
            Profile::Eco => 0,
            Profile::Default => 1,
            Profile::High => 2,
        };
        let small = |tokens: [u32; 3], share: u64| {
            tokens[column].min(u32::try_from(window / share).unwrap_or(u32::MAX))
        };
        // Each as eco, default, high.
        Self {
            run_tokens: small([4_000, 6_000, 16_000], 8),
            view_tokens: small([12_000, 16_000, 32_000], 6),
            search_tokens: small([3_000, 5_000, 16_000], 8),
            other_tokens: small([4_000, 6_000, 16_000], 8),
            fresh: tune("TFRESH", [5, 5, 15][column] as f64) as u64,
            set_requests: tune("TSETR", [15, 15, 25][column] as f64) as u64,
            set_tokens: (tune("TSETT", [24_000, 24_000, 32_000][column] as f64) as u64).min(window / 4),
            mask_share: tune("TMASK", [0.2, 0.35, 0.35][column]),
            mask_from_tokens: [120, 150, 250][column],
            mask_after: tune("TMASKA", [20, 50, 150][column] as f64) as u64,
            names_share: tune("TNAMES", [0.2, 0.25, 0.7][column]),
            args_after: tune("TARGS", [15, 25, 200][column] as f64) as u64,
            fold_turns: tune("TFT", [2, 4, 16][column] as f64) as usize,
            fold_steps: tune("TFS", [40, 60, 200][column] as f64) as u64,
            words_chars: tune("TWORDS", [600, 1_000, 8_000][column] as f64) as usize,
            soft_cap: (tune("TCAP", [52_000, 60_000, 82_000][column] as f64) as u64).min(window * 7 / 10),
            landing: (tune("TLAND", [36_000, 48_000, 74_000][column] as f64) as u64).min(window * 4 / 10),
            forced_cap: (tune("FCAP", 90_000.0) as u64).min(window * 7 / 10),
            forced_landing: (tune("FLAND", 40_000.0) as u64).min(window * 4 / 10),
        }
    }

    pub fn at_boundary(self) -> Self {
        Self {
            fresh: tune("BFRESH", self.fresh as f64) as u64,
            set_requests: tune("BSETR", self.set_requests as f64) as u64,
            set_tokens: tune("BSETT", self.set_tokens as f64) as u64,
            mask_share: tune("BMASK", self.mask_share),
            mask_after: tune("BMASKA", self.mask_after as f64) as u64,
            names_share: tune("BNAMES", self.names_share),
            args_after: tune("BARGS", self.args_after as f64) as u64,
            fold_turns: tune("BFT", self.fold_turns as f64) as usize,
            fold_steps: tune("BFS", self.fold_steps as f64) as u64,
            words_chars: tune("BWORDS", self.words_chars as f64) as usize,
            soft_cap: tune("BCAP", self.soft_cap as f64) as u64,
            landing: tune("BLAND", self.landing as f64) as u64,
            ..self
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
