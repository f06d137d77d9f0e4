//! WebFetch: a page as Markdown. Permission is per host, so redirects to other hosts aren't followed.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use reqwest::Url;
use serde::Deserialize;
use tokio::time::timeout;

use super::address;
use super::client::{Fetched, Reply, WebError};
use super::page::Page;
use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool, blocking};
use crate::cx::ToolCx;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::observation::{Observation, Web};
use base::text::{human_bytes, one_line};
use guard::policy::access::Access;
use guard::redact::detector::TextSource;

const FETCH_TIME: Duration = Duration::from_secs(60);
const READ_TIME: Duration = Duration::from_secs(20);
const ERROR_CHARS: usize = 300;

#[derive(Deserialize)]
pub struct Args {
    url: String,
}

pub struct WebFetch;

impl TypedTool for WebFetch {
    type Args = Args;
    const NAME: &'static str = "WebFetch";
    const ARGUMENTS: &'static str = "url";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Async(fetch);

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Host(address::host(&wanted(args, cx)?))])
    }

    fn title(args: &Args) -> String {
        format!("WebFetch {}", one_line(&args.url, 200))
    }
}

/// The address, if it is allowed and contains no secret.
fn wanted(args: &Args, cx: &ToolCx) -> Result<Url, ToolError> {
    let url = address::parse(&args.url, &cx.web.private_hosts).map_err(ToolError::invalid)?;
    let told = cx.redactor.mentioned(&args.url);
    if told.is_some() || matches!(cx.redactor.redact(&args.url, TextSource::Text), Cow::Owned(_)) {
        return Err(ToolError::model(
            ErrorCode::AccessDenied,
            "the address contains a secret, which would be sent to its host; leave it out, or ask the user",
        ));
    }
    Ok(url)
}

fn fetch(args: Arc<Args>, cx: &ToolCx) -> BoxFuture<'_, ToolOutcome> {
    Box::pin(async move {
        let url = wanted(&args, cx)?;
        if let Some((page, age)) = cx.web.pages.get(url.as_str(), Instant::now()) {
            return shown(&page, Some(age), cx).await;
        }
        let web = Arc::clone(&cx.web);
        blocking(cx, move |_| web.client().map(drop).map_err(tool_error)).await?;
        let asked = timeout(FETCH_TIME, cx.web.client().map_err(tool_error)?.get(url.clone())).await;
        let reply = asked.map_err(|_| late(format!("{url} took longer than {} s", FETCH_TIME.as_secs())))?;
        let reply = reply.map_err(tool_error)?;
        let fetched = match reply {
            Reply::Elsewhere(target) => {
                let text = format!(
                    "{url} redirects to another host: {target}. Nothing was read; fetch that to continue"
                );
                return Ok(Envelope::success(text).observed(Observation::Web(Web {
                    redirect: Some(target.to_string()),
                    ..Web::default()
                })));
            }
            Reply::Page(fetched) if fetched.status >= 400 => return refused(fetched, cx).await,
            Reply::Page(fetched) => fetched,
        };
        let read = blocking(cx, move |cx| {
            let url = fetched.url.to_string();
            Page::read(fetched, &cx.cancel).map_err(|what| {
                let hint = "Bash can download it (curl -fLO) for a program that reads it";
                ToolError::model(ErrorCode::BinaryFile, format!("{url}: {what}. {hint}"))
            })
        });
        let page = timeout(READ_TIME, read)
            .await
            .map_err(|_| late(format!("{url} could not be read in time")))??;
        let page = Arc::new(page);
        if page.picture.is_none() {
            cx.web.pages.put(url.as_str(), Arc::clone(&page), Instant::now());
        }
        shown(&page, None, cx).await
    })
}

/// The page for the model. The dispatcher truncates it if needed.
async fn shown(page: &Arc<Page>, age: Option<Duration>, cx: &ToolCx) -> ToolOutcome {
    let mut said = match &page.title {
        Some(title) => format!("{title}: {}", page.url),
        None => page.url.clone(),
    };
    let web = Web { url: Some(page.url.clone()), ..Web::default() };
    if page.picture.is_some() {
        let picture = Arc::clone(page);
        let size = blocking(cx, move |cx| show_picture(&picture, cx)).await?;
        return Ok(Envelope::success(format!("{said}: {size}")).observed(Observation::Web(web)));
    }
    said.push_str(&format!(", {}", human_bytes(page.text.len() as u64)));
    if let Some(age) = age {
        said.push_str(&format!(", read {} min ago", age.as_secs() / 60));
    }
    let mut envelope =
        Envelope::success(said).observed(Observation::Web(web)).with_body("content", page.text.as_str());
    if let Some(note) = page.note.or_else(|| page.text.is_empty().then_some("it is empty")) {
        envelope.text.push_str(&format!("; {note}"));
        envelope = envelope.partial();
    }
    Ok(envelope)
}

fn show_picture(page: &Page, cx: &ToolCx) -> Result<String, ToolError> {
    if let Some(why) = cx.images.refusal() {
        return Err(ToolError::model(ErrorCode::BinaryFile, format!("{} is a picture, and {why}", page.url)));
    }
    let bytes = page.picture.clone().unwrap_or_default();
    let put = cx.images.put_bytes(bytes, &page.url);
    let (width, height) =
        put.map_err(|error| ToolError::failed(format!("{} can't be shown: {error}", page.url)))?;
    Ok(format!("a picture of {width} x {height}, below"))
}

async fn refused(fetched: Fetched, cx: &ToolCx) -> ToolOutcome {
    let (status, url) = (fetched.status, fetched.url.clone());
    let told = blocking(cx, move |_| Ok(one_line(&Page::told(&fetched), ERROR_CHARS))).await?;
    let (code, hint) = match status {
        404 | 410 => (ErrorCode::NotFound, ""),
        401 | 403 => (ErrorCode::AccessDenied, "; it needs a login or blocks programs"),
        429 => (ErrorCode::ExecutionError, "; its rate limit was reached"),
        _ => (ErrorCode::ExecutionError, ""),
    };
    let told = if told.is_empty() { told } else { format!(": {told}") };
    Err(ToolError::model(code, format!("HTTP {status} from {url}{hint}{told}")))
}

fn tool_error(error: WebError) -> ToolError {
    ToolError::model(error.code, error.message)
}

fn late(message: String) -> ToolError {
    ToolError::model(ErrorCode::Timeout, message)
}
