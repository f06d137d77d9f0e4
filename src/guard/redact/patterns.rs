//! Patterns that find secrets by shape (known key prefixes, private key blocks) and by context (URLs, headers,
//! tags, `.env` lines). Assignments (`password = …`) need more than a pattern: see `detector`. Word boundaries are
//! ASCII: keys are ASCII even next to Chinese text, and with Unicode boundaries the regex engine leaves its fast path
//! at the first non-ASCII character (seconds per megabyte).

use std::ops::Range;

use regex::{Captures, Match};

use super::rules::{PatternMatch, Rule, RuleSet};
use super::value;
use base::pattern::Pattern;

/// One for each alternative in `tokens.regex`.
const TOKENS: &str = "sk- k_live_ k_test_ whsec_ AKIA ASIA ABIA ACCA AIza GOCSPX- SG. gsk_ xai- r8_ AGE-SECRET NRAK- lin_ \
    ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- gldt- glrt- glcbt- glsoat- xox xapp- npm_ hf_ pypi- dop_v1_ ya29. \
    shpat_ shpss_ shpca_ shppa_ eyJ hvs. hvb. hvr. dapi sq0 MD MT Mj Mz ND NT Nj Nz OD OT Oj Oz :AA ntn_ figd_ dckr_pat_ \
    sntrys_ sntryu_ sb_secret_ glsa_ glc_ pscale_ tskey- pplx- nvapi- lsv2_pt_ phx_ secret_ ATATT3 ATCTT3 ATBB dp. .atlasv1. \
    pul- sbp_ sgp_ PMAK- fm1 fm2 rubygems_ LS0t ewog hooks.slack.com /api/webhooks/ \
    webhookb2 HRKU-AA bkua_ nfp_ tvly- pcsk_ hcaic_ hcaik_ tgp_v1_ CFPAT- vercel_blob_rw_ duffel_live_ doo_v1_ dor_v1_ \
    ops_eyJ CCIPAT_ cfut_ cfat_ cfk_ napi_ tfp_ sl.u. sl.B v1.0- dt0c01. ABSK";

fn token(found: &Captures<'_>) -> Option<PatternMatch> {
    match found.name("key") {
        // Class names and slugs may begin like a key, but keys contain digits.
        Some(key) if key.as_str().starts_with("sk-") && !value::has_digit(key.as_str()) => None,
        Some(key) => Some((key.range(), "api-key")),
        None => Some((found.name("hook").or_else(|| found.name("token"))?.range(), "token")),
    }
}

pub static ANYWHERE: RuleSet<17> = RuleSet::new([
    Rule::new("PRIVATE", include_str!("private_key.regex"), |found| {
        let (whole, body, end) = (found.get(0)?, found.get(1)?, found.get(2)?);
        let to = if end.as_str().starts_with("-----END") { whole.end() } else { end.start() };
        (!body.as_str().trim().is_empty()).then_some((whole.start()..to, "private-key"))
    }),
    // The end of a private key whose beginning isn't visible.
    Rule::new("PRIVATE", include_str!("private_key_end.regex"), |found| {
        Some((found.get(0)?.range(), "private-key"))
    }),
    Rule::new("Private-Lines", include_str!("putty_key.regex"), |found| {
        Some((found.get(1)?.range(), "private-key"))
    }),
    Rule::new(TOKENS, include_str!("tokens.regex"), token),
    Rule::new(
        "pat cio",
        r"(?-u)(?P<token>\b(?:pat[A-Za-z0-9]{14}\.[a-f0-9]{64}|cio[A-Za-z0-9]{32})\b)",
        token,
    ),
    Rule::new("://", r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@<]{0,64}:([^\s/@]{3,})@", password),
    Rule::new(
        "earer asic uthorization EARER ASIC UTHORIZATION",
        include_str!("authorization.regex"),
        |found| {
            let value = found.get(1).filter(|value| value::is_credential(value.as_str()))?;
            Some((value.range(), "token"))
        },
    ),
    Rule::new(
        "</ & d> D> t> T> n> N> y> Y>",
        r"(?i)<(?:[a-z0-9_.-]*(?:password|secret|token|api-?key))>([^<>\s]{4,})</",
        password,
    ),
    // An address with only a key, such as Sentry's; or a Mailgun key, but not `cache-key-…`.
    Rule::new("://", r"://([a-f0-9]{32,64})@", in_context),
    Rule::new("://", r"://([A-Za-z0-9_-]{16,})@", strong),
    Rule::new("key-", r"(?:^|[^A-Za-z0-9_-])(key-[a-f0-9]{32})(?-u:\b)", in_context),
    Rule::new(
        "login requirepass masterauth bindpw onfigure orepassword eypassword _auth \"auth\" curl mysql mariadb sshpass docker az htpasswd -pass ookie sig= ignature= Security-Token :5432: :3306: :*: nemonic hrase",
        include_str!("in_context.regex"),
        in_context,
    ),
    Rule::new(
        "assword ASSWORD ecret ECRET oken OKEN pi-key piKey pikey PI_KEY pi_key _PASS _KEY & value= define setenv putenv variable |",
        include_str!("named_apart.regex"),
        in_context,
    ),
    Rule::new(
        "assword ASSWORD dentified DENTIFIED hrase ecret api API",
        include_str!("said.regex"),
        in_context,
    ),
    // `password: …` in other languages: the word, a sign or a word for "is", and the value.
    Rule::new(
        "mdp 비번 密码 密碼 口令 密钥 密鑰 令牌 秘密 パスワード 暗証番号 비밀 암호 ontrase lave enha passe арол окен asswort ennwort asło eslo achtwoord senord ifre arola ecreto egredo eheim екрет люч ugangs ecret ecrète ccès cesso cceso",
        include_str!("other_languages.regex"),
        |found| {
            let (shown, range) = trimmed(found.get(1)?);
            value::is_bare_secret("password", shown, true).then_some((range, "password"))
        },
    ),
    // The word directly before the value, or with a name before it.
    Rule::new(
        "assword ASSWORD asswd hrase asswort ennwort pwd pw PW mdp senha clave parola heslo achtwoord passe ontrase asło senord ifre арол 密码 密碼 口令 パスワード 비밀 비번 암호 & 0 1 2 3 4 5 6 7 8 9",
        include_str!("directly.regex"),
        strong,
    ),
    Rule::new(
        "ogin sername ser: ccount: redential redencia enutzer ugang dentifiant suario suário огин & / , & 0 1 2 3 4 5 6 7 8 9",
        include_str!("login_pair.regex"),
        strong,
    ),
]);

fn strong(found: &Captures<'_>) -> Option<PatternMatch> {
    let (shown, range) = trimmed(found.get(1)?);
    value::is_strong_password(shown).then_some((range, "password"))
}

fn in_context(found: &Captures<'_>) -> Option<PatternMatch> {
    let (shown, range) = trimmed(found.iter().skip(1).flatten().next()?);
    (shown.contains(' ') || value::is_quoted_secret("password", shown)).then_some((range, "password"))
}

const LABELS: &str = "pass pwd pw mdp secret token api access 密 口令 令牌 clave parola パスワード 비 암호 contraseña senha парол kennwort hasło heslo wachtwoord lösenord şifre";
const LOGINS: &str = "log sign cred user account id benutzer zugang anmeld identif utilis connexion usu utente credenz użytkow kullan 账 帐 帳 用 登 ログ ユーザ アカ 아이 로그 계정 логин польз уч admin root guest postgres sa & 0 1 2 3 4 5 6 7 8 9 ! @ # $ % ^ * + ~ 密 口令 パスワード 비 암호";

/// In text typed by the user: sentences such as `the password is …`, `login: me / …`.
pub static TYPED: RuleSet<3> = RuleSet::new([
    Rule::new(LABELS, include_str!("typed.regex"), |found| {
        let name = found.name("label").map_or("password", |name| name.as_str()).to_ascii_lowercase();
        let (shown, range) = trimmed(found.name("told").or_else(|| found.name("near"))?);
        let more = found.name("more").or_else(|| found.name("on")).is_some();
        let word = !more && found.name("key").is_none();
        let is_secret = match found.name("told") {
            Some(_) if shown.contains('/') => false,
            Some(_) if word && value::is_word_secret(value::kind_of(&name), shown) => true,
            Some(_) => value::is_bare_secret(&name, shown, true) || value::is_like_password(shown, more),
            // `pass` is also a verb.
            None => value::is_like_password(shown, name == "pass" && more),
        };
        is_secret.then(|| (range, value::kind_of(&name)))
    }),
    Rule::new("0 1 2 3 4 5 6 7 8 9", include_str!("pin.regex"), |found| {
        Some((found.get(1)?.range(), "password"))
    }),
    Rule::new(LOGINS, include_str!("login.regex"), |found| {
        if let Some(word) = found.name("word") {
            return value::is_word_secret("password", word.as_str()).then(|| (word.range(), "password"));
        }
        let (shown, range) = trimmed(found.name("value")?);
        let whole = &found["value"];
        let odd = found.name("alone").is_none() || value::has_digit(whole) && whole.contains(value::SIGNS);
        (odd && value::is_like_password(shown, false)).then_some((range, "password"))
    }),
]);

/// In a `.env` file, every value is a secret unless it is clearly public.
pub static DOTENV: RuleSet<1> = RuleSet::new([Rule::new("=", include_str!("dotenv.regex"), |found| {
    let value = ["double", "single", "bare"].iter().find_map(|group| found.name(group))?;
    let trimmed = value.as_str().split(" #").next().unwrap_or_default().trim_end();
    let is_secret = !value::is_public(&found["name"], trimmed);
    is_secret.then(|| (value.start()..value.start() + trimmed.len(), "env"))
})]);

/// A value assigned to a revealing name: the name, the separator, and the value with or without quotes.
pub static ASSIGNED: Pattern = Pattern::new(include_str!("assigned.regex"));

/// Without kind and number if it was made outside a session.
pub static PLACEHOLDER: Pattern = Pattern::new(r"<REDACTED(?::([a-z-]+)-([0-9]{1,9}))?>");

fn trimmed(value: Match<'_>) -> (&str, Range<usize>) {
    let shown = value.as_str().trim_end_matches(['.', '!', '?', ')', ':']);
    (shown, value.start()..value.start() + shown.len())
}

fn password(found: &Captures<'_>) -> Option<PatternMatch> {
    let value = found.get(1).filter(|value| !value::is_dummy(value.as_str()))?;
    Some((value.range(), "password"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern that doesn't compile must fail here, not in a session.
    #[test]
    fn all_patterns_compile() {
        let rules = ANYWHERE.rules.iter().chain(&TYPED.rules).chain(&DOTENV.rules).map(|rule| &rule.pattern);
        for pattern in rules.chain([&ASSIGNED, &PLACEHOLDER]).chain(value::PATTERNS) {
            assert!(!pattern.is_match("-"), "{pattern:?}");
            // At the first character that isn't ASCII, a Unicode boundary slows the search to seconds per megabyte.
            let source = pattern.as_str();
            let is_ascii = source.starts_with("(?x-u)") || source.starts_with("(?-u)");
            assert!(is_ascii || !source.replace(r"(?-u:\b)", "").contains(r"\b"), "{pattern:?}");
        }
    }
}
