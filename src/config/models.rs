//! Windows and prices of well-known models. A flat table of public facts; a user's own setting always wins and an
//! unknown model gets the default window and no price.

/// What is known of a model family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelFacts {
    /// Context window, in tokens.
    pub window: u64,
    /// US dollars per million tokens: input, cached input, output.
    pub price: Option<(f64, f64, f64)>,
}

/// The window assumed when nothing is known, in tokens (SPEC §2).
pub const DEFAULT_WINDOW: u64 = 128_000;

/// Name prefix, window, price.
type ModelRow = (&'static str, u64, Option<(f64, f64, f64)>);

/// Name prefixes with their facts; the longest matching prefix wins. List prices as published by the vendors in 2025.
const TABLE: &[ModelRow] = &[
    ("gpt-5", 400_000, Some((1.25, 0.125, 10.0))),
    ("gpt-5-mini", 400_000, Some((0.25, 0.025, 2.0))),
    ("gpt-5-nano", 400_000, Some((0.05, 0.005, 0.4))),
    ("gpt-4.1", 1_047_576, Some((2.0, 0.5, 8.0))),
    ("gpt-4.1-mini", 1_047_576, Some((0.4, 0.1, 1.6))),
    ("gpt-4.1-nano", 1_047_576, Some((0.1, 0.025, 0.4))),
    ("gpt-4o", 128_000, Some((2.5, 1.25, 10.0))),
    ("gpt-4o-mini", 128_000, Some((0.15, 0.075, 0.6))),
    ("o3", 200_000, Some((2.0, 0.5, 8.0))),
    ("o4-mini", 200_000, Some((1.1, 0.275, 4.4))),
    ("gpt-oss", 131_072, None),
    ("claude-opus-4", 200_000, Some((15.0, 1.5, 75.0))),
    ("claude-opus-4-5", 200_000, Some((5.0, 0.5, 25.0))),
    ("claude-sonnet-4", 200_000, Some((3.0, 0.3, 15.0))),
    ("claude-haiku-4", 200_000, Some((1.0, 0.1, 5.0))),
    ("claude-3-7-sonnet", 200_000, Some((3.0, 0.3, 15.0))),
    ("claude-3-5-haiku", 200_000, Some((0.8, 0.08, 4.0))),
    ("claude", 200_000, None),
    ("deepseek-chat", 128_000, Some((0.28, 0.028, 0.42))),
    ("deepseek-reasoner", 128_000, Some((0.28, 0.028, 0.42))),
    ("deepseek", 128_000, None),
    ("glm-4.5", 131_072, None),
    ("glm-4.6", 200_000, None),
    ("kimi-k2", 262_144, None),
    ("qwen3-coder", 262_144, None),
    ("qwen3", 131_072, None),
    ("qwen2.5-coder", 32_768, None),
    ("gemini-2.5", 1_048_576, None),
    ("gemini-3", 1_048_576, None),
    ("llama3.1", 131_072, None),
    ("llama3.3", 131_072, None),
    ("mistral", 32_768, None),
    ("devstral", 131_072, None),
    ("codestral", 262_144, None),
];

/// Looks `model` up, ignoring a vendor prefix such as `openrouter/anthropic/`.
pub fn facts(model: &str) -> Option<ModelFacts> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    TABLE
        .iter()
        .filter(|(prefix, ..)| name.starts_with(prefix))
        .max_by_key(|(prefix, ..)| prefix.len())
        .map(|&(_, window, price)| ModelFacts { window, price })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        assert_eq!(facts("gpt-5-mini-2025-08-07").and_then(|f| f.price), Some((0.25, 0.025, 2.0)));
        assert_eq!(facts("anthropic/claude-sonnet-4-5").map(|f| f.window), Some(200_000));
        assert_eq!(facts("my-own-model"), None);
    }
}
