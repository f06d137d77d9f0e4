//! The one place that guarantees what every provider demands: each call has exactly one result, right behind the
//! message that made it, and no result stands alone. Runs over every request; on a sound history it changes nothing.

use std::sync::Arc;

use crate::model::request::Message;

/// What an unanswered call is told.
pub const LOST_RESULT: &str =
    "error INTERRUPTED: the program stopped before this call finished; its effect is unknown";

/// `messages` with calls and results paired.
pub fn normalize(messages: Vec<Message>) -> Vec<Message> {
    let mut sound = Vec::with_capacity(messages.len());
    // Calls of the assistant message being read that still wait for their result.
    let mut open: Vec<Arc<str>> = Vec::new();
    let mut answering = false;
    for message in messages {
        match &message {
            Message::Call(call) => {
                if answering {
                    close(&mut open, &mut sound);
                    answering = false;
                }
                if open.contains(&call.id) {
                    continue;
                }
                open.push(Arc::clone(&call.id));
            }
            Message::Result { call_id, .. } => {
                let Some(at) = open.iter().position(|id| id == call_id) else { continue };
                open.remove(at);
                answering = true;
            }
            Message::User(_) => {
                close(&mut open, &mut sound);
                answering = false;
            }
            Message::Assistant(_) | Message::Reasoning(_) => {
                // Text between the calls of one reply is fine; text after a result begins the next reply.
                if answering {
                    close(&mut open, &mut sound);
                    answering = false;
                }
            }
        }
        sound.push(message);
    }
    close(&mut open, &mut sound);
    sound
}

fn close(open: &mut Vec<Arc<str>>, sound: &mut Vec<Message>) {
    for call_id in open.drain(..) {
        sound.push(Message::Result { call_id, text: LOST_RESULT.into(), error: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::call::ToolCall;

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
    fn a_sound_history_is_left_alone() {
        let sound =
            vec![user(), call("a"), call("b"), result("a"), result("b"), Message::Assistant("x".into())];
        assert_eq!(normalize(sound.clone()), sound);
    }

    #[test]
    fn orphans_go_and_open_calls_are_closed_in_place() {
        let lost = |id: &str| Message::Result { call_id: id.into(), text: LOST_RESULT.into(), error: true };
        let broken =
            vec![result("z"), user(), call("a"), call("b"), result("b"), user(), result("a"), call("c")];
        assert_eq!(
            normalize(broken),
            vec![user(), call("a"), call("b"), result("b"), lost("a"), user(), call("c"), lost("c")]
        );
    }
}
