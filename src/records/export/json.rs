//! JSON export: one object. Fields may be added, but never change meaning.
//!
//! - `format`: `"mycode-session"`; `version`: 1.
//! - `session`: `id`, `workspace`, `created_ms` (since the Unix epoch), `app` (our version).
//! - `items`: oldest first: `id`, `ms` and `item`, one of `user`, `assistant`, `reasoning` (each with
//!   `text`), `tool_call` (`id`, `name`, `args`), `tool_result` (`call_id`, `tool`, `envelope` with `status`,
//!   `data`, `body`, `text`, `error`), `summary`, `reminder`, `image`.
//! - `turns`: `after` (the item before its end) and `end` (`reason`, `steps`, `usage`, `elapsed_ms`).

use serde_json::{Value, json};

use context::session::effective::{EffectiveEntry, EffectiveSession};

pub fn render(session: &EffectiveSession) -> String {
    let (mut items, mut turns) = (Vec::new(), Vec::new());
    for (id, standing) in &session.all {
        match standing {
            EffectiveEntry::Item(ms, item) => items.push(json!({"id": id, "ms": ms, "item": item})),
            EffectiveEntry::TurnEnd(end) => turns.push(json!({"after": id, "end": end})),
        }
    }
    let meta = session.meta.as_ref().map_or(Value::Null, |meta| {
        json!({
            "id": meta.id, "workspace": meta.workspace, "created_ms": meta.created_ms, "app": meta.app,
        })
    });
    let whole = json!({
        "format": "mycode-session", "version": 1, "session": meta, "items": items, "turns": turns,
    });
    format!("{whole:#}\n")
}
