//! The fixed parts of requests and their sizes: system prompt, tool schemas, project rules. They don't change within a
//! session; changed rules files are announced as news.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use base::config::prompts;
use base::config::trusted::held_back::RulesHashes;
use base::model::call::ToolSpec;
use base::model::request::Params;
use base::process::task;
use context::parts::{FixedPart, FixedParts, Schemas};
use context::rules::project_rules::ProjectRules;
use context::tokens::request_size::Countable as _;
use guard::redact::detector;

pub struct FixedPrompt {
    system: FixedPart,
    schemas: Schemas,
    pub rules: ProjectRules,
    /// Hashes of the rules files from before the running commands.
    before_commands: Option<RulesHashes>,
    pub sent_rules: Option<FixedPart>,
    pub answer_schema: Option<Arc<Value>>,
    /// Upper bound for system prompt and schemas, including the framing that dialects add to a schema.
    upper_bound: u32,
}

impl FixedPrompt {
    /// `part` is a sub-agent's addition to the prompt.
    pub fn new(reader: PromptReader, part: &str, specs: &Arc<[ToolSpec]>, rules: ProjectRules) -> Self {
        // Without numbers, as it stays the same in every session. Skills and sub-agents stand in descriptions.
        let clean = |text: &str| Arc::<str>::from(detector::redact(text));
        let system = FixedPart::new(clean(&system_prompt(reader, part, specs)));
        let described = |spec: &ToolSpec| ToolSpec { description: clean(&spec.description), ..spec.clone() };
        let schemas = Schemas::new(specs.iter().map(described).collect());
        Self {
            upper_bound: system.content.upper_bound() + schemas.content.upper_bound(),
            system,
            schemas,
            rules,
            before_commands: None,
            sent_rules: None,
            answer_schema: None,
        }
    }

    pub fn parts(&self, params: Params) -> FixedParts {
        FixedParts {
            system: self.system.clone(),
            schemas: self.schemas.clone(),
            rules: self.sent_rules.clone(),
            params: Params { answer_schema: self.answer_schema.clone(), ..params },
        }
    }

    pub fn tool_names(&self) -> Vec<&str> {
        self.schemas.content.iter().map(|spec| &*spec.name).collect()
    }

    pub fn tokens(&self) -> u64 {
        u64::from(self.system.tokens) + u64::from(self.schemas.tokens) + self.rules_tokens()
    }

    pub fn rules_tokens(&self) -> u64 {
        self.sent_rules.as_ref().map_or(0, |rules| u64::from(rules.tokens))
    }

    pub fn upper_bound(&self) -> u64 {
        u64::from(self.upper_bound) + self.rules_tokens() * 5 / 4
    }

    /// Rereads the rules files; returns whether their text changed.
    pub async fn refresh_rules(&mut self, workspace: &Path) -> bool {
        self.look(workspace, ProjectRules::refresh).await.unwrap_or(false)
    }

    /// The rules for these files that aren't always sent.
    pub async fn rules_of_touched(&mut self, workspace: &Path, touched: Vec<PathBuf>) -> Vec<String> {
        let look = move |rules: &mut ProjectRules, workspace: &Path| rules.of_touched(workspace, &touched);
        self.look(workspace, look).await.unwrap_or_default()
    }

    pub async fn rules_on_demand(&mut self, workspace: &Path) -> Vec<(String, String)> {
        self.look(workspace, ProjectRules::on_demand).await.unwrap_or_default()
    }

    /// Remembers the rules files before a command that may plant some.
    pub async fn before_command(&mut self, workspace: &Path) {
        // A running background job has its own snapshot.
        if self.before_commands.is_none() {
            self.before_commands =
                self.look(workspace, |rules, workspace| rules.before_command(workspace)).await;
        }
    }

    /// Holds back what appeared or changed since. With `more`, keeps watching for a background job.
    pub async fn after_command(&mut self, workspace: &Path, more: bool) {
        let Some(before) = self.before_commands.take() else { return };
        let now = self.look(workspace, move |rules, workspace| rules.after_command(workspace, &before)).await;
        self.before_commands = now.filter(|_| more);
    }

    async fn look<T: Send + 'static>(
        &mut self,
        workspace: &Path,
        look: impl FnOnce(&mut ProjectRules, &Path) -> T + Send + 'static,
    ) -> Option<T> {
        let (mut rules, workspace) = (self.rules.clone(), workspace.to_owned());
        let looked = task::blocking(move || {
            let found = look(&mut rules, &workspace);
            (rules, found)
        });
        let (rules, found) = looked.await.ok()?;
        self.rules = rules;
        Some(found)
    }
}

/// The system prompt's reader: the margin of each line says who gets that line.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptReader {
    /// A user is present and can answer.
    pub chat: bool,
    pub sub_agent: bool,
    pub only_reads: bool,
    pub keeps: bool,
    pub deadline: bool,
    pub reviewed: bool,
    pub network: bool,
}

impl PromptReader {
    fn gets(self, margin: char) -> bool {
        let headless = !self.chat || self.sub_agent;
        let main = headless && !self.sub_agent;
        match margin {
            'E' => !self.only_reads,
            'R' => self.only_reads,
            'C' => !headless,
            'H' => headless,
            'W' => headless && !self.only_reads,
            'M' => main,
            'K' => main && self.keeps,
            'T' => main && self.deadline,
            'V' => main && self.reviewed,
            'N' => main && self.network,
            'X' => main && !self.network,
            _ => true,
        }
    }
}

/// Tools that not every agent has and that the system prompt gives advice on.
const HAVE_A_LINE: [&str; 1] = ["TodoWrite"];

/// Leaves out the advice on tools that the model doesn't have.
fn system_prompt(reader: PromptReader, part: &str, specs: &[ToolSpec]) -> String {
    let told = |name: &str| specs.iter().any(|spec| *spec.name == *name);
    let kept = |line: &&str| {
        let margin = line.chars().next().unwrap_or(' ');
        reader.gets(margin) && HAVE_A_LINE.iter().all(|name| told(name) || !line.contains(name))
    };
    let text = |line: &'static str| line.get(2..).unwrap_or_default();
    let prompt = prompts::SYSTEM.trim_end().lines().filter(kept).map(text).collect::<Vec<_>>().join("\n");
    if part.is_empty() { prompt } else { format!("{prompt}\n\n# Your part\n{}", part.trim()) }
}
