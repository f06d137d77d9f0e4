//! Folds words that differ only in case, accents, width or endings, so that `limite` finds `límite`, and
//! "validators" finds `validator`. For searches by people and models, never for names on disk.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Lowercase, normal width, no accents. Marks that make another letter in Asian scripts stay.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.nfkc() {
        if c < '\u{500}' {
            folded.extend(c.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase));
        } else {
            folded.extend(c.to_lowercase());
        }
    }
    folded
}

pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A user's search in a list, which needs all its words.
#[derive(Clone, Debug, Default)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    pub fn new(query: &str) -> Self {
        Self(fold(query).split_whitespace().map(|word| stem(word).to_owned()).collect())
    }

    /// `folded` comes from [`fold`].
    pub fn are_in(&self, folded: &str) -> bool {
        self.0.iter().all(|word| folded.contains(word.as_str()) || pairs_are_in(word, folded))
    }
}

/// In scripts without blanks, most pairs of neighbors must occur, because other words may be in between.
fn pairs_are_in(word: &str, folded: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    if chars.len() < 4 || !chars.iter().all(|c| is_cjk(*c)) {
        return false;
    }
    let found = chars.windows(2).filter(|pair| folded.contains(&pair.iter().collect::<String>())).count();
    found * 3 >= (chars.len() - 1) * 2
}

const RUSSIAN: [&str; 37] = [
    "иями", "ами", "ями", "ого", "его", "ому", "ему", "ыми", "ими", "иях", "ешь", "ать", "ить", "ах", "ях",
    "ов", "ев", "ом", "ем", "ам", "ям", "ыи", "ии", "ои", "еи", "ая", "яя", "ые", "ие", "а", "я", "ы", "и",
    "у", "ю", "е", "ь",
];
const SHORTEST_RUSSIAN: usize = 4;

/// The stem of a folded word in English or Russian, and German and Portuguese plurals. Deliberately light, so that different
/// names stay different.
pub fn stem(word: &str) -> &str {
    if word.starts_with(|c: char| ('а'..='я').contains(&c)) {
        let endings = RUSSIAN.iter().filter_map(|ending| word.strip_suffix(ending));
        return endings.into_iter().find(|rest| rest.chars().count() >= SHORTEST_RUSSIAN).unwrap_or(word);
    }
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    // `entries`, `copied` and `entry` match without their last letters.
    for ending in ["ies", "ied"] {
        if let Some(rest) = word.strip_suffix(ending) {
            return if rest.len() >= 3 { rest } else { word };
        }
    }
    // `permissões` and `permissão`
    let portuguese = ["oes", "ao"].into_iter().find_map(|ending| word.strip_suffix(ending));
    if let Some(rest) = portuguese.filter(|rest| rest.len() >= 4 && rest.ends_with(['c', 's'])) {
        return rest;
    }
    // `Rechnungen`, and `Tabellen` as `Tabelle`
    if let Some(rest) = word.strip_suffix("en").filter(|rest| rest.len() >= 5) {
        return rest;
    }
    let word = verb(plural(word));
    match word.strip_suffix(['e', 'y']) {
        // Not `them`, `man` and `ver`.
        _ if ["theme", "many", "very"].contains(&word) => word,
        Some(rest) if rest.len() >= 4 || word.ends_with('y') && rest.len() >= 3 => rest,
        _ => word,
    }
}

fn plural(word: &str) -> &str {
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return &word[..word.len() - 2];
        }
    }
    match word.strip_suffix('s') {
        Some(rest) if rest.len() >= 3 && !rest.ends_with(['s', 'u', 'i']) => rest,
        _ => word,
    }
}

fn verb(word: &str) -> &str {
    for ending in ["ing", "ed"] {
        let Some(rest) = word.strip_suffix(ending) else { continue };
        if rest.len() < 3 || !rest.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            return word;
        }
        let bytes = rest.as_bytes();
        let doubled = bytes[rest.len() - 1] == bytes[rest.len() - 2];
        return if doubled && !rest.ends_with(['l', 's', 'z', 'e', 'o']) && rest.len() > 3 {
            &rest[..rest.len() - 1]
        } else {
            rest
        };
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding() {
        assert_eq!(fold("Contraseña ÄÖÜ Йод ｶｰﾄ がか"), "contrasena aou иод カート がか");
    }

    #[test]
    fn word_forms_and_scripts_without_blanks() {
        for (query, text) in [
            ("limite", "el límite de pedidos"),
            ("Límites", "limite de crédito"),
            ("возвраты", "Возврат денег"),
            ("возврат заказов", "заказ и возвраты"),
            ("登录超时", "修复登录接口的超时"),
            ("로그인", "사용자로그인오류"),
            ("ログイン", "ユーザーのログイン失敗"),
            ("entries", "each entry"),
        ] {
            assert!(SearchWords::new(query).are_in(&fold(text)), "{query}");
        }
        for (query, text) in [("возврат", "заказ"), ("登录超时", "修复支付"), ("limit order", "the limit")]
        {
            assert!(!SearchWords::new(query).are_in(&fold(text)), "{query}");
        }
    }

    #[test]
    fn word_forms() {
        for group in [
            &["validator", "validators"][..],
            &["validate", "validated", "validating", "validates"],
            &["mapping", "mapped", "mappings"],
            &["entry", "entries"],
            &["class", "classes"],
            &["parse", "parsing", "parsed", "parses"],
            &["rechnung", "rechnungen"],
            &["tabelle", "tabellen"],
            &["permissao", "permissoes"],
        ] {
            for word in group {
                assert_eq!(stem(word), stem(group[0]), "{word}");
            }
        }
    }

    #[test]
    fn names_are_not_conflated() {
        for word in
            ["string", "status", "access", "bus", "thing", "utf8", "naïve", "red", "need", "token", "listen"]
        {
            assert_eq!(stem(word), word);
        }
        assert_ne!(stem("setting"), stem("session"));
    }
}
