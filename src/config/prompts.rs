//! The texts of `prompts/`, compiled in. A flat table: one line a file.

pub const SYSTEM: &str = include_str!("../../prompts/system.md");
pub const SUMMARY: &str = include_str!("../../prompts/summary.md");
pub const INIT: &str = include_str!("../../prompts/init.md");

pub const TOOL_LS: &str = include_str!("../../prompts/tools/ls.md");
pub const TOOL_GLOB: &str = include_str!("../../prompts/tools/glob.md");
pub const TOOL_GREP: &str = include_str!("../../prompts/tools/grep.md");
pub const TOOL_READ: &str = include_str!("../../prompts/tools/read.md");
pub const TOOL_WRITE: &str = include_str!("../../prompts/tools/write.md");
pub const TOOL_EDIT: &str = include_str!("../../prompts/tools/edit.md");
pub const TOOL_MULTI_EDIT: &str = include_str!("../../prompts/tools/multi_edit.md");
pub const TOOL_BASH: &str = include_str!("../../prompts/tools/bash.md");
pub const TOOL_JOB: &str = include_str!("../../prompts/tools/job.md");
pub const TOOL_TODO_WRITE: &str = include_str!("../../prompts/tools/todo_write.md");
pub const TOOL_ASK_USER: &str = include_str!("../../prompts/tools/ask_user.md");
pub const TOOL_LOCATE: &str = include_str!("../../prompts/tools/locate.md");
pub const TOOL_RECALL: &str = include_str!("../../prompts/tools/recall.md");
pub const TOOL_NOTE: &str = include_str!("../../prompts/tools/note.md");
