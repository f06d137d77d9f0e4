//! Removes checkboxes and version lists of issue forms, which say nothing about the file at fault.

use base::search::words::listed;

/// A heading with one of these is about the environment…
const SURROUNDINGS: &str = "\
    environment environments version versions platform checklist validations prerequisites info conduct \
    preflight freeze willing os browser browsers duplicates";
/// …if all its other words are among these.
const BESIDE: &str = "\
    env system information operating installed packages package setup software device checks pip code my \
    your the and of a used using you are what which details other submit pr python node rust go search \
    searched";

/// Keeps the first line, and everything if nothing else would be left.
pub fn without_form(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut held_back = false;
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let fence = trimmed.starts_with("```");
        if !fenced && let Some(heading) = heading(trimmed) {
            held_back = number > 0 && tells_surroundings(heading);
        }
        fenced ^= fence;
        if number == 0 || !held_back && (fenced || !is_box(trimmed)) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if kept.trim().lines().count() < 2 { text.to_owned() } else { kept }
}

/// The words of a heading: `### Versions` or `**Versions**` alone on a line.
fn heading(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches('#');
    let strong = line.strip_prefix("**").and_then(|rest| {
        let rest = rest.trim_end_matches(':');
        rest.strip_suffix("**")
    });
    if bare.len() < line.len() && bare.starts_with(' ') { Some(bare.trim()) } else { strong }
}

fn tells_surroundings(heading: &str) -> bool {
    let heading = heading.to_lowercase();
    let words = || heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let tells = |word: &str| listed(SURROUNDINGS, word);
    words().any(tells) && words().all(|word| tells(word) || listed(BESIDE, word))
}

fn is_box(line: &str) -> bool {
    let rest = line.trim_start_matches(['-', '*', '+']).trim_start();
    ["[ ]", "[x]", "[X]"].iter().any(|mark| rest.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_form_sections() {
        let text = "Oven stays cold\n- [x] I searched\n### What happens\nIt [ ] beeps\n### Version & OS\nbaker 1.2\n```\n# Not a heading\n```\n### Log\nE42\n";
        assert_eq!(without_form(text), "Oven stays cold\n### What happens\nIt [ ] beeps\n### Log\nE42\n");
        for text in ["", "### Version", "Version\n- [x] yes", "修复"] {
            assert_eq!(without_form(text), text);
        }
        let about = "Title\n### Version parsing fails\nhere\n";
        assert_eq!(without_form(about), about);
    }
}
