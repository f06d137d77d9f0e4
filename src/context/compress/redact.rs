//! Takes secrets out of text before it reaches a provider, the log or the screen. Matches by shape (well-known key
//! prefixes, private key blocks) and by name (`PASSWORD=…`). A false alarm costs little, a leak cannot be taken back;
//! but code that merely mentions a secret (`password = getenv(…)`) must stay readable.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands for a secret (SPEC §6).
pub const MARK: &str = "<REDACTED>";

/// Cheap signs of which at least one occurs in every text that a pattern could match: most text is let through
/// without running a pattern.
const SIGNS: [&str; 18] = [
    "sk-",
    "sk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "PRIVATE KEY",
    "npm_",
    "hf_",
    "pypi-",
    "://",
    "earer ",
];

static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?x) \b(?: sk-[A-Za-z0-9_-]{20,} | sk_(?:live|test)_[A-Za-z0-9]{16,} | gh[pousr]_[A-Za-z0-9]{30,}",
        r" | github_pat_[A-Za-z0-9_]{40,} | glpat-[A-Za-z0-9_-]{20,} | xox[abprs]-[A-Za-z0-9-]{10,}",
        r" | (?:AKIA|ASIA)[A-Z0-9]{16} | AIza[A-Za-z0-9_-]{35} | npm_[A-Za-z0-9]{36} | hf_[A-Za-z0-9]{30,}",
        r" | pypi-[A-Za-z0-9_-]{50,} | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,} )",
    ))
    .ok()
});

static PRIVATE_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\z)",
    )
    .ok()
});

/// A value assigned to a telling name: quoted, or bare as in `.env` files.
static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?i)((?:api[_-]?key|secret(?:[_-]?(?:key|access[_-]?key))?|access[_-]?token|auth[_-]?token|[a-z0-9_]*_token"#,
        r#"|passw(?:or)?d|private[_-]?key|client[_-]?secret)["']?\s*[:=]\s*)"#,
        r#"(?:"([^"\s]{8,})"|'([^'\s]{8,})'|([A-Za-z0-9+/_\-.=]{16,})(\s|$))"#,
    ))
    .ok()
});

static URL_PASSWORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([a-z][a-z0-9+.-]*://[^\s/:@]{1,64}:)([^\s/@]{3,})@").ok());

static BEARER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(bearer )([A-Za-z0-9._~+/=-]{20,})").ok());

/// `text` without its secrets; borrowed when there are none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    if SIGNS.iter().any(|sign| text.contains(sign)) {
        clean = replace(clean, &PRIVATE_KEY, |_| MARK.to_owned());
        clean = replace(clean, &SHAPES, |_| MARK.to_owned());
        clean = replace(clean, &URL_PASSWORD, |found| {
            if looks_like_code(&found[2]) { found[0].to_owned() } else { format!("{}{MARK}@", &found[1]) }
        });
        clean = replace(clean, &BEARER, |found| format!("{}{MARK}", &found[1]));
    }
    if text.contains(['=', ':']) {
        clean = replace(clean, &ASSIGNED, |found| {
            let (open, value, close) = match (found.get(2), found.get(3), found.get(4)) {
                (Some(value), ..) => ("\"", value.as_str(), "\""),
                (_, Some(value), _) => ("'", value.as_str(), "'"),
                (_, _, Some(value)) => ("", value.as_str(), found.get(5).map_or("", |end| end.as_str())),
                _ => return found[0].to_owned(),
            };
            if is_secret_value(value, open.is_empty()) {
                format!("{}{open}{MARK}{close}", &found[1])
            } else {
                found[0].to_owned()
            }
        });
    }
    clean
}

fn replace<'a>(
    text: Cow<'a, str>,
    pattern: &Option<Regex>,
    with: impl Fn(&Captures<'_>) -> String,
) -> Cow<'a, str> {
    let Some(pattern) = pattern else { return text };
    let replaced = match pattern.replace_all(&text, |found: &Captures<'_>| with(found)) {
        Cow::Borrowed(_) => None,
        Cow::Owned(replaced) => Some(replaced),
    };
    replaced.map_or(text, Cow::Owned)
}

/// A bare value must mix letters and digits like a key does; a quoted one must not be code, a path or a placeholder.
fn is_secret_value(value: &str, bare: bool) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    if value.contains(MARK) || looks_like_code(value) {
        return false;
    }
    if bare {
        digits >= 3 && letters >= 3 && !value.contains('/') && !value.contains("..")
    } else {
        digits >= 1 || letters >= 12
    }
}

fn looks_like_code(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.contains(['(', ')', '{', '}', '<', '>', '$', '%', ' '])
        || ["example", "your", "xxx", "changeme", "password", "secret", "token", "test", "dummy"]
            .iter()
            .any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_and_code_stays() {
        let key = format!("sk-{}", "a1B2".repeat(8));
        assert_eq!(redact(&format!("OPENAI_API_KEY={key}\n")), "OPENAI_API_KEY=<REDACTED>\n");
        assert_eq!(redact("db_password = \"hunter2hunter2\""), "db_password = \"<REDACTED>\"");
        assert_eq!(redact("postgres://app:s3cr4tpw@db/x"), "postgres://app:<REDACTED>@db/x");
        assert_eq!(redact("AUTH_TOKEN=abc123def456ghi789\nX=1"), "AUTH_TOKEN=<REDACTED>\nX=1");
        for code in [
            "password = os.environ[\"DB_PASSWORD\"]",
            "let api_key = settings.api_key.clone();",
            "token: String,",
            "def check_password(password: str) -> bool:",
            "url = f\"https://{user}:{password}@host\"",
            "max_tokens = 16000",
            "self.assertEqual(secret_key, expected)",
        ] {
            assert_eq!(redact(code), code);
        }
    }

    #[test]
    fn a_private_key_goes_even_when_cut() {
        let text = "x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n";
        assert_eq!(redact(text), "x\n<REDACTED>");
    }
}
