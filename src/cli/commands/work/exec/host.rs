//! `mycode exec` controlled by the program on its standard input, as Claude's SDKs do.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::io::BufReader;

use super::args::ExecArgs;
use super::brought::{agents, bring_plugin, brought, lead};
use super::setup;
use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open::SessionSelector;
use agent::assemble::{self, Setup};
use base::process::signals::interrupts;
use frontend::exec::compat::claude::{Claude, ClaudeForm};
use frontend::exec::compat::converse::converse;
use frontend::exec::compat::host::HostLink;
use frontend::exec::output_schema::OutputSchema;
use tools::hook::callback;

pub async fn run(
    cli: &SharedArgs,
    args: &ExecArgs,
    which: &SessionSelector,
    mut schema: Option<OutputSchema>,
) -> Result<u8, Failure> {
    let mut link = HostLink::open(BufReader::new(tokio::io::stdin()));
    let wanted = link.initialize().await.unwrap_or_default();
    if let Some(given) = wanted["jsonSchema"].as_object().filter(|_| schema.is_none()) {
        let given = Value::from(given.clone()).to_string();
        schema = Some(setup::schema(&given)?);
    }
    let opened = async {
        let mut setup = setup::setup(cli, args, which).await?;
        setup.limits.schema = schema.as_ref().map(OutputSchema::value);
        setup.interactive = args.form.ask_host;
        setup.host = Some(Arc::new(link.port.clone()));
        initialize(&mut setup, &wanted)?;
        if let Some(name) = &args.form.agent {
            lead(&mut setup, name)?;
        }
        let form = args.form.claude(&setup);
        Ok::<_, Failure>((assemble::start(setup)?, form))
    };
    let (handle, form) = match opened.await {
        Ok(opened) => opened,
        Err(failure) => {
            // The program may not read standard error.
            let mut printer = Claude::new(io::stdout(), ClaudeForm::default());
            let _ = printer.refused(&failure.message(), &failure.hint);
            return Err(failure);
        }
    };
    let mut printer = Claude::new(io::stdout(), form);
    let outcome = converse(handle.ops, handle.events, link, &mut printer, interrupts(), schema).await;
    report::written(outcome.lost.as_deref())?;
    Ok(outcome.exit_code)
}

/// Applies an `initialize` request to the session.
fn initialize(setup: &mut Setup, wanted: &Value) -> Result<(), Failure> {
    let own = &mut setup.loaded.own;
    if wanted["hooks"].is_object() {
        own.hooks.push(callback::settings(&wanted["hooks"]));
    }
    own.agents.extend(agents(&wanted["agents"]));
    let served = wanted["sdkMcpServers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let served: Map<String, Value> = served.map(|name| (name.to_owned(), json!({"type": "sdk"}))).collect();
    if !served.is_empty() {
        own.mcp.push(brought("the SDK", &json!({ "mcpServers": served })));
    }
    if wanted["mcpServers"].is_object() {
        own.mcp.push(brought("the SDK", &json!({"mcpServers": wanted["mcpServers"]})));
    }
    let prompts = wanted["systemPrompt"].as_array().into_iter().flatten();
    for text in prompts.chain([&wanted["appendSystemPrompt"]]).filter_map(Value::as_str) {
        setup.instructions = format!("{}\n\n{text}", setup.instructions).trim().to_owned();
    }
    let plugins = wanted["plugins"].as_array().into_iter().flatten();
    for folder in plugins.filter_map(|plugin| plugin["path"].as_str()) {
        bring_plugin(&mut setup.loaded.own, Path::new(folder))?;
    }
    Ok(())
}
