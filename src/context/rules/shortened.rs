//! Shortens rules that exceed their limit: all headings stay, and whole sections as long as they fit, those
//! about commands and tests first. Pure.

use base::pattern::Pattern;
use base::text;

use crate::tokens::estimate::{self, upper_bound};

/// A heading about building, testing and the like, or a block of shell commands.
static COMMANDS: Pattern = Pattern::new(include_str!("commands.regex"));

/// Follows the heading of a section that is left out.
const LEFT_OUT: &str = " […]";
const NOTE: &str = "\n[To save room, sections marked […] are left out: Read the rules file before work that they are about.]";

struct Section<'a> {
    heading: &'a str,
    body: &'a str,
}

/// `text` in at most `limit` tokens; `None` if all of it fits.
pub fn shortened(text: &str, limit: u32) -> Option<String> {
    if upper_bound(text) <= limit {
        return None;
    }
    let sections = sections(text);
    let mut left = i64::from(limit) - i64::from(upper_bound(NOTE));
    left -= sections.iter().map(|section| tokens(section.heading) + tokens(LEFT_OUT) + 1).sum::<i64>();
    if left < i64::from(limit) / 4 {
        // Hardly more than headings would be left.
        return Some(beginning(text, limit));
    }
    let mut order: Vec<usize> = (0..sections.len()).collect();
    let about_commands = |one: &Section<'_>| COMMANDS.is_match(one.heading) || COMMANDS.is_match(one.body);
    order.sort_by_key(|&at| !about_commands(&sections[at]));
    let mut kept: Vec<Option<String>> = vec![None; sections.len()];
    for at in order {
        let body = sections[at].body;
        let size = tokens(body);
        if size <= left {
            left -= size;
            kept[at] = Some(body.to_owned());
        } else if size.min(left) > i64::from(limit) / 2 {
            // A section that takes most of the room is cut instead.
            kept[at] = Some(beginning(body, u32::try_from(left).unwrap_or(limit)));
            left = 0;
        }
    }
    let mut out = String::new();
    for (section, kept) in sections.iter().zip(kept) {
        match kept {
            Some(body) => out.extend([section.heading, &body]),
            None => out.extend([section.heading.trim_end(), LEFT_OUT, "\n"]),
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    Some(out.trim_end().to_owned() + NOTE)
}

fn tokens(text: &str) -> i64 {
    i64::from(upper_bound(text))
}

/// The text split before each heading; the part before the first one has none.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut starts = Vec::new();
    let (mut at, mut in_block) = (0, false);
    for line in text.split_inclusive('\n') {
        in_block ^= line.trim_start().starts_with("```");
        if !in_block && line.starts_with('#') && line.trim_start_matches('#').starts_with(' ') {
            starts.push((at, at + line.len()));
        }
        at += line.len();
    }
    if starts.first().is_none_or(|(start, _)| *start > 0) {
        starts.insert(0, (0, 0));
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let section = |(&(start, body), end): (&(usize, usize), usize)| Section {
        heading: &text[start..body],
        body: &text[body..end],
    };
    starts.iter().zip(ends).map(section).collect()
}

fn beginning(text: &str, limit: u32) -> String {
    // The upper bound can be a fifth above the estimate.
    let head = estimate::beginning(text, limit * 4 / 5);
    format!(
        "{head}\n[The rules are longer than this window allows; {} are left out. Read the file for the rest.]",
        text::human_bytes((text.len() - head.len()) as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(name: &str) -> String {
        format!("## {name}\n\n{}\n", "Prefer what is plain to what is clever, and say why. ".repeat(30))
    }

    #[test]
    fn commands_and_tests_stay_whole_and_headings_always() {
        let commands = "## Run the tests\n\n```sh\nmake check\n# not a heading\n```\nNever skip them.\n";
        let text = format!(
            "# Project rules (AGENTS.md)\nBe kind.\n{}{}{commands}{}",
            long("History"),
            long("Style"),
            long("Names")
        );
        let short = shortened(&text, 700).unwrap_or_default();
        assert!(upper_bound(&short) <= 700, "{}", upper_bound(&short));
        for kept in [
            "# Project rules (AGENTS.md)\nBe kind.",
            commands,
            "## History\n\nPrefer",
            "## Style […]\n",
            "## Names […]\n",
        ] {
            assert!(short.contains(kept), "{kept}: {short}");
        }
        assert!(short.ends_with("work that they are about.]"), "{short}");
        assert_eq!(shortened(&text, 100_000), None);
    }

    #[test]
    fn without_sections_the_beginning_stays() {
        for text in ["one plain line of rules\n".repeat(500), "# a\n".repeat(500), long("All")] {
            let short = shortened(&text, 200).unwrap_or_default();
            assert!(short.starts_with(&text[..40]) && short.contains("are left out"), "{short}");
            assert!(upper_bound(&short) <= 260, "{}", upper_bound(&short));
        }
    }
}
