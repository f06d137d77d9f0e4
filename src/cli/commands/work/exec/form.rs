//! How a task of `mycode exec` comes in and its events go out, for programs.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;

use super::brought::{self, agents, bring_plugin, brought, json};
use crate::cli::args::ModelArgs;
use crate::cli::report::{self, Failure, OrFail};
use agent::assemble::Setup;
use base::config::permission_rules;
use base::config::settings::ProviderKind;
use base::format::picture;
use base::protocol::op::Attachment;
use base::{file, path};
use context::session::log;
use frontend::exec::compat::claude::ClaudeForm;
use frontend::exec::run::OutputForm;
use tools::mcp::servers;

const MAX_IMAGE: u64 = 32 * 1024 * 1024;
const PICTURE_HINT: &str = "name a picture (PNG, JPEG, GIF or WebP) of at most 32 MiB";
/// Claude's SDKs set it to learn when nothing more will come.
const READS_STATE: &str = "CLAUDE_CODE_SDK_READS_SESSION_STATE";

#[derive(Args, Debug, Default)]
pub struct FormArgs {
    /// Show the model this picture; can be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "each")]
    pub image: Vec<PathBuf>,

    /// Add this to the system prompt; can be repeated
    #[arg(long, value_name = "TEXT", conflicts_with = "each")]
    pub append_system_prompt: Vec<String>,

    /// Use these MCP servers, too: {"mcpServers": {…}}, or a file with that; can be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "each")]
    pub mcp_config: Vec<String>,

    /// Use no MCP servers but those of --mcp-config
    #[arg(long, conflicts_with = "each")]
    pub strict_mcp_config: bool,

    /// The id of the new session, a UUID
    #[arg(long, value_name = "UUID", conflicts_with_all = ["each", "resume", "continue_last"])]
    pub session_id: Option<String>,

    // What follows is for other programs' scripts; `mycode help scripts` has their names for it.
    #[arg(long, hide = true, value_parser = ["text", "answer", "codex", "claude", "claude-result"])]
    pub format: Option<String>,

    /// Text as it arrives, too
    #[arg(long, hide = true)]
    pub partial: bool,

    /// The user's messages are repeated
    #[arg(long, hide = true)]
    pub replay: bool,

    /// Messages and control requests come on standard input
    #[arg(long, hide = true, conflicts_with = "each")]
    pub host: bool,

    /// The program on standard input answers questions
    #[arg(long, hide = true, requires = "host")]
    pub ask_host: bool,

    /// Settings in Claude's form, or a file with them
    #[arg(long, hide = true)]
    pub settings: Option<String>,

    /// Sub-agents in Claude's form
    #[arg(long, hide = true)]
    pub agents: Option<String>,

    /// The sub-agent that does the task itself
    #[arg(long, hide = true)]
    pub agent: Option<String>,

    /// A plugin that is active for this run
    #[arg(long, hide = true)]
    pub plugin_dir: Vec<PathBuf>,
}

impl FormArgs {
    pub fn form(&self, setup: &Setup, json: bool) -> OutputForm {
        match self.format.as_deref() {
            Some("codex") => OutputForm::Codex,
            Some("claude" | "claude-result") => OutputForm::Claude(self.claude(setup)),
            Some("answer") if !json && !std::io::stderr().is_terminal() => OutputForm::Answer,
            _ => OutputForm::detect(json),
        }
    }

    pub fn claude(&self, setup: &Setup) -> ClaudeForm {
        let (servers, _) = servers::read(&setup.loaded.own.mcp, true);
        ClaudeForm {
            tools: brought::tools(setup),
            plugins: brought::plugins(&self.plugin_dir),
            mcp_servers: servers.into_iter().map(|one| one.name).collect(),
            only_result: self.format.as_deref() == Some("claude-result"),
            partial: self.partial,
            states: std::env::var_os(READS_STATE).is_some_and(|value| !value.is_empty()),
            replay: self.replay,
            asks: self.ask_host,
        }
    }

    pub fn images(&self) -> Result<Vec<Attachment>, Failure> {
        let read = |file: &PathBuf| {
            let name = file.display().to_string();
            let (bytes, _) = file::read(&path::follow(file), MAX_IMAGE)
                .or_usage(format!("--image {name}"), PICTURE_HINT)?;
            if !picture::is_picture(&bytes) {
                return Err(Failure::usage(format!("--image {name}: it isn't a picture"), PICTURE_HINT));
            }
            Ok(Attachment::Image { name, bytes })
        };
        self.image.iter().map(read).collect()
    }

    /// The rules and the model of `--settings`, as if they were options.
    pub fn extend(&self, model: &mut ModelArgs) -> Result<(), Failure> {
        let Some(written) = &self.settings else { return Ok(()) };
        let settings = json("--settings", written)?;
        let lists = permission_rules::claude_lists(&settings);
        model.allow.extend(lists.allow);
        model.ask.extend(lists.ask);
        model.deny.extend(lists.deny);
        model.foreign_rules = true;
        let here = std::env::current_dir().unwrap_or_default();
        model.add_dir.extend(permission_rules::claude_folders(&settings["permissions"], &here));
        model.model = model.model.take().or_else(|| settings["model"].as_str().map(str::to_owned));
        // What the user keeps on another server must not go to the usual one.
        if let Some(address) = settings["env"]["ANTHROPIC_BASE_URL"].as_str() {
            model.provider.get_or_insert(ProviderKind::Anthropic);
            model.base_url.get_or_insert_with(|| address.to_owned());
        }
        let mut names = settings["env"].as_object().into_iter().flat_map(|env| env.keys());
        if names.any(|name| name != "ANTHROPIC_BASE_URL") {
            report::note(
                "--settings: env is used for ANTHROPIC_BASE_URL only; set the other variables for mycode itself",
            );
        }
        Ok(())
    }

    pub fn apply(&self, setup: &mut Setup) -> Result<(), Failure> {
        let own = &mut setup.loaded.own;
        if self.strict_mcp_config {
            own.mcp.clear();
        }
        for written in &self.mcp_config {
            own.mcp.push(brought("--mcp-config", &json("--mcp-config", written)?));
        }
        if let Some(written) = &self.settings {
            own.hooks.push(brought("--settings", &json("--settings", written)?));
        }
        if let Some(written) = &self.agents {
            own.agents.extend(agents(&json("--agents", written)?));
        }
        for folder in &self.plugin_dir {
            bring_plugin(own, folder)?;
        }
        setup.instructions = self.append_system_prompt.join("\n\n");
        if let Some(id) = &self.session_id {
            if !is_uuid(id) {
                let hint = "leave it out for a new id, or make one with `uuidgen`";
                return Err(Failure::usage(format!("--session-id {id} isn't a UUID"), hint));
            }
            if log::path_of(&setup.project_state, id).exists() {
                let hint = format!("--resume {id} continues it");
                return Err(Failure::usage(format!("session {id} already exists"), hint));
            }
            setup.session_id = Some(id.clone());
        }
        Ok(())
    }
}

fn is_uuid(id: &str) -> bool {
    let parts: Vec<usize> = id.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}
