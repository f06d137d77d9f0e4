//! Names in text, which an agent refers back to: identifiers and file names. Pure.

const NAME_BYTES: usize = 4;

/// Identifiers: runs of ASCII letters, digits and `_`, at least four bytes, not starting with a digit.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.len() >= NAME_BYTES && !word.as_bytes()[0].is_ascii_digit())
}

/// File names: the last part of a path, with an extension of one to five letters or digits.
pub fn file_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).filter_map(|word| {
        let word = word.trim_matches('.');
        let (stem, ending) = word.rsplit_once('.')?;
        let ends_well = (1..=5).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic());
        (ends_well && stem.bytes().any(|b| b.is_ascii_alphabetic())).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files() {
        let text = "let x_max = readFile(\"src/a-b/main.rs\") + 12ab; e.g. v1.2 foo.tar.gz";
        assert_eq!(identifiers(text).collect::<Vec<_>>(), ["x_max", "readFile", "main"]);
        assert_eq!(file_names(text).collect::<Vec<_>>(), ["main.rs", "e.g", "foo.tar.gz"]);
    }
}
