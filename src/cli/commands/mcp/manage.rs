//! `mycode mcp list`, `add`, `rm`, `import` and `logout`: edits the lists of servers and starts none.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::open::{self, OpenedServers, no_server};
use crate::cli::args::SharedArgs;
use crate::cli::foreign::codex;
use crate::cli::report::{self, Failure, OrFail};
use base::config::files::load;
use base::text::plural;
use tools::mcp::config::entry::Entry;
use tools::mcp::config::import;
use tools::mcp::config::server::Server;
use tools::mcp::config::user_file::UserFile;
use tools::mcp::describe::{self, state};
use tools::mcp::servers::Servers;

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
    /// Add a server as JSON, as in .mcp.json
    AddJson {
        /// A name for the server
        name: String,
        /// Such as {"command": "npx", "args": ["-y", "PACKAGE"]}
        json: String,
        #[arg(short, long, hide = true)]
        scope: Option<String>,
    },
    /// Remove a server from your own list
    #[command(alias = "remove")]
    Rm {
        /// Its name
        name: String,
        #[arg(short, long, hide = true)]
        scope: Option<String>,
    },
    /// Start servers and show what they offer, or call a tool of one
    #[command(alias = "get")]
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
    /// A name for the server
    pub name: String,

    /// Environment variable for the command, as NAME=VALUE; can be repeated
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    #[command(flatten)]
    pub http: HttpArgs,

    /// The server's address; may also follow the name
    #[arg(long)]
    pub url: Option<String>,

    /// Another folder that it may change; can be repeated
    #[arg(long = "writable", value_name = "DIR")]
    pub folders: Vec<PathBuf>,

    /// Run it without network access
    #[arg(long)]
    pub no_network: bool,

    /// Run it without the sandbox
    #[arg(long)]
    pub no_sandbox: bool,

    /// The command and its arguments, or https://…
    #[arg(required_unless_present = "url", trailing_var_arg = true, allow_hyphen_values = true)]
    pub target: Vec<String>,
}

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

    /// Print its settings as JSON, as `codex mcp get` does; starts nothing
    #[arg(long, requires = "server", conflicts_with = "call")]
    pub json: bool,

    #[command(flatten)]
    pub http: HttpArgs,
}

pub fn list(cli: &SharedArgs, as_json: bool) -> Result<(), Failure> {
    let opened = open::open(cli)?;
    let mut out = String::new();
    if as_json && codex::called_codex() {
        let row = |server: &Server| describe::as_codex(server, opened.place.credentials_of(server).exists());
        let rows: Vec<Value> = opened.servers.iter().map(row).collect();
        return report::print(&format!("{:#}\n", Value::Array(rows)));
    }
    let servers = Servers::new(opened.servers.clone(), opened.place.clone());
    for server in &opened.servers {
        let tools = servers.known(&server.name).tools.len();
        if as_json {
            let row = json!({"name": server.name, "target": server.shown(), "file": server.origin,
                "enabled": server.enabled, "tools": tools, "state": state(server)});
            out.push_str(&format!("{row}\n"));
        } else {
            let known = if tools > 0 { format!(", {}", plural(tools, "tool")) } else { String::new() };
            let (name, target, origin) = (&server.name, server.shown(), server.origin.display());
            out.push_str(&format!("{name}  {target}\n    {}{known}, from {origin}\n", state(server)));
        }
    }
    if as_json {
        return report::print(&out);
    }
    if opened.servers.is_empty() {
        out.push_str("No MCP servers. `mycode mcp add NAME COMMAND…` adds one; `mycode mcp import` imports those of other agents.\n");
    }
    for note in opened.problems.iter().chain(&opened.opened.loaded.notices) {
        out.push_str(&format!("note: {note}\n"));
    }
    report::say(&out)
}

pub fn add(cli: &SharedArgs, args: &AddArgs) -> Result<(), Failure> {
    let opened = open::open(cli)?;
    let mut value = json!({});
    let target: Vec<String> = args.url.iter().chain(&args.target).cloned().collect();
    match &target[..] {
        [option, ..] if option.starts_with('-') => {
            let hint = "write its name, then -- and the command";
            return Err(Failure::usage(format!("{option} isn't a command"), hint));
        }
        [url, rest @ ..] if url.contains("://") => {
            if !rest.is_empty() {
                return Err(Failure::usage(
                    "an address has no arguments",
                    "put options before the name: mycode mcp add --header 'Name: value' NAME https://…",
                ));
            }
            if !args.env.is_empty() || !args.folders.is_empty() || args.no_network || args.no_sandbox {
                let why = "--env, --writable, --no-network and --no-sandbox are for commands";
                return Err(Failure::usage(why, "a server with an address takes --header and --oauth"));
            }
            value["url"] = url.as_str().into();
            let headers = load::header_table(&args.http.header)?;
            value["headers"] = serde_json::to_value(headers.unwrap_or_default()).unwrap_or_default();
            value["oauth"] = oauth(&args.http)?;
        }
        [command, rest @ ..] => {
            if !args.http.header.is_empty() || args.http.oauth.is_some() {
                let hint = "a command takes its keys with --env NAME=VALUE";
                return Err(Failure::usage("--header and --oauth are for servers with an address", hint));
            }
            value["command"] = command.as_str().into();
            value["args"] = rest.into();
            for pair in &args.env {
                let (name, text) = pair.split_once('=').ok_or_else(|| {
                    Failure::usage(format!("invalid --env '{pair}'"), "write --env NAME=VALUE")
                })?;
                value["env"][name] = text.into();
            }
            if args.no_sandbox {
                value["sandbox"] = false.into();
            } else if args.no_network || !args.folders.is_empty() {
                value["sandbox"] = json!({"network": !args.no_network, "folders": args.folders});
            }
        }
        [] => {}
    }
    keep(&opened, &args.name, &value)
}

pub fn add_json(cli: &SharedArgs, name: &str, json: &str) -> Result<(), Failure> {
    let value: Value =
        serde_json::from_str(json).or_usage("it isn't valid JSON", "put it in single quotes")?;
    keep(&open::open(cli)?, name, &value)
}

fn keep(opened: &OpenedServers, name: &str, value: &Value) -> Result<(), Failure> {
    let wrong = |what: String| {
        Failure::usage(format!("the server cannot be used: {what}"), "see `mycode mcp add --help`")
    };
    let entry = Entry::read(value).map_err(wrong)?;
    entry.clone().server(name, Path::new("")).map_err(wrong)?;
    let file = UserFile::new(&opened.opened.paths.config);
    file.add(&[(name.to_owned(), entry)]).map_err(|error| not_changed(&error))?;
    report::say(&format!(
        "Added {name} to {}. `mycode mcp test {name}` starts it once.\n",
        file.path.display()
    ))
}

fn not_changed(error: &std::io::Error) -> Failure {
    Failure::task(error, "your list was not changed; repair or move the file first")
}

pub fn oauth(args: &HttpArgs) -> Result<Value, Failure> {
    let Some(text) = &args.oauth else { return Ok(Value::Null) };
    serde_json::from_str(text).or_usage("invalid JSON in --oauth", r#"write --oauth '{"clientId": "…"}'"#)
}

pub fn remove(cli: &SharedArgs, name: &str) -> Result<(), Failure> {
    let opened = open::open(cli)?;
    let file = UserFile::new(&opened.opened.paths.config);
    if file.remove(name).map_err(|error| not_changed(&error))? {
        return report::say(&format!("Removed {name} from {}.\n", file.path.display()));
    }
    match opened.find(name) {
        Ok(server) => Err(Failure::usage(
            format!("{name} is not in your own list"),
            format!("it is defined in {}", server.origin.display()),
        )),
        Err(_) => Err(no_server(name)),
    }
}

pub fn logout(cli: &SharedArgs, name: &str) -> Result<(), Failure> {
    let opened = open::open(cli)?;
    let file = opened.place.credentials_of(opened.find(name)?);
    if !file.exists() {
        return report::say(&format!("Not signed in to {name}.\n"));
    }
    std::fs::remove_file(&file.0)?;
    report::say(&format!("Signed out of {name}.\n"))
}

pub fn import(cli: &SharedArgs, from: Option<&str>, preview: bool) -> Result<(), Failure> {
    let opened = open::open(cli)?;
    let known = import::agents();
    let paths = match from.filter(|from| !known.contains(from)) {
        Some(path) => vec![PathBuf::from(path)],
        None => import::files(from, &std::env::home_dir().unwrap_or_default()),
    };
    if paths.is_empty() {
        let whom = from.map_or_else(|| known.join(", "), str::to_owned);
        let hint = "name the file: mycode mcp import FILE";
        return Err(Failure::usage(format!("no configuration of {whom} was found"), hint));
    }
    let all = paths.len() > 1;
    let file = UserFile::new(&opened.opened.paths.config);
    let (mut added, mut out) = (Vec::<(String, Entry)>::new(), String::new());
    for path in paths {
        let found = match import::read(&path, &opened.opened.workspace) {
            Ok(found) => found,
            // Import the others anyway.
            Err(what) if all => {
                out.push_str(&format!("note: {what}\n"));
                continue;
            }
            Err(what) => return Err(Failure::task(what, "check the file, or name another")),
        };
        out.push_str(&format!("{}: {}\n", found.path.display(), plural(found.servers.len(), "server")));
        for (name, entry) in found.servers {
            if file.has(&name).map_err(|error| not_changed(&error))?
                || added.iter().any(|(other, _)| *other == name)
            {
                out.push_str(&format!("  {name}: already configured\n"));
                continue;
            }
            let shown = entry.clone().server(&name, &path).map(|server| server.shown()).unwrap_or_default();
            out.push_str(&format!("  {name}: {shown}\n"));
            added.push((name, entry));
        }
        for problem in found.problems {
            out.push_str(&format!("note: {problem}\n"));
        }
    }
    let (count, target) = (plural(added.len(), "server"), file.path.display());
    if preview {
        return report::say(&format!("{out}{count} would be added to {target}\n"));
    }
    if !added.is_empty() {
        file.add(&added).map_err(|error| not_changed(&error))?;
    }
    report::say(&format!("{out}Added {count} to {target}. `mycode mcp test` starts each once.\n"))
}
