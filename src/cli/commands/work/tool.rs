//! `mycode tool`: runs tools through the real dispatcher and prints the full envelope, for scripts and tests
//! by hand. Several calls on standard input share one process, so that a Read can come before an Edit.

use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::open;
use crate::cli::setup::tools_alone;
use agent::calls::dispatcher::Dispatcher;
use agent::control::TurnControl;
use base::config::settings::Permission;
use base::model::call::ToolCall;
use base::model::envelope::Status;
use base::process::task;

#[derive(Args, Debug)]
pub struct ToolArgs {
    /// The tool, such as Read; `-` reads one call {"tool", "args"} per line from standard input
    pub name: String,

    /// The arguments as a JSON object
    #[arg(long, default_value = "{}")]
    pub args: String,
}

#[derive(Deserialize)]
struct CallLine {
    tool: String,
    #[serde(default)]
    args: Value,
}

const WINDOW_TOKENS: u64 = 1_000_000;

/// Returns whether all calls succeeded (or were partial).
pub async fn run(cli: &SharedArgs, args: &ToolArgs) -> Result<bool, Failure> {
    let opened = open::open(&cli.model, Permission::Auto)?;
    let dispatcher = tools_alone::of(&opened, &cli.model)?;
    if args.name != "-" {
        let input = serde_json::from_str(&args.args).unwrap_or_else(|_| Value::String(args.args.clone()));
        return one(&dispatcher, &args.name, &args.args, &input).await;
    }
    let mut all_good = true;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let call: CallLine =
            serde_json::from_str(&line).or_usage("invalid call", r#"write {"tool": "Read", "args": {…}}"#)?;
        all_good &= one(&dispatcher, &call.tool, &call.args.to_string(), &call.args).await?;
    }
    Ok(all_good)
}

async fn one(dispatcher: &Dispatcher, name: &str, args: &str, input: &Value) -> Result<bool, Failure> {
    let control = Arc::new(TurnControl::alone(CancellationToken::new()));
    let interrupt = Arc::clone(&control);
    let watch = task::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupt.cancel.cancel();
            // The call cleans up; a second Ctrl-C ends the program.
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        }
    });
    let call = ToolCall { id: "call_1".into(), name: name.into(), args: args.into() };
    let result = dispatcher.run_alone(call, WINDOW_TOKENS, &control).await;
    watch.abort();
    let Some(envelope) = result.map(|result| result.envelope) else { return Ok(false) };
    let root = dispatcher.root();
    let resolved = envelope.data.path().map(|path| root.join(path).to_string_lossy().into_owned());
    let public = envelope.to_public(&root.to_string_lossy(), input, resolved.as_deref());
    report::print(&format!("{public}\n"))?;
    Ok(envelope.status != Status::Error)
}
