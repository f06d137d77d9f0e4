//! A setting that can't be used; exit code 3.

use thiserror::Error;

#[derive(Clone, Debug, Error)]
#[error("{what}")]
pub struct ConfigError {
    pub what: String,
    pub hint: String,
}

pub fn bad(what: impl Into<String>, hint: impl Into<String>) -> ConfigError {
    ConfigError { what: what.into(), hint: hint.into() }
}
