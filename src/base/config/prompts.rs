//! The texts of `prompts/`, compiled in, one line per file.

pub const SYSTEM: &str = include_str!("../../../prompts/system.md");
pub const SUMMARY: &str = include_str!("../../../prompts/summary.md");
pub const TEXT_TOOLS: &str = include_str!("../../../prompts/text_tools.md");
pub const INIT: &str = include_str!("../../../prompts/init.md");

pub const MODE_AUTO: &str = include_str!("../../../prompts/modes/auto.md");
pub const MODE_EXPLORE: &str = include_str!("../../../prompts/modes/explore.md");
pub const MODE_ANALYZE: &str = include_str!("../../../prompts/modes/analyze.md");
pub const MODE_PLAN: &str = include_str!("../../../prompts/modes/plan.md");

const TOOLS: [(&str, &str); 18] = [
    ("LS", include_str!("../../../prompts/tools/ls.md")),
    ("Glob", include_str!("../../../prompts/tools/glob.md")),
    ("Grep", include_str!("../../../prompts/tools/grep.md")),
    ("Read", include_str!("../../../prompts/tools/read.md")),
    ("Write", include_str!("../../../prompts/tools/write.md")),
    ("Edit", include_str!("../../../prompts/tools/edit.md")),
    ("MultiEdit", include_str!("../../../prompts/tools/multi_edit.md")),
    ("Bash", include_str!("../../../prompts/tools/bash.md")),
    ("Job", include_str!("../../../prompts/tools/job.md")),
    ("TodoWrite", include_str!("../../../prompts/tools/todo_write.md")),
    ("AskUser", include_str!("../../../prompts/tools/ask_user.md")),
    ("Locate", include_str!("../../../prompts/tools/locate.md")),
    ("Recall", include_str!("../../../prompts/tools/recall.md")),
    ("Note", include_str!("../../../prompts/tools/note.md")),
    ("WebFetch", include_str!("../../../prompts/tools/web_fetch.md")),
    ("WebSearch", include_str!("../../../prompts/tools/web_search.md")),
    ("Symbols", include_str!("../../../prompts/tools/symbols.md")),
    ("Task", include_str!("../../../prompts/tools/task.md")),
];

pub fn of_tool(name: &str) -> &'static str {
    TOOLS.iter().find(|(tool, _)| *tool == name).map_or("", |(_, text)| *text)
}

pub const TOOL_APPLY_PATCH: &str = include_str!("../../../prompts/tools/apply_patch.md");
pub const TOOL_MORE_TOOLS: &str = include_str!("../../../prompts/tools/more_tools.md");
pub const TOOL_SKILL: &str = include_str!("../../../prompts/tools/skill.md");
pub const WEB_SEARCH: &str = include_str!("../../../prompts/web_search.md");

pub const AGENT_GENERAL: &str = include_str!("../../../prompts/agents/general.md");
pub const AGENT_EXPLORE: &str = include_str!("../../../prompts/agents/explore.md");
pub const AGENT_PLAN: &str = include_str!("../../../prompts/agents/plan.md");
pub const AGENT_SUMMARY: &str = include_str!("../../../prompts/agents/summary.md");
pub const AGENT_SPEC_WRITER: &str = include_str!("../../../prompts/agents/spec_writer.md");
pub const AGENT_PLANNER: &str = include_str!("../../../prompts/agents/planner.md");
pub const AGENT_CODER: &str = include_str!("../../../prompts/agents/coder.md");
pub const AGENT_QA_REVIEWER: &str = include_str!("../../../prompts/agents/qa_reviewer.md");
pub const AGENT_QA_FIXER: &str = include_str!("../../../prompts/agents/qa_fixer.md");

pub const MAINTAIN_EXPLORE: &str = include_str!("../../../prompts/maintain/explore.md");
pub const MAINTAIN_ANALYZE: &str = include_str!("../../../prompts/maintain/analyze.md");
pub const MAINTAIN_PLAN: &str = include_str!("../../../prompts/maintain/plan.md");
pub const MAINTAIN_DO: &str = include_str!("../../../prompts/maintain/do.md");
