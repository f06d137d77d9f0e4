//! What is known about a call: its effects, and how far it reaches. Plain data.

use std::path::PathBuf;

/// How far a call reaches; each risk includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Only reads, and nothing secret.
    Reads,
    /// Only reads, but runs project code for that, such as a configured wrapper: a reader if sandboxed.
    Inspects,
    /// Changes the workspace or runs project code, in a known way.
    Workspace,
    /// Not known well enough: fine in a sandbox.
    Unknown,
    /// Needs the network and nothing else outside the workspace: a yes gives a sandboxed run the network.
    Network,
    /// Git changes protected files, each known by name: a yes opens only these to a sandboxed run.
    Protected,
    /// Reaches beyond the workspace by nature, such as to the user's accounts or what is installed
    /// machine-wide. A user's rule may allow it; it then runs unconfined.
    Outside,
    /// Touches what no rule opens: a secret, a file that controls other programs, a place outside.
    Guarded,
    /// Destroys the machine or all of the user's files.
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
    /// Protected files that git changes, absolute.
    pub opens: Vec<PathBuf>,
    /// What it reads that is neither the project's nor the system's.
    pub elsewhere: Vec<PathBuf>,
    /// Git configuration that it writes without running programs; the sandbox checks it afterwards.
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
