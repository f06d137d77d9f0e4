//! What is known of a call: its effects, and how far it reaches. Plain data.

use std::path::PathBuf;

/// How far a call reaches; each risk includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// It only reads, and nothing secret.
    Reads,
    /// It only reads, and runs code of the project to do so, such as a wrapper that its configuration names: a reader where a
    /// sandbox holds it.
    Inspects,
    /// It changes the workspace or runs the project's own code, in a way that is known.
    Workspace,
    /// Not known well enough: fine where a sandbox holds it.
    Unknown,
    /// It needs the network and nothing else beyond the workspace: a yes hands a sandboxed run the network.
    Network,
    /// Git changes protected files by it, each known by name: a yes opens these for a sandboxed run and nothing else.
    Protected,
    /// It reaches beyond the workspace by its nature, such as to the user's own accounts and to what is installed for
    /// the whole machine. A user may still have a rule for it; it then runs unconfined.
    Outside,
    /// It touches what no rule opens: a secret, a file that controls other programs, a place outside.
    Guarded,
    /// It destroys the machine or all files of the user.
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
    /// Such as `write src/a.rs`.
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
    /// Why the risk is what it is, as a clause.
    pub reason: String,
    pub effects: Vec<Effect>,
    /// The protected files that git changes, absolute.
    pub opens: Vec<PathBuf>,
    /// Configuration of git that it writes, nothing that runs programs: the sandbox looks at it afterwards.
    pub settings: Vec<PathBuf>,
}

impl Assessment {
    pub fn reads() -> Self {
        Self {
            risk: Risk::Reads,
            reason: "it only reads".to_owned(),
            effects: Vec::new(),
            opens: Vec::new(),
            settings: Vec::new(),
        }
    }

    pub fn new(risk: Risk, reason: impl Into<String>) -> Self {
        Self { risk, reason: reason.into(), effects: Vec::new(), opens: Vec::new(), settings: Vec::new() }
    }

    /// The same with one more effect.
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

    /// Takes over what reaches further.
    pub fn raise(&mut self, other: Self) {
        for effect in other.effects {
            self.add(effect);
        }
        self.opens.extend(other.opens);
        self.settings.extend(other.settings);
        if other.risk > self.risk {
            self.risk = other.risk;
            self.reason = other.reason;
        }
    }
}
