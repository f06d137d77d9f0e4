//! What is known about a call: its effects and its risk.

use std::path::PathBuf;

/// How far a call reaches; each risk includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Only reads, but no secrets.
    Reads,
    /// Only reads, but runs project code to do so, such as a configured wrapper; fine in a sandbox.
    Inspects,
    /// Changes the workspace or runs project code in a known way.
    Workspace,
    /// Not known well enough; fine in a sandbox.
    Unknown,
    /// Needs the network and nothing else outside the workspace; approval gives a sandboxed run the network.
    Network,
    /// Git changes protected files, all known by name; approval makes only these writable in the sandbox.
    Protected,
    /// Reaches beyond the workspace by nature, such as to the user's accounts or machine-wide installations. A
    /// user's rule may allow it; it then runs unconfined.
    Outside,
    /// Accesses what no rule can allow: a secret, a file that controls other programs, a place outside.
    Guarded,
    /// Could destroy the machine or all of the user's files.
    Destroys,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Read(String),
    Write(String),
    Run(String),
    Net(String),
}

impl Effect {
    pub fn text(&self) -> String {
        match self {
            Self::Read(what) => format!("read {what}"),
            Self::Write(what) => format!("write {what}"),
            Self::Run(what) => format!("exec {what}"),
            Self::Net(what) => format!("net {what}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub risk: Risk,
    pub reason: String,
    pub effects: Vec<Effect>,
    /// Absolute paths of protected files that git changes.
    pub opens: Vec<PathBuf>,
    /// What it reads outside of the project and the system.
    pub elsewhere: Vec<PathBuf>,
    /// Git configuration that it writes without running programs; checked by the sandbox afterwards.
    pub settings: Vec<PathBuf>,
}

impl Assessment {
    pub fn reads() -> Self {
        Self::new(Risk::Reads, "only reads")
    }

    pub fn new(risk: Risk, reason: impl Into<String>) -> Self {
        Self {
            risk,
            reason: reason.into(),
            effects: Vec::new(),
            opens: Vec::new(),
            elsewhere: Vec::new(),
            settings: Vec::new(),
        }
    }

    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.add(effect);
        self
    }

    pub fn add(&mut self, effect: Effect) {
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    pub fn raise(&mut self, other: Self) {
        for effect in other.effects {
            self.add(effect);
        }
        self.opens.extend(other.opens);
        self.elsewhere.extend(other.elsewhere);
        self.settings.extend(other.settings);
        if other.risk > self.risk {
            self.risk = other.risk;
            self.reason = other.reason;
        }
    }
}
