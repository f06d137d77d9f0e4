//! What is known of a call: its effects, and how far it reaches. Plain data.

/// How far a call reaches; each grade includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// It only reads, and nothing secret.
    Looks,
    /// It changes the workspace or runs the project's own code, in a way that is known.
    Works,
    /// Not known well enough: fine where a sandbox holds it.
    Unsure,
    /// It needs the network and nothing else beyond the workspace: a yes hands a sandboxed run the network.
    Network,
    /// It reaches beyond the workspace by its nature, such as to the user's own accounts and to what is installed for
    /// the whole machine. A user may still have a rule for it; it then runs without walls.
    Outside,
    /// It touches what no rule opens: a secret, a file that steers other programs, a place outside.
    Guarded,
    /// It destroys the machine or everything of its owner.
    Never,
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
    pub grade: Risk,
    /// Why the grade is what it is, as a clause that begins with `it`.
    pub reason: String,
    pub effects: Vec<Effect>,
}

impl Assessment {
    pub fn looks() -> Self {
        Self { grade: Risk::Looks, reason: "it only looks around".to_owned(), effects: Vec::new() }
    }

    pub fn new(grade: Risk, reason: impl Into<String>) -> Self {
        Self { grade, reason: reason.into(), effects: Vec::new() }
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
        if other.grade > self.grade {
            self.grade = other.grade;
            self.reason = other.reason;
        }
    }
}
