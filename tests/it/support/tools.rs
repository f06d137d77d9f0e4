//! A temporary workspace in which tools are called the way the dispatcher calls them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::model::envelope::{Envelope, Status};
use guard::policy::access::Access;
use guard::shell::interpret::interpreter;
use serde_json::{Value, json};
use tools::api::{Preview, Tool, ToolError};
use tools::cx::ToolCx;
use tools::output::Spill;
use tools::registry;

pub struct Bench {
    /// Removed at the end.
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub cx: ToolCx,
    tools: Vec<Box<dyn Tool>>,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let spill = Arc::new(Spill::new(dir.path().join("state/tool-output")));
        let cx = ToolCx::new(root.clone(), spill);
        Self { _dir: dir, root, cx, tools: registry::builtin() }
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.root.join(name)).unwrap()
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        path
    }

    /// One call; a refusal becomes the envelope that the model would see.
    pub async fn call(&self, tool: &str, args: Value) -> Envelope {
        let tool = registry::find(&self.tools, tool).unwrap();
        let result = match tool.prepare(args) {
            Ok(prepared) => {
                let mut cx = self.cx.clone();
                if let Ok([Access::Exec { command, cwd }, ..]) = prepared.access(&cx).await.as_deref() {
                    cx.calls = interpreter::calls(command, cwd, None).unwrap_or_default().into();
                }
                prepared.run(&cx).await
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(envelope) => envelope,
            Err(ToolError { code, message }) => Envelope::error(code, message),
        }
    }

    pub async fn preview(&self, tool: &str, args: Value) -> (String, bool) {
        match registry::find(&self.tools, tool).unwrap().prepare(args).unwrap().preview(&self.cx).await {
            Preview::Text(text) => (text, false),
            Preview::Diff(diff) => (diff, true),
            Preview::NoEffect(Ok(envelope)) => (envelope.text, false),
            Preview::NoEffect(Err(error)) => (error.to_string(), false),
        }
    }

    pub async fn read(&self, name: &str) -> Envelope {
        self.call("Read", json!({"path": name})).await
    }

    pub async fn bash(&self, command: &str) -> Envelope {
        self.call("Bash", json!({"command": command})).await
    }

    /// Reads, then edits.
    pub async fn edit(&self, name: &str, old: &str, new: &str, all: bool) -> Envelope {
        self.read(name).await;
        self.call("Edit", json!({"path": name, "old_string": old, "new_string": new, "replace_all": all}))
            .await
    }

    /// No temporary file may ever stay behind.
    pub fn names(&self, folder: &str) -> Vec<String> {
        names(&self.root.join(folder))
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub fn code(envelope: &Envelope) -> &'static str {
    envelope.error.as_ref().map_or("", |error| error.code.into_str())
}

pub fn assert_ok(envelope: &Envelope) {
    assert_eq!(envelope.status, Status::Success, "{}", envelope.wire());
}

pub fn assert_error(envelope: &Envelope, want: &str, part: &str) {
    assert_eq!(code(envelope), want, "{}", envelope.wire());
    assert!(envelope.wire().contains(part), "`{part}` is not in: {}", envelope.wire());
}
