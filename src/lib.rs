//! MyCodeAgent (`mycode`), a terminal coding agent whose core is context engineering.
//!
//! The crates below this folder are walls: cargo knows which may use which. Within a crate the rooms are floors, which
//! `tests/it/architecture.rs` checks; `CODE_LAW.md` states the rules.
//!
//! ```text
//! cli        arguments, subcommands, exit codes (this crate)
//! agent      the loop (turn/run.rs), the window, calls, the session; build: a large task in stages
//! records    sessions of other agents, policies judged on recordings, exports
//! frontend   tui (a screen), exec (one task), acp (an editor); they know the agent only as Op and Event
//! tools      files, search, commands, plans, notes, recall; mcp, lsp, hook, skill
//! context    what is sent: session (log and undo journal), history, compaction, layers, ledger; report
//! evidence   the right files for a task; note: the project's notes
//! provider   model servers
//! guard      shell (what a script would run), policy (may it?), sandbox (confined by the kernel), redact (secrets)
//! base       text, paths, files, processes; model (items, requests), search, config, protocol (Op, Event)
//! ```
//!
//! **What a typed line becomes.** `frontend` sends `Op::Submit`; `agent/engine.rs` starts a `Turn`;
//! `turn/input/message.rs` makes the message with the blocks that follow it; `session/conversation.rs` writes it to the log and
//! the history; `window/context_window.rs` makes a request that fits (`context/builder.rs` stacks the layers);
//! `sampling/sampler.rs` streams the reply from the `provider`, whose dialect puts it on the wire.
//!
//! **What a call becomes.** `turn/run.rs` hands it to `calls/dispatcher.rs`: arguments are parsed, the tool says what it would
//! touch, `policy` decides or the user is asked, the tool runs (commands in the `sandbox`), secrets leave the result, it is cut
//! to size, logged in full, and sent in the form that `context/compress/tool_result.rs` chooses. Later requests send smaller forms of
//! it when `context/compaction` says that this pays or the window demands it; `Recall` returns the original.
//!
//! The session log is the truth and only ever appended to; history is what the agent remembers of it; the context builder is
//! a pure function from history to request and ledger. So a resume replays the log, `/context` prints the ledger, and
//! `mycode replay` makes every request again.

pub mod cli;
