//! Which content a pager shows.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PagerKind {
    #[default]
    Transcript,
    /// One output at a time.
    Outputs,
    Agent,
    /// The changes of the session, or of its last turn.
    Changes {
        turn: bool,
    },
}

impl PagerKind {
    /// Whether it shows items, of a sub-agent or of the session.
    pub fn shows_items(self, of_agent: bool) -> bool {
        match self {
            Self::Agent => of_agent,
            Self::Transcript | Self::Outputs => !of_agent,
            Self::Changes { .. } => false,
        }
    }
}
