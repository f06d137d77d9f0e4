//! An MCP server over standard streams that answers as the test says: a shell script, so that it runs wherever the tests do.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::workplace::Workplace;

/// What it answers, each as a shell command; `$id` is the number of the request.
pub struct McpServer {
    rows: String,
    capabilities: Value,
}

impl McpServer {
    /// One with these tools.
    pub fn new(tools: &[Value]) -> Self {
        Self { rows: String::new(), capabilities: json!({"tools": {}}) }
            .answers("tools/list", &json!({"tools": tools}))
    }

    /// One with these tools, each without parameters.
    pub fn with_tools(names: &[&str]) -> Self {
        let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
        Self::new(&names.iter().map(tool).collect::<Vec<_>>())
    }

    /// Offers more than tools.
    pub fn offers(mut self, capability: &str) -> Self {
        self.capabilities[capability] = json!({});
        self
    }

    /// Answers requests of this method.
    pub fn answers(self, method: &str, result: &Value) -> Self {
        let answer =
            format!("printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$id\" {}", quoted(result));
        self.runs(method, &answer)
    }

    /// Runs a command when a message of this method comes.
    pub fn runs(mut self, method: &str, command: &str) -> Self {
        self.rows.push_str(&format!("    *'\"method\":\"{method}\"'*) {command};;\n"));
        self
    }

    /// Written down as a program, and made known to the user as `name`; it runs outside the sandbox.
    pub fn add(self, place: &Workplace, name: &str) -> PathBuf {
        self.add_with(place, name, &["--no-sandbox"])
    }

    pub fn add_with(self, place: &Workplace, name: &str, options: &[&str]) -> PathBuf {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": self.capabilities,
            "serverInfo": {"name": name, "version": "1"}});
        let this = self.answers("initialize", &hello);
        let path = place.user_home().join(format!("{name}.sh"));
        let text = format!(
            "#!/bin/sh\nwhile read -r line; do\n  id=$(printf '%s' \"$line\" | sed 's/.*\"id\":\\([0-9]*\\).*/\\1/')\n  case $line in\n{}  esac\ndone\n",
            this.rows
        );
        std::fs::create_dir_all(place.user_home()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let args = [&["mcp", "add"], options, &[name, path.to_str().unwrap()]].concat();
        let added = place.command(&args).output().unwrap();
        assert!(added.status.success(), "{added:?}");
        path
    }
}

fn quoted(value: &Value) -> String {
    format!("'{}'", value.to_string().replace('\'', "'\\''"))
}
