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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayOfWork {
    Level(Permission),
    Mode(Mode),
}

use WayOfWork::{Level, Mode as Of};

const WAYS: [(WayOfWork, &str, &str); 8] = [
    (Level(Permission::Ask), "Ask", "Asks before each change and command"),
    (
        Level(Permission::AcceptEdits),
        "Accept edits",
        "Edits files in this folder, and asks before each command",
    ),
    (
        Level(Permission::Auto),
        "Auto",
        "Works in this folder without asking, in a sandbox; asks for anything else",
    ),
    (Level(Permission::ReadOnly), "Read only", "Looks, and changes nothing"),
    (Level(Permission::Full), "Full access", "Never asks, and runs without a sandbox"),
    (Of(Mode::Plan), "Plan", "Works out a plan for you to accept; changes nothing"),
    (Of(Mode::Explore), "Explore", "Finds out how the project is built; changes nothing"),
    (Of(Mode::Analyze), "Analyze", "Looks for what is wrong or missing; changes nothing"),
];

impl WayOfWork {
    pub fn named(id: &str) -> Option<Self> {
        WAYS.into_iter().map(|(way, ..)| way).find(|way| way.id() == id)
    }

    fn id(self) -> &'static str {
        match self {
            Level(level) => level.into_str(),
            Of(mode) => mode.into_str(),
        }
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

    pub fn choose(&mut self, way: WayOfWork) -> Vec<Op> {
        let (mode, level) = match way {
            Level(level) => (Mode::Auto, Some(level)),
            Of(mode) => (mode, None),
        };
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
            Mode::Auto => Level(self.level.unwrap_or(Permission::Ask)).id(),
            mode => Of(mode).id(),
        }
    }

    pub fn modes(&self) -> SessionModeState {
        let mode = |(way, name, help): (WayOfWork, &str, &str)| {
            SessionMode::new(way.id(), name).description(help.to_owned())
        };
        SessionModeState::new(self.way(), WAYS.into_iter().map(mode).collect())
    }

    pub fn list(&self) -> Vec<SessionConfigOption> {
        let way = |(way, name, help): (WayOfWork, &str, &str)| {
            SessionConfigSelectOption::new(way.id(), name).description(help.to_owned())
        };
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
