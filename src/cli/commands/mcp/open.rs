//! Opens the configured servers for the subcommands, with a browser for signing in.

use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::cli::args::SharedArgs;
use crate::cli::report::Failure;
use crate::cli::setup::open::{self, OpenedProject};
use base::config::settings::Permission;
use base::secret;
use guard::sandbox::session::Sandbox;
use tools::mcp::client::connector::ServerPlace;
use tools::mcp::config::server::Server;
use tools::mcp::servers;

pub struct OpenedServers {
    pub opened: OpenedProject,
    pub servers: Vec<Server>,
    pub problems: Vec<String>,
    pub place: ServerPlace,
}

pub fn open(cli: &SharedArgs) -> Result<OpenedServers, Failure> {
    let opened = open::open(&cli.model, Permission::Auto)?;
    let (servers, problems) = servers::configured(&opened.loaded.own.mcp, &opened.loaded);
    let sandbox = Sandbox::new(opened.workspace.clone(), opened.own_folders(), Vec::new());
    let place = ServerPlace {
        host: None,
        root: opened.workspace.clone(),
        sandbox: Arc::new(sandbox),
        state: opened.paths.state.join("mcp"),
        show: Some(Arc::new(show_page)),
    };
    Ok(OpenedServers { opened, servers, problems, place })
}

impl OpenedServers {
    pub fn find(&self, name: &str) -> Result<&Server, Failure> {
        self.servers.iter().find(|server| server.name == name).ok_or_else(|| no_server(name))
    }
}

pub fn no_server(name: &str) -> Failure {
    let hint = "`mycode mcp list` lists all; `mycode mcp add` adds one; a project's own need `mycode trust`";
    Failure::usage(format!("unknown server '{name}'"), hint)
}

/// Prints the address of the sign-in page, and opens it if there is a browser.
pub fn show_page(url: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "To sign in, open this page in a browser on this machine:\n{url}");
    let named = std::env::var("BROWSER").ok().filter(|browser| !browser.trim().is_empty());
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let browser = named.unwrap_or_else(|| usual.to_owned());
    let mut words = browser.split_whitespace();
    let Some(program) = words.next() else { return };
    let mut command = Command::new(program);
    command.args(words).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    secret::remove_credentials(&mut command);
    if let Ok(mut child) = command.spawn() {
        std::thread::spawn(move || child.wait());
    }
}
