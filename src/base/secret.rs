//! A string that must not be shown: keys and tokens in this type can't leak through `Debug`, logs or error
//! messages. Also names the environment variables with our own keys.

use std::fmt;

use parking_lot::RwLock;
/// Variables that the user's configuration declares as keys, whatever their names.
static CONFIGURED: RwLock<Vec<String>> = RwLock::new(Vec::new());

static TOKENS: RwLock<Vec<String>> = RwLock::new(Vec::new());

pub fn add_token(token: &str) {
    TOKENS.write().push(token.to_owned());
}

pub fn tokens() -> Vec<String> {
    TOKENS.read().clone()
}

pub fn keep_from_children(name: &str) {
    let mut names = CONFIGURED.write();
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// `Debug` and `Display` never show it; only [`Secret::expose`] returns the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Trims surrounding whitespace, because keys are often pasted with a newline.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// Whether a variable's name indicates a credential, which child processes must not inherit.
pub fn is_credential_name(name: &str) -> bool {
    if CONFIGURED.read().iter().any(|known| known == name) {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    const ENDINGS: &str = "_KEY APIKEY _TOKEN _SECRET _SECRETS PASSWORD PASSWD PASSPHRASE _CREDENTIAL _CREDENTIALS \
                           _ACCESS_KEY_ID _PAT _AUTH _COOKIE WEBHOOK_URL";
    const PARTS: [&str; 3] = ["SECRET_", "_TOKEN_", "PRIVATE_KEY"];
    const WHOLE: [&str; 3] = ["TOKEN", "SECRET", "APIKEY"];
    // Public keys aren't secret.
    let named = ENDINGS.split_whitespace().any(|ending| upper.ends_with(ending))
        || PARTS.iter().any(|part| upper.contains(part))
        || WHOLE.contains(&upper.as_str());
    named && !upper.ends_with("PUBLIC_KEY")
}

/// Whatever the variable's name: a known issuer prefix, a private key, or an address with a password.
fn is_credential_value(value: &str) -> bool {
    // Anyone who knows the last two addresses can post there.
    const MARKS: &str = "sk- sk_live_ rk_live_ ghp_ gho_ ghs_ ghu_ github_pat_ glpat- xoxb- xoxp- AKIA \
                         ASIA npm_ hf_ AIza xapp- sk_test_ rk_test_ whsec_ dop_v1_ shpat_ glrt- pypi- \
                         dckr_pat_ gsk_ pplx- tvly- lin_api_ ya29. AGE-SECRET-KEY- eyJhbGciOi \
                         https://hooks.slack.com/services/ https://discord.com/api/webhooks/";
    let long = value.len() >= 16 && !value.contains(char::is_whitespace);
    let with_password = || {
        let rest = value.split_once("://")?.1;
        let user_info = rest.split(['/', '?']).next()?.rsplit_once('@')?.0;
        // Without a password, the user may be a key, as in Sentry's addresses.
        let is_key = user_info.len() >= 32 && user_info.bytes().all(|byte| byte.is_ascii_hexdigit());
        let password = user_info.split_once(':').map(|(_, password)| password);
        password.or(is_key.then_some(user_info)).filter(|password| !password.is_empty())
    };
    (long && MARKS.split_whitespace().any(|mark| value.starts_with(mark)))
        || value.contains("PRIVATE KEY-----")
        || with_password().is_some()
}

fn is_own_name(name: &str) -> bool {
    let configured = || CONFIGURED.read().iter().any(|known| known == name);
    ["MYCODE_", "OPENAI_", "ANTHROPIC_"].iter().any(|prefix| name.starts_with(prefix)) || configured()
}

/// Our settings and keys, which even the user's own programs must not inherit.
pub fn own_variables() -> Vec<std::ffi::OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_own_name(&name.to_string_lossy())).collect()
}

/// Includes our own settings. Proxy addresses stay, even with a password: nothing would be reachable without them.
pub fn credential_variables() -> Vec<std::ffi::OsString> {
    std::env::vars_os()
        .filter(|(name, value)| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            let proxy = name.to_ascii_lowercase().ends_with("_proxy");
            is_own_name(&name) || is_credential_name(&name) || (!proxy && is_credential_value(&value))
        })
        .map(|(name, _)| name)
        .collect()
}

pub fn remove_credentials(command: &mut std::process::Command) {
    for name in credential_variables() {
        command.env_remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let secret = Secret::new(" sk-123\n");
        assert_eq!(format!("{secret:?} {secret}"), "<secret> <secret>");
        assert_eq!(secret.expose(), "sk-123");
    }

    #[test]
    fn credential_values() {
        for value in [
            "ghp_0123456789abcdef0123",
            "postgres://user:pass@host/db",
            "-----BEGIN RSA PRIVATE KEY-----\nx",
            "AKIA0123456789ABCDEF",
            "https://hooks.slack.com/services/T0/B0/x",
        ] {
            assert!(is_credential_value(value), "{value}");
        }
        for value in ["https://host/a:b@c", "sk-", "ghp_ is a mark of keys", "/usr/bin:/bin", "git@host:path"]
        {
            assert!(!is_credential_value(value), "{value}");
        }
    }

    #[test]
    fn credential_names() {
        for name in [
            "OPENAI_API_KEY",
            "OPENROUTER_KEY",
            "gh_token",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "DB_PASSWD",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GPG_KEY",
            "AWS_ACCESS_KEY_ID",
            "GITHUB_PAT",
            "SECRET_SAUCE",
            "TOKEN",
        ] {
            assert!(is_credential_name(name), "{name}");
        }
        for name in [
            "PATH",
            "KEYBOARD",
            "SSH_AUTH_SOCK",
            "KEYMAP",
            "SSH_PUBLIC_KEY",
            "TOKENIZERS_PARALLELISM",
            "MONKEY",
        ] {
            assert!(!is_credential_name(name), "{name}");
        }
    }
}
