//! The types of sub-agents: what each is told, may use and may spend. A new type is one row.

use crate::config::prompts;

/// One type.
#[derive(Clone, Copy, Debug)]
pub struct AgentType {
    pub name: &'static str,
    /// What it is told beside the system prompt: from `prompts/agents/<name>.md`.
    pub prompt: &'static str,
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
}

const fn reader(name: &'static str, prompt: &'static str, light: bool, max_steps: u32) -> AgentType {
    AgentType { name, prompt, only_reads: true, light, max_steps }
}

const fn writer(name: &'static str, prompt: &'static str, max_steps: u32) -> AgentType {
    AgentType { name, prompt, only_reads: false, light: false, max_steps }
}

/// All of them: four for any task, and the roles of `mycode build`.
pub const TYPES: [AgentType; 9] = [
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
pub const READ_TOOLS: [&str; 7] = ["LS", "Glob", "Grep", "Read", "Bash", "Recall", "Locate"];

/// What no sub-agent is given: it has nobody to ask, and no sub-agents of its own.
pub const PARENT_TOOLS: [&str; 2] = ["AskUser", "Task"];

/// The type of this name.
pub fn find(name: &str) -> Option<&'static AgentType> {
    TYPES.iter().find(|kind| kind.name == name)
}
