//! The facts of a tool's answer. What a reader wants to know about any tool (path, lines, exit code) is a method,
//! so that no tool is forgotten.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use strum::IntoStaticStr;

use super::observation::{
    Change, Command, Delegated, Listing, Noted, Observation, Operation, Recalled, Search, Todo, View, Web,
};
use super::usage::Usage;

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Touch {
    Read,
    Listed,
    Searched,
    Created,
    Written,
    Edited,
    Unchanged,
    Noted,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Map<String, Value>")]
pub struct Facts {
    pub observation: Box<Observation>,
    /// Facts without a field in the observation.
    pub more: Map<String, Value>,
}

impl From<Map<String, Value>> for Facts {
    fn from(more: Map<String, Value>) -> Self {
        Self { observation: Box::default(), more }
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

impl Facts {
    pub fn read(tool: &str, mut facts: Map<String, Value>) -> Self {
        let Some(observation) = Observation::read(tool, &facts) else { return facts.into() };
        let (_, known) = observation.stored();
        facts.retain(|key, _| !known.contains_key(key));
        Self { observation: Box::new(observation), more: facts }
    }

    pub fn replace(&mut self, facts: Map<String, Value>) {
        *self = Self::read(&self.observation.stored().0, facts);
    }

    pub fn to_map(&self) -> Map<String, Value> {
        let (_, mut facts) = self.observation.stored();
        facts.extend(self.more.clone());
        facts
    }

    pub fn is_empty(&self) -> bool {
        self.more.is_empty() && self.observation.stored().1.is_empty()
    }

    fn more_text(&self, key: &str) -> Option<&str> {
        self.more.get(key)?.as_str()
    }

    /// The path that the call is about, and what it did with it.
    fn about(&self) -> Option<(Option<&str>, Touch)> {
        let (path, touch) = match &*self.observation {
            Observation::Read(View { path, .. }) => (path, Touch::Read),
            Observation::Edit(change) | Observation::Write(change) => {
                let touch = match (change.applied, change.operation) {
                    (Some(false), _) => Touch::Unchanged,
                    (_, Some(Operation::Create)) => Touch::Created,
                    _ if matches!(*self.observation, Observation::Write(_)) => Touch::Written,
                    _ => Touch::Edited,
                };
                (&change.path, touch)
            }
            Observation::Listing(Listing { path, .. }) => (path, Touch::Listed),
            Observation::Search(Search { path, .. }) => (path, Touch::Searched),
            Observation::Note(Noted { path, .. }) => (path, Touch::Noted),
            _ => return None,
        };
        Some((path.as_deref(), touch))
    }

    /// The call's path and what it did there, unless it failed.
    pub fn touched(&self) -> Option<(&str, Touch)> {
        let (path, touch) = self.about()?;
        Some((path?, touch))
    }

    pub fn path(&self) -> Option<&str> {
        self.about().and_then(|(path, _)| path).or_else(|| self.more_text("path"))
    }

    pub fn subject(&self) -> Option<&str> {
        let subject = match &*self.observation {
            Observation::Command(Command { command, .. }) => command.as_ref(),
            Observation::Search(Search { pattern, query, .. }) => pattern.as_ref().or(query.as_ref()),
            Observation::Recall(Recalled { query, .. }) | Observation::Skill(Delegated { query, .. }) => {
                query.as_ref()
            }
            _ => None,
        };
        let other = || ["command", "pattern", "query"].iter().find_map(|key| self.more_text(key));
        self.path().or(subject.map(String::as_str)).or_else(other)
    }

    pub fn view(&self) -> Option<&View> {
        match &*self.observation {
            Observation::Read(view) => Some(view),
            Observation::Command(command) => command.view.as_deref(),
            _ => None,
        }
    }

    pub fn change(&self) -> Option<&Change> {
        let (Observation::Edit(change) | Observation::Write(change)) = &*self.observation else {
            return None;
        };
        Some(change)
    }

    pub fn diff(&self) -> Option<&str> {
        self.change()?.diff.as_deref().filter(|diff| !diff.is_empty())
    }

    pub fn command(&self) -> Option<&Command> {
        let Observation::Command(command) = &*self.observation else { return None };
        Some(command)
    }

    pub fn todos(&self) -> Option<&[Todo]> {
        let Observation::Todos(list) = &*self.observation else { return None };
        list.todos.as_deref()
    }

    pub fn delegated(&self) -> Option<&Delegated> {
        let (Observation::Task(done) | Observation::Skill(done)) = &*self.observation else { return None };
        Some(done)
    }

    /// The model and tokens that the call itself used.
    pub fn spent(&self) -> Option<(&str, Usage)> {
        match &*self.observation {
            Observation::Task(Delegated { model, usage, .. })
            | Observation::Skill(Delegated { model, usage, .. })
            | Observation::Web(Web { model, usage, .. }) => Some((model.as_deref()?, (*usage)?)),
            _ => None,
        }
    }

    pub fn total(&self) -> Option<u64> {
        match &*self.observation {
            Observation::Read(view) => view.total_lines,
            Observation::Listing(listing) => listing.total_entries,
            Observation::Search(search) => search.total_matches.or(search.total),
            Observation::Note(noted) => noted.total,
            _ => None,
        }
    }

    /// Recorded calls of other agents may have one without being a command.
    pub fn exit_code(&self) -> Option<i64> {
        let of_command = self.command().and_then(|command| command.exit_code);
        of_command.or_else(|| self.more.get("exit_code")?.as_i64())
    }

    pub fn full_output_path(&self) -> Option<&str> {
        let of_command = self.command().and_then(|command| command.full_output_path.as_deref());
        of_command.or_else(|| self.more_text("full_output_path"))
    }

    pub fn set_full_output_path(&mut self, path: Option<String>) {
        self.more.remove("full_output_path");
        match &mut *self.observation {
            Observation::Command(command) => command.full_output_path = path,
            _ => self.more.extend(path.map(|path| ("full_output_path".to_owned(), path.into()))),
        }
    }

    /// The file whose content the model now knows, and its hash.
    pub fn content(&self) -> Option<(&str, &str)> {
        let (path, hash) = match (self.view(), self.change()) {
            (Some(view), _) => (&view.path, &view.hash),
            (None, Some(change)) => (&change.path, &change.hash),
            (None, None) => return None,
        };
        Some((path.as_deref()?, hash.as_deref()?))
    }

    /// Files of the workspace that the call changed in addition to its own path.
    pub fn changed(&self) -> &[String] {
        let files = match &*self.observation {
            Observation::Command(command) => &command.changed,
            Observation::Edit(change) => &change.others,
            _ => &None,
        };
        files.as_deref().unwrap_or_default()
    }

    pub fn outdated(&self) -> &[String] {
        self.command().and_then(|command| command.outdated.as_deref()).unwrap_or_default()
    }

    pub fn set_outdated(&mut self, files: Vec<String>) {
        if let Observation::Command(command) = &mut *self.observation
            && !files.is_empty()
        {
            command.outdated = Some(files);
        }
    }

    pub fn set_changed(&mut self, mut files: Vec<String>) {
        const LISTED: usize = 50;
        files.truncate(LISTED);
        if let Observation::Command(command) = &mut *self.observation
            && !files.is_empty()
        {
            command.changed = Some(files);
        }
    }

    pub fn user_text(&self) -> Option<&str> {
        self.more_text("user_text")
    }

    pub fn by_user(&self) -> bool {
        self.more.contains_key("by_user")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::item::ToolResult;

    const STORED: [(&str, &str); 21] = [
        ("LS", r#"{"path":".","total_entries":7,"offset":3}"#),
        ("Glob", r#"{"pattern":"*.rs","path":"src","total":2}"#),
        ("Grep", r#"{"pattern":"a","path":".","total_matches":3,"total_files":2,"shown":3}"#),
        ("Locate", r#"{"query":"the cache","paths":["a.rs"]}"#),
        ("Locate", r#"{"with":["a.rs"],"paths":[]}"#),
        (
            "Read",
            r#"{"path":"a","mtime_ms":5,"start_line":1,"end_line":0,"total_lines":0,"hash":"h","modified_externally":true,"encoding":"UTF-16","line_ends":"CRLF","full_output_path":"/f"}"#,
        ),
        ("Read", r#"{"path":"a.png","width":3,"height":4}"#),
        (
            "Edit",
            r#"{"path":"a","applied":true,"operation":"update","hash":"h","diff":"d","replacements":1}"#,
        ),
        ("MultiEdit", r#"{"path":"a","applied":false,"operation":"none","replacements":0}"#),
        ("Write", r#"{"path":"a","applied":true,"operation":"create","hash":"h","diff":"d"}"#),
        (
            "Bash",
            r#"{"command":"c","exit_code":-1,"timed_out":false,"cwd":".","duration_ms":1,"output_bytes":9,"full_output_path":"/f","truncated":true,"output_lines":4,"by_user":true}"#,
        ),
        ("Bash", r#"{"command":"c","job":1,"running":true,"full_output_path":"/f"}"#),
        ("Job", r#"{"id":1,"running":false,"full_output_path":"/f"}"#),
        ("TodoWrite", r#"{"todos":[{"content":"a","status":"in_progress"}],"recap":"r"}"#),
        ("AskUser", r#"{"replies":["a","b"]}"#),
        ("Recall", r#"{"id":3,"offset":0,"total_bytes":9,"end_offset":5}"#),
        ("Recall", r#"{"query":"q","hits":[{"id":3,"kind":"user","snippet":"s"}]}"#),
        ("Note", r#"{"id":"n1","path":"p","title":"t","type":"fact"}"#),
        (
            "Task",
            r#"{"agent":"a","type":"explore","steps":2,"window_tokens":9,"model":"m","usage":{"input":1,"cached":0,"cache_write":0,"output":2,"reasoning":0}}"#,
        ),
        ("Skill", r#"{"query":"s","allowed_tools":["Bash"]}"#),
        ("MoreTools", r#"{"url":"https://a"}"#),
    ];

    #[test]
    fn stored_facts_stay_as_they_are() {
        for (tool, stored) in STORED {
            let read = Facts::read(tool, serde_json::from_str(stored).unwrap());
            assert_ne!(*read.observation, Observation::Other, "{tool} {stored}");
            assert_eq!(serde_json::to_string(&read).unwrap(), stored, "{tool}");
        }
    }

    #[test]
    fn what_is_unknown_or_damaged_is_kept() {
        for (tool, stored) in [
            ("Weather", r#"{"path":"a","degrees":[20]}"#),
            ("Read", r#"{"path":7,"start_line":1}"#),
            ("TodoWrite", r#"{"todos":"none"}"#),
        ] {
            let line = format!(
                r#"{{"call_id":"c","tool":"{tool}","envelope":{{"status":"success","data":{stored},"time_ms":0}}}}"#
            );
            let read: ToolResult = serde_json::from_str(&line).unwrap();
            assert_eq!(*read.envelope.data.observation, Observation::Other, "{tool}");
            assert_eq!(read.envelope.data.touched(), None, "{tool}");
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
        // Other agents' sessions and later versions may have facts without a field in the observation.
        let more = r#"{"path":"a","exit_code":1,"new":true}"#;
        let read = Facts::read("Read", serde_json::from_str(more).unwrap());
        assert_eq!((read.touched(), read.exit_code()), (Some(("a", Touch::Read)), Some(1)));
        assert_eq!(serde_json::to_string(&read).unwrap(), more);
    }
}
