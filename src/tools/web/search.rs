//! WebSearch: searches with the provider's search (`provider/search.rs`). Off by default, because each search costs money.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use base::model::envelope::Envelope;
use base::model::observation::{Observation, Web};
use base::text::{human_tokens, one_line};

#[derive(Deserialize)]
pub struct Args {
    query: String,
}

pub struct WebSearch;

impl TypedTool for WebSearch {
    type Args = Args;
    const NAME: &'static str = "WebSearch";
    const ARGUMENTS: &'static str = "query";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Async(search);

    fn title(args: &Args) -> String {
        format!("WebSearch \"{}\"", one_line(&args.query, 120))
    }
}

fn search(args: Arc<Args>, cx: &ToolCx) -> BoxFuture<'_, ToolOutcome> {
    Box::pin(async move {
        let failed = |message: String| ToolError::failed(message);
        let Some(searcher) = &cx.web.searcher else {
            return Err(failed("the model's server has no search; continue without it".to_owned()));
        };
        let query = cx.redactor.redact_typed(args.query.trim());
        if query.is_empty() {
            return Err(ToolError::invalid("query is empty"));
        }
        let model = cx.images.model();
        let model = Some(&*model).filter(|model| !model.is_empty());
        let found = searcher.search(&query, model).await.map_err(|error| failed(error.to_string()))?;
        let mut body = found.answer.trim().to_owned();
        if !found.sources.is_empty() {
            body.push_str("\n\nSources:");
        }
        for (number, source) in (1..).zip(&found.sources) {
            let title =
                if source.title.is_empty() { "" } else { &format!("{} ", one_line(&source.title, 120)) };
            body.push_str(&format!("\n[{number}] {title}{}", source.url));
        }
        let spent = found.usage.unwrap_or_default();
        let mut envelope = Envelope::success(format!("{} tokens", human_tokens(spent.total())));
        if found.usage.is_some() {
            let (model, usage) = (Some(found.model), Some(spent));
            envelope = envelope.observed(Observation::Web(Web { model, usage, ..Web::default() }));
        }
        Ok(envelope.with_body("answer", body))
    })
}
