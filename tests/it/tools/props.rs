//! Properties of edits over random files: exactly the bytes of the match change, whatever the line ends.

use proptest::prelude::*;
use tools::file::matching::apply::apply;
use tools::file::matching::match_edit::{MatchLevel, Refusal, TextEdit};

/// Lines with all sorts of ends, indentation and trailing whitespace.
fn files() -> impl Strategy<Value = Vec<String>> {
    let line = ("[ \t]{0,3}", "[a-d(é]{0,4}", "[ \t]{0,2}", prop_oneof![Just("\n"), Just("\r\n")])
        .prop_map(|(lead, text, trail, end)| format!("{lead}{text}{trail}{end}"));
    proptest::collection::vec(line, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// A unique marker replaced by another touches nothing else.
    #[test]
    fn only_the_match_changes(before in files(), after in files(), new in "[a-z\\\\$%{}]{1,9}") {
        let (before, after) = (before.concat(), after.concat());
        let text = format!("{before}@MARK@{after}");
        let done = apply(&text, TextEdit { old: "@MARK@", new: &new, replace_all: false });
        prop_assert_eq!(done.unwrap().text, format!("{before}{new}{after}"));
    }

    /// A block given with plain line feeds is found in a file with any line ends; what is not replaced stays byte for
    /// byte, and replaced lines keep their own ends.
    #[test]
    fn line_ends_survive(lines in files(), from in 0_usize..14, count in 1_usize..5) {
        let mut lines = lines;
        let from = from % lines.len();
        let to = (from + count).min(lines.len());
        // Make the block unique.
        lines[from].insert_str(0, "@only@");
        let text = lines.concat();
        let plain: String = lines[from..to].iter().map(|line| format!("{}\n", line.trim_end_matches(['\r', '\n']))).collect();
        let new = plain.replace("@only@", "@new@");
        let done = apply(&text, TextEdit { old: &plain, new: &new, replace_all: false }).unwrap();
        prop_assert_eq!(done.text, text.replace("@only@", "@new@"));
        prop_assert!(done.level <= MatchLevel::LineEnds);
    }

    /// Whatever the old text, an applied edit leaves a common beginning and end, and the same edit on the result of a
    /// refusal changes nothing: no panic, no silent no-op.
    #[test]
    fn any_edit_is_applied_or_refused_cleanly(
        lines in files(), old in "[ \ta-d(é\n]{0,12}", new in "[ \ta-d\n\r]{0,12}", all in any::<bool>()
    ) {
        let text = lines.concat();
        match apply(&text, TextEdit { old: &old, new: &new, replace_all: all }) {
            Ok(done) => {
                prop_assert_ne!(&done.text, &text);
                prop_assert!(!done.lines.is_empty() && (all || done.lines.len() == 1));
                if !all && !new.contains('\r') && done.level == MatchLevel::Exact {
                    // Exact means: the old text, once, with the new one's line ends at most adapted.
                    let at = text.find(&old).unwrap();
                    let plain = |s: &str| s.replace("\r\n", "\n");
                    let expected = format!("{}{new}{}", &text[..at], &text[at + old.len()..]);
                    prop_assert_eq!(plain(&done.text), plain(&expected));
                }
                if done.level != MatchLevel::Exact {
                    prop_assert!(all || !text.contains(&old) || old.starts_with('\n'));
                }
            }
            Err(Refusal::Ambiguous { lines, .. }) => prop_assert!(lines.len() > 1 && !all),
            Err(_) => {}
        }
    }

    /// A block given with one uniform indentation more or less, other trailing whitespace and other line ends is
    /// found, and only what the edit means to change changes.
    #[test]
    fn tolerance_changes_only_what_is_meant(
        lines in files(), from in 0_usize..14, count in 1_usize..5, lead in "[ \t]{1,4}", trail in "[ \t]{0,2}", deeper in any::<bool>()
    ) {
        let mut lines = lines;
        let from = from % lines.len();
        let to = (from + count).min(lines.len());
        let blank = |line: &str| line.trim_matches([' ', '\t', '\r', '\n']).is_empty();
        // Make the block unique, also without its indentation.
        let at = lines[from].len() - lines[from].trim_start_matches([' ', '\t']).len();
        lines[from].insert_str(at, "@only@");
        let mut text = lines.concat();
        let given: Vec<&str> = lines[from..to].iter().map(|line| line.trim_end_matches([' ', '\t', '\r', '\n'])).collect();
        let shifted = |line: &str| if blank(line) { String::new() } else { format!("{lead}{line}") };
        let old: String = if deeper {
            // The text has less than what is given.
            given.iter().map(|line| format!("{}{trail}\n", shifted(line))).collect()
        } else {
            text = lines
                .iter()
                .enumerate()
                .map(|(n, line)| if (from..to).contains(&n) && !blank(line) { format!("{lead}{line}") } else { line.clone() })
                .collect();
            given.iter().map(|line| format!("{line}{trail}\n")).collect()
        };
        let new = old.replace("@only@", "@new@");
        let done = apply(&text, TextEdit { old: &old, new: &new, replace_all: false });
        let expected = text.replace("@only@", "@new@");
        // A changed line takes the new text's own trailing whitespace; that of all others stays.
        let bare = |text: &str| text.split('\n').map(|line| {
            if line.contains("@new@") { line.trim_end_matches([' ', '\t', '\r']).to_owned() } else { line.to_owned() }
        }).collect::<Vec<_>>();
        match done {
            Ok(done) => prop_assert_eq!(bare(&done.text), bare(&expected)),
            Err(refusal) => prop_assert!(false, "{refusal:?}"),
        }
    }
}
