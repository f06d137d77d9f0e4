//! The options of a session: way of working and model. Levels and modes form one list, so choosing a level
//! leaves a read-only mode.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};

use base::config::mode::Mode;
use base::config::settings::Permission;
use base::protocol::event::SessionInfo;
use base::protocol::lists::ModelRow;
use base::protocol::op::{Op, Quick};

pub const MODE: &str = "mode";
pub const MODEL: &str = "model";

const WAYS: [(&str, &str, &str); 8] = [
    ("ask", "Ask", "Asks before each change and command"),
    ("accept-edits", "Accept edits", "Edits files in this folder, and asks before each command"),
    ("auto", "Auto", "Works in this folder without asking, in a sandbox; asks for anything else"),
    ("read-only", "Read only", "Reads files; changes nothing"),
    ("full", "Full access", "Never asks, and runs without a sandbox"),
    ("plan", "Plan", "Writes a plan for you to accept; changes nothing"),
    ("explore", "Explore", "Explains how the project works; changes nothing"),
    ("analyze", "Analyze", "Looks for problems; changes nothing"),
];

/// The mode, and the level that comes with it.
pub fn named(id: &str) -> Option<(Mode, Option<Permission>)> {
    WAYS.iter().find(|(known, ..)| *known == id)?;
    match id.parse() {
        Ok(level) => Some((Mode::Auto, Some(level))),
        Err(_) => Some((id.parse().ok()?, None)),
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub level: Option<Permission>,
    pub mode: Mode,
    pub model: String,
    pub models: Vec<ModelRow>,
}

impl Options {
    pub fn set(&mut self, info: &SessionInfo) {
        (self.level, self.mode) = (Some(info.permission), info.mode);
        info.model.clone_into(&mut self.model);
    }

    pub fn choose(&mut self, (mode, level): (Mode, Option<Permission>)) -> Vec<Op> {
        let mut ops = Vec::new();
        if mode != self.mode {
            self.mode = mode;
            ops.push(Op::Quick(Quick::SetMode { mode }));
        }
        if let Some(permission) = level.filter(|_| level != self.level) {
            self.level = level;
            ops.push(Op::Quick(Quick::SetPermission { permission }));
        }
        ops
    }

    pub fn way(&self) -> &'static str {
        match self.mode {
            Mode::Auto => self.level.unwrap_or(Permission::Ask).into_str(),
            mode => mode.into_str(),
        }
    }

    pub fn modes(&self) -> SessionModeState {
        let mode = |(id, name, help)| SessionMode::new(id, name).description(String::from(help));
        SessionModeState::new(self.way(), WAYS.into_iter().map(mode).collect())
    }

    pub fn list(&self) -> Vec<SessionConfigOption> {
        let way = |(id, name, help)| SessionConfigSelectOption::new(id, name).description(String::from(help));
        let ways: Vec<_> = WAYS.into_iter().map(way).collect();
        let mut names: Vec<&str> = self.models.iter().map(|row| row.name.as_str()).collect();
        if !names.contains(&self.model.as_str()) {
            names.insert(0, &self.model);
        }
        let model = |name: &str| SessionConfigSelectOption::new(name.to_owned(), name);
        let models: Vec<_> = names.into_iter().map(model).collect();
        vec![
            SessionConfigOption::select(MODE, "Mode", self.way(), ways)
                .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::select(MODEL, "Model", self.model.clone(), models)
                .category(SessionConfigOptionCategory::Model),
        ]
    }
}
