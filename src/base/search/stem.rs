//! Stems words, so that "validators" finds `validator`. Deliberately light: two names must not become one.

/// Endings of Russian nouns, adjectives and verbs, folded, longest first.
const RUSSIAN: [&str; 37] = [
    "иями", "ами", "ями", "ого", "его", "ому", "ему", "ыми", "ими", "иях", "ешь", "ать", "ить", "ах", "ях",
    "ов", "ев", "ом", "ем", "ам", "ям", "ыи", "ии", "ои", "еи", "ая", "яя", "ые", "ие", "а", "я", "ы", "и",
    "у", "ю", "е", "ь",
];
const SHORTEST_RUSSIAN: usize = 4;

/// The stem of a folded word in English or Russian; other words are returned unchanged.
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
    let word = verb(plural(word));
    match word.strip_suffix(['e', 'y']) {
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
    use super::stem;

    #[test]
    fn word_forms() {
        for group in [
            &["validator", "validators"][..],
            &["validate", "validated", "validating", "validates"],
            &["mapping", "mapped", "mappings"],
            &["entry", "entries"],
            &["class", "classes"],
            &["parse", "parsing", "parsed", "parses"],
        ] {
            for word in group {
                assert_eq!(stem(word), stem(group[0]), "{word}");
            }
        }
    }

    #[test]
    fn names_are_not_conflated() {
        for word in ["string", "status", "access", "bus", "thing", "utf8", "naïve", "red", "need"] {
            assert_eq!(stem(word), word);
        }
        assert_ne!(stem("setting"), stem("session"));
    }
}
