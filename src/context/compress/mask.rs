//! A citation-aware mask: of an old observation those lines stay that hold names used since, then errors and definitions.
//! Each name counts by how few lines hold it, so that one line for every name comes before ten for the commonest. Pure:
//! which names were used is the caller's to say.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::cut;
use super::filters::{error_lines, head_tail};
use super::identifiers;
use super::telling_lines;
use crate::base::pattern::Pattern;
use crate::base::text;
use crate::context::tokens::estimate::estimate;
use crate::model::call::ToolCall;
use crate::model::item::ItemId;

/// The longest line that a mask keeps, in characters.
const LINE_CHARS: usize = 240;

/// Lines that define something, in most languages.
static DEFINES: Pattern = Pattern::new(concat!(
    r"^\s*(?:\d+[\t:|\u{2192} ]\s*)?(?:export\s+|pub(?:\([a-z]+\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|default\s+|final\s+)*",
    r"(?:fn|func|def|class|struct|enum|trait|impl|interface|type|module|namespace|function|const|macro_rules!|test|describe)\b",
    r"|^\s*(?:\d+[\t:|]\s*)?#{1,4}\s",
));

/// At most about `max_tokens` of `whole`, with a pointer to the rest; `None` when that is no shorter. Lines for names that
/// are neither `used` nor `in_view` take up to `lines_tokens` more.
pub fn mask(
    id: ItemId,
    whole: &str,
    used: &HashSet<&str>,
    in_view: &HashSet<&str>,
    max_tokens: u32,
    lines_tokens: u32,
) -> Option<String> {
    let lines: Vec<&str> = whole.lines().collect();
    let mut lines_with: HashMap<&str, u32> = HashMap::new();
    for line in &lines {
        for name in names(line, used) {
            *lines_with.entry(name).or_default() += 1;
        }
    }
    let mut ranked: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let mut score: f64 = names(line, used)
                .iter()
                .map(|name| 1.0 / f64::from(lines_with.get(name).copied().unwrap_or(1)))
                .sum();
            if error_lines::may_be_error(line) && line.len() < 400 {
                score += 0.5;
            }
            if DEFINES.is_match(line) {
                score += 0.4;
            }
            (score, index)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let cut: Vec<String> = lines.iter().map(|line| text::elide(line, LINE_CHARS)).collect();
    let mut keep = vec![false; lines.len()];
    let mut spent = 0;
    for (_, index) in ranked {
        // A gap mark takes about six tokens.
        let size = estimate(&cut[index]) + 4;
        if spent + size > max_tokens {
            continue;
        }
        spent += size;
        keep[index] = true;
    }
    // What is left: lines that bring the other names.
    let places: Vec<usize> =
        (0..lines.len()).filter(|index| !keep[*index] && cut[*index] == lines[*index]).collect();
    let rest: Vec<&str> = places.iter().map(|index| lines[*index]).collect();
    let shown = (0..lines.len())
        .filter(|index| keep[*index])
        .flat_map(|index| identifiers::identifiers(lines[index]));
    let seen = shown.chain(used.iter().copied()).chain(in_view.iter().copied());
    let more = u64::from(lines_tokens) + u64::from(max_tokens.saturating_sub(spent));
    for at in telling_lines::choose(&rest, seen, more, 4) {
        keep[places[at]] = true;
    }
    let kept = keep.iter().filter(|kept| **kept).count();
    let shown = if kept == 0 {
        String::new()
    } else {
        head_tail::render(&cut, &keep).replace(" lines …]", " …]")
    };
    let pointer = format!(
        "[{} of {} lines left out; Recall {{\"id\":{}}} gives all]",
        lines.len() - kept,
        lines.len(),
        id.0
    );
    let short = if kept == 0 { pointer } else { format!("{shown}\n{pointer}") };
    (estimate(&short) < estimate(whole)).then_some(short)
}

/// The arguments of an old call, each long text in them cut to about `max_tokens`; `None` when that is no shorter.
pub fn args(id: ItemId, call: &ToolCall, max_tokens: u32) -> Option<String> {
    let mut args = call.parsed_args().ok()?;
    let max_bytes = usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(3).max(160);
    let cut = cut::cut_strings(&mut args, &|string| {
        let (head, tail, _) = cut::head_and_tail(string, max_bytes);
        (string.len() > max_bytes.saturating_add(80))
            .then(|| format!("{head}\n[… Recall {{\"id\":{}}} …]\n{tail}", id.0))
    });
    let short = args.to_string();
    (cut && short.len() < call.args.len()).then_some(short)
}

/// The names of `used` in `line`, each once, in an order that is the same on every run.
fn names<'a>(line: &'a str, used: &HashSet<&str>) -> BTreeSet<&'a str> {
    identifiers::identifiers(line).filter(|name| used.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_names_used_since_stay_then_definitions() {
        let mut whole: String =
            (0..60).map(|n| format!("    let filler_{n} = compute(other_{n});\n")).collect();
        whole.push_str("fn important_thing() {\n    call_of_interest(1);\n}\n");
        let used = HashSet::from(["call_of_interest"]);
        let short = mask(ItemId(4), &whole, &used, &HashSet::new(), 40, 0).unwrap_or_default();
        insta::assert_snapshot!(short, @r#"
            let filler_0 = compute(other_0);
        [… 59 …]
        fn important_thing() {
            call_of_interest(1);
        [… 1 …]
        [60 of 63 lines left out; Recall {"id":4} gives all]
        "#);
    }
}
