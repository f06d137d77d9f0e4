//! Guarantees what every provider demands: each call has exactly one result, right after its message, and every
//! result has a call. Runs on every request; a valid history stays unchanged.

use std::sync::Arc;

use base::model::request::Message;

/// The result given to an unanswered call.
pub const LOST_RESULT: &str = "error INTERRUPTED: the program stopped before this call finished, maybe before it began; its effect is unknown";

/// Something that carries a message; the normalizer moves it as a unit.
pub trait Paired {
    fn message(&self) -> &Message;
    fn lost_result(call: &Self, message: Message) -> Self;
}

impl Paired for Message {
    fn message(&self) -> &Message {
        self
    }

    fn lost_result(_call: &Self, message: Message) -> Self {
        message
    }
}

pub fn normalize<T: Paired>(messages: Vec<T>) -> Vec<T> {
    let mut sound: Vec<T> = Vec::with_capacity(messages.len());
    // Calls of the current assistant message that have no result yet, with their position.
    let mut open: Vec<(Arc<str>, usize)> = Vec::new();
    let mut answering = false;
    for carrier in messages {
        // Text between the calls of one reply is fine; text after a result begins the next reply.
        let ends_reply = match carrier.message() {
            Message::Call(_) | Message::Assistant(_) | Message::Reasoning(_) => answering,
            Message::User(_) | Message::System(_) | Message::Image(_) => true,
            Message::Result { .. } => false,
        };
        if ends_reply {
            close(&mut open, &mut sound);
            answering = false;
        }
        match carrier.message() {
            Message::Call(call) if open.iter().any(|(id, _)| *id == call.id) => continue,
            Message::Call(call) => open.push((Arc::clone(&call.id), sound.len())),
            Message::Result { call_id, .. } => {
                let Some(at) = open.iter().position(|(id, _)| id == call_id) else { continue };
                open.remove(at);
                answering = true;
            }
            _ => {}
        }
        sound.push(carrier);
    }
    close(&mut open, &mut sound);
    sound
}

fn close<T: Paired>(open: &mut Vec<(Arc<str>, usize)>, sound: &mut Vec<T>) {
    for (call_id, at) in open.drain(..) {
        let lost =
            T::lost_result(&sound[at], Message::Result { call_id, text: LOST_RESULT.into(), error: true });
        sound.push(lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::model::call::ToolCall;

    fn call(id: &str) -> Message {
        Message::Call(Arc::new(ToolCall { id: id.into(), name: "LS".into(), args: "{}".into() }))
    }

    fn result(id: &str) -> Message {
        Message::Result { call_id: id.into(), text: "ok".into(), error: false }
    }

    fn user() -> Message {
        Message::User("hi".into())
    }

    #[test]
    fn paired_history_is_unchanged() {
        let sound =
            vec![user(), call("a"), call("b"), result("a"), result("b"), Message::Assistant("x".into())];
        assert_eq!(normalize(sound.clone()), sound);
    }

    #[test]
    fn orphans_and_open_calls() {
        let lost = |id: &str| Message::Result { call_id: id.into(), text: LOST_RESULT.into(), error: true };
        let broken =
            vec![result("z"), user(), call("a"), call("b"), result("b"), user(), result("a"), call("c")];
        assert_eq!(
            normalize(broken),
            vec![user(), call("a"), call("b"), result("b"), lost("a"), user(), call("c"), lost("c")]
        );
    }
}
