//! A page of texts, compared with the one that is stored.

use std::path::Path;

/// Compares `text` with the stored page of that name.
pub fn page(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/texts").join(name);
    if std::env::var_os("UPDATE_TEXTS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (now, was)) in text.lines().zip(stored.lines()).enumerate() {
        assert_eq!(now, was, "{name}:{}; see this file's first lines", number + 1);
    }
    assert_eq!(text.lines().count(), stored.lines().count(), "{name} is longer or shorter");
}
