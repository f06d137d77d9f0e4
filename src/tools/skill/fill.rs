//! Fills arguments into a user-defined prompt, as Claude Code does (code.claude.com/docs/en/skills,
//! "Available string substitutions", by anthropics/claude-plugins-official#6246 and
//! anthropics/claude-code#85899, checked 2026-11-22). Until 2026 `$1` was the first argument, now `$0` is; a
//! file that uses `$0` counts from zero, any other from one.

pub fn fill(prompt: &str, args: &str, names: &[String]) -> String {
    let each = words(args);
    let first = usize::from(!prompt.contains("$0"));
    let word = |place: Option<usize>| place.and_then(|place| each.get(place)).map_or("", String::as_str);
    let mut out = String::with_capacity(prompt.len() + args.len());
    let mut used = false;
    let mut rest = prompt;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digit = rest.chars().next().and_then(|c| c.to_digit(10));
        if let Some((place, behind)) = indexed(rest) {
            out.push_str(word(Some(place)));
            (rest, used) = (behind, true);
        } else if let Some(behind) = rest.strip_prefix("ARGUMENTS") {
            out.push_str(args);
            (rest, used) = (behind, true);
        } else if let Some(digit) = digit {
            out.push_str(word((digit as usize).checked_sub(first)));
            (rest, used) = (&rest[1..], true);
        } else if let Some((place, behind)) = named(rest, names) {
            out.push_str(word(Some(place)));
            (rest, used) = (behind, true);
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    // A prompt without placeholders gets the arguments appended.
    if !used && !args.is_empty() {
        out.push_str(&format!("\n\n{args}"));
    }
    out
}

/// The index in `ARGUMENTS[index]`, and the rest.
fn indexed(text: &str) -> Option<(usize, &str)> {
    let (place, behind) = text.strip_prefix("ARGUMENTS[")?.split_once(']')?;
    Some((place.parse().ok()?, behind))
}

/// The index of the argument whose name starts `text`, and the rest.
fn named<'a>(text: &'a str, names: &[String]) -> Option<(usize, &'a str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    let place = names.iter().position(|name| *name == text[..end])?;
    Some((place, &text[end..]))
}

fn words(args: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = args.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted = matches!(first, '"' | '\'').then(|| rest[1..].find(first)).flatten();
        let (word, end) = match quoted {
            Some(length) => (&rest[1..=length], length + 2),
            None => {
                let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..length], length)
            }
        };
        words.push(word.to_owned());
        rest = rest[end..].trim_start();
    }
    words
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
        assert_eq!(plain("$ARGUMENTS[1], $ARGUMENTS[x], $1", "a b"), "b, a b[x], a");
        let names = ["issue".to_owned(), "branch".to_owned()];
        assert_eq!(fill("$issue on $branch, $branches", "7 main", &names), "7 on main, $branches");
    }
}
