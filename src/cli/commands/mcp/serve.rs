//! `mycode mcp serve`: offers this project's retrieval, memory and sub-agents to other agents.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::cli::args::{ModelArgs, SharedArgs};
use crate::cli::report::Failure;
use crate::cli::setup::agent_setup;
use crate::cli::setup::open::{self, SessionSelector};
use crate::cli::setup::tools_alone;
use agent::assemble;
use agent::calls::dispatcher::Dispatcher;
use agent::control::TurnControl;
use base::config::settings::Permission;
use base::model::call::{ToolCall, ToolSpec};
use base::model::envelope::Status;
use tools::mcp::serve::{self, OfferedTools};

/// The tools we offer, and whether each is read-only.
const OFFERED: [(&str, bool); 4] = [("Locate", true), ("Recall", true), ("Note", false), (TASK, false)];
const TASK: &str = "Task";
const WINDOW_TOKENS: u64 = 200_000;

pub async fn run(cli: &SharedArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::Auto)?;
    let tools = tools_alone::of(&opened, &cli.model)?;
    let tasks = opened.loaded.provider.is_some().then(OnceCell::new);
    let offer = ToolOffer { tools, model: cli.model.clone(), tasks };
    serve::over_stdio(offer).await.map_err(|error| {
        Failure::task(error, "an MCP client starts this command and talks to it over stdin and stdout")
    })
}

struct ToolOffer {
    tools: Dispatcher,
    model: ModelArgs,
    /// Runs sub-agents; made for the first task, `None` if no model is configured.
    tasks: Option<OnceCell<Dispatcher>>,
}

impl ToolOffer {
    async fn dispatcher(&self, name: &str) -> Result<&Dispatcher, String> {
        let Some(tasks) = self.tasks.as_ref().filter(|_| name == TASK) else { return Ok(&self.tools) };
        tasks.get_or_try_init(|| self.with_sub_agents()).await
    }

    async fn with_sub_agents(&self) -> Result<Dispatcher, String> {
        let said = |failure: Failure| failure.to_string();
        let opened = open::open(&self.model, Permission::Auto).map_err(said)?;
        let cli = SharedArgs { model: self.model.clone(), ..SharedArgs::default() };
        let setup = agent_setup::setup(&cli, false, &SessionSelector::New).await.map_err(said)?;
        let session = assemble::roles(setup).map_err(|error| error.to_string())?;
        session.agents.runner.begin_session(&session.conversation.id);
        let mut tools = tools_alone::of(&opened, &self.model).map_err(said)?;
        tools.cx.sub_agents = Some(session.agents.runner);
        Ok(tools)
    }
}

impl OfferedTools for ToolOffer {
    fn tools(&self) -> Vec<(ToolSpec, bool)> {
        let offered = |spec: &ToolSpec| {
            let (name, reads) = OFFERED.iter().find(|(name, _)| *name == &*spec.name)?;
            (self.tasks.is_some() || *name != TASK)
                .then(|| (ToolSpec { name: spec.name.to_lowercase().into(), ..spec.clone() }, *reads))
        };
        self.tools.specs().iter().filter_map(offered).collect()
    }

    fn call(
        &self,
        name: String,
        args: Map<String, Value>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let known = OFFERED.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
            let known = known.filter(|(known, _)| self.tasks.is_some() || *known != TASK);
            let (name, _) = known.ok_or_else(|| format!("there is no tool {name}"))?;
            let dispatcher = self.dispatcher(name).await?;
            let control = Arc::new(TurnControl::alone(cancel));
            let call = ToolCall {
                id: "call_1".into(),
                name: (*name).into(),
                args: Value::from(args).to_string().into(),
            };
            let result = dispatcher.run_alone(call, WINDOW_TOKENS, &control).await;
            let result = result.ok_or("the call returned no result")?;
            let text = result.envelope.wire().into_owned();
            if result.envelope.status == Status::Error { Err(text) } else { Ok(text) }
        })
    }
}
