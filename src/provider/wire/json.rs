//! JSON as dialects need it: events parsed with a telling error, numbers printed as they were meant.

use serde_json::{Value, json};

use crate::base::text;
use crate::provider::api::ProviderError;

/// A thousand million tokens.
const MOST_TOKENS: f64 = 1e9;

/// An event's data.
///
/// # Errors
/// `Protocol`, quoting the start of what came instead.
pub fn parse(data: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(data).map_err(|error| ProviderError::Protocol {
        message: format!("an event holds no valid JSON ({error}): {}", text::one_line(data, 100)),
    })
}

/// A number of tokens, however it is written: some servers send floats or text. `None` when it is no number, negative, or
/// more than any model could have read or written.
pub fn token_count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (0.0..=MOST_TOKENS).contains(&number).then_some(number as u64)
}

/// `0.7` and not the `0.699999988079071` that a plain widening prints.
pub fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, |number| json!(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_can_be_true() {
        for (value, expected) in [
            (json!(12), Some(12)),
            (json!(12.0), Some(12)),
            (json!("12"), Some(12)),
            (json!(0), Some(0)),
            (json!(-5), None),
            (json!(u64::MAX), None),
            (json!(1e300), None),
            (json!("NaN"), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(token_count(&value), expected, "{value}");
        }
    }
}
