//! Assembles tool calls from a Chat Completions stream. By the standard, each piece has an index, the first one has id and
//! name, and many have arguments. Imitators leave out the index or the id, use index 0 for every call, repeat id and name in
//! each piece, or send a call in one piece.

use serde_json::{Map, Value};

use super::replay::CALL_EXTRAS;
use crate::call_ids::{self, CallIds};
use crate::wire::decoder::{Decoded, Events, check_size};
use base::model::call::ToolCall;
use base::model::item::Item;
use base::model::stream::StreamEvent;

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    args: String,
    /// The server's additions, such as Gemini's thought signature, which must be sent back unchanged.
    extras: Map<String, Value>,
}

impl PartialCall {
    /// After a complete object, the next piece belongs to another call.
    fn complete(&self) -> bool {
        self.args.trim_end().ends_with('}') && serde_json::from_str::<Value>(&self.args).is_ok()
    }
}

#[derive(Debug, Default)]
pub struct CallAssembler {
    calls: Vec<PartialCall>,
    bytes: usize,
}

impl CallAssembler {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A piece is an entry of `tool_calls` or a `function_call` of the same form.
    pub fn push(&mut self, piece: &Value, out: &mut Events) -> Decoded {
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().unwrap_or_default();
        let function = &piece["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let args = call_ids::argument_text(&function["arguments"]);
        self.bytes += args.len() + id.len() + name.len();
        check_size(self.bytes, self.calls.len())?;
        let at = self.continued(index, id, name, &args).unwrap_or_else(|| {
            self.calls.push(PartialCall { index, id: id.to_owned(), ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if !name.is_empty() && call.name != name && call.args.is_empty() {
            let begins = call.name.is_empty();
            call.name.push_str(name);
            if begins {
                out.push(StreamEvent::CallStarted { name: name.to_owned() });
            }
        }
        for name in CALL_EXTRAS {
            if piece[name].is_object() {
                self.bytes += piece[name].to_string().len();
                call.extras.insert(name.to_owned(), piece[name].clone());
            }
        }
        if !args.is_empty() {
            call.args.push_str(&args);
            out.push(StreamEvent::CallProgress { bytes: call.args.len() });
        }
        Ok(())
    }

    /// The call that a piece continues; `None` if it starts a new one.
    fn continued(&self, index: Option<u64>, id: &str, name: &str, args: &str) -> Option<usize> {
        let found = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => return self.calls.iter().rposition(|call| call.id == id),
            None => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[found];
        let begins = !name.is_empty();
        let other_id = begins && !id.is_empty() && !call.id.is_empty() && call.id != id;
        let other_name = begins && index.is_none() && !call.name.is_empty() && call.name != name;
        let follows_whole = begins && !args.is_empty() && call.complete();
        (!other_id && !other_name && !follows_whole).then_some(found)
    }

    /// The calls with unique ids, and the server's additions by id. Broken arguments are left as they are.
    pub fn finish(&mut self, ids: &mut CallIds) -> (Vec<Item>, Map<String, Value>) {
        let mut extras = Map::new();
        let calls = std::mem::take(&mut self.calls)
            .into_iter()
            .map(|call| {
                let id = ids.claim(&call.id);
                if !call.extras.is_empty() {
                    extras.insert(id.to_string(), Value::Object(call.extras));
                }
                Item::ToolCall(ToolCall {
                    id,
                    name: call_ids::bounded_name(&call.name),
                    args: call.args.into(),
                })
            })
            .collect();
        (calls, extras)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::decoder::MAX_REPLY_BYTES;

    fn assemble(pieces: &[Value]) -> Vec<String> {
        let mut calls = CallAssembler::default();
        let mut out = Vec::new();
        for piece in pieces {
            calls.push(piece, &mut out).unwrap();
        }
        calls
            .finish(&mut CallIds::default())
            .0
            .into_iter()
            .map(|item| match item {
                Item::ToolCall(call) => format!("{} {} {}", call.id, call.name, call.args),
                other => format!("{other:?}"),
            })
            .collect()
    }

    fn piece(index: Option<u64>, id: &str, name: &str, args: &str) -> Value {
        let mut piece = json!({"function": {"arguments": args}});
        if let Some(index) = index {
            piece["index"] = json!(index);
        }
        if !id.is_empty() {
            piece["id"] = json!(id);
        }
        if !name.is_empty() {
            piece["function"]["name"] = json!(name);
        }
        piece
    }

    #[test]
    fn the_standard_way_interleaved() {
        let pieces = [
            piece(Some(0), "a", "Read", ""),
            piece(Some(1), "b", "LS", ""),
            piece(Some(0), "", "", "{\"p\":"),
            piece(Some(1), "", "", "{}"),
            piece(Some(0), "", "", "1}"),
        ];
        assert_eq!(assemble(&pieces), ["a Read {\"p\":1}", "b LS {}"]);
    }

    #[test]
    fn id_and_name_in_each_piece() {
        let pieces = [piece(Some(0), "a", "Read", "{\"p\""), piece(Some(0), "a", "Read", ":1}")];
        assert_eq!(assemble(&pieces), ["a Read {\"p\":1}"]);
        let pieces = [piece(None, "", "Read", "{\"p\""), piece(None, "", "Read", ":1}")];
        assert_eq!(assemble(&pieces), ["call_1 Read {\"p\":1}"]);
    }

    #[test]
    fn whole_calls_without_index_or_id() {
        let whole = json!({"function": {"name": "Read", "arguments": {"p": 1}}});
        assert_eq!(assemble(&[whole.clone(), whole]), ["call_1 Read {\"p\":1}", "call_2 Read {\"p\":1}"]);
    }

    #[test]
    fn index_zero_for_every_call() {
        let pieces = [piece(Some(0), "a", "Read", "{}"), piece(Some(0), "b", "Read", "{}")];
        assert_eq!(assemble(&pieces), ["a Read {}", "b Read {}"]);
        let pieces = [piece(Some(0), "", "Read", "{}"), piece(Some(0), "", "Read", "{}")];
        assert_eq!(assemble(&pieces), ["call_1 Read {}", "call_2 Read {}"]);
    }

    #[test]
    fn repeated_ids_are_told_apart() {
        let pieces = [piece(Some(0), "a", "Read", "{}"), piece(Some(1), "a", "LS", "{}")];
        assert_eq!(assemble(&pieces), ["a Read {}", "a_1 LS {}"]);
    }

    #[test]
    fn broken_arguments() {
        assert_eq!(assemble(&[piece(Some(0), "a", "Read", "{\"p\":")]), ["a Read {\"p\":"]);
    }

    #[test]
    fn flood() {
        let mut calls = CallAssembler::default();
        let flood = piece(Some(0), "a", "Write", &"x".repeat(MAX_REPLY_BYTES / 2 + 1));
        assert!(calls.push(&flood, &mut Vec::new()).is_ok());
        assert!(calls.push(&flood, &mut Vec::new()).is_err());
    }
}
