//! Accumulates a streamed reply: shows deltas, collects items, and keeps the text if the stream breaks off.

use super::repetition_guard::RepetitionGuard;
use crate::control::Events;
use base::clock;
use base::model::item::Item;
use base::model::provider::ProviderError;
use base::model::stream::StreamEvent;
use base::model::usage::{FinishReason, Usage};
use base::protocol::event::Event;

pub type StreamEnd = (FinishReason, Option<Usage>);

pub struct StreamAccumulator {
    pub finished: Vec<Item>,
    partial: String,
    earlier: String,
    /// Including the current one.
    pub tries: u32,
    pub guard: RepetitionGuard,
}

impl StreamAccumulator {
    pub fn new(guard: RepetitionGuard) -> Self {
        Self { finished: Vec::new(), partial: String::new(), earlier: String::new(), tries: 1, guard }
    }

    /// Takes a stream event; `Some` when the answer is complete.
    pub fn take(
        &mut self,
        event: Option<Result<StreamEvent, ProviderError>>,
        events: &Events,
    ) -> Result<Option<StreamEnd>, ProviderError> {
        let broken = || ProviderError::Broken("the stream ended without an end mark".to_owned());
        let shown = match event.ok_or_else(broken)?? {
            StreamEvent::TextDelta(text) => {
                self.check(&text)?;
                self.partial.push_str(&text);
                Event::TextDelta(text)
            }
            StreamEvent::ReasoningDelta(text) => {
                self.check(&text)?;
                Event::ReasoningDelta(text)
            }
            StreamEvent::CallStarted { name } => Event::CallArriving { name, bytes: 0 },
            StreamEvent::CallProgress { bytes } => Event::CallArriving { name: String::new(), bytes },
            StreamEvent::Item(item) => {
                if matches!(item, Item::Assistant { .. }) {
                    self.partial.clear();
                }
                self.finished.push(item);
                return Ok(None);
            }
            StreamEvent::Restarted { attempt, of, wait, reason } => {
                self.restart(attempt);
                Event::Retrying { attempt, of, wait_ms: clock::milliseconds(wait), reason }
            }
            StreamEvent::Silent { since, left, alive } => Event::Silent {
                since_ms: clock::milliseconds(since),
                left_ms: left.map(clock::milliseconds),
                alive,
            },
            StreamEvent::Done { finish, usage } => return Ok(Some((finish, usage))),
        };
        let _ = events.send(shown);
        Ok(None)
    }

    fn check(&mut self, piece: &str) -> Result<(), ProviderError> {
        self.guard.take(piece).map_or(Ok(()), |message| Err(ProviderError::TooLarge(message)))
    }

    fn restart(&mut self, attempt: u32) {
        self.earlier = self.said();
        self.finished.clear();
        self.partial.clear();
        self.tries = attempt;
        self.guard.restart();
    }

    /// The text of this attempt, or of the last one that had any.
    pub fn said(&self) -> String {
        let whole = self.finished.iter().filter_map(|item| match item {
            Item::Assistant { text, .. } => Some(&**text),
            _ => None,
        });
        let texts: Vec<&str> =
            whole.chain([self.partial.as_str()]).filter(|text| !text.trim().is_empty()).collect();
        if texts.is_empty() { self.earlier.clone() } else { texts.join("\n\n") }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn arriving(given: Vec<StreamEvent>) -> (StreamAccumulator, Events) {
        let (events, _) = tokio::sync::mpsc::unbounded_channel();
        let mut arriving = StreamAccumulator::new(RepetitionGuard::new(128_000, None));
        for event in given {
            assert_eq!(arriving.take(Some(Ok(event)), &events).unwrap(), None);
        }
        (arriving, events)
    }

    fn again(attempt: u32) -> StreamEvent {
        StreamEvent::Restarted { attempt, of: 6, wait: Duration::ZERO, reason: "busy".to_owned() }
    }

    #[test]
    fn what_was_said_survives_tries_that_say_nothing() {
        let text = |text: &str| StreamEvent::TextDelta(text.to_owned());
        let (mut answer, events) = arriving(vec![text("half"), again(2), again(3)]);
        assert_eq!((answer.said().as_str(), answer.tries, answer.guard.bytes), ("half", 3, 0));
        answer.take(Some(Ok(text("other"))), &events).unwrap();
        assert_eq!(answer.said(), "other");
        let item = Item::assistant("another");
        answer.take(Some(Ok(StreamEvent::Item(item))), &events).unwrap();
        assert_eq!((answer.said().as_str(), answer.finished.len()), ("another", 1));
    }

    #[test]
    fn an_end_without_a_mark_and_no_end_at_all_are_errors() {
        let (mut answer, events) = arriving(Vec::new());
        let error = answer.take(None, &events).unwrap_err();
        assert!(matches!(error, ProviderError::Broken(_)), "{error}");
        let thought = || Some(Ok(StreamEvent::ReasoningDelta("yadda yadda ".repeat(100))));
        let error = (0..100).find_map(|_| answer.take(thought(), &events).err()).unwrap();
        assert!(matches!(error, ProviderError::TooLarge(_)), "{error}");
    }
}
