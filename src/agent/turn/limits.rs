//! The limits of a run, and which nudges the model gets.

use base::deadline::Deadline;

#[derive(Clone, Debug, Default)]
pub struct TurnLimits {
    pub max_steps: u32,
    /// Tokens read and written per turn, as reported by the server.
    pub max_tokens: Option<u64>,
    pub deadline: Option<Deadline>,
    /// Whether the model is told about repeats, replies that aren't an end, and finish facts.
    pub nudges: bool,
    pub has_schema: bool,
    pub review: bool,
}

impl TurnLimits {
    pub fn wants_review(&self, steps: u32) -> bool {
        self.review && self.leave_room(steps) && self.deadline.is_none_or(|deadline| deadline.has_third())
    }

    /// Whether the model has steps left to act on a nudge.
    pub fn leave_room(&self, steps: u32) -> bool {
        const REQUESTS: u32 = 3;
        self.max_steps.saturating_sub(steps) >= REQUESTS
            && self.deadline.is_none_or(|deadline| deadline.stage() < 2)
    }
}
