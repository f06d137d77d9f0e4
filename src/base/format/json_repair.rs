//! Repairs models' mistakes in JSON: raw line ends and unknown escapes in strings, too many or too few commas, a code
//! fence around it, Python's and JavaScript's literals, one closing brace too many or too few. A truncated text is never
//! completed: only the outermost brace is closed, and only after a value that is surely complete.

use serde_json::Value;

/// The object; `None` if other mistakes remain.
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
    let (mut quote, mut escaped) = (None, false);
    let mut depth = 0_usize;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if quote.is_none() {
            let last = out.trim_end().chars().next_back().unwrap_or('{');
            match c {
                // A chat template adds this after a call.
                '<' if depth == 0 && rest.as_str().ends_with('>') && !rest.as_str().contains('{') => break,
                '{' | '[' => depth += 1,
                '}' | ']' if depth == 0 => continue,
                '}' | ']' => depth -= 1,
                '"' | '\'' => {
                    quote = Some(c);
                    let lacks_comma = !matches!(last, '{' | '[' | ',' | ':');
                    out.push_str(if lacks_comma { ",\"" } else { "\"" });
                    continue;
                }
                'a'..='z' | 'A'..='Z' | '_' if !last.is_ascii_digit() => {
                    let more = rest.as_str();
                    let length =
                        more.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(more.len());
                    let (word, behind) = (format!("{c}{}", &more[..length]), &more[length..]);
                    rest = behind.chars();
                    out.push_str(&literal(&word, behind)?);
                    continue;
                }
                _ => {}
            }
            if matches!(c, '}' | ']') {
                let kept = out.trim_end().trim_end_matches(',').len();
                if out[kept..].contains(',') {
                    out.truncate(kept);
                }
            }
            out.push(c);
            continue;
        }
        match c {
            _ if escaped => {
                escaped = false;
                let hex = rest.as_str().chars().take(4).filter(char::is_ascii_hexdigit).count() == 4;
                match c {
                    '\'' => drop(out.pop()),
                    'u' if !hex => out.push('\\'),
                    '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u' => {}
                    _ => out.push('\\'),
                }
            }
            '\\' => escaped = true,
            c if Some(c) == quote => {
                quote = None;
                out.push('"');
                continue;
            }
            '"' => out.push('\\'),
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
    quote.is_none().then_some(out)
}

/// An unquoted word: a name, or a literal of Python or JavaScript.
fn literal(word: &str, behind: &str) -> Option<String> {
    if behind.trim_start().starts_with(':') {
        return Some(format!("\"{word}\""));
    }
    let value = match word {
        "true" | "True" => "true",
        "false" | "False" => "false",
        "null" | "None" | "undefined" => "null",
        _ => return None,
    };
    Some(value.to_owned())
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
            ("{'a': 'it is \"x\"', b: True, 'c': None}", json!({"a": "it is \"x\"", "b": true, "c": null})),
            ("{\"a\": \"it\\'s\", \"b\": 'it\\'s'}", json!({"a": "it's", "b": "it's"})),
            ("{\"a\": \"\\d+\\.\\$ \\users \\u0041\"}", json!({"a": "\\d+\\.\\$ \\users A"})),
            ("{\"a\": \"x\" \"b\": 1e5}", json!({"a": "x", "b": 1e5})),
            ("{\"a\": 1}</tool_call>", json!({"a": 1})),
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
            "{\"a\": nothing}",
            "{\"a\": 1}{\"b\": 2}",
            "{'a': 'it's'}",
            "{\"a\": }",
        ] {
            assert_eq!(object(text), None, "{text}");
        }
    }
}
