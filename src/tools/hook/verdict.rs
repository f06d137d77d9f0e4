//! What all hooks of an occasion said together.

use serde_json::{Map, Value};

use super::answer::{Answer, Decision};

/// The gravest decision: no, then ask, then yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub decision: Decision,
    /// Of the hook.
    pub name: String,
    pub reason: String,
}

/// What all hooks of an occasion said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookVerdict {
    pub decided: Option<Decided>,
    /// What the model is to know, each with the hook that said it.
    pub contexts: Vec<(String, String)>,
    /// Other arguments, and the hook that wants them.
    pub updated_input: Option<(String, Map<String, Value>)>,
    /// The turn is to end: the hook, and why.
    pub stop: Option<(String, String)>,
}

impl HookVerdict {
    /// Adds what one hook said.
    pub fn add(&mut self, name: &str, answer: Answer) {
        let Answer { decision, reason, context, updated_input, stop, .. } = answer;
        let gravest = self.decided.as_ref().map(|decided| decided.decision);
        if let Some(decision) = decision.filter(|decision| gravest.is_none_or(|gravest| *decision > gravest))
        {
            self.decided = Some(Decided { decision, name: name.to_owned(), reason });
        }
        self.contexts.extend(context.map(|context| (name.to_owned(), context)));
        self.updated_input =
            self.updated_input.take().or(updated_input.map(|input| (name.to_owned(), input)));
        self.stop = self.stop.take().or(stop.map(|why| (name.to_owned(), why)));
    }

    /// The hook that said no, and its reason.
    pub fn blocked(&self) -> Option<&Decided> {
        self.decided.as_ref().filter(|decided| decided.decision == Decision::Block)
    }
}
