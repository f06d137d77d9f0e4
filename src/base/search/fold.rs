//! One form for words that differ only in case, accents or width, and for their endings: so that `limite` finds `límite`,
//! and `возвраты` finds `возврат`. For searches by people and models, never for names on disk.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::stem::stem;

/// Lower case, one width, no accents. Marks that make another letter in Asian scripts stay.
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

/// What a user searches for in a list: all its words, in any form.
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

/// Scripts without blanks: most pairs of neighbors are there, as other words may stand between.
fn pairs_are_in(word: &str, folded: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    if chars.len() < 4 || !chars.iter().all(|c| is_cjk(*c)) {
        return false;
    }
    let found = chars.windows(2).filter(|pair| folded.contains(&pair.iter().collect::<String>())).count();
    found * 3 >= (chars.len() - 1) * 2
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
}
