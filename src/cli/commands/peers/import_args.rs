//! The arguments of `mycode import`, as clap reads them. Plain data whose doc comments are the help.

use clap::Args;

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The agent that the session was begun in: claude, codex, gemini or opencode
    pub agent: String,

    /// The session's id (or the beginning of it) or its file; without one, choose from a list of this folder's
    pub session: Option<String>,

    /// Import the last session of this folder
    #[arg(long, conflicts_with = "session")]
    pub last: bool,

    /// Don't open the chat: print the id of the new session
    #[arg(long)]
    pub no_open: bool,
}
