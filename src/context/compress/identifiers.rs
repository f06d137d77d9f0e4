//! Names in text: what an agent refers back to. The one definition of an identifier and of a file name, and what a name
//! is worth that may be left out. Pure.

/// The shortest word that is taken for a name, in bytes.
const NAME_BYTES: usize = 4;

/// Identifiers: runs of ASCII letters, digits and `_` that begin with no digit, of four bytes or more.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.len() >= NAME_BYTES && !word.as_bytes()[0].is_ascii_digit())
}

/// File names: the last part of a path, with an ending of one to five letters or digits.
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

/// Words longer than this are data rather than names, in bytes.
const LONGEST: usize = 48;
/// A file name counts as much as so many other names.
const FILE_WORTH: f64 = 3.0;

/// The names in `text`, each with its worth: how likely a later call is to use it, beside the others. On recorded sessions
/// neither spelling nor place tells (names of code are used no more often than plain words), only that a name is short.
pub fn ranked(text: &str) -> impl Iterator<Item = (&str, f64)> {
    let files = file_names(text).map(|name| (FILE_WORTH, name));
    let all = files.chain(identifiers(text).map(|name| (1.0, name)));
    all.filter(|(_, name)| name.len() <= LONGEST)
        .map(|(worth, name)| (name, worth / (name.len() as f64).sqrt()))
}

/// Identifiers and file names.
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
