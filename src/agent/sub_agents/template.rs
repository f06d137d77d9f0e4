//! Builds a sub-agent from its parent's parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::calls::dispatcher::Dispatcher;
use crate::calls::policy_engine::PolicyEngine;
use crate::hooks::agent_hooks::AgentHooks;
use crate::parts::Agent;
use crate::sampling::sampler::Sampler;
use crate::session::conversation::Conversation;
use crate::session::recall::LogOriginals;
use crate::toolset::context::ToolSetup;
use crate::toolset::tools::toolset;
use crate::turn::additions::skills::SkillHints;
use crate::turn::input::message::TurnInput;
use crate::turn::limits::TurnLimits;
use crate::window::context_window::ContextWindow;
use crate::window::fixed_prompt::{FixedPrompt, PromptReader};
use base::config::files::load::Loaded;
use base::config::mode::Mode;
use base::config::settings::{ContextSettings, TINY_WINDOW_TOKENS, WorkSettings};
use base::config::trusted::held_back::HeldBack;
use base::model::provider::Provider;
use base::model::request::Params;
use base::protocol::claude_tools;
use context::rules::project_rules::ProjectRules;
use guard::policy::flag_rules::FlagRules;
use tools::agent_types::AgentType;
use tools::api::{Tool, ToolSource};
use tools::cx::ToolCx;
use tools::on_demand::toolbox;
use tools::plan::skill::SkillTool;
use tools::run::shell::Shell;
use tools::skill::set::SkillSet;

pub trait AgentTree: Send + Sync {
    fn folder(&self) -> &Path;

    /// Commits the changes. Returns where they are, as a sentence for the model; empty if there are none.
    fn end(self: Box<Self>, task: String, is_done: bool) -> BoxFuture<'static, String>;
}

/// Opens the worktree of the agent with this id, creating it if `is_new`; `None` if there is none.
pub type OpenTree = fn(
    workspace: PathBuf,
    id: String,
    is_new: bool,
) -> BoxFuture<'static, Result<Option<Box<dyn AgentTree>>, String>>;

#[derive(Clone)]
pub struct AgentTemplate {
    pub loaded: Loaded,
    pub provider: Arc<dyn Provider>,
    pub policy: Arc<PolicyEngine>,
    pub project_state: PathBuf,
    pub own_folders: Vec<PathBuf>,
    pub interactive: bool,
    pub own_agents: Vec<AgentType>,
    pub skills: Arc<SkillSet>,
    pub hooks: Option<Arc<AgentHooks>>,
    pub sources: Vec<Arc<dyn ToolSource>>,
    pub flags: FlagRules,
    pub trees: OpenTree,
}

impl AgentTemplate {
    /// The same for a worktree, with its own policy and sandbox.
    pub fn in_folder(&self, folder: &Path) -> (Self, ToolCx) {
        let (dispatcher, tools) = toolset(ToolSetup {
            loaded: &self.loaded,
            workspace: folder,
            project_state: &self.project_state,
            own_folders: &self.own_folders,
            flags: self.flags.clone(),
            interactive: self.interactive,
            small_window: false,
            host: None,
        });
        let policy = dispatcher.policy;
        policy.set_permission(self.policy.permission());
        policy.set_mode(self.policy.mode());
        (Self { policy, skills: tools.skills, sources: tools.sources, ..self.clone() }, dispatcher.cx)
    }

    /// `light` overrides the type's use of the light model; `params` and `settings` are the parent's.
    pub fn agent(
        &self,
        kind: &AgentType,
        light: Option<bool>,
        (mut params, mut settings): (Params, ContextSettings),
        conversation: Conversation,
        cx: &ToolCx,
    ) -> Result<Agent, String> {
        let light = self.loaded.work.light_model.as_ref().filter(|_| light.unwrap_or(kind.light));
        if let Some(light) = light.filter(|light| **light != params.model) {
            params.model = Arc::clone(light);
            settings = self.loaded.context_for(light, None).map_err(|error| error.to_string())?;
        }
        let small_window = settings.window_tokens < TINY_WINDOW_TOKENS;
        let originals = Arc::new(LogOriginals::default());
        originals.follow(conversation.log_path());
        let own = ToolCx {
            todos: Arc::default(),
            files: Arc::default(),
            images: Arc::default(),
            shell: Arc::new(Shell::new(cx.shell.cwd())),
            originals: Some(originals),
            asker: None,
            sub_agents: None,
            services: None,
            judged: None,
            progress: Arc::new(|_| {}),
            ..cx.clone()
        };
        let policy = if kind.only_reads { self.reading_policy(cx) } else { Arc::clone(&self.policy) };
        let tools = self.tools(kind, cx);
        let left_out = toolbox::left_out(small_window, false, &self.sources);
        let mut dispatcher = Dispatcher::new(own, policy, tools, self.interactive, &left_out);
        let for_agent = |hooks: &Arc<AgentHooks>| {
            hooks.for_agent(&conversation.id, &kind.name, &dispatcher.cx, &dispatcher.policy)
        };
        dispatcher.hooks = self.hooks.as_ref().map(for_agent);
        let rules = ProjectRules::new(
            HeldBack::new(&self.project_state),
            &self.loaded.config,
            Arc::clone(&cx.denied),
        );
        let reader = PromptReader { sub_agent: true, only_reads: kind.only_reads, ..PromptReader::default() };
        let prompt = FixedPrompt::new(reader, &kind.prompt, dispatcher.specs(), rules);
        let input = TurnInput {
            sub_agent: true,
            only_reads: kind.only_reads,
            offers: SkillHints::of(&self.skills),
            ..TurnInput::default()
        };
        let mut window = ContextWindow::new(settings, prompt);
        window.compactor.hooks = dispatcher.hooks.clone();
        Ok(Agent {
            conversation,
            window,
            sampler: Sampler { provider: Arc::clone(&self.provider), params, light_model: light.cloned() },
            dispatcher,
            input,
            limits: TurnLimits {
                max_steps: kind.max_steps.min(self.loaded.work.max_steps),
                max_tokens: Some(kind.max_tokens()),
                nudges: self.loaded.work.nudges,
                // The parent's deadline applies: it interrupts the sub-agent.
                ..TurnLimits::default()
            },
        })
    }

    /// A read-only policy, whatever the parent may do.
    fn reading_policy(&self, cx: &ToolCx) -> Arc<PolicyEngine> {
        let permission = self.policy.permission();
        let work = WorkSettings { mode: Mode::Explore, permission, ..self.loaded.work.clone() };
        let readable = self.skills.readable_with(cx.spill.folder());
        Arc::new(PolicyEngine::new(
            &work,
            self.policy.rules().for_reading(),
            &cx.root,
            readable,
            &self.own_folders,
        ))
    }

    fn tools(&self, kind: &AgentType, cx: &ToolCx) -> Vec<Box<dyn Tool>> {
        let rules = self.policy.rules().for_reading();
        let allowed = |name: &str| !rules.removes(&claude_tools::names(name));
        // We don't know what an MCP server's tools do.
        let sources = if kind.only_reads || kind.tools.is_some() { &[][..] } else { &self.sources };
        let mut tools = toolbox::tools(sources, &cx.web, |name| kind.has(name) && allowed(name));
        // Every type may load skills; its other tools limit what it can do.
        tools.extend(SkillTool::boxed(&self.skills).filter(|tool| allowed(tool.name())));
        tools
    }
}
