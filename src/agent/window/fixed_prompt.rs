//! What is sent beside the history: system prompt, tool schemas, project rules; and how large that is. None of it changes in
//! a session: rules whose files change are told of where that is noticed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::config::prompts;
use base::config::trusted::held_back::RulesHashes;
use base::model::call::ToolSpec;
use base::model::request::Params;
use context::parts::{FixedPart, FixedParts, Schemas};
use context::rules::project_rules::ProjectRules;
use context::tokens::request_size::Countable as _;

/// The fixed parts of a session's requests.
pub struct FixedPrompt {
    system: FixedPart,
    schemas: Schemas,
    /// The files as they are now.
    pub rules: ProjectRules,
    /// Those before the commands that are running.
    before_commands: Option<RulesHashes>,
    /// What is sent of them in this session.
    sent_rules: Option<FixedPart>,
    /// The most that system prompt and schemas may take, with the frame that dialects put around a schema.
    upper_bound: u32,
}

impl FixedPrompt {
    /// `part` is what the prompt adds for a sub-agent.
    pub fn new(part: &str, specs: &Arc<[ToolSpec]>, rules: ProjectRules) -> Self {
        let system: Arc<str> = system_prompt(part, specs).into();
        let system = FixedPart::new(system);
        let schemas = Schemas::new(Arc::clone(specs));
        Self {
            upper_bound: system.content.upper_bound() + schemas.content.upper_bound(),
            system,
            schemas,
            rules,
            before_commands: None,
            sent_rules: None,
        }
    }

    /// The parts as they are sent now.
    pub fn parts(&self, params: Params) -> FixedParts {
        FixedParts {
            system: self.system.clone(),
            schemas: self.schemas.clone(),
            rules: self.sent_rules.clone(),
            params,
        }
    }

    /// A session goes on in which `rules` were sent; from nothing on those of the files are.
    pub fn send_rules(&mut self, rules: Option<FixedPart>) {
        self.sent_rules = rules;
    }

    /// The rules that are sent in this session.
    pub fn sent_rules(&self) -> Option<&FixedPart> {
        self.sent_rules.as_ref()
    }

    /// Tokens, as far as they are known.
    pub fn tokens(&self) -> u64 {
        u64::from(self.system.tokens) + u64::from(self.schemas.tokens) + self.rules_tokens()
    }

    /// Tokens of the rules.
    pub fn rules_tokens(&self) -> u64 {
        self.sent_rules.as_ref().map_or(0, |rules| u64::from(rules.tokens))
    }

    /// The most tokens that it may take.
    pub fn upper_bound(&self) -> u64 {
        u64::from(self.upper_bound) + self.rules_tokens() * 5 / 4
    }

    /// Looks at the rules files again; returns whether their text changed.
    pub async fn refresh_rules(&mut self, workspace: &Path) -> bool {
        self.look(workspace, ProjectRules::refresh).await.unwrap_or(false)
    }

    /// The rules that count for these files and are not always sent.
    pub async fn rules_of_touched(&mut self, workspace: &Path, touched: Vec<PathBuf>) -> Vec<String> {
        let look = move |rules: &mut ProjectRules, workspace: &Path| rules.of_touched(workspace, &touched);
        self.look(workspace, look).await.unwrap_or_default()
    }

    /// Rules that the model may want to read: paths and descriptions.
    pub async fn rules_on_demand(&mut self, workspace: &Path) -> Vec<(String, String)> {
        self.look(workspace, ProjectRules::on_demand).await.unwrap_or_default()
    }

    /// Remembers how the rules files are before a command runs that may plant some.
    pub async fn before_command(&mut self, workspace: &Path) {
        // A job that is running has its own beginning.
        if self.before_commands.is_none() {
            self.before_commands =
                self.look(workspace, |rules, workspace| rules.before_command(workspace)).await;
        }
    }

    /// Holds back what appeared or changed since. With `more` a background job goes on, and so does the watch.
    pub async fn after_command(&mut self, workspace: &Path, more: bool) {
        let Some(before) = self.before_commands.take() else { return };
        let now = self.look(workspace, move |rules, workspace| rules.after_command(workspace, &before)).await;
        self.before_commands = now.filter(|_| more);
    }

    /// Does something with the rules that reads the disk, off the async threads.
    async fn look<T: Send + 'static>(
        &mut self,
        workspace: &Path,
        look: impl FnOnce(&mut ProjectRules, &Path) -> T + Send + 'static,
    ) -> Option<T> {
        let (mut rules, workspace) = (self.rules.clone(), workspace.to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            let found = look(&mut rules, &workspace);
            (rules, found)
        });
        let (rules, found) = looked.await.ok()?;
        self.rules = rules;
        Some(found)
    }
}

/// Tools that not every agent has, with a line of advice in the system prompt.
const HAVE_A_LINE: [&str; 1] = ["TodoWrite"];

/// The system prompt without the advice on tools that the model is not told of.
fn system_prompt(part: &str, specs: &[ToolSpec]) -> String {
    let told = |name: &str| specs.iter().any(|spec| *spec.name == *name);
    let kept = |line: &&str| HAVE_A_LINE.iter().all(|name| told(name) || !line.contains(name));
    let prompt = prompts::SYSTEM.trim().lines().filter(kept).collect::<Vec<_>>().join("\n");
    if part.is_empty() { prompt } else { format!("{prompt}\n\n# Your part\n{}", part.trim()) }
}
