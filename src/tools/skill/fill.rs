//! Fills arguments into a user-defined prompt, like Claude Code (code.claude.com/docs/en/skills, "Available string
//! substitutions", by anthropics/claude-plugins-official#6246 and anthropics/claude-code#85899, checked 2026-11-22).
//! Until 2026 the first argument was `$1`, now it is `$0`, short for `$ARGUMENTS[0]`; a file that uses one of these
//! forms counts from zero, any other from one.

use base::pattern::Pattern;
use regex::Captures;

static PLACEHOLDER: Pattern = Pattern::new(include_str!("placeholder.regex"));
static WORD: Pattern = Pattern::new(r#""([^"]*)"|'([^']*)'|(\S+)"#);

pub fn fill(prompt: &str, args: &str, names: &[String]) -> String {
    let words = words_of(args);
    let (filled, used) = placed(prompt, args, &words, names, !counts_from_zero(prompt));
    // Append the arguments to a prompt without placeholders.
    let rest = if used || args.is_empty() { String::new() } else { format!("\n\n{args}") };
    filled + &rest
}

pub fn counts_from_zero(prompt: &str) -> bool {
    ["$0", "$ARGUMENTS["].iter().any(|form| prompt.contains(form))
}

/// The words of a line, without their quotes.
pub fn words_of(args: &str) -> Vec<String> {
    let words = WORD.captures_iter(args).filter_map(|word| word.iter().skip(1).flatten().next());
    words.map(|word| word.as_str().to_owned()).collect()
}

/// Fills arguments into a part of a prompt; returns whether it has placeholders. `from_one`: `$1` is the first.
pub fn placed(part: &str, args: &str, words: &[String], names: &[String], from_one: bool) -> (String, bool) {
    let first = usize::from(from_one);
    let mut used = false;
    let filled = PLACEHOLDER.replace_all(part, |found: &Captures| {
        let number = |group| found.get(group).and_then(|digits| digits.as_str().parse::<usize>().ok());
        let named = found.get(4).map(|name| names.iter().position(|known| known == name.as_str()));
        let place = match (number(3), named) {
            (_, Some(None)) => return found[0].to_owned(),
            (_, Some(place)) => place,
            (Some(digit), _) => digit.checked_sub(first),
            _ => number(1),
        };
        used = true;
        let word = || place.and_then(|place| words.get(place)).cloned().unwrap_or_default();
        if found.get(2).is_some() { args.to_owned() } else { word() }
    });
    (filled.into_owned(), used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(prompt: &str, args: &str) -> String {
        fill(prompt, args, &[])
    }

    #[test]
    fn arguments_fill_the_prompt() {
        assert_eq!(plain("a $1 b $2 c $3.", "x \"y z\""), "a x b y z c .");
        assert_eq!(plain("all: $ARGUMENTS; $ and $x", "one two"), "all: one two; $ and $x");
        assert_eq!(plain("Review.", "the parser"), "Review.\n\nthe parser");
        assert_eq!(plain("say $1", "$2 $1"), "say $2", "an argument is no template");
        assert_eq!(plain("Review.", ""), "Review.");
        assert_eq!(plain("a $0 b $1 c $2.", "x \"y z\""), "a x b y z c .", "from zero where there is a `$0`");
        assert_eq!(plain("$ARGUMENTS[1], $ARGUMENTS[x], $1", "a b"), "b, a b[x], b");
        let names = ["issue".to_owned(), "branch".to_owned()];
        assert_eq!(fill("$issue on $branch, $branches", "7 main", &names), "7 on main, $branches");
    }
}
