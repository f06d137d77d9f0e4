//! `mycode doctor`: what is configured, where it came from, and whether the model answers.

use crate::cli::args::{Cli, DoctorArgs};
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use crate::cli::setup::test_request;
use crate::config::models;
use crate::config::paths::{self, Paths};
use crate::config::settings::{Permission, ProviderKind};
use crate::mcp::{describe, servers};
use crate::provider::unconfigured;
use crate::provider::window::finder::{FoundWindow, WindowFinder};
use crate::provider::window::probe;
use crate::sandbox::probe as sandbox;

/// Prints the report; whether a model is set up and answers.
///
/// # Errors
/// Settings that cannot be used.
pub async fn run(cli: &Cli, args: &DoctorArgs) -> Result<bool, Failure> {
    if args.config {
        report::print(include_str!("../../../../config.toml"))?;
        return Ok(true);
    }
    let opened = open::open(&cli.model, Permission::Ask)?;
    let paths = Paths::from_env();
    let mut out = format!("mycode {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |name: &str, value: String| out.push_str(&format!("{name:<16}{value}\n"));
    line("workspace", opened.workspace.display().to_string());
    let exists = |path: &std::path::Path| if path.exists() { "" } else { " (not found)" };
    let user = paths.user_config();
    line("user config", format!("{}{}", user.display(), exists(&user)));
    let project = paths::project_config(&opened.workspace);
    line("project config", format!("{}{}", project.display(), exists(&project)));
    line("state", opened.project_state.display().to_string());
    line(
        "permission",
        format!("{} in the chat, auto in exec unless set", opened.loaded.work.permission.as_str()),
    );
    if opened.loaded.work.sandbox {
        let held = sandbox::status();
        for layer in &held.rows {
            let state = if layer.available { "available" } else { "missing" };
            line(&format!("  {}", layer.name), format!("{state}: {}", layer.detail));
        }
        let whole = match (held.files, held.network) {
            (true, true) => {
                "read-only and auto are enforced by the kernel (`.env` files in the workspace stay readable)"
            }
            (true, false) => {
                "file access is enforced by the kernel, network access is not: auto asks before unknown commands"
            }
            _ => {
                "unavailable: auto asks before commands that may leave the workspace; exec refuses read-only and auto"
            }
        };
        line("sandbox", whole.to_owned());
    } else {
        line("sandbox", "off (sandbox = false)".to_owned());
    }
    let (servers, unusable) = servers::read(&opened.loaded.own.mcp, opened.loaded.work.sandbox);
    for server in &servers {
        line("MCP server", format!("{}: {} ({})", server.name, server.shown(), describe::state(server)));
    }
    for problem in unusable {
        line("MCP server", problem);
    }
    let found = match &opened.loaded.provider {
        Some(settings) => WindowFinder::new(&opened.loaded.servers).find_anew(settings).await,
        None => FoundWindow::default(),
    };
    let model = opened.loaded.provider.as_ref().map_or("", |settings| &settings.model);
    let (context, window_error) = match opened.loaded.context_for(model, found.learned()) {
        Ok(context) => (context, None),
        Err(error) => (opened.loaded.context.clone(), Some(error)),
    };
    line(
        "window",
        format!(
            "{} tokens ({}), compaction at {:.0} %, down to {:.0} %",
            context.window_tokens,
            context.window_origin.as_str(),
            context.compression_threshold * 100.0,
            context.low_water * 100.0
        ),
    );
    let mut works = window_error.is_none();
    match &opened.loaded.provider {
        Some(provider) => {
            line("provider", provider.kind.as_str().to_owned());
            line("address", provider.base_url.clone());
            let chosen =
                if opened.loaded.model_by_default { " (the default; set --model for another)" } else { "" };
            line("model", format!("{}{chosen}", provider.model));
            line("price", price(&provider.model));
            line("key", if provider.api_key.is_some() { "set" } else { "none" }.to_owned());
            if let Some(window) = &found.window {
                let used = if context.window_origin == window.origin { "" } else { ", not used" };
                let said = format!("{} tokens, from {}{used}", window.tokens, window.source);
                line("server window", said);
            }
            if let Some(advice) = found.advice {
                line("", advice);
            }
            // A script's answers are for its session.
            if provider.kind != ProviderKind::Scripted {
                match test_request::greet(provider).await {
                    Ok(took) => line("answers", format!("yes, in {:.1} s", took.as_secs_f64())),
                    Err(error) => {
                        works = false;
                        line("answers", format!("no: {error}"));
                        line("", error.hint(false));
                    }
                }
            }
        }
        None if opened.loaded.provider_error.is_some() => works = false,
        None => match probe::find_local().await {
            Some(server) => {
                line("provider", format!("{} found at {}", server.name, server.base_url));
                line("models", server.models.join(", "));
            }
            None => {
                works = false;
                line("provider", format!("none: {}.", unconfigured::ADVICE));
            }
        },
    }
    for error in [&window_error, &opened.loaded.provider_error].into_iter().flatten() {
        out.push_str(&format!("error: {error}\nhint: {}\n", error.hint));
    }
    for notice in &opened.loaded.notices {
        out.push_str(&format!("note: {notice}\n"));
    }
    report::say(&out)?;
    Ok(works)
}

/// What the model costs, as the table knows it.
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
