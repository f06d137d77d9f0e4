//! A session's full originals from its log, for the Recall tool and `/recall`.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::work::earlier;
use base::model::item::{Item, ItemId};
use base::protocol::notice as texts;
use base::search::bm25::Corpus;
use base::search::fold::fold;
use base::search::words::{self, Term};
use base::text;
use context::session::effective::EffectiveSession;
use context::session::{list, log, reader};
use evidence::terms::translate;
use tools::ports::{Originals, RecallMatch};

const SNIPPET: usize = 160;

#[derive(Default)]
pub struct LogOriginals {
    path: Mutex<PathBuf>,
}

impl LogOriginals {
    pub fn follow(&self, path: PathBuf) {
        *self.path.lock() = path;
    }

    pub fn path(&self) -> PathBuf {
        self.path.lock().clone()
    }

    /// What `/recall ID|QUERY` prints.
    pub fn for_user(&self, what: &str) -> Result<String, String> {
        let what = what.trim();
        if let Ok(number) = what.trim_start_matches('#').parse::<u64>() {
            let id = ItemId(number);
            let item = self.original(id).ok_or_else(|| texts::no_such_item(id))?;
            return Ok(format!("{id}, {}:\n{}", item.kind(), item.text()));
        }
        let hits = self.search(what, 10);
        if hits.is_empty() {
            return Err(texts::recall_no_match(what));
        }
        let lines: Vec<String> =
            hits.iter().map(|hit| format!("{} {}: {}", hit.id, hit.kind, hit.snippet)).collect();
        Ok(format!("{}\n{}", lines.join("\n"), texts::RECALL_MORE.to_owned()))
    }
}

impl Originals for LogOriginals {
    fn original(&self, id: ItemId) -> Option<Arc<Item>> {
        reader::find_item(&self.path(), id).ok().flatten()
    }

    fn of_agent(&self, agent: &str) -> Option<Arc<dyn Originals>> {
        // The log is `sessions/ID.jsonl` in the project's state folder.
        let path = self.path();
        let state = path.parent()?.parent()?;
        let log = list::find(&log::agents_of(state), agent).or_else(|_| list::find(state, agent)).ok()?;
        Some(Arc::new(Self { path: Mutex::new(log) }))
    }

    fn outline(&self) -> String {
        let Ok(session) = EffectiveSession::read(&self.path()) else { return String::new() };
        let line = |(id, item): (ItemId, &Arc<Item>)| match &**item {
            Item::User(message) => Some(format!("{id} user: {}\n", message.text)),
            Item::Assistant { text, .. } => Some(format!("{id} assistant: {text}\n")),
            Item::ToolCall(_) => Some(format!("{id} {}\n", text::one_line(&item.text(), SNIPPET))),
            _ => None,
        };
        session.items().filter_map(line).collect()
    }

    fn earlier(&self, query: &str, most: usize) -> Vec<String> {
        earlier::lines(&self.path(), query, false, most)
    }

    fn search(&self, query: &str, most: usize) -> Vec<RecallMatch> {
        let Ok(session) = EffectiveSession::read(&self.path()) else { return Vec::new() };
        // Skip Recall's own calls and results.
        let mut items: Vec<(ItemId, &Arc<Item>)> = session.items().collect();
        items.retain(|(_, item)| match &***item {
            Item::ToolResult(result) => &*result.tool != "Recall",
            Item::ToolCall(call) => &*call.name != "Recall",
            _ => true,
        });
        let texts: Vec<String> = items.iter().map(|(_, item)| item.text().into_owned()).collect();
        let query = translate::concepts(query).join(" ");
        let mut wanted = words::telling(&query);
        if wanted.is_empty() {
            wanted = words::terms(&query);
        }
        // Newest first, so that it wins between equal scores.
        let mut corpus = Corpus::only(&wanted);
        texts.iter().rev().for_each(|text| corpus.add(&[(1.0, text)]));
        corpus
            .rank(&wanted)
            .into_iter()
            .take(most)
            .map(|hit| {
                let at = texts.len() - 1 - hit.document;
                let (id, item) = &items[at];
                RecallMatch { id: *id, kind: item.kind().into_owned(), snippet: snippet(&texts[at], &wanted) }
            })
            .collect()
    }
}

/// The line that contains the most wanted words.
fn snippet(whole: &str, wanted: &[Term]) -> String {
    let score = |line: &str| {
        let lower = fold(line);
        wanted.iter().filter(|term| lower.contains(term.text.as_str())).count()
    };
    let mut best = ("", 0);
    for line in whole.lines() {
        let score = score(line);
        if score > best.1 {
            best = (line, score);
        }
    }
    text::one_line(if best.1 > 0 { best.0 } else { whole }, SNIPPET)
}
