//! Candidates for the window and the choice among them: by relevance and age, greedily into a budget (SPEC §7).

/// A candidate piece of evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextPacket {
    pub content: String,
    /// Seconds since 1970.
    pub timestamp_s: u64,
    pub tokens: u32,
    /// 0–1.
    pub relevance: f64,
    pub source: String,
}

/// How the choice is made.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    pub budget_tokens: u32,
    /// Less relevant ones are left out even where there is room; 0–1.
    pub min_relevance: f64,
    /// Share of the budget kept for the text around the packets; 0–1.
    pub reserve_ratio: f64,
}

const RELEVANCE_SHARE: f64 = 0.7;
/// After so many days a packet has lost 63 % of its freshness.
const FADE_DAYS: f64 = 7.0;
const DAY_S: f64 = 86_400.0;

/// 0.7 relevance + 0.3 freshness.
pub fn score(packet: &ContextPacket, now_s: u64) -> f64 {
    let age_days = now_s.saturating_sub(packet.timestamp_s) as f64 / DAY_S;
    RELEVANCE_SHARE * packet.relevance + (1.0 - RELEVANCE_SHARE) * (-age_days / FADE_DAYS).exp()
}

/// The packets that go in, best first.
pub fn select(mut packets: Vec<ContextPacket>, choice: &Selection, now_s: u64) -> Vec<ContextPacket> {
    packets.retain(|packet| packet.relevance >= choice.min_relevance);
    packets
        .sort_by(|a, b| score(b, now_s).total_cmp(&score(a, now_s)).then_with(|| a.content.cmp(&b.content)));
    let mut left = (f64::from(choice.budget_tokens) * (1.0 - choice.reserve_ratio.clamp(0.0, 1.0))) as u32;
    packets.retain(|packet| {
        let fits = packet.tokens <= left;
        left -= if fits { packet.tokens } else { 0 };
        fits
    });
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(content: &str, relevance: f64, age_days: u64, tokens: u32) -> ContextPacket {
        let timestamp_s = 100 * 86_400 - age_days * 86_400;
        ContextPacket { content: content.into(), timestamp_s, tokens, relevance, source: "test".into() }
    }

    #[test]
    fn relevance_leads_and_freshness_breaks_ties() {
        let choice = Selection { budget_tokens: 100, min_relevance: 0.3, reserve_ratio: 0.2 };
        let packets = vec![
            packet("old", 0.8, 60, 30),
            packet("new", 0.8, 0, 30),
            packet("vague", 0.2, 0, 1),
            packet("large", 0.9, 0, 90),
            packet("small", 0.4, 0, 20),
        ];
        let names: Vec<String> =
            select(packets, &choice, 100 * 86_400).into_iter().map(|packet| packet.content).collect();
        assert_eq!(names, ["new", "small", "old"]);
    }
}
