//! The combined answer of an occasion's hooks.

use serde_json::{Map, Value};

use super::answer::{Answer, Decision};

/// The strictest decision: block, then ask, then allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub decision: Decision,
    pub name: String,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookVerdict {
    pub decided: Option<Decided>,
    /// For the model; the first item of each pair is the hook's name.
    pub contexts: Vec<(String, String)>,
    pub updated_input: Option<(String, Map<String, Value>)>,
    pub stop: Option<(String, String)>,
}

impl HookVerdict {
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

    pub fn blocked(&self) -> Option<&Decided> {
        self.decided.as_ref().filter(|decided| decided.decision == Decision::Block)
    }
}
