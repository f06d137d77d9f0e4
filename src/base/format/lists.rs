//! Lists in a text file: `[NAME]` opens one, and each further line is an entry. Blank lines and comments (`#`) are ignored.

pub fn list<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let heading = format!("[{name}]");
    assert!(text.lines().any(|line| line == heading), "there is no list {heading}");
    let entries = text.lines().skip_while(move |line| *line != heading).skip(1);
    let own = entries.take_while(|line| !(line.starts_with('[') && line.ends_with(']')));
    own.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_at_the_next() {
        let text = "# About.\n[a]\none\n\n# Why.\ntwo words\n[b]\nthree\n";
        assert_eq!(list(text, "a").collect::<Vec<_>>(), ["one", "two words"]);
        assert_eq!(list(text, "b").collect::<Vec<_>>(), ["three"]);
    }
}
