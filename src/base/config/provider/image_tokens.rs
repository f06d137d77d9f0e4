//! Tokens of an image by its vendor's rule (November 2026). Claude: one per 750 pixels
//! (platform.claude.com/docs vision). GPT-4o, 4.1, 5 and o-series: tiles of 512 pixels after scaling to 2,048
//! and 768; later and small ones: patches of 32 pixels, at most 2,500 (developers.openai.com images-vision,
//! `openai`#2851; unsure for 5.4 and later). Others: like Claude.

pub fn image_tokens(model: &str, width: u32, height: u32) -> u32 {
    let name = model.rsplit('/').next().unwrap_or(model);
    let small = name.contains("mini") || name.contains("nano");
    let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    if begins(&["gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6", "gpt-7", "o4"]) || begins(&["gpt-"]) && small {
        return patches(width, height);
    }
    match () {
        () if begins(&["gpt-5"]) => tiles(width, height, 70, 140),
        () if begins(&["gpt-"]) => tiles(width, height, 85, 170),
        () if begins(&["o1", "o3"]) => tiles(width, height, 75, 150),
        () => width.saturating_mul(height).div_ceil(750),
    }
}

fn patches(width: u32, height: u32) -> u32 {
    width.div_ceil(32).saturating_mul(height.div_ceil(32)).min(2_500)
}

fn tiles(width: u32, height: u32, base: u32, tile: u32) -> u32 {
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let fit = (2_048.0 / width.max(height)).min(1.0);
    let scale = fit * (768.0 / (width.min(height) * fit)).min(1.0);
    let count = |side: f64| (side * scale / 512.0).ceil().max(1.0) as u32;
    base + tile * count(width) * count(height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_rules() {
        for (model, width, height, expected) in [
            ("claude-opus-5-5", 1_000, 750, 1_000),
            ("gpt-4o", 1_024, 1_024, 765),
            ("gpt-4o", 2_048, 4_096, 1_105),
            ("openai/gpt-5", 512, 512, 210),
            ("gpt-6.1-terra", 1_024, 1_024, 1_024),
            ("gpt-5-mini", 1_800, 2_400, 2_500),
            ("qwen3-vl", 1_568, 1_568, 3_279),
        ] {
            assert_eq!(image_tokens(model, width, height), expected, "{model}");
        }
    }
}
