//! The list of tools, in the order the model sees them.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Tool, ToolError, TypedTool as _, object};
use super::arguments::normalize::normalize;
use super::arguments::tool_names;
use crate::file::edit::{Edit, MultiEdit};
use crate::file::patch::in_command;
use crate::file::read::Read;
use crate::file::write::Write;
use crate::find::glob::Glob;
use crate::find::grep::Grep;
use crate::find::locate::Locate;
use crate::find::ls::Ls;
use crate::find::symbols::Symbols;
use crate::plan::ask_user::AskUser;
use crate::plan::note::NoteTool;
use crate::plan::recall::Recall;
use crate::plan::task::Task;
use crate::plan::todo::TodoWrite;
use crate::run::bash::Bash;
use crate::run::job::Job;
use crate::web::fetch::WebFetch;
use crate::web::search::WebSearch;
use base::config::prompts;
use base::model::call::ToolSpec;

/// All built-in tools, most used first. The order is part of the stable prompt prefix.
pub fn builtin() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(Read),
        Box::new(Edit),
        Box::new(Write),
        Box::new(Bash),
        Box::new(Grep),
        Box::new(Glob),
        Box::new(Ls),
        Box::new(MultiEdit),
        Box::new(TodoWrite),
        Box::new(Locate),
        Box::new(Recall),
        Box::new(NoteTool),
        Box::new(Job),
        Box::new(Task),
        Box::new(AskUser),
    ]
}

/// The tools of [`crate::on_demand`]; WebSearch only if `searches`.
pub fn on_demand(searches: bool) -> Vec<Box<dyn Tool>> {
    let mut tools: Vec<Box<dyn Tool>> = vec![Box::new(WebFetch), Box::new(WebSearch), Box::new(Symbols)];
    tools.retain(|tool| searches || tool.name() != WebSearch::NAME);
    tools
}

pub fn all() -> Vec<Box<dyn Tool>> {
    builtin().into_iter().chain(on_demand(true)).collect()
}

/// Adds the tool that GPT models were trained with; its calls become Edits.
pub fn with_patch(specs: &[ToolSpec]) -> Arc<[ToolSpec]> {
    let (name, description) = ("apply_patch".into(), prompts::TOOL_APPLY_PATCH.trim_end().into());
    let patch = ToolSpec { name, description, schema: object("input") };
    specs.iter().cloned().chain([patch]).collect()
}

/// Tools left out in the smallest windows: others do the same, or tasks can be done without them.
pub const DISPENSABLE: [&str; 8] =
    ["MultiEdit", "TodoWrite", "Glob", "AskUser", "Note", "Job", "Task", "MoreTools"];

pub fn find<'a>(tools: &'a [Box<dyn Tool>], name: &str) -> Result<&'a dyn Tool, ToolError> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    let meant = tool_names::meant(name, &names);
    if let Some(tool) = tools.iter().find(|tool| Some(tool.name()) == meant) {
        return Ok(tool.as_ref());
    }
    Err(unknown(name, &names))
}

/// Our name for a tool named in a rule; typos aren't corrected.
pub fn named<'a>(tools: &'a [Box<dyn Tool>], name: &str) -> Option<&'a str> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    tool_names::named(name, &names)
}

/// The call that is meant if the tool does what its `command` says: an editor that also reads and creates files, as models
/// of OpenHands and Anthropic know it, or a shell command that only applies a patch.
pub fn instead(tool: &str, args: &Value, cwd: &Path) -> Option<(&'static str, Value)> {
    if tool == Bash::NAME {
        let args = normalize(tool, &Bash::accepted(), args.clone()).args.ok()?;
        let folder = cwd.join(args["directory"].as_str().unwrap_or_default());
        let (patch, folder) = in_command::find(args["command"].as_str()?, &folder)?;
        return Some((Edit::NAME, json!({"patch": patch, "directory": folder})));
    }
    let name = match args["command"].as_str()? {
        "view" => Read::NAME,
        "create" => Write::NAME,
        "str_replace" => Edit::NAME,
        _ => return None,
    };
    let mut args = args.as_object().filter(|_| tool == Edit::NAME)?.clone();
    args.remove("command");
    Some((name, args.into()))
}

pub fn unknown(name: &str, offered: &[&str]) -> ToolError {
    let instead = [
        ("insert NotebookEdit", "Use Edit."),
        ("TaskCreate TaskUpdate TaskList TaskGet", "Use TodoWrite."),
        ("TaskStop KillShell KillBash kill_shell kill_bash", "Use Job with stop."),
        ("LSP", "Use MoreTools with Symbols."),
        ("ReadMcpResourceTool", "Use MoreTools with SERVER.read_resource."),
        ("ListMcpResourcesTool", "Use MoreTools with the name of a server."),
    ];
    let instead = instead.iter().find(|(others, _)| others.split(' ').any(|other| other == name));
    let hint = match (instead, tool_names::near(name, offered)) {
        (Some((_, use_this)), _) => format!(" {use_this}"),
        (None, Some(near)) => format!(" Did you mean {near}?"),
        (None, None) => String::new(),
    };
    ToolError::invalid(format!("there is no tool {name}.{hint} Tools: {}", offered.join(", ")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tool_names() {
        let tools = builtin();
        let name = |name: &str| find(&tools, name).map(|tool| tool.name()).map_err(|error| error.to_string());
        assert_eq!(name("Read"), Ok("Read"));
        assert_eq!(name("multi_edit"), Ok("MultiEdit"));
        assert_eq!(name("bash"), Ok("Bash"));
        assert_eq!((name("Grap"), name("read_file")), (Ok("Grep"), Ok("Read")));
        assert!(name("Gropp").unwrap_err().contains("Did you mean Grep?"));
        assert_eq!(name("TaskOutput"), Ok("Job"));
        for (other, ours) in
            [("TaskCreate", "TodoWrite"), ("KillShell", "Job with stop"), ("LSP", "MoreTools")]
        {
            assert!(name(other).unwrap_err().contains(&format!("Use {ours}")), "{other}");
        }
        assert!(name("frobnicate").unwrap_err().contains("Tools: Read, Edit"));
    }

    #[test]
    fn tool_specs_are_small() {
        let told =
            builtin().iter().map(|tool| serde_json::to_string(&tool.spec()).unwrap()).collect::<String>();
        let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&told).len();
        assert!(tokens <= 1_350, "{tokens} tokens");
    }
}
