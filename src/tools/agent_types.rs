//! The sub-agent types: prompt, tools and budget of each. A new type is one row.

use std::borrow::Cow;

use base::config::prompts;

#[derive(Clone, Debug)]
pub struct AgentType {
    pub name: Cow<'static, str>,
    /// Added to the system prompt: from `prompts/agents/<name>.md` or the user's file.
    pub prompt: Cow<'static, str>,
    /// Description of a user-defined type, for the model.
    pub description: Cow<'static, str>,
    /// Tools listed by a user-defined type; `None` if the other fields decide.
    pub tools: Option<Vec<&'static str>>,
    pub only_reads: bool,
    pub light: bool,
    pub own_tree: bool,
    pub max_steps: u32,
}

impl AgentType {
    /// Token budget, input and output: `max_steps` with a half-full window, mostly cache reads.
    pub fn max_tokens(&self) -> u64 {
        u64::from(self.max_steps) * 64_000
    }

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
    AgentType { name, prompt, description, tools: None, only_reads, light, own_tree: false, max_steps }
}

/// General types, then the roles of `mycode build`.
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

const READ_TOOLS: [&str; 10] =
    ["LS", "Glob", "Grep", "Read", "Bash", "Recall", "Locate", "WebFetch", "WebSearch", "Symbols"];

/// Never given to a sub-agent, which has no user to ask and must not start further sub-agents.
pub const PARENT_TOOLS: [&str; 2] = ["AskUser", "Task"];

pub fn find(name: &str) -> Option<&'static AgentType> {
    let name = name.trim_end_matches("-purpose");
    TYPES.iter().find(|kind| kind.name.eq_ignore_ascii_case(name))
}
