//! The texts of `prompts/`, compiled in, one line per file.

pub const SYSTEM: &str = include_str!("../../../prompts/system.md");
pub const SUMMARY: &str = include_str!("../../../prompts/summary.md");
pub const TEXT_TOOLS: &str = include_str!("../../../prompts/text_tools.md");
pub const INIT: &str = include_str!("../../../prompts/init.md");

pub const MODE_AUTO: &str = include_str!("../../../prompts/modes/auto.md");
pub const MODE_EXPLORE: &str = include_str!("../../../prompts/modes/explore.md");
pub const MODE_ANALYZE: &str = include_str!("../../../prompts/modes/analyze.md");
pub const MODE_PLAN: &str = include_str!("../../../prompts/modes/plan.md");

pub const TOOL_LS: &str = include_str!("../../../prompts/tools/ls.md");
pub const TOOL_GLOB: &str = include_str!("../../../prompts/tools/glob.md");
pub const TOOL_GREP: &str = include_str!("../../../prompts/tools/grep.md");
pub const TOOL_READ: &str = include_str!("../../../prompts/tools/read.md");
pub const TOOL_WRITE: &str = include_str!("../../../prompts/tools/write.md");
pub const TOOL_EDIT: &str = include_str!("../../../prompts/tools/edit.md");
pub const TOOL_APPLY_PATCH: &str = include_str!("../../../prompts/tools/apply_patch.md");
pub const TOOL_MULTI_EDIT: &str = include_str!("../../../prompts/tools/multi_edit.md");
pub const TOOL_BASH: &str = include_str!("../../../prompts/tools/bash.md");
pub const TOOL_JOB: &str = include_str!("../../../prompts/tools/job.md");
pub const TOOL_TODO_WRITE: &str = include_str!("../../../prompts/tools/todo_write.md");
pub const TOOL_ASK_USER: &str = include_str!("../../../prompts/tools/ask_user.md");
pub const TOOL_LOCATE: &str = include_str!("../../../prompts/tools/locate.md");
pub const TOOL_RECALL: &str = include_str!("../../../prompts/tools/recall.md");
pub const TOOL_NOTE: &str = include_str!("../../../prompts/tools/note.md");
pub const TOOL_MORE_TOOLS: &str = include_str!("../../../prompts/tools/more_tools.md");
pub const TOOL_SKILL: &str = include_str!("../../../prompts/tools/skill.md");
pub const TOOL_WEB_FETCH: &str = include_str!("../../../prompts/tools/web_fetch.md");
pub const TOOL_WEB_SEARCH: &str = include_str!("../../../prompts/tools/web_search.md");
pub const WEB_SEARCH: &str = include_str!("../../../prompts/web_search.md");
pub const TOOL_SYMBOLS: &str = include_str!("../../../prompts/tools/symbols.md");
pub const TOOL_TASK: &str = include_str!("../../../prompts/tools/task.md");

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
