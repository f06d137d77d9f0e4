//! Thresholds for `eco`, `default` and `high`, which differ in how much of the past stays verbatim. Found by
//! a search over 101 recorded sessions (`mycode replay --trace`) that weighs cost against S1 and S2, over all
//! sessions and over those under 150 requests. The README has results for held-out sources.

use base::config::settings::Profile;

/// In smaller windows, a few steps fill what a batch has freed.
pub const NARROW_WINDOW_TOKENS: u64 = 64_000;
/// A session is short up to this many requests, and long from `LONG_SESSION` on.
const SHORT_SESSION: u64 = 40;
const LONG_SESSION: u64 = 240;

/// Ages are in requests, sizes in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The largest output of each kind that is sent in full.
    pub run_tokens: u32,
    pub view_tokens: u32,
    pub search_tokens: u32,
    pub other_tokens: u32,
    /// Younger observations are never touched: they are about to be used.
    pub fresh: u64,
    /// The newest view of a file stays in full this long, all together up to `set_tokens`.
    pub set_requests: u64,
    pub set_tokens: u64,
    /// Size of the kept lines of a digest, as a share of what it replaces.
    pub lines_share: f64,
    pub closing_turns: usize,
    /// Older steps are folded even inside the running turn.
    pub fold_steps: u64,
    pub words_chars: usize,
    /// Above `soft_cap` a batch is made whether or not it pays, and it lands below `landing`.
    pub soft_cap: u64,
    pub landing: u64,
    /// Where the history lands when the cache has expired and everything is read uncached.
    pub cold_landing: u64,
    /// With bound reasoning: tokens a new epoch must save, or with a cold cache; requests in the last epoch.
    pub epoch_saves: u64,
    pub cold_epoch_saves: u64,
    pub epoch_requests: u64,
}

impl Thresholds {
    /// The thresholds in a window of `window` tokens: in a small one the sizes shrink with it. After many
    /// `requests` more has been seen that may be needed again, so digests get more room.
    pub fn of(profile: Profile, window: u64, requests: u64) -> Self {
        let column = match profile {
            Profile::Eco => 0,
            Profile::Default => 1,
            Profile::High => 2,
        };
        let small = |tokens: [u32; 3], share: u64| {
            tokens[column].min(u32::try_from(window / share).unwrap_or(u32::MAX))
        };
        let grown = if window < NARROW_WINDOW_TOKENS {
            0.0
        } else {
            (requests.saturating_sub(SHORT_SESSION) as f64 / (LONG_SESSION - SHORT_SESSION) as f64).min(1.0)
        };
        let between =
            |short: [f64; 3], long: [f64; 3]| short[column] + grown * (long[column] - short[column]);
        let landing =
            |short, long| (between(short, long) as u64).min(window * if grown > 0.0 { 6 } else { 4 } / 10);
        // Each as eco, default, high.
        Self {
            run_tokens: small([2_000, 3_000, 6_000], 8),
            view_tokens: small([6_000, 7_000, 16_000], 6),
            search_tokens: small([2_000, 2_500, 3_000], 8),
            other_tokens: small([2_000, 3_000, 4_000], 8),
            fresh: 2,
            set_requests: 3,
            set_tokens: 24_000.min(window / 4),
            lines_share: between([0.1, 0.16, 0.35], [0.4, 1.0, 1.2]),
            closing_turns: [1, 3, 3][column],
            fold_steps: [4, 4, 5][column].min(window / 4_000).max(2),
            words_chars: [120, 120, 160][column],
            soft_cap: [60_000, 90_000, 90_000][column].min(window * 7 / 10),
            landing: landing([36_000.0, 36_000.0, 40_000.0], [45_000.0, 60_000.0, 70_000.0]),
            cold_landing: landing([24_000.0, 45_000.0, 45_000.0], [45_000.0, 70_000.0, 76_000.0]),
            epoch_saves: [10_000, 14_000, 16_000][column].min(window / 8),
            cold_epoch_saves: [3_000, 3_000, 4_000][column].min(window / 10),
            epoch_requests: [20, 20, 25][column],
        }
    }

    /// The next step if a batch doesn't land: younger text may go.
    pub fn tighter(self) -> Self {
        Self {
            fresh: (self.fresh / 2).max(1),
            set_requests: self.set_requests / 2,
            set_tokens: self.set_tokens / 2,
            lines_share: self.lines_share * 0.6,
            fold_steps: (self.fold_steps / 2).max(4).min(self.fold_steps),
            words_chars: (self.words_chars * 2 / 3).max(80),
            ..self
        }
    }
}
