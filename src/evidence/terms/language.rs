//! The languages that a text may be in, by its script or its function words.

use TaskLanguage::{French, German, Portuguese, Spanish};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskLanguage {
    Chinese,
    Japanese,
    Korean,
    Russian,
    Spanish,
    Portuguese,
    French,
    German,
}

/// Words that are rare in English text or code, one line per language; English ones come first.
const FUNCTION_WORDS: &str = include_str!("function_words.txt");
const LATIN: [TaskLanguage; 4] = [Spanish, Portuguese, French, German];
/// A text of at most this many words needs only one function word, if it belongs to one language.
const SHORT: usize = 8;

/// Empty for English.
pub fn of(text: &str) -> Vec<TaskLanguage> {
    let mut found = Vec::new();
    let has = |range: std::ops::RangeInclusive<char>| text.chars().any(|c| range.contains(&c));
    let (kana, hangul) = (has('\u{3041}'..='\u{30ff}'), has('\u{ac00}'..='\u{d7a3}'));
    found.extend(kana.then_some(TaskLanguage::Japanese));
    found.extend(hangul.then_some(TaskLanguage::Korean));
    found.extend((!kana && has('\u{4e00}'..='\u{9fff}')).then_some(TaskLanguage::Chinese));
    found.extend(has('\u{430}'..='\u{44f}').then_some(TaskLanguage::Russian));
    found.extend(latin(text));
    found
}

fn latin(text: &str) -> Vec<TaskLanguage> {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()).to_lowercase())
        .filter(|word| word.chars().all(char::is_alphabetic))
        .collect();
    let count = |list: &str| {
        words.iter().filter(|word| list.split(' ').any(|listed| listed == word.as_str())).count()
    };
    let accented = text.chars().any(|c| ('\u{c0}'..='\u{17f}').contains(&c) && c != '×' && c != '÷');
    let mut lists = FUNCTION_WORDS.lines().map(count);
    let english = lists.next().unwrap_or_default();
    let counts: Vec<(TaskLanguage, usize)> = LATIN.into_iter().zip(lists).collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let best = || counts.iter().filter(|(_, count)| *count == most).map(|(language, _)| *language);
    let is_short = words.len() <= SHORT && best().count() == 1;
    // In `Los candidatos reciben dos correos` each of two languages has one.
    let all = FUNCTION_WORDS.lines().skip(1).collect::<Vec<_>>().join(" ");
    if most > english && (most >= 2 || count(&all) >= 2 || accented || is_short) {
        return best().collect();
    }
    // A short title may have no function words.
    let any = accented && english == 0;
    counts.iter().filter(|_| any).map(|(language, _)| *language).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_of_sentences() {
        for (text, language) in [
            ("修复登录超时", TaskLanguage::Chinese),
            ("カートの合計が合わない", TaskLanguage::Japanese),
            ("로그인이 안 됩니다", TaskLanguage::Korean),
            ("Не работает вход", TaskLanguage::Russian),
            ("El total del carrito no se actualiza", TaskLanguage::Spanish),
            ("O total do carrinho não é atualizado quando removo um item", TaskLanguage::Portuguese),
            ("Le total du panier ne change pas", TaskLanguage::French),
            ("Der Gutschein wird nicht angewendet", TaskLanguage::German),
            ("Bilder hochladen ist langsam", TaskLanguage::German),
            ("Die Rechnungsnummer kommt doppelt vor", TaskLanguage::German),
            ("Le fichier journal grossit sans limite", TaskLanguage::French),
            ("O cupom de desconto pode ser usado duas vezes", TaskLanguage::Portuguese),
            ("Antworten im Zwischenspeicher laufen nie ab", TaskLanguage::German),
            ("Les commandes ne partent jamais", TaskLanguage::French),
            ("El enlace caduca antes de tiempo", TaskLanguage::Spanish),
            ("Um cupom vencido continua sendo aceito", TaskLanguage::Portuguese),
            ("Un cupón no debe poder usarse dos veces", TaskLanguage::Spanish),
            ("Zwei Mails kommen an", TaskLanguage::German),
        ] {
            assert_eq!(of(text), [language], "{text}");
        }
        assert!(of("Los candidatos reciben dos correos").contains(&TaskLanguage::Spanish));
        for text in [
            "",
            "Fix the login timeout",
            "ls -la /en/la",
            "No log file is made on Mac OS X, do as in an old version",
            "Add de and en locales to the list of languages",
            "Login fails, no error shown, users see blank page",
            "Rename `der` to `que` in the parser when it is not set",
            "Café prices should be rounded to the cent",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }
}
