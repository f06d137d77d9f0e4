//! Decides when rewriting the past pays. A prompt cache serves the unchanged prefix at a fraction of the
//! price; a change makes everything after it uncached once. So the past is rewritten in batches, and only
//! when `gain × cached price × expected requests > tail × (write price − cached price)`.

/// An item that could be sent in a smaller form, or one that stays; in wire order.
#[derive(Clone, Copy, Debug)]
pub struct RewriteCandidate {
    /// Tokens as sent now.
    pub now: u64,
    /// Tokens in the smaller form; equal to `now` if there isn't one.
    pub then: u64,
    /// For how many requests the smaller form could already have been sent.
    pub overdue: u64,
}

impl RewriteCandidate {
    pub fn stays(tokens: u32) -> Self {
        Self { now: u64::from(tokens), then: u64::from(tokens), overdue: 0 }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Prices {
    /// Price of a cached token as a share of an uncached one; 1.0 = no discount.
    pub cached: f64,
    /// Price of a token that is read uncached and written to the cache, on the same scale.
    pub write: f64,
    pub expected_requests: f64,
    /// Dispensable text is rewritten once it has cost this multiple of what the rewrite breaks.
    pub patience: f64,
    /// Tokens that a rewrite must save in each further request.
    pub least_gain: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RewriteDecision {
    pub cut: usize,
    pub gain: u64,
    /// Tokens from `cut` on that must be read uncached once.
    pub tail: u64,
}

impl RewriteDecision {
    pub fn explain(&self, prices: Prices) -> String {
        let Self { gain, tail, .. } = self;
        let (cached, requests) = (prices.cached, prices.expected_requests);
        let (saved, lost) = (self.saved(prices), self.lost(prices));
        format!(
            "gain {gain} × price {cached:.2} × R {requests:.0} = {saved:.0} > tail {tail} × {:.2} = {lost:.0}",
            prices.write - cached
        )
    }

    fn saved(&self, prices: Prices) -> f64 {
        self.gain as f64 * prices.cached * prices.expected_requests
    }

    fn lost(&self, prices: Prices) -> f64 {
        self.tail as f64 * (prices.write - prices.cached)
    }
}

/// Expected further requests after `so_far`: sessions that went on long tend to continue.
pub fn expected_requests(so_far: u64) -> f64 {
    so_far.max(10) as f64
}

/// The batch of smaller forms that is due, or `None`. Tries every cut: a later one saves less but breaks
/// less. It must pay off in further requests (the rule above), and the text must already have cost a multiple
/// of what the rewrite breaks (ski rental): earlier rewrites too often, later pays in vain.
pub fn due_cut(candidates: &[RewriteCandidate], prices: Prices) -> Option<RewriteDecision> {
    let mut gain = 0u64;
    let mut tail = 0u64;
    let mut carried = 0.0;
    let mut best: Option<(f64, RewriteDecision)> = None;
    for (index, candidate) in candidates.iter().enumerate().rev() {
        tail += candidate.then;
        if candidate.then >= candidate.now {
            continue;
        }
        let less = candidate.now - candidate.then;
        gain += less;
        carried += (less * candidate.overdue) as f64 * prices.cached;
        let this = RewriteDecision { cut: index, gain, tail };
        let lost = this.lost(prices);
        let net = this.saved(prices) - lost;
        let due = carried >= lost * prices.patience && gain >= prices.least_gain;
        if due && net > 0.0 && best.is_none_or(|(most, _)| net > most) {
            best = Some((net, this));
        }
    }
    best.map(|(_, due)| due)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARM: Prices =
        Prices { cached: 0.1, write: 1.0, expected_requests: 10.0, patience: 1.0, least_gain: 0 };

    /// Overdue for so long that the cost carried so far is always enough.
    const LONG: u64 = 1_000;

    fn cut(candidates: &[RewriteCandidate], prices: Prices) -> Option<usize> {
        due_cut(candidates, prices).map(|due| due.cut)
    }

    fn stays(now: u64) -> RewriteCandidate {
        RewriteCandidate { now, then: now, overdue: 0 }
    }

    #[test]
    fn small_gain_before_a_long_tail() {
        let small = [RewriteCandidate { now: 500, then: 100, overdue: LONG }, stays(10_000)];
        assert_eq!(cut(&small, WARM), None);
        assert_eq!(cut(&small, Prices { cached: 1.0, ..WARM }), Some(0));
    }

    #[test]
    fn best_cut() {
        let items = [
            RewriteCandidate { now: 300, then: 290, overdue: LONG },
            stays(30_000),
            RewriteCandidate { now: 9_000, then: 500, overdue: LONG },
            stays(200),
        ];
        assert_eq!(cut(&items, WARM), Some(2));
    }

    #[test]
    fn no_rewrite_before_it_is_paid_for() {
        let fresh = |overdue| [RewriteCandidate { now: 9_000, then: 500, overdue }, stays(200)];
        assert_eq!(cut(&fresh(0), WARM), None);
        assert_eq!(cut(&fresh(1), WARM), Some(0));
    }

    #[test]
    fn explanation_has_the_figures() {
        let due = due_cut(&[RewriteCandidate { now: 9_000, then: 500, overdue: LONG }, stays(200)], WARM);
        let words = due.map(|due| due.explain(WARM)).unwrap_or_default();
        assert_eq!(words, "gain 8500 × price 0.10 × R 10 = 8500 > tail 700 × 0.90 = 630");
    }
}
