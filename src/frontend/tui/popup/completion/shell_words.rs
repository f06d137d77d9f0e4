//! The words of a `!command`: where the last one starts, and what replaces it.

const ENDS: [char; 9] = [' ', '\t', '\n', '|', ';', '&', '<', '>', '('];

pub fn insertion(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len() + 1);
    for c in word.chars() {
        if c.is_whitespace() || "'\"\\$`&|;<>()*?[]{}!#".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    if !word.ends_with('/') {
        escaped.push(' ');
    }
    escaped
}

/// Start of the last word, and whether it names a program.
pub fn last_word(before: &str) -> (usize, bool) {
    let escaped = |at: usize| before[..at].ends_with('\\');
    let end = before.char_indices().rev().find(|(at, c)| ENDS.contains(c) && !escaped(*at));
    let start = end.map_or(1, |(at, c)| at + c.len_utf8()).max(1);
    let ahead = before[1..start].trim_end();
    (start, ahead.is_empty() || ahead.ends_with(['|', ';', '&', '(']))
}

pub fn common(words: &[String]) -> &str {
    let Some(first) = words.first() else { return "" };
    let shared = words.iter().skip(1).fold(first.len(), |length, word| {
        let same = first.char_indices().zip(word.chars()).take_while(|((_, a), b)| a == b);
        length.min(same.last().map_or(0, |((at, c), _)| at + c.len_utf8()))
    });
    &first[..shared]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_commands() {
        assert_eq!(last_word("!gi"), (1, true));
        assert_eq!(last_word("!git sta"), (5, false));
        assert_eq!(last_word("!ls | gr"), (6, true));
        assert_eq!(last_word("!cat a\\ b"), (5, false));
        assert_eq!(insertion("a b"), "a\\ b ");
        assert_eq!(insertion("src/"), "src/");
        assert_eq!(common(&["cargo".to_owned(), "cat".to_owned()]), "ca");
    }
}
