//! Tests of the model table.

use super::*;
use crate::config::provider::vendors::VENDORS;

fn input_price(model: &str) -> Option<f64> {
    facts(model).and_then(|facts| facts.price).map(|price| price.input)
}

#[test]
fn shipped_table() {
    let full = rows(SHIPPED, &[]).unwrap();
    assert!(full.len() > 40 && full.len() == TABLE.len());
    for (row, read) in TABLE.iter().zip(&full) {
        assert_eq!((&row.names, row.family, row.facts()), (&read.names, read.family, read.facts()));
        let facts = row.facts();
        assert!(facts.window >= 32_000 && facts.output.is_none_or(|most| u64::from(most) < facts.window));
        assert!(facts.thinking == Thinking::None || facts.api == Api::Messages, "{:?}", row.names);
    }
    for vendor in &VENDORS[..2] {
        assert!(facts(&vendor.default).unwrap().price.is_some());
    }
}

#[test]
fn names_of_one_model() {
    for name in [
        "claude-sonnet-5-5",
        "anthropic/claude-sonnet-5.5",
        "openrouter/anthropic/Claude-Sonnet-5.5",
        "us.anthropic.claude-sonnet-5-5-v1:0",
        "claude-sonnet-5-5@20260901",
        "claude-sonnet-5-5-20260901",
    ] {
        assert_eq!(input_price(name), Some(2.0), "{name}");
    }
    assert_eq!(input_price("gpt-5-mini-2025-08-07"), Some(0.25));
    assert_eq!(input_price("gpt-5.6"), Some(4.0));
    assert_eq!(input_price("claude-opus-4-20250514"), Some(15.0));
}

#[test]
fn other_versions_have_no_price() {
    for name in ["gpt-5.7-sol", "gpt-6.3-astra", "claude-opus-4-9", "claude-opus-6", "gpt-5.5-pro", "my-own"]
    {
        assert_eq!(input_price(name), None, "{name}");
    }
    assert_eq!(facts("claude-opus-6").unwrap().binding, Binding::Rejects);
    assert_eq!(facts("gpt-6.3-astra").unwrap().api, Api::Responses);
    assert_eq!(facts("gpt-5-mini").unwrap().api, Api::Chat);
    assert_eq!(facts("deepseek-chat").unwrap().replay, Some(Replay::Everywhere));
    assert_eq!(facts("my-own"), None);
    let shares = |name: &str| facts(name).unwrap().cache_prices();
    assert_eq!(shares("gpt-6.3-astra"), Some((0.05, 1.25)), "but how its family bills the cache is known");
    assert_eq!(shares("claude-opus-6"), Some((0.1, 1.25)));
    assert_eq!(shares("deepseek-v5"), Some((0.03, 1.0)));
}

#[test]
fn cost_by_tier() {
    let haiku = facts("claude-haiku-5-5").unwrap();
    let cost =
        |fresh, read, written, output| (haiku.cost(fresh, read, written, output).unwrap() * 1e6).round();
    assert_eq!(cost(10_000, 80_000, 8_000, 1_000), 1_000.0 + 800.0 + 1_000.0 + 500.0);
    assert_eq!(cost(20_000, 80_001, 0, 0), (2_000.0f64 + 800.01).mul_add(5.0, 0.0).round());
}

#[test]
fn prices_have_days_and_hours() {
    let usage = Usage { input: 1_000_000, ..Usage::default() };
    let cost = |model: &str, time: &str| {
        let ms = time.parse::<Timestamp>().unwrap().as_millisecond() as u64;
        ((cost(model, &usage, ms).unwrap() * 100.0).round(), price_used(model, ms))
    };
    let (usual, later, peak) = (PriceUsed::Usual, PriceUsed::Later, PriceUsed::Peak);
    assert_eq!(
        (cost("gemini-4-argon", "2026-11-30T23:59:59Z"), cost("gemini-4-argon", "2026-12-01T00:00:00Z")),
        ((200.0, usual), (400.0, later))
    );
    // A Thursday's peak hours, their ends, and a Saturday.
    for (time, cents) in [
        ("26T00:59:00Z", (15.0, usual)),
        ("26T01:00:00Z", (30.0, peak)),
        ("26T04:00:00Z", (15.0, usual)),
        ("26T09:59:00Z", (30.0, peak)),
        ("28T02:00:00Z", (15.0, usual)),
    ] {
        assert_eq!(cost("deepseek-flash", &format!("2026-11-{time}")), cents, "{time}");
    }
}

#[test]
fn rows_of_the_users() {
    let own = "[[models]]\nname = \"claude-opus-5-5\"\nprice = { input = 3, output = 9 }\n\
               [[models]]\nname = \"mine\"\nlike = \"gpt-6-sol\"\nwindow = 9000";
    let made = rows(own, &TABLE_TEXT).unwrap();
    assert_eq!((made[0].facts().price.unwrap().input, made[0].facts().binding), (3.0, Binding::Rejects));
    assert_eq!((made[1].facts().window, made[1].facts().api), (9_000, Api::Responses));
    let error = |text: &str| rows(text, &TABLE_TEXT).err().unwrap();
    assert!(error("[[models]]\nname = \"x\"\nlike = \"nobody\"").contains("nobody"));
    assert!(error("[[models]]\nname = \"x\"\nwindows = 3").contains("windows"));
}
