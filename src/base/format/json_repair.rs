//! Repairs the slips that models make in JSON: raw line ends in strings, trailing commas, a code fence around it, one closing
//! brace too many or too few. A text that was cut off is never closed: only the outermost brace is, and only behind a value
//! that is surely whole.

use serde_json::Value;

/// The object, if it differs from valid JSON only by these.
pub fn object(text: &str) -> Option<Value> {
    let text = without_fence(text.trim());
    let repaired = repaired(text)?;
    serde_json::from_str(&repaired).ok().filter(Value::is_object)
}

fn without_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.trim_start_matches("json").trim())
}

fn repaired(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut in_string, mut escaped) = (false, false);
    let mut depth = 0_usize;
    for c in text.chars() {
        if !in_string {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' if depth == 0 => continue,
                '}' | ']' => depth -= 1,
                _ => {}
            }
            if matches!(c, '}' | ']') {
                let kept = out.trim_end().trim_end_matches(',').len();
                if out[kept..].contains(',') {
                    out.truncate(kept);
                }
            }
            in_string = c == '"';
            out.push(c);
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = false,
            '\n' => {
                out.push_str("\\n");
                continue;
            }
            '\r' => {
                out.push_str("\\r");
                continue;
            }
            '\t' => {
                out.push_str("\\t");
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    if depth == 1 && out.trim_end().ends_with(['"', '}', ']']) {
        out.push('}');
    }
    (!in_string).then_some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn slips_are_repaired_and_cut_texts_are_not() {
        for (text, value) in [
            ("{\"a\": \"x\ny\"}", json!({"a": "x\ny"})),
            ("{\"a\": [1, 2,], }", json!({"a": [1, 2]})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("{\"a\": [1], \"b\": \"x\"", json!({"a": [1], "b": "x"})),
            ("{\"a\": {\"b\": 1}}}", json!({"a": {"b": 1}})),
            ("{\"a\": \"say \\\"hi\\\",\t}\"}", json!({"a": "say \"hi\",\t}"})),
        ] {
            assert_eq!(object(text), Some(value), "{text}");
        }
        for text in [
            "{\"a\": \"cut",
            "{\"a\": 1",
            "{\"a\": {\"b\": \"x\"",
            "{\"a\": 1, \"b\"",
            "[1]",
            "nothing",
            "{\"a\": }",
        ] {
            assert_eq!(object(text), None, "{text}");
        }
    }
}
