//! The configured model: its window, price, and whether it answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tokio::time::timeout_at;

use super::findings::Findings;
use base::config::provider::models;
use base::config::settings::{KeySource, ProviderKind, ProviderSettings};
use base::model::provider::ProviderError;
use base::model::request::{Message, Params, Request};
use base::model::stream::StreamEvent;
use base::protocol::notice;
use provider::window::finder::{FoundWindow, WindowFinder};
use provider::window::probe;
use provider::{registry, unconfigured};

pub async fn check(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    let finder = WindowFinder::new(&opened.loaded.servers);
    let found = match &opened.loaded.provider {
        Some(settings) => finder.find_anew(settings).await,
        None => FoundWindow::default(),
    };
    let model = opened.loaded.provider.as_ref().map_or("", |settings| &settings.model);
    let (context, window_error) = match opened.loaded.context_for(model, found.learned()) {
        Ok(context) => (context, None),
        Err(error) => (opened.loaded.context.clone(), Some(error)),
    };
    findings.line(
        "window",
        format!(
            "{} tokens ({}), compaction at {:.0} %, down to {:.0} %",
            context.window_tokens,
            context.window_origin.into_str(),
            context.compression_threshold * 100.0,
            context.low_water * 100.0
        ),
    );
    findings.works = window_error.is_none();
    match &opened.loaded.provider {
        Some(provider) => {
            findings.line("provider", provider.kind.into_str());
            findings.line("address", provider.base_url.clone());
            let chosen =
                if opened.loaded.model_by_default { " (the default; set --model for another)" } else { "" };
            findings.line("model", format!("{}{chosen}", provider.model));
            findings.line("price", price(&provider.model));
            findings.line("table", format!("model facts as of {}", models::TABLE_DATE));
            let key = match (&provider.key_source, &provider.api_key) {
                (Some(KeySource::Command(command)), _) => format!("printed by `{command}` (api_key_command)"),
                (Some(KeySource::Account(_)), _) => notice::CHATGPT_PLAN.to_owned(),
                (None, Some(_)) => "set".to_owned(),
                (None, None) => "none".to_owned(),
            };
            findings.line("key", key);
            if let Some(window) = &found.window {
                let used = if context.window_origin == window.origin { "" } else { ", not used" };
                let said = format!("{} tokens, from {}{used}", window.tokens, window.source);
                findings.line("server window", said);
            }
            if let Some(advice) = found.advice {
                findings.line("", advice);
            }
            // A script's replies are meant for its session.
            if provider.kind != ProviderKind::Scripted {
                match greet(provider).await {
                    Ok(took) => findings.line("answers", format!("yes, in {:.1} s", took.as_secs_f64())),
                    Err(error) => {
                        findings.works = false;
                        findings.line("answers", format!("no: {error}"));
                        findings.line("", error.hint(false));
                    }
                }
                let refused = finder.refused_fields(provider).await;
                if !refused.is_empty() {
                    findings.line("not sent", format!("{}: this server refuses it", refused.join(", ")));
                }
            }
        }
        None if opened.loaded.provider_error.is_some() => findings.works = false,
        None => match probe::find_local().await {
            Some(server) => {
                findings.line("provider", format!("{} found at {}", server.name, server.base_url));
                findings.line("models", server.models.join(", "));
            }
            None => {
                findings.works = false;
                findings.line("provider", format!("none: {}.", unconfigured::ADVICE));
            }
        },
    }
    for error in [&window_error, &opened.loaded.provider_error].into_iter().flatten() {
        findings.sentence(format!("error: {error}\nhint: {}", error.hint));
    }
}

fn price(model: &str) -> String {
    let Some((price, facts)) = models::facts(model).and_then(|facts| Some((facts.price?, facts))) else {
        return "unknown".to_owned();
    };
    let read = price.read.map(|read| format!(", ${read} cached")).unwrap_or_default();
    let tier = facts
        .tier
        .map(|tier| format!("; {}x over {} tokens, so requests stay below that", tier.input, tier.above));
    format!("${} in, ${} out{read} per million tokens{}", price.input, price.output, tier.unwrap_or_default())
}

/// Seconds; a local model may have to be loaded first.
const TIMEOUT_S: u64 = 60;
/// Enough for a model that thinks before it answers.
const MAX_OUTPUT_TOKENS: u32 = 256;

/// One tiny request: a key and an open port don't prove that the model answers.
async fn greet(settings: &ProviderSettings) -> Result<Duration, ProviderError> {
    let settings = ProviderSettings {
        idle_timeout_s: settings.idle_timeout_s.min(TIMEOUT_S),
        answer_timeout_s: settings.answer_timeout_s.min(TIMEOUT_S),
        max_tries: 1,
        ..settings.clone()
    };
    let request = Request {
        messages: vec![Message::User("Reply with the word ok.".into())],
        params: Params {
            model: Arc::clone(&settings.model),
            max_output_tokens: Some(MAX_OUTPUT_TOKENS),
            ..Params::default()
        },
        ..Request::default()
    };
    let started = Instant::now();
    let provider = registry::build(&settings)?;
    let mut answer = provider.stream(&request);
    let limit = Instant::now() + Duration::from_secs(TIMEOUT_S);
    while let Some(event) = timeout_at(limit.into(), answer.next())
        .await
        .map_err(|_| ProviderError::Stalled { seconds: TIMEOUT_S })?
    {
        if matches!(event?, StreamEvent::Done { .. }) {
            return Ok(started.elapsed());
        }
    }
    Err(ProviderError::Broken("the answer ended without an end mark".to_owned()))
}
