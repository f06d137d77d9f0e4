//! Recall: pages through the originals of everything that was shortened or archived.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use crate::ports::Originals;
use base::model::envelope::Envelope;
use base::model::item::ItemId;
use base::model::observation::{Observation, Recalled};
use base::text;

/// Bytes and lines of a page; below the general output limits, so that it is never cut.
const PAGE_BYTES: usize = 24 * 1024;
const PAGE_LINES: usize = 1_500;
const MATCHES: usize = 8;

#[derive(Deserialize)]
pub struct Args {
    id: Option<u64>,
    query: Option<String>,
    agent: Option<String>,
    offset: Option<usize>,
}

pub struct Recall;

impl TypedTool for Recall {
    type Args = Args;
    const NAME: &'static str = "Recall";
    const ARGUMENTS: &'static str = "id? integer, query?, agent?, offset? integer";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Blocking(recall);

    fn title(args: &Args) -> String {
        match (args.id, &args.query) {
            (Some(id), _) => format!("Recall #{id}"),
            (None, query) => format!("Recall {}", text::one_line(query.as_deref().unwrap_or_default(), 80)),
        }
    }
}

fn recall(args: &Args, cx: &ToolCx) -> ToolOutcome {
    let Some(own) = &cx.originals else {
        return Err(ToolError::not_found("this run is not saved, so there are no originals"));
    };
    let originals = match &args.agent {
        None => Arc::clone(own),
        Some(agent) => own.of_agent(agent).ok_or_else(|| {
            ToolError::not_found(format!("there is no agent or session {agent} in this project"))
        })?,
    };
    let offset = args.offset.unwrap_or(0);
    match (args.id, args.query.as_deref().map(str::trim)) {
        (Some(id), _) => {
            let item = originals.original(ItemId(id)).ok_or_else(|| {
                ToolError::not_found(format!(
                    "this session has no item #{id}. Ids are given where results were shortened; a query finds others"
                ))
            })?;
            page(&item.text(), Some(id), offset)
        }
        (None, Some(query)) if !query.is_empty() => Ok(search(&*originals, query)),
        (None, _) if args.agent.is_some() => page(&originals.outline(), None, offset),
        _ => Err(ToolError::invalid("give the id of an item, or a query to search this session")),
    }
}

fn page(whole: &str, id: Option<u64>, offset: usize) -> ToolOutcome {
    if offset > whole.len() {
        let message = format!("offset {offset} is past the end: there are {} bytes", whole.len());
        return Err(ToolError::invalid(message));
    }
    let start = whole.floor_char_boundary(offset);
    let mut end = whole.floor_char_boundary(start + PAGE_BYTES);
    if let Some((feed, _)) = whole[start..end].match_indices('\n').nth(PAGE_LINES) {
        end = start + feed + 1;
    }
    let part = (start > 0 || end < whole.len()).then_some(());
    let recalled = Recalled {
        id,
        offset: part.map(|()| start as u64),
        total_bytes: part.map(|()| whole.len() as u64),
        end_offset: part.map(|()| end as u64),
        ..Recalled::default()
    };
    let mut text = String::new();
    if part.is_some() {
        text = format!("bytes {start}-{end} of {}", whole.len());
    }
    if end < whole.len() {
        text.push_str(&format!("; continue with offset={end}"));
    }
    let envelope = Envelope::success(text).observed(Observation::Recall(recalled));
    Ok(envelope.with_body("content", &whole[start..end]))
}

fn search(originals: &dyn Originals, query: &str) -> Envelope {
    let found = originals.search(query, MATCHES);
    let hits: Vec<Value> =
        found.iter().map(|hit| json!({"id": hit.id.0, "kind": hit.kind, "snippet": hit.snippet})).collect();
    let recalled = Recalled { query: Some(query.to_owned()), hits: Some(hits), ..Recalled::default() };
    let recalled = Observation::Recall(recalled);
    let earlier = originals.earlier(query, MATCHES);
    if found.is_empty() && earlier.is_empty() {
        return Envelope::success(format!("no item of this session matches '{query}'")).observed(recalled);
    }
    let mut lines: Vec<String> =
        found.iter().map(|hit| format!("{} {}: {}", hit.id, hit.kind, hit.snippet)).collect();
    lines.extend(earlier.iter().map(|line| format!("Earlier session: {line}")));
    let more = if earlier.is_empty() { "" } else { "; a session as agent, what was said there" };
    Envelope::success(format!("Recall with an id returns the whole item{more}"))
        .observed(recalled)
        .with_body("found", lines.join("\n"))
}
