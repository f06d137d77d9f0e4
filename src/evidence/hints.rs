//! Which notes from earlier sessions become part of a task's context.

const MAX_HINTS: usize = 10;
const BUDGET_TOKENS: u32 = 300;
/// Less relevant notes are left out even if there is room; 0–1.
const MIN_RELEVANCE: f64 = 0.3;
const RELEVANCE_SHARE: f64 = 0.7;
/// Days after which 63% of a packet's freshness is lost.
const FADE_DAYS: f64 = 7.0;
const DAY_S: f64 = 86_400.0;

#[derive(Clone, Debug, PartialEq)]
pub struct ContextPacket {
    pub content: String,
    pub timestamp_s: u64,
    pub tokens: u32,
    pub relevance: f64,
}

/// The packets to include, best first: by 0.7 relevance + 0.3 freshness.
pub fn select(mut packets: Vec<ContextPacket>, now_s: u64) -> Vec<ContextPacket> {
    let score = |packet: &ContextPacket| {
        let age_days = now_s.saturating_sub(packet.timestamp_s) as f64 / DAY_S;
        RELEVANCE_SHARE * packet.relevance + (1.0 - RELEVANCE_SHARE) * (-age_days / FADE_DAYS).exp()
    };
    packets.retain(|packet| packet.relevance >= MIN_RELEVANCE);
    packets.sort_by(|a, b| score(b).total_cmp(&score(a)).then_with(|| a.content.cmp(&b.content)));
    let mut left = BUDGET_TOKENS;
    packets.retain(|packet| {
        let fits = packet.tokens <= left;
        left -= if fits { packet.tokens } else { 0 };
        fits
    });
    packets.truncate(MAX_HINTS);
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_selection() {
        let packet = |content: &str, relevance: f64, age_days: u64, tokens: u32| ContextPacket {
            content: content.into(),
            timestamp_s: (100 - age_days) * 86_400,
            tokens,
            relevance,
        };
        let packets = vec![
            packet("old", 0.8, 60, 110),
            packet("new", 0.8, 0, 110),
            packet("vague", 0.2, 0, 1),
            packet("large", 0.9, 0, 310),
            packet("small", 0.4, 0, 80),
        ];
        let names: Vec<String> =
            select(packets, 100 * 86_400).into_iter().map(|packet| packet.content).collect();
        assert_eq!(names, ["new", "small", "old"]);
    }
}
