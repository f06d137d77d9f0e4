//! A string that must not be shown: keys and tokens travel in this type so that no `Debug` print, log line or
//! error message can leak them by accident. Also names the environment variables that hold our own keys.

use std::fmt;
use std::sync::{PoisonError, RwLock};

/// Variables that the person's configuration names as keys, whatever their names look like.
static CONFIGURED: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// From now on the variable counts as a credential.
pub fn keep_from_children(name: &str) {
    let mut names = CONFIGURED.write().unwrap_or_else(PoisonError::into_inner);
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// A key or token. `Debug` and `Display` never show it; [`Secret::expose`] is the only way to the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`, cut of surrounding white space (a key pasted with a newline is a common accident).
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text itself, for the one place that sends it.
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

/// Whether an environment variable's name says that its value is a credential. Such variables are not handed to
/// child processes.
pub fn is_credential_name(name: &str) -> bool {
    if CONFIGURED.read().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == name) {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    const ENDINGS: [&str; 8] =
        ["_KEY", "APIKEY", "_TOKEN", "_SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "_CREDENTIALS"];
    // Its opposite is meant to be seen.
    ENDINGS.iter().any(|ending| upper.ends_with(ending)) && !upper.ends_with("PUBLIC_KEY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new(" sk-123\n");
        assert_eq!(format!("{secret:?} {secret}"), "<secret> <secret>");
        assert_eq!(secret.expose(), "sk-123");
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
