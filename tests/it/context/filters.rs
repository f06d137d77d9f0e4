//! What a shortened log keeps.

use base::model::item::ItemId;
use context::compress::pipeline::{self, FilterOptions, Shape};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_error_line_is_filtered_away(
        parts in proptest::collection::vec(
            prop_oneof![
                4 => ("[a-z]{3,8}", 1_usize..120).prop_map(|(word, times)| {
                    (0..times).map(|n| format!("{word} item {n} of the list done\n")).collect::<String>()
                }),
                2 => ("[a-z]{3,8}", 1_usize..60).prop_map(|(word, times)| {
                    (0..times).map(|n| format!("test {word}::case_{n} ... ok\n")).collect::<String>()
                }),
                1 => "[a-z]{3,8}".prop_map(|word| format!("\u{1b}[31merror\u{1b}[0m: {word} is wrong\n")),
                1 => ("[a-z]{3,8}", 1_u32..900).prop_map(|(word, line)| format!("src/{word}.c:{line}:3: error: expected\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!("FAILED tests/test_{word}.py::test_it - AssertionError\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!("thread '{word}' panicked at src/main.rs:2:5:\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!("E       assert {word} == 3\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!(" 10%\r 90%\rmake: *** [{word}] Error 2\n")),
            ],
            1..60,
        ),
    ) {
        let log = parts.concat();
        let options = FilterOptions { shape: Shape::Log, max_tokens: 1_500, lines: None, stored: None };
        let shown = pipeline::filter(ItemId(4), &log, options).unwrap_or_else(|| log.clone());
        prop_assert!(context::tokens::estimate::estimate(&shown) < 1_900, "far over its cap");
        for line in log.lines() {
            let line = line.rsplit('\r').next().unwrap().replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
            if ["error:", "FAILED", "panicked", "E   ", "***"].iter().any(|sign| line.contains(sign)) {
                prop_assert!(shown.contains(&line), "lost: {line}\nin: {shown}");
            }
        }
    }
}
