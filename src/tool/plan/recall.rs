//! Recall: the way back to everything that was shortened or archived. The originals come through a port; this tool only
//! pages them, so that every byte can be had.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::text;
use crate::config::prompts;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::model::item::ItemId;
use crate::policy::access::Access;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::{Originals, ToolCx};

/// Bytes and lines of one page: under the tool boundary's limits, so that nothing is cut behind our back.
const PAGE_BYTES: usize = 24 * 1024;
const PAGE_LINES: usize = 1_500;
/// Hits of a query.
const HITS: usize = 8;

#[derive(Deserialize)]
pub struct Args {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    query: Option<String>,
    /// In bytes.
    #[serde(default)]
    offset: Option<usize>,
}

pub struct Recall;

impl TypedTool for Recall {
    type Args = Args;
    const NAME: &'static str = "Recall";
    const READ_ONLY: bool = true;

    fn description(&self) -> &'static str {
        prompts::TOOL_RECALL
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "query": {"type": "string"},
                "offset": {"type": "integer"}
            }
        })
    }

    fn access(&self, _: &Args, _: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn title(&self, args: &Args) -> String {
        match (args.id, &args.query) {
            (Some(id), _) => format!("Recall #{id}"),
            (None, query) => format!("Recall {}", text::one_line(query.as_deref().unwrap_or_default(), 80)),
        }
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        let Some(originals) = cx.originals.clone() else {
            return Err(ToolError::model(ErrorCode::NotFound, "this place keeps no originals"));
        };
        crate::tool::paths::blocking(cx, move |_| match (args.id, args.query.as_deref().map(str::trim)) {
            (Some(id), _) => page(&*originals, ItemId(id), args.offset.unwrap_or(0)),
            (None, Some(query)) if !query.is_empty() => Ok(hits(&*originals, query)),
            _ => Err(ToolError::invalid("give the id of an item, or a query to search this session")),
        })
        .await
    }
}

fn page(originals: &dyn Originals, id: ItemId, offset: usize) -> Result<Envelope, ToolError> {
    let Some(item) = originals.original(id) else {
        return Err(ToolError::model(
            ErrorCode::NotFound,
            format!(
                "this session has no item {id}; the ids stand in the marks of shortened results, and a query finds \
                 others"
            ),
        ));
    };
    let whole = item.text();
    if offset > whole.len() {
        return Err(ToolError::invalid(format!(
            "{id} has {} bytes; offset {offset} is past its end",
            whole.len()
        )));
    }
    let start = text::floor_boundary(&whole, offset);
    let mut end = text::floor_boundary(&whole, start + PAGE_BYTES);
    if let Some((feed, _)) = whole[start..end].match_indices('\n').nth(PAGE_LINES) {
        end = start + feed + 1;
    }
    let envelope = Envelope::success("").with("id", id.0).with_body("content", &whole[start..end]);
    if start == 0 && end == whole.len() {
        return Ok(envelope);
    }
    let mut envelope =
        envelope.with("offset", start).with("total_bytes", whole.len()).with("end_offset", end);
    envelope.text = format!("bytes {start}-{end} of {}", whole.len());
    if end < whole.len() {
        envelope.text.push_str(&format!("; go on with offset={end}"));
    }
    Ok(envelope)
}

fn hits(originals: &dyn Originals, query: &str) -> Envelope {
    let found = originals.search(query, HITS);
    if found.is_empty() {
        return Envelope::success(format!("nothing in this session has to do with '{query}'"))
            .with("query", query)
            .with("hits", json!([]));
    }
    let lines: Vec<String> =
        found.iter().map(|hit| format!("{} {}: {}", hit.id, hit.kind, hit.snippet)).collect();
    let hits: Vec<Value> =
        found.iter().map(|hit| json!({"id": hit.id.0, "kind": hit.kind, "snippet": hit.snippet})).collect();
    Envelope::success("Recall with an id gives one whole")
        .with("query", query)
        .with("hits", hits)
        .with_body("found", lines.join("\n"))
}
