//! A server that takes in less than it was sent and says nothing: Ollama with its `num_ctx` of 4,096, for one. The only
//! sign is the usage that it reports. Pure.

/// Prompts under this size are never suspicious, nor are reports under [`LEAST_REPORTED`]: a server that counts only
/// what its cache did not hold reports little.
const LEAST_EXPECTED: u64 = 2_000;
const LEAST_REPORTED: u64 = 900;
/// A report under this share of what was sent is no matter of tokenizers.
const SHARE: f64 = 0.55;
/// Windows come in such steps, in tokens.
const STEP: u64 = 1_024;

/// What is remembered between reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    last_expected: u64,
}

impl Watch {
    /// Takes up that a prompt of about `expected` tokens (calibrated) was reported as `reported`. Returns the window, in
    /// tokens, that the server evidently has, when it must have cut the prompt.
    pub fn look(&mut self, expected: u64, reported: u64) -> Option<u64> {
        let added = expected.saturating_sub(self.last_expected);
        self.last_expected = expected;
        if expected < LEAST_EXPECTED
            || reported < LEAST_REPORTED
            || reported as f64 >= expected as f64 * SHARE
        {
            return None;
        }
        // A server that leaves out what its cache held reports what was added since the last request.
        let only_new = added != expected && added.abs_diff(reported) * 10 <= reported * 3;
        (!only_new).then(|| reported.div_ceil(STEP) * STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_prompt_is_told_from_another_tokenizer_and_from_a_cache() {
        let mut watch = Watch::default();
        assert_eq!(watch.look(3_600, 3_300), None);
        assert_eq!(watch.look(20_000, 14_000), None, "another tokenizer");
        assert_eq!(watch.look(22_000, 2_100), None, "only what was new");
        assert_eq!(watch.look(22_400, 300), None, "hardly anything was new");
        assert_eq!(watch.look(30_000, 4_030), Some(4_096));
        assert_eq!(Watch::default().look(9_000, 4_096), Some(4_096));
    }
}
