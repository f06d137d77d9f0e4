//! The agent's parts. Each owns its state; the turn loop (`turn/run.rs`) brings them together.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::calls::dispatcher::Dispatcher;
use super::sampling::sampler::Sampler;
use super::session::conversation::Conversation;
use super::session::{journal, rewind};
use super::turn::input::message::TurnInput;
use super::turn::limits::TurnLimits;
use super::window::context_window::ContextWindow;
use base::model::item::Item;
use base::model::observation::Todo;
use base::path;
use base::process::task;
use base::protocol::ledger::LedgerView;
use context::session::journal::recorder::Journal;
use tools::cx::ToolCx;
use tools::file::watch;

pub struct Agent {
    pub conversation: Conversation,
    pub window: ContextWindow,
    pub sampler: Sampler,
    pub dispatcher: Dispatcher,
    pub input: TurnInput,
    pub limits: TurnLimits,
}

impl Agent {
    /// Switches to another conversation, replacing the tools' state.
    pub async fn open(&mut self, conversation: Conversation) {
        self.conversation = conversation;
        let cx = &self.dispatcher.cx;
        cx.redactor.clear();
        cx.shell.set_cwd(cx.root.to_path_buf());
        self.dispatcher.policy.rules().forget_session();
        self.input.reminder = None;
        self.restore_tools().await;
        self.begin_session().await;
    }

    /// Points window and undo journal at the current conversation.
    pub async fn begin_session(&mut self) {
        let cx = &self.dispatcher.cx;
        self.window.open(&mut self.conversation, &self.sampler.params, &cx.root).await;
        let session = self.conversation.id.clone();
        let opened = move |journal: &Journal| {
            journal.open(&session);
            journal.lines()
        };
        let lines = journal::ask(cx, opened).await;
        self.input.reminder = rewind::missed_reminder(&self.conversation, &lines);
    }

    pub async fn restore_tools(&self) {
        let cx = self.dispatcher.cx.clone();
        cx.files.clear();
        cx.todos.set(Vec::new());
        let entries = self.conversation.state.history.entries();
        let items: Vec<Arc<Item>> = entries.iter().map(|entry| Arc::clone(&entry.item)).collect();
        let (todos, log) = (self.conversation.facts.todos(), self.conversation.log_path());
        let _ = task::blocking(move || restore_tools(&cx, &items, todos, &log)).await;
    }

    pub fn ledger(&self) -> LedgerView {
        self.window.ledger(&self.conversation, &self.sampler.params)
    }

    pub fn measure(&mut self) {
        self.window.measure(&self.conversation, &self.sampler.params);
    }
}

/// Restores the tools' state: todos, files read, the shell's folder. Reads the log.
fn restore_tools(cx: &ToolCx, items: &[Arc<Item>], todos: Option<Vec<Todo>>, log: &Path) {
    if let Some(list) = todos {
        cx.todos.set(list);
    }
    if let Ok(log) = std::fs::read(log) {
        cx.redactor.reserve(&String::from_utf8_lossy(&log));
    }
    for item in items {
        if let Item::User(message) = &**item {
            message.injected.iter().for_each(|block| watch::told_before(cx, block));
        }
        if let Item::ToolCall(call) = &**item
            && ["Edit", "MultiEdit", "Write", "Bash"].contains(&&*call.name)
        {
            written_texts(&call.parsed_args().unwrap_or_default(), &mut |text| cx.files.show(text));
        }
        let Item::ToolResult(result) = &**item else { continue };
        cx.files.show(&result.envelope.body);
        cx.files.show(&result.envelope.text);
        if let Some(error) = &result.envelope.error {
            cx.files.show(&error.message);
        }
        let data = &result.envelope.data;
        // An edit within a line results in a line that neither text contains.
        cx.files.show(data.change().and_then(|change| change.diff.as_deref()).unwrap_or_default());
        if let Some(cwd) = data.command().and_then(|command| command.cwd.as_deref()) {
            let folder = path::resolve(&cx.root, cwd).canonical;
            if folder.is_dir() {
                cx.shell.set_cwd(folder);
            }
        }
        // The log has no hashes of files that a command changed.
        data.changed().iter().for_each(|path| cx.files.forget(&path::resolve(&cx.root, path).canonical));
        if let Some((path, hash)) = data.content() {
            let canonical = path::resolve(&cx.root, path).canonical;
            cx.files.remember(&canonical, hash);
        }
        watch::told_before(cx, &result.envelope.text);
    }
}

fn written_texts(args: &Value, take: &mut impl FnMut(&str)) {
    match args {
        Value::Object(all) => {
            for (name, value) in all {
                match value.as_str() {
                    Some(text) if ["content", "new_string", "command"].contains(&name.as_str()) => take(text),
                    Some(_) => {}
                    None => written_texts(value, take),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| written_texts(value, take)),
        _ => {}
    }
}
