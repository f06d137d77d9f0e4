//! The types of sub-agents: what each is told, may use and may spend. A new type is one row.

use std::borrow::Cow;

use base::config::prompts;

/// One type.
#[derive(Clone, Debug)]
pub struct AgentType {
    pub name: Cow<'static, str>,
    /// What it is told beside the system prompt: from `prompts/agents/<name>.md`, or the user's file.
    pub prompt: Cow<'static, str>,
    /// What the model is told of a type of the user's.
    pub description: Cow<'static, str>,
    /// The tools that a type of the user's names; `None`: as its other fields say.
    pub tools: Option<Vec<&'static str>>,
    /// It changes nothing; several may run at the same time.
    pub only_reads: bool,
    /// The light model is enough for it, where there is one.
    pub light: bool,
    /// Replies of the model.
    pub max_steps: u32,
}

impl AgentType {
    /// Tokens read and written, most of them from the cache: what its steps take in a window that is half full.
    pub fn max_tokens(&self) -> u64 {
        u64::from(self.max_steps) * 64_000
    }

    /// Whether it is given the tool of this name.
    pub fn has(&self, tool: &str) -> bool {
        let named = match &self.tools {
            Some(tools) => tools.contains(&tool),
            None => !self.only_reads || READ_TOOLS.contains(&tool),
        };
        named && !PARENT_TOOLS.contains(&tool)
    }
}

const fn reader(name: &'static str, prompt: &'static str, light: bool, max_steps: u32) -> AgentType {
    row(name, prompt, true, light, max_steps)
}

const fn writer(name: &'static str, prompt: &'static str, max_steps: u32) -> AgentType {
    row(name, prompt, false, false, max_steps)
}

const fn row(
    name: &'static str,
    prompt: &'static str,
    only_reads: bool,
    light: bool,
    max_steps: u32,
) -> AgentType {
    let (name, prompt, description) = (Cow::Borrowed(name), Cow::Borrowed(prompt), Cow::Borrowed(""));
    AgentType { name, prompt, description, tools: None, only_reads, light, max_steps }
}

/// All of them: four for any task, and the roles of `mycode build`.
pub static TYPES: [AgentType; 9] = [
    writer("general", prompts::AGENT_GENERAL, 80),
    reader("explore", prompts::AGENT_EXPLORE, true, 40),
    reader("plan", prompts::AGENT_PLAN, false, 40),
    reader("summary", prompts::AGENT_SUMMARY, true, 20),
    reader("spec_writer", prompts::AGENT_SPEC_WRITER, false, 40),
    reader("planner", prompts::AGENT_PLANNER, false, 40),
    writer("coder", prompts::AGENT_CODER, 120),
    reader("qa_reviewer", prompts::AGENT_QA_REVIEWER, false, 60),
    writer("qa_fixer", prompts::AGENT_QA_FIXER, 80),
];

/// What those that only read are given.
const READ_TOOLS: [&str; 10] =
    ["LS", "Glob", "Grep", "Read", "Bash", "Recall", "Locate", "WebFetch", "WebSearch", "Symbols"];

/// What no sub-agent is given: it has nobody to ask, and no sub-agents of its own.
pub const PARENT_TOOLS: [&str; 2] = ["AskUser", "Task"];

/// The type of this name.
pub fn find(name: &str) -> Option<&'static AgentType> {
    TYPES.iter().find(|kind| kind.name == name)
}
