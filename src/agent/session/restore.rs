//! Giving the tools back what they knew when a session is continued.

use crate::agent::core::Core;
use crate::base::path;
use crate::model::item::Item;

impl Core {
    /// What tools remember between calls, rebuilt from a session's history: the todo list, which
    /// files were read, and in which folder the shell stands.
    pub fn restore_working_state(&self, todos: Option<serde_json::Value>) {
        if let Some(list) = todos.and_then(|list| serde_json::from_value(list).ok()) {
            self.dispatcher.cx.todos.set(list);
        }
        if let Ok(log) = std::fs::read(self.conversation.log_path()) {
            self.dispatcher.cx.vault.reserve(&String::from_utf8_lossy(&log));
        }
        for entry in self.conversation.history.entries() {
            let Item::ToolResult(result) = &*entry.item else { continue };
            let data = &result.envelope.data;
            let text = |key: &str| data.get(key).and_then(serde_json::Value::as_str);
            if let Some(cwd) = text("cwd").filter(|_| &*result.tool == "Bash") {
                let folder = path::resolve(&self.dispatcher.cx.root, cwd).canonical;
                if folder.is_dir() {
                    self.dispatcher.cx.shell.set_cwd(folder);
                }
            }
            let view = data.get("view").and_then(serde_json::Value::as_object);
            let of_view = |key: &str| view.and_then(|view| view.get(key)).and_then(serde_json::Value::as_str);
            let (path, hash) =
                (of_view("path").or_else(|| text("path")), of_view("hash").or_else(|| text("hash")));
            if let (Some(path), Some(hash)) = (path, hash) {
                let canonical = path::resolve(&self.dispatcher.cx.root, path).canonical;
                self.dispatcher.cx.files.remember(&canonical, hash);
            }
        }
    }
}
