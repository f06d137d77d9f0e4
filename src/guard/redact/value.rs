//! Whether a value in the place of a secret is one. A leak can't be undone and a false alarm costs little, but
//! code that only mentions a secret (`password = getenv(…)`) must stay readable.

use base::pattern::Pattern;
use base::search::words::listed;
use base::secret;

static IDENTIFIER: Pattern =
    Pattern::new(r"^[&*!]?[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|\?\.)[A-Za-z_][A-Za-z0-9_]*)*[.?!]?$");

static NOT_A_PASSWORD: Pattern = Pattern::new(include_str!("not_a_password.regex"));

static TYPE_NAME: Pattern = Pattern::new(include_str!("type_name.regex"));

/// A class name with a number, such as `Page2Form`.
static CLASS_NAME: Pattern = Pattern::new(r"^(?:[A-Z]+[a-z]*)+\d+(?:[A-Z][a-z]*)+$");

pub const SIGNS: [char; 10] = ['!', '@', '#', '$', '%', '^', '&', '*', '+', '~'];

#[cfg(test)]
pub static PATTERNS: [&Pattern; 4] = [&IDENTIFIER, &NOT_A_PASSWORD, &TYPE_NAME, &CLASS_NAME];

pub fn kind_of(name: &str) -> &'static str {
    match name {
        name if name.contains("key") => "api-key",
        name if name.contains("token") => "token",
        name if name.contains("pass") || matches!(name, "pwd" | "pw" | "mdp") => "password",
        _ => "secret",
    }
}

pub fn is_quoted_secret(name: &str, value: &str) -> bool {
    if is_dummy(value) || value.contains(' ') || looks_like_path(value) {
        return false;
    }
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let mention = ["password", "secret", "token", "passwd", "test", "api_key", "apikey", "api-key"];
    let lower = value.to_ascii_lowercase();
    if has_digit(value) {
        return value.len() >= 6 && !TYPE_NAME.is_match(value);
    }
    let mixed = value.bytes().any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'.' | b':' | b'-'));
    !mention.iter().any(|word| lower.contains(word))
        && (letters >= 12 && name != "token" || mixed && value.len() >= 8)
}

/// `config`: the line has only a name and a value.
pub fn is_bare_secret(name: &str, value: &str, config: bool) -> bool {
    if value.len() < 6 || is_dummy(value) || looks_like_path(value) || value.contains(['(', ')', '[', ']']) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    if letters == 0 {
        return config && name.starts_with("pass") && digits >= 6;
    }
    if TYPE_NAME.is_match(value) {
        return false;
    }
    if IDENTIFIER.is_match(value) {
        let random = digits >= 3 && value.len() >= 16 || digits >= 1 && value.len() >= 32;
        let long = random && !value.contains(['_', '.', ':']);
        return long || config && digits >= 1 && !value.contains(['.', ':']);
    }
    let odd = value
        .trim_end_matches('*')
        .bytes()
        .any(|b| matches!(b, b'!' | b'@' | b'#' | b'^' | b'*' | b'+' | b'/' | b'=' | b'~' | b'$'));
    (digits >= 2 && letters >= 2 && value.len() >= 8 || config && digits >= 1) && !value.starts_with('-')
        || config && odd && value.len() >= 8
}

/// Not a name or a number, such as `Sommer2024!`. `strict`: more text follows.
pub fn is_like_password(value: &str, strict: bool) -> bool {
    let count = |is: fn(char) -> bool| value.chars().filter(|c| is(*c)).count();
    let (digits, small) = (count(|c| c.is_ascii_digit()), count(char::is_lowercase));
    let signs = count(|c| SIGNS.contains(&c));
    let odd = signs > 0 && digits > 0 || small > 0 && digits > 0 && count(char::is_uppercase) > 0;
    let least = match (odd, signs > 0 && digits > 0) {
        (_, true) => 5,
        (true, _) => 6,
        _ => 7 + usize::from(strict),
    };
    value.chars().count() >= least
        && (odd || digits > usize::from(strict) && small > 0)
        && !value.starts_with(['#', '@', '$', '%', '&'])
        && !value.contains(['_', '.', '(', ')', '[', ']', '<', '>', '/', '\\', ':'])
        && !is_dummy(value)
        && !TYPE_NAME.is_match(value)
}

/// A mix of characters that occurs neither in prose nor in names: `qW8#kLm2xZ`, `Sommer2024`.
pub fn is_strong_password(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let mixed = has(char::is_uppercase) && has(char::is_lowercase) && !CLASS_NAME.is_match(value);
    value.chars().count() >= 8 && (mixed || value.contains(SIGNS)) && is_like_password(value, true)
}

/// A single word without digits where a password belongs: `PASSWORD=letmein`.
pub fn is_word_secret(name: &str, value: &str) -> bool {
    let least = if name.starts_with("pass") { 6 } else { 12 };
    (name.starts_with("pass") || name == "secret")
        && value.chars().count() >= least
        && value.chars().all(char::is_alphabetic)
        && !is_dummy(value)
        && !NOT_A_PASSWORD.is_match(value)
}

/// For what follows `Authorization:`; ordinary words don't count.
pub fn is_credential(value: &str) -> bool {
    let capitals = value.bytes().filter(u8::is_ascii_uppercase).count();
    !is_dummy(value)
        && (has_digit(value)
            || value.len() >= 24
            || value.ends_with('=')
            || value.len() >= 16 && capitals >= 3)
        && !TYPE_NAME.is_match(value)
}

/// For values in a `.env` file.
pub fn is_public(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let telling = secret::is_credential_name(name) || upper.contains("SECRET") || upper.contains("PASS");
    if value.len() < 3 || value.starts_with('$') {
        return true;
    }
    if telling {
        return false;
    }
    const NAMES: &str =
        "PORT HOST NODE_ENV ENV LOG_LEVEL DEBUG TZ LANG APP_ENV RAILS_ENV PATH HOSTNAME LC_ALL APP_NAME";
    listed(NAMES, &upper)
        || value.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || value.len() <= 16 && value.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-'))
        || matches!(value, "True" | "False" | "TRUE" | "FALSE")
        || looks_like_path(value) && !value.contains('@')
}

/// A stand-in for a secret that is stored elsewhere or not set yet: `${KEY}`, `changeme`.
pub fn is_dummy(value: &str) -> bool {
    // A long value that a tool has cut off is still one.
    let value = value.strip_suffix('…').filter(|cut| cut.len() > 30 && has_digit(cut)).unwrap_or(value);
    let lower = value.to_ascii_lowercase();
    let code = ["${", "$(", "{{", "{}", "%s", "%(", "%{", "<", "...", "***", "…", "•"];
    let words =
        ["example", "your", "xxxx", "changeme", "change-me", "change_me", "placeholder", "dummy", "redacted"];
    value.starts_with(['$', '{', '%', '@'])
        || value.contains(['{', '}'])
        || code.iter().any(|sign| value.contains(sign))
        || words.iter().any(|word| lower.contains(word)) && !(value.len() > 30 && has_digit(value))
        || listed("password passwd pass secret token null none true false undefined string postgres", &lower)
}

fn looks_like_path(value: &str) -> bool {
    value.starts_with(['/', '~']) && !value.contains(['+', '='])
        || value.starts_with("./")
        || value.starts_with("../")
        || value.contains("://")
}

pub fn has_digit(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}
