//! The configured model: its window, price, and whether it answers.

use super::findings::Findings;
use crate::cli::setup::test_request;
use base::config::models;
use base::config::settings::ProviderKind;
use provider::unconfigured;
use provider::window::finder::{FoundWindow, WindowFinder};
use provider::window::probe;

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
            let key = match (&provider.api_key_command, &provider.api_key) {
                (Some(command), _) => format!("printed by `{command}` (api_key_command)"),
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
            // The replies of a script are meant for its session.
            if provider.kind != ProviderKind::Scripted {
                match test_request::greet(provider).await {
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
    let tier = facts.tier.map(|tier| {
        format!("; {}x over {} tokens, so that requests are kept under it", tier.input, tier.above)
    });
    format!("${} in, ${} out{read} per million tokens{}", price.input, price.output, tier.unwrap_or_default())
}
