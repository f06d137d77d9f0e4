//! Names in text, which an agent refers back to: defines identifiers and file names, and what a name that may
//! be left out is worth. Pure.

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

/// Longer words are data rather than names, in bytes.
const LONGEST: usize = 48;
const FILE_WORTH: f64 = 3.0;

/// The names in `text`, each with its worth: how likely a later call uses it. In recorded sessions only a
/// name's length predicts that, not its spelling or position.
pub fn ranked(text: &str) -> impl Iterator<Item = (&str, f64)> {
    let files = file_names(text).map(|name| (FILE_WORTH, name));
    let all = files.chain(identifiers(text).map(|name| (1.0, name)));
    all.filter(|(_, name)| name.len() <= LONGEST)
        .map(|(worth, name)| (name, worth / (name.len() as f64).sqrt()))
}

pub fn names(text: &str) -> impl Iterator<Item = &str> {
    identifiers(text).chain(file_names(text))
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
