//! The highlighted languages (data in `languages.toml`), found by fence name or file ending.

use std::sync::LazyLock;

use serde::Deserialize;

use base::search::words::listed;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    #[default]
    Code,
    Keys,
    Markup,
    Markdown,
    Diff,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TextForm {
    pub open: String,
    pub close: String,
    #[serde(default)]
    pub lines: bool,
    #[serde(default)]
    pub raw: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeLanguage {
    pub names: String,
    pub form: Form,
    pub comments: Vec<String>,
    pub block: Option<(String, String)>,
    pub nested: bool,
    pub texts: Vec<TextForm>,
    pub keywords: String,
    pub constants: String,
    pub sigils: String,
    pub dashes: bool,
    pub ticks: bool,
    pub any_case: bool,
    pub capital_types: bool,
    pub here_documents: bool,
    pub regexes: bool,
}

#[derive(Deserialize)]
struct Table {
    language: Vec<CodeLanguage>,
}

pub static ALL: LazyLock<Vec<CodeLanguage>> = LazyLock::new(|| {
    toml::from_str::<Table>(include_str!("languages.toml")).map(|table| table.language).unwrap_or_default()
});

/// By fence info (`rust`, `js title=x`, `{.python}`).
pub fn find(name: &str) -> Option<&'static CodeLanguage> {
    let name = name.trim_start_matches(['{', '.', ' ']);
    let end = name.find(|c: char| c.is_whitespace() || ",{}:".contains(c)).unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    ALL.iter().find(|language| listed(&language.names, &name))
}

pub fn of_path(path: &str) -> Option<&'static CodeLanguage> {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    find(file.rsplit('.').next().unwrap_or(file)).or_else(|| find(file.split('.').next().unwrap_or(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        let named = |found: Option<&'static CodeLanguage>| {
            found.map(|language| language.names.split(' ').next().unwrap_or_default())
        };
        assert_eq!(named(find("rust,ignore")), Some("rust"));
        assert_eq!(named(find("TSX")), Some("javascript"));
        assert_eq!(named(find("{.python}")), Some("python"));
        assert_eq!(named(find("")), None);
        assert_eq!(named(of_path("a/b.rs")), Some("rust"));
        assert_eq!(named(of_path("a/Dockerfile")), Some("dockerfile"));
        assert_eq!(named(of_path("Makefile.in")), Some("makefile"));
        assert_eq!(named(of_path("LICENSE")), None);
    }
}
