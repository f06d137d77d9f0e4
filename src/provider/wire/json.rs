//! JSON as dialects need it: events parsed with a telling error, numbers printed as they were meant. Knows no dialect.

use serde_json::{Value, json};

use crate::base::text;
use crate::provider::api::ProviderError;

/// An event's data.
///
/// # Errors
/// `Protocol`, quoting the start of what came instead.
pub fn parse(data: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(data).map_err(|error| ProviderError::Protocol {
        message: format!("an event holds no valid JSON ({error}): {}", text::one_line(data, 100)),
    })
}

/// `0.7` and not the `0.699999988079071` that a plain widening prints.
pub fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, |number| json!(number))
}
