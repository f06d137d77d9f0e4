//! The table of slash commands. A new command is one row here and one arm in `run`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: &'static str,
    /// As shown, such as `[name]`.
    pub args: &'static str,
    pub help: &'static str,
}

const fn row(name: &'static str, args: &'static str, help: &'static str) -> SlashCommand {
    SlashCommand { name, args, help }
}

pub const COMMANDS: [SlashCommand; 27] = [
    row("help", "[keys]", "list commands and keys; `keys`: with their names in config.toml"),
    row("model", "[name]", "choose a model"),
    row("permission", "[level]", "what may run: read-only, ask, accept-edits, auto, full, and rules"),
    row("mode", "[name]", "show or set the mode: normal, explore, analyze, plan"),
    row("context", "[verb id]", "show what fills the window; why, pin, drop, restore"),
    row("status", "", "show what holds here: model, permission, sandbox, …"),
    row("skills", "", "list the skills; /NAME runs one"),
    row("hooks", "", "list the hooks, where they come from, whether they are trusted"),
    row("stats", "", "show what this session did and cost"),
    row("cost", "", "show what this session cost, by model and turn"),
    row("todos", "", "show the todo list"),
    row("jobs", "[stop N]", "list, look at or stop background jobs"),
    row("mcp", "", "start the MCP servers and show what they offer"),
    row("compact", "[focus]", "summarize older turns now; `auto on|off`"),
    row("uncompact", "", "undo the last compaction"),
    row("recall", "ID|WORDS", "show an item in full, or search this session"),
    row("maintain", "[task]", "explore, analyze, plan, do; what is learned becomes notes"),
    row("init", "[no]", "write or improve the project's rules file; `no` stops the offer"),
    row("vim", "", "edit the input as vi does, or not"),
    row("resume", "[id]", "continue another session"),
    row("rewind", "", "undo turns: files, conversation, or both"),
    row("diff", "[turn]", "show what this session, or its last turn, changed; stage or revert parts"),
    row("copy", "[code]", "copy the last answer, or its last code block"),
    row("export", "[file] [--force]", "write this session to a .md, .html, .json or .svg file"),
    row("theme", "[name]", "choose the colors: auto, dark, light, high-contrast, ansi"),
    row("clear", "", "start a new session"),
    row("quit", "", "quit (also Ctrl-D)"),
];

/// Names other agents use for these commands.
pub const ALIASES: [(&str, &str); 14] = [
    ("exit", "quit"),
    ("new", "clear"),
    ("undo", "rewind"),
    ("redo", "rewind"),
    ("sessions", "resume"),
    ("models", "model"),
    ("permissions", "permission"),
    ("approvals", "permission"),
    ("todo", "todos"),
    ("usage", "cost"),
    ("summarize", "compact"),
    ("bashes", "jobs"),
    ("ps", "jobs"),
    ("tasks", "jobs"),
];

/// Commands of other agents, and where to find the same here.
pub const ELSEWHERE: [(&str, &str); 17] = [
    ("plan", "/mode plan only reads and ends with a plan (also Shift+Tab)."),
    ("effort", "Set reasoning_effort in config.toml, or start with --effort LEVEL."),
    ("thinking", "Set reasoning_effort in config.toml, or start with --effort LEVEL."),
    ("review", "/diff shows what changed; ask for a review in words."),
    ("agents", "Sub-agents of your own are files in .mycode/agents; the model starts them with Task."),
    ("rename", "/resume renames, forks and deletes sessions."),
    ("fork", "/resume renames, forks and deletes sessions; `mycode -c --fork` continues in a copy."),
    ("btw", "Type while the model works: it reads your message at its next step."),
    ("side", "Type while the model works: it reads your message at its next step."),
    ("add-dir", "mycode works in one folder: start it in the folder above, or with --cd DIR."),
    ("doctor", "Run `mycode doctor` in your shell."),
    ("config", "`mycode doctor --config` prints an annotated config.toml."),
    ("login", "Export OPENAI_API_KEY or ANTHROPIC_API_KEY before you start mycode."),
    ("logout", "Unset the key that you exported; mycode stores none."),
    ("memory", "/init writes the rules file; #text adds a rule or a note; `mycode notes` lists them."),
    ("stop", "Esc stops the turn; /jobs stop N ends a background job."),
    ("feedback", "Report problems where you got mycode from; `mycode doctor` says what helps."),
];
