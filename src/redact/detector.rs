//! Finds secrets in text, so that they can be taken out before a provider, the log or the screen sees them. Matches
//! by shape (well-known key prefixes, private key blocks), by name (`PASSWORD=…`) and by place (`.env`). A leak
//! cannot be taken back; a false alarm costs little, because the vault puts the real text back into an edit, but
//! code that merely mentions a secret (`password = getenv(…)`) must stay readable.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What all placeholders begin with.
pub const PREFIX: &str = "<REDACTED";

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSpan {
    pub range: Range<usize>,
    /// `api-key`, `token`, `password`, `private-key`, `env`: the middle of its placeholder.
    pub kind: &'static str,
}

/// Where a text comes from, as far as that says something about its secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSource {
    Text,
    /// What the user typed: secrets are told in sentences there.
    Typed,
    /// A `.env` file: nearly every value is one.
    Dotenv,
}

impl TextSource {
    /// The place that a file is.
    pub fn of_file(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let sample = ["example", "sample", "template", "dist", "defaults", "schema"];
        let dotenv =
            name == ".env" || name.starts_with(".env.") || name.ends_with(".env") || name == ".envrc";
        if dotenv && !sample.iter().any(|word| name.contains(word)) { Self::Dotenv } else { Self::Text }
    }

    /// The place that a command's output is, judged by the files that it names.
    pub fn of_command(command: &str) -> Self {
        let named = command
            .split(|c: char| {
                c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '|' | '&' | '<' | '>' | '=' | '(' | ')')
            })
            .any(|word| Self::of_file(Path::new(word)) == Self::Dotenv);
        if named { Self::Dotenv } else { Self::Text }
    }
}

type Pattern = LazyLock<Option<Regex>>;

/// Word boundaries are those of ASCII, here and below: keys are ASCII, a key right behind a Chinese word is still one,
/// and with Unicode's the regex engine leaves its fast path at the first other character (seconds a megabyte).
static SHAPES: Pattern = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?x-u) (?P<key> \bsk-[A-Za-z0-9_-]{16,} | \b[srp]k_(?:live|test)_[A-Za-z0-9]{10,} | \bwhsec_[A-Za-z0-9+/=]{16,}",
        r" | \b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b | \bAIza[A-Za-z0-9_-]{30,} | \bGOCSPX-[A-Za-z0-9_-]{20,}",
        r" | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | \bgsk_[A-Za-z0-9]{30,} | \bxai-[A-Za-z0-9]{30,}",
        r" | \br8_[A-Za-z0-9]{30,} | \bAGE-SECRET-KEY-[A-Z0-9]{40,} )",
        r" | (?P<token> \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bgl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_.-]{16,}",
        r" | \bxox[abeoprs]-[A-Za-z0-9-]{8,} | \bxapp-[A-Za-z0-9-]{16,} | \bnpm_[A-Za-z0-9]{30,} | \bhf_[A-Za-z0-9]{20,}",
        r" | \bpypi-[A-Za-z0-9_-]{32,} | \bdop_v1_[a-f0-9]{40,} | \bya29\.[A-Za-z0-9_-]{20,} | \bshp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}",
        r" | \beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}",
        r" | \b\d{8,10}:AA[A-Za-z0-9_-]{33} | hooks\.slack\.com/services/(?P<hook>[A-Za-z0-9/]{20,}) )",
    ))
    .ok()
});

static PRIVATE_KEY: Pattern = LazyLock::new(|| {
    Regex::new(concat!(
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----((?:[A-Za-z0-9+/=\s:,.()-]|\\[nr])*?)",
        r"(-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|[^A-Za-z0-9+/=\s:,.()\\-]|\z)",
    ))
    .ok()
});

/// The end of a private key whose beginning is out of sight.
static KEY_TAIL: Pattern = LazyLock::new(|| {
    Regex::new(r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])+)+(?:[A-Za-z0-9+/=]+\s+)?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
        .ok()
});

/// A value assigned to a telling name: the name, what is between, and the value in one of four spellings.
static ASSIGNED: Pattern = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?ix) (?P<name> api[_-]?key | secret (?: [_-]? (?: access[_-]? )? key )? (?: [_-]?base )? | access[_-]?key | auth[_-]?key",
        r" | encryption[_-]?key | signing[_-]?key | account[_-]?key | private[_-]?key | token | passw(?:or)?d | passphrase | pwd",
        r" | credentials? ) (?P<sep> \\?[\x22'\]]* \s* (?: => | := | : | = ) \s* | [\x20=] )",
        r" (?: \\\x22 (?P<escaped> [^\x22\\\n]{4,} ) \\\x22 | \x22 (?P<double> [^\x22\n]{4,} ) \x22 | ' (?P<single> [^'\n]{4,} ) '",
        r" | (?P<bare> [^\s\x22'`,;\\]{4,} ) )",
    ))
    .ok()
});

/// `the password is …`, as a sentence says it.
static TOLD: Pattern = LazyLock::new(|| {
    Regex::new(r#"(?i)(?-u:\b)(password|passwd|passphrase|secret|token|api[ _-]?key)(?-u:\b)(?: for [\w.-]+)? (?:is|was|=>|->) ["'`]?([^\s"'`,;]{6,})"#).ok()
});

static IN_TAGS: Pattern = LazyLock::new(|| {
    Regex::new(r"(?i)<(?:[a-z0-9_.-]*(?:password|secret|token|api-?key))>([^<>\s]{4,})</").ok()
});

static URL_PASSWORD: Pattern =
    LazyLock::new(|| Regex::new(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]{0,64}:([^\s/@]{3,})@").ok());

static AUTHORIZATION: Pattern = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?i)(?:authorization\\?["']?\s*[:=]\s*\\?["']?(?:bearer|basic|token|apikey|digest)?\s*"#,
        r#"|(?-u:\b)(?:bearer|basic)\s)([A-Za-z0-9._~+/=-]{8,})"#,
    ))
    .ok()
});

static ENV_LINE: Pattern = LazyLock::new(|| {
    Regex::new(r#"(?m)(?:^|[\s:+-])(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*)=(?:"(?P<double>[^"\n]+)"|'(?P<single>[^'\n]+)'|(?P<bare>[^\s"'][^\n\r]*))"#).ok()
});

static IDENTIFIER: Pattern = LazyLock::new(|| {
    Regex::new(r"^[&*!]?[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|\?\.)[A-Za-z_][A-Za-z0-9_]*)*[.?!]?$").ok()
});

static TYPE_NAME: Pattern = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:u?int|i|u|f|float|double|decimal|n?varchar|n?char|bytes?|sha|md|base|utf|str|string|vec|array|hmac|aes|ed|x|hs|rs|es|rsa|uuid|bool|text|key|token|value|arg|param|secret|passw(?:or)?d)(?:[-_]?\d+)?$").ok()
});

/// The secrets of `text`, in order, none inside another.
pub fn find(text: &str, place: TextSource) -> Vec<SecretSpan> {
    let mut found: Vec<SecretSpan> = Vec::new();
    let mut add = |range: Range<usize>, kind: &'static str| {
        // What stands for a secret already is none.
        if !range.is_empty() && !text[range.clone()].contains(PREFIX) {
            found.push(SecretSpan { range, kind });
        }
    };
    for caps in all(&PRIVATE_KEY, text, &["PRIVATE KEY"]) {
        let (Some(whole), Some(body), Some(end)) = (caps.get(0), caps.get(1), caps.get(2)) else { continue };
        if body.as_str().trim().is_empty() {
            continue;
        }
        let to = if end.as_str().starts_with("-----END") { whole.end() } else { end.start() };
        add(whole.start()..to, "private-key");
    }
    for caps in all(&KEY_TAIL, text, &["PRIVATE KEY"]) {
        add(caps.get(0).map_or(0..0, |whole| whole.range()), "private-key");
    }
    for caps in all(&SHAPES, text, &[""]) {
        if let Some(key) = caps.name("key") {
            // Class names and slugs may begin like a key; a key has digits.
            if !key.as_str().starts_with("sk-") || has_digit(key.as_str()) {
                add(key.range(), "api-key");
            }
        } else if let Some(token) = caps.name("hook").or_else(|| caps.name("token")) {
            add(token.range(), "token");
        }
    }
    for caps in all(&URL_PASSWORD, text, &["://"]) {
        if let Some(value) = caps.get(1).filter(|value| !is_placeholder(value.as_str())) {
            add(value.range(), "password");
        }
    }
    for caps in all(&AUTHORIZATION, text, &["earer", "asic", "uthorization", "EARER", "ASIC", "UTHORIZATION"])
    {
        if let Some(value) = caps.get(1).filter(|value| is_credential(value.as_str())) {
            add(value.range(), "token");
        }
    }
    for caps in all(&IN_TAGS, text, &["</"]) {
        if let Some(value) = caps.get(1).filter(|value| !is_placeholder(value.as_str())) {
            add(value.range(), "password");
        }
    }
    assigned(text, &mut add);
    if place == TextSource::Typed {
        for caps in all(&TOLD, text, &[" "]) {
            if let Some(value) = caps.get(2) {
                let shown = value.as_str().trim_end_matches(['.', '!', '?', ')', ':']);
                let name = caps.get(1).map_or("", |name| name.as_str()).to_ascii_lowercase();
                if !shown.contains('/') && is_bare_secret(&name, shown, true) {
                    add(value.start()..value.start() + shown.len(), kind_of(&name));
                }
            }
        }
    }
    if place == TextSource::Dotenv {
        for caps in all(&ENV_LINE, text, &["="]) {
            let name = caps.name("name").map_or("", |name| name.as_str());
            let value = ["double", "single", "bare"].iter().find_map(|group| caps.name(group));
            let Some(value) = value else { continue };
            let trimmed = value.as_str().split(" #").next().unwrap_or_default().trim_end();
            if !is_public(name, trimmed) {
                add(value.start()..value.start() + trimmed.len(), "env");
            }
        }
    }
    disjoint(found)
}

fn assigned(text: &str, add: &mut impl FnMut(Range<usize>, &'static str)) {
    let Some(pattern) = ASSIGNED.as_ref() else { return };
    let mut at = 0;
    while let Some(caps) = pattern.captures_at(text, at) {
        let Some(whole) = caps.get(0) else { break };
        let name = caps.name("name").map_or("", |name| name.as_str()).to_ascii_lowercase();
        let sep = caps.name("sep").map_or("", |sep| sep.as_str());
        let quoted = ["escaped", "double", "single"].iter().find_map(|group| caps.name(group));
        // `password=token=…`: the next search begins where the value begins when this was none.
        at = whole.end();
        let line_start = text[..whole.start()].rfind('\n').map_or(0, |feed| feed + 1);
        let ahead = &text[line_start..whole.start()];
        let spaced = sep == " ";
        if spaced && !flag_before(ahead) {
            at = caps.name("sep").map_or(whole.end(), |sep| sep.end());
            continue;
        }
        if let Some(value) = quoted {
            if is_quoted_secret(&name, value.as_str()) {
                add(value.range(), kind_of(&name));
            }
        } else if let Some(value) = caps.name("bare") {
            let end = value.as_str().find(['&', '<', '|']).unwrap_or(value.len());
            let shown = value.as_str()[..end].trim_end_matches(['.', ')', ']', '}', ':']);
            let rest = &text[value.end()..];
            let alone = rest.is_empty() || rest.starts_with(['\n', '\r', '\\']);
            let config = alone && is_config_line(ahead, sep);
            if is_bare_secret(&name, shown, config || spaced) {
                add(value.start()..value.start() + shown.len(), kind_of(&name));
            } else {
                at = value.start().max(whole.start() + 1);
            }
        }
    }
}

/// Whether the name is a command-line flag: `--password VALUE`.
fn flag_before(ahead: &str) -> bool {
    let word = ahead.rsplit(char::is_whitespace).next().unwrap_or_default();
    word.starts_with("--") && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// A line that holds nothing but a name and a value, as settings files do: `name=value`, `name: value`.
fn is_config_line(ahead: &str, sep: &str) -> bool {
    let name = ahead.trim_start();
    let name = name.strip_prefix("export ").or_else(|| name.strip_prefix("- ")).unwrap_or(name);
    // Read's line numbers stand before the line.
    let name = name.rsplit('\t').next().unwrap_or(name);
    let plain =
        name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'"' | b'\''));
    plain
        && (sep == "="
            || sep.trim_start_matches(['"', '\'']).starts_with(':')
            || name.bytes().any(|b| b.is_ascii_uppercase()))
}

fn kind_of(name: &str) -> &'static str {
    if name.contains("key") {
        "api-key"
    } else if name.contains("token") {
        "token"
    } else if name.contains("pass") || name == "pwd" {
        "password"
    } else {
        "secret"
    }
}

fn is_quoted_secret(name: &str, value: &str) -> bool {
    if is_placeholder(value) || value.contains(' ') || looks_like_path(value) {
        return false;
    }
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let mention = ["password", "secret", "token", "passwd", "test", "api_key", "apikey", "api-key"];
    let lower = value.to_ascii_lowercase();
    if has_digit(value) {
        return value.len() >= 6 && !matches_pattern(&TYPE_NAME, value);
    }
    let mixed = value.bytes().any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'.' | b':' | b'-'));
    !mention.iter().any(|word| lower.contains(word))
        && (letters >= 12 && name != "token" || mixed && value.len() >= 8)
}

fn is_bare_secret(name: &str, value: &str, config: bool) -> bool {
    if value.len() < 6
        || is_placeholder(value)
        || looks_like_path(value)
        || value.contains(['(', ')', '[', ']'])
    {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    if letters == 0 {
        return config && name.starts_with("pass") && digits >= 6;
    }
    if matches_pattern(&TYPE_NAME, value) {
        return false;
    }
    if matches_pattern(&IDENTIFIER, value) {
        let long = digits >= 3 && value.len() >= 16 && !value.contains(['_', '.', ':']);
        return long || config && digits >= 1 && !value.contains(['.', ':']);
    }
    let odd = value
        .bytes()
        .any(|b| matches!(b, b'!' | b'@' | b'#' | b'^' | b'*' | b'+' | b'/' | b'=' | b'~' | b'$'));
    (digits >= 2 && letters >= 2 && value.len() >= 8 || config && digits >= 1) && !value.starts_with('-')
        || config && odd && value.len() >= 8
}

/// A credential behind `Authorization:`; the words of a sentence are none.
fn is_credential(value: &str) -> bool {
    let capitals = value.bytes().filter(u8::is_ascii_uppercase).count();
    !is_placeholder(value)
        && (has_digit(value)
            || value.len() >= 24
            || value.ends_with('=')
            || value.len() >= 16 && capitals >= 3)
        && !matches_pattern(&TYPE_NAME, value)
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let code = ["${", "$(", "{{", "{}", "%s", "%(", "%{", "<", "...", "***", "…", "•"];
    let words =
        ["example", "your", "xxxx", "changeme", "change-me", "change_me", "placeholder", "dummy", "redacted"];
    let exact = [
        "password",
        "passwd",
        "pass",
        "secret",
        "token",
        "null",
        "none",
        "true",
        "false",
        "undefined",
        "string",
        "postgres",
    ];
    value.starts_with(['$', '{', '%', '@'])
        || value.contains(['{', '}'])
        || code.iter().any(|sign| value.contains(sign))
        || words.iter().any(|word| lower.contains(word)) && !(value.len() > 30 && has_digit(value))
        || exact.contains(&lower.as_str())
}

fn looks_like_path(value: &str) -> bool {
    value.starts_with(['/', '~']) && !value.contains(['+', '='])
        || value.starts_with("./")
        || value.starts_with("../")
        || value.contains("://")
}

/// Values of a `.env` file that everybody may see.
fn is_public(name: &str, value: &str) -> bool {
    const NAMES: [&str; 14] = [
        "PORT",
        "HOST",
        "NODE_ENV",
        "ENV",
        "LOG_LEVEL",
        "DEBUG",
        "TZ",
        "LANG",
        "APP_ENV",
        "RAILS_ENV",
        "PATH",
        "HOSTNAME",
        "LC_ALL",
        "APP_NAME",
    ];
    let upper = name.to_ascii_uppercase();
    let telling =
        crate::base::secret::is_credential_name(name) || upper.contains("SECRET") || upper.contains("PASS");
    if value.len() < 3 || value.starts_with('$') {
        return true;
    }
    if telling {
        return false;
    }
    NAMES.contains(&upper.as_str())
        || value.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || value.len() <= 16 && value.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-'))
        || matches!(value, "True" | "False" | "TRUE" | "FALSE")
        || looks_like_path(value) && !value.contains('@')
}

fn has_digit(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}

fn matches_pattern(pattern: &Pattern, value: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(value))
}

/// All matches, if the text has one of `signs` at all: most texts are let through without running a pattern.
fn all<'t>(pattern: &'static Pattern, text: &'t str, signs: &[&str]) -> impl Iterator<Item = Captures<'t>> {
    let runs = signs.iter().any(|sign| text.contains(sign));
    pattern.as_ref().filter(|_| runs).into_iter().flat_map(move |pattern| pattern.captures_iter(text))
}

/// The widest of those that overlap.
fn disjoint(mut found: Vec<SecretSpan>) -> Vec<SecretSpan> {
    found.sort_by(|a, b| a.range.start.cmp(&b.range.start).then(b.range.end.cmp(&a.range.end)));
    let mut out: Vec<SecretSpan> = Vec::with_capacity(found.len());
    for next in found {
        match out.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                last.range.end = last.range.end.max(next.range.end)
            }
            _ => out.push(next),
        }
    }
    out
}

/// `text` with every secret replaced by a mark without a number: for places that have no session.
pub fn redact(text: &str) -> std::borrow::Cow<'_, str> {
    let found = find(text, TextSource::Text);
    if found.is_empty() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for found in found {
        out.push_str(&text[at..found.range.start]);
        out.push_str("<REDACTED>");
        at = found.range.end;
    }
    out.push_str(&text[at..]);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Secrets in guillemets: the text without them is what is looked at.
    fn check(marked: &str, place: TextSource) {
        let text = marked.replace(['«', '»'], "");
        let found: Vec<&str> =
            find(&text, place).into_iter().map(|found| &text[found.range.clone()]).collect();
        let wanted: Vec<&str> =
            marked.split('«').skip(1).map(|part| part.split('»').next().unwrap_or_default()).collect();
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn secrets_are_found() {
        for text in [
            "OPENAI_API_KEY=«sk-a1B2a1B2a1B2a1B2a1B2»\n",
            "key «sk-ant-api03-Zx9Zx9Zx9Zx9Zx9Zx9-AA» end",
            "«ghp_0123456789abcdefghijABCDEFGHIJ012345»",
            "«github_pat_11ABCDEFG0123456789_abcdefghijklmnop»",
            "aws: «AKIAIOSFODNN7EXAMPL3»",
            "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz9910KEY1»\n",
            "密钥是«sk-a1B2a1B2a1B2a1B2a1B2»，别外传",
            "«AIzaSyA1234567890abcdefghijklmnopqrstuv»",
            "«xoxb-123456789012-abcdefGHIJ»",
            "«glpat-abcDEF1234567890abcd»",
            "//registry.npmjs.org/:_authToken=«npm_0123456789abcdefghijABCDEFGHIJ012345»",
            "«hf_abcdefghijABCDEFGHIJ0123456789»",
            "stripe «sk_live_4eC39HqLyjWDarjtT1zdp7dc»",
            "«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N»",
            "Authorization: Bearer «abcdef0123456789»",
            "curl -H 'Authorization: Basic «dXNlcjpwYXNzMTIz»'",
            "{\"headers\": {\"Authorization\": \"token «0123456789abcdef»\"}}",
            "postgres://app:«s3cr4tpw»@db/x and redis://:«p4ssw0rdX»@cache",
            "db_password = \"«hunter2hunter2»\"",
            "password: «hunter2hunter2»\n",
            "  \"client_secret\": \"«GhT5-7hhUj_12»\",",
            "AUTH_TOKEN=«abc123def456ghi789»\nX=1",
            "mysql --password «s3cr3tS3» -u root",
            "Server=db;User Id=sa;Password=«S3cr3t!pass»;Encrypt=true",
            "<password>«pa55word9»</password>",
            "x-api-key: «9f8e7d6c5b4a39281706»",
            "DB_PASSWORD=«Tr0ub4dor&3»",
        ] {
            // An ampersand separates values in a query.
            if text.contains('&') {
                assert!(!redact(&text.replace(['«', '»'], "")).contains("Tr0ub4dor"));
            } else {
                check(text, TextSource::Text);
            }
        }
    }

    #[test]
    fn code_and_checksums_stay() {
        for text in [
            "password = os.environ[\"DB_PASSWORD\"]",
            "password = get_password()",
            "let api_key = settings.api_key.clone();",
            "token: String,",
            "token: &str, secret: Secret<String>",
            "def check_password(password: str) -> bool:",
            "url = f\"https://{user}:{password}@host\"",
            "max_tokens = 16000",
            "pad_token: \"<pad>\", token_count: u64",
            "self.assertEqual(secret_key, expected)",
            "secret = sha256(data)",
            "next_token = self.tokens[i+1]",
            "if token == Token::Plus2 { return; }",
            "token = lexer.next_token",
            "const password = req.body.password;",
            "password: z.string().min(8),",
            "api_key=$OPENAI_API_KEY",
            "password: ${{ secrets.DB_PASSWORD2 }}",
            "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
            "id = \"550e8400-e29b-41d4-a716-446655440000\"",
            "checksum = \"9bd5c5e2b9e1f8f8a3d5b1b0c7e6f5d4c3b2a190817263544536271809abcdef\"",
            "\"integrity\": \"sha512-oiDIPaYtMPnbHqvWnSHXBSY8XkzYpGS7yIMk6vNtvcvdrjcqLT1pCbTTPPOwFeV4A1PCzY6DvyVTEsxyKH6pdQ==\"",
            "class=\"sk-loading-spinner-container\"",
            "git@github.com:owner/repo.git and https://example.com/a@b",
            "PRIVATE KEY: if text.contains(\"-----BEGIN PRIVATE KEY-----\") { return }",
            "PWD=/home/me/project",
            "basic understanding of bearer tokens",
            "the password is checked in auth2.rs",
            "export const tokenUrl = base + \"/oauth/token2\"",
            "jwt_secret_name: my-cluster-secret",
        ] {
            check(text, TextSource::Text);
        }
    }

    #[test]
    fn a_person_tells_secrets_in_sentences() {
        check(
            "The password is «hunter2Hunter», the api key for staging is \"«a1b2c3d4e5»\".",
            TextSource::Typed,
        );
        check("the token is parsed in lexer2.rs and the secret is src/auth2", TextSource::Typed);
    }

    #[test]
    fn a_dotenv_file_keeps_only_what_everybody_may_see() {
        check("PORT=8080\nNODE_ENV=production\nDEBUG=true\nGREETING=hello\n", TextSource::Dotenv);
        check(
            "export APP=«Kx7-plain Words» \nB='«abc DEF»' # why\nSECRET_WORD=«tiger»\n",
            TextSource::Dotenv,
        );
        assert_eq!(TextSource::of_file(Path::new("/w/.env.local")), TextSource::Dotenv);
        assert_eq!(TextSource::of_file(Path::new("/w/.env.example")), TextSource::Text);
        assert_eq!(TextSource::of_command("cat app/.env | head"), TextSource::Dotenv);
    }

    #[test]
    fn a_private_key_goes_even_when_cut() {
        assert_eq!(redact("x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"), "x\n<REDACTED>");
        let whole =
            "a\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQ==\n-----END PRIVATE KEY-----\nb";
        assert_eq!(redact(whole), "a\n<REDACTED>\nb");
        assert_eq!(redact(&whole[30..]), "<REDACTED>\nb");
    }
}
