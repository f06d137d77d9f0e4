//! A string that must not be shown: keys and tokens travel in this type so that no `Debug` print, log line or
//! error message can leak them by accident. Also names the environment variables that hold our own keys.

use std::fmt;

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
    let upper = name.to_ascii_uppercase();
    const ENDINGS: [&str; 8] =
        ["API_KEY", "APIKEY", "_TOKEN", "_SECRET", "_PASSWORD", "_SECRET_KEY", "_ACCESS_KEY", "_PRIVATE_KEY"];
    ENDINGS.iter().any(|ending| upper.ends_with(ending))
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
        assert!(is_credential_name("OPENAI_API_KEY"));
        assert!(is_credential_name("gh_token"));
        assert!(is_credential_name("AWS_SECRET_ACCESS_KEY"));
        assert!(!is_credential_name("PATH"));
        assert!(!is_credential_name("KEYBOARD"));
    }
}
