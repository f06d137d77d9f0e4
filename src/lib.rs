//! MyCodeAgent (`mycode`), a terminal coding agent whose core is context engineering.
//!
//! The folders are floors. A file imports only from lower floors, or from its own folder without a cycle, and the methods
//! of a type stand beside it; `tests/it/architecture.rs` enforces both and `CODE_LAW.md` states them.
//!
//! ```text
//! 8 cli         arguments, subcommands, exit codes
//! 7 build       a large task in stages, each by a sub-agent
//! 6 agent       the ReAct loop (turn/run.rs), the window, calls, the session, one engine for all front ends
//! 5 mcp         servers of other people (MCP): their configuration, connections, tools
//!   trace       context policies judged on recorded sessions
//!   report      what sessions did and cost       export    a session as Markdown, HTML, JSON or SVG
//! 4 tool        what the model can do: files, search, commands, plans, notes, recall
//!   import      sessions that were begun in other agents
//! 3 policy      may this call run?                 context   what is sent: history, compaction, layers, ledger
//!   tui, exec, acp     the front ends: a screen, one task, an editor
//!   lsp         language servers: what is wrong, and where things are
//! 2 protocol    what front ends know (Op, Event)   session   the log on disk and the undo journal
//!   provider    model servers                      sandbox   commands confined by the kernel
//!   redact      secrets found and replaced         note, evidence   the project's notes; the right files for a task
//!   skill       instructions for a kind of task, loaded when they are needed
//! 1 model       items, requests, replies: data     shell     what a bash script would run
//!   search      ignore-aware search                config    settings, models, prompts, trust
//! 0 base        text, paths, files, processes, clock, secrets
//! ```
//!
//! **What a typed line becomes.** `tui` or `exec` sends `Op::Submit`; `agent/engine.rs` starts a `Turn`;
//! `turn/input/message.rs` makes the message with what belongs behind it; `session/conversation.rs` writes it to the log and
//! the history; `window/context_window.rs` makes a request that fits (`context/builder.rs` stacks the layers);
//! `sampling/sampler.rs` streams the reply from the `provider`, whose dialect puts it on the wire.
//!
//! **What a call becomes.** `turn/run.rs` hands it to `calls/dispatcher.rs`: arguments are parsed, the tool says what it would
//! touch, `policy` decides or the user is asked, the tool runs (commands in the `sandbox`), secrets leave the result, it is cut
//! to size, logged whole, and sent in the form that `context/history/ingest.rs` chooses. Later requests send smaller forms of
//! it when `context/compaction` says that this pays or the window demands it; `Recall` brings the original back.
//!
//! The session log is the truth and only ever appended to; history is what the agent remembers of it; the context builder is
//! a pure function from history to request and ledger. So a resume replays the log, `/context` prints the ledger, and
//! `mycode replay` makes every request again.

#![deny(unsafe_code)]

pub mod acp;
pub mod agent;
pub mod base;
pub mod build;
pub mod cli;
pub mod config;
pub mod context;
pub mod evidence;
pub mod exec;
pub mod export;
pub mod hook;
pub mod import;
pub mod lsp;
pub mod mcp;
pub mod model;
pub mod note;
pub mod policy;
pub mod protocol;
pub mod provider;
pub mod redact;
pub mod report;
pub mod sandbox;
pub mod search;
pub mod session;
pub mod shell;
pub mod skill;
pub mod tool;
pub mod trace;
pub mod tui;
