//! Replies with one call or one text.

use serde_json::Value;

use super::answer::{Reply, answer};

pub fn call(name: &str, args: Value) -> Reply {
    answer().call(name, args).into()
}

pub fn text(text: &str) -> Reply {
    answer().text(text).into()
}
