//! The arguments of `mycode mcp`, as clap reads them. Plain data whose doc comments are the help.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the servers; starts none
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your own list, or change it: a command or an address
    Add(AddArgs),
    /// Remove a server from your own list
    #[command(alias = "remove")]
    Rm {
        /// Its name
        name: String,
    },
    /// Start servers and show what they offer, or call a tool of one
    Test(TestArgs),
    /// Sign in to a server
    Login {
        /// Its name
        name: String,
    },
    /// Sign out of a server
    Logout {
        /// Its name
        name: String,
    },
    /// Import servers from Claude Code, Codex, Gemini CLI or opencode, or from a file [default: all four]
    Import {
        /// The agent, or a configuration file
        from: Option<String>,
        /// Show what would be added, without adding it
        #[arg(long)]
        preview: bool,
    },
    /// Serve this project's Locate, Recall, Note and Task to another agent, over standard input and output
    Serve,
}

#[derive(Args, Debug)]
pub struct AddArgs {
    /// The name by which it is called
    pub name: String,

    /// Environment variable for the command, as NAME=VALUE; can be repeated
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    #[command(flatten)]
    pub http: HttpArgs,

    /// Folder that it may change besides the workspace; can be repeated
    #[arg(long = "writable", value_name = "DIR")]
    pub folders: Vec<PathBuf>,

    /// Run it without network access
    #[arg(long)]
    pub no_network: bool,

    /// Run it without the sandbox
    #[arg(long)]
    pub no_sandbox: bool,

    /// The command and its arguments, or https://…
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub target: Vec<String>,
}

impl AddArgs {
    /// Whether no option is given that only a command could use.
    pub fn is_for_http(&self) -> bool {
        self.env.is_empty() && self.folders.is_empty() && !self.no_network && !self.no_sandbox
    }
}

/// For servers with an address.
#[derive(Args, Debug, Default)]
pub struct HttpArgs {
    /// Header for every request to the server, as "Name: value"; can be repeated
    #[arg(long, value_name = "HEADER")]
    pub header: Vec<String>,

    /// How to sign in, as in the file: clientId, clientSecret, clientMetadataUrl, scopes, callbackPort, grantType, privateKeyFile
    #[arg(long, value_name = "JSON")]
    pub oauth: Option<String>,
}

#[derive(Args, Debug)]
pub struct TestArgs {
    /// A server's name, or its address [default: all servers]
    pub server: Option<String>,

    /// Call this tool and print its result
    #[arg(long, value_name = "TOOL", requires = "server")]
    pub call: Option<String>,

    /// The tool's arguments as a JSON object
    #[arg(long, default_value = "{}")]
    pub args: String,

    #[command(flatten)]
    pub http: HttpArgs,
}
