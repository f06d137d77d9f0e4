//! The exact sizes of what is sent, by the model's own tokenizer, counted on a thread of their own: the agent asks and
//! goes on with the estimate until the answer is there. Each text is counted once in a session. Models whose tokenizer
//! is not public start no thread and load nothing.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use crate::context::tokens::request_size::Countable as _;
use crate::context::tokens::tokenizer::Encoding;
use crate::model::call::ToolSpec;
use crate::model::fingerprint::Fingerprint;
use crate::model::request::Message;

/// The thread's name, as the system shows it.
const THREAD: &str = "token-counter";

/// What can be counted; cheap to clone.
enum Countable {
    Block(Arc<str>),
    Schemas(Arc<[ToolSpec]>),
    Message(Message),
}

impl Countable {
    fn count(&self, encoding: Encoding) -> Option<u32> {
        match self {
            Self::Block(text) => text.exact(encoding),
            Self::Schemas(specs) => specs.exact(encoding),
            Self::Message(message) => message.exact(encoding),
        }
    }
}

/// The counts so far; `None` for what is on its way, or cannot be counted.
type CountedTexts = Mutex<HashMap<Fingerprint, Option<u32>>>;

/// A session's counting thread. It sleeps while nothing is asked and ends when this is dropped.
pub struct TokenCounter {
    encoding: Encoding,
    jobs: Sender<(Fingerprint, Countable)>,
    known: Arc<CountedTexts>,
}

impl TokenCounter {
    /// Starts the thread, which first loads the tables. `None` when the system has no thread to give.
    pub fn start(encoding: Encoding) -> Option<Self> {
        let (jobs, asked) = mpsc::channel();
        let known = Arc::new(CountedTexts::default());
        let told = Arc::downgrade(&known);
        thread::Builder::new().name(THREAD.to_owned()).spawn(move || work(encoding, &asked, &told)).ok()?;
        Some(Self { encoding, jobs, known })
    }

    /// Whose counts these are.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The count of a block of the system prompt, with its framing, where it is known; otherwise it will be.
    pub fn block(&self, of: Fingerprint, text: &Arc<str>) -> Option<u32> {
        self.ask(of, || Countable::Block(Arc::clone(text)))
    }

    /// The same of the tool schemas.
    pub fn schemas(&self, of: Fingerprint, specs: &Arc<[ToolSpec]>) -> Option<u32> {
        self.ask(of, || Countable::Schemas(Arc::clone(specs)))
    }

    /// The same of a message.
    pub fn message(&self, of: Fingerprint, message: &Message) -> Option<u32> {
        self.ask(of, || Countable::Message(message.clone()))
    }

    fn ask(&self, of: Fingerprint, what: impl FnOnce() -> Countable) -> Option<u32> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = known.get(&of) {
            return *count;
        }
        known.insert(of, None);
        // A thread that is gone leaves the estimate in force.
        let _ = self.jobs.send((of, what()));
        None
    }
}

fn work(encoding: Encoding, asked: &Receiver<(Fingerprint, Countable)>, told: &Weak<CountedTexts>) {
    encoding.load();
    while let Ok((of, what)) = asked.recv() {
        // What still waits when the session ends is of no use to anybody.
        let Some(known) = told.upgrade() else { return };
        if let Some(count) = what.count(encoding) {
            known.lock().unwrap_or_else(PoisonError::into_inner).insert(of, Some(count));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_counted_once_and_the_thread_ends_with_its_owner() {
        let counter = TokenCounter::start(Encoding::O200k).unwrap();
        let text: Arc<str> = "Hello, world! Grüße aus 東京.".into();
        let of = Fingerprint::of(&text);
        assert_eq!(counter.block(of, &text), None, "nobody waits");
        let tokens = loop {
            match counter.block(of, &text) {
                Some(tokens) => break tokens,
                None => thread::yield_now(),
            }
        };
        assert_eq!(Some(tokens), text.exact(Encoding::O200k));
        assert_eq!(
            counter.block(of, &"something else, by mistake".into()),
            Some(tokens),
            "not counted again"
        );
        let jobs = counter.jobs.clone();
        drop(counter);
        while jobs.send((of, Countable::Block(Arc::clone(&text)))).is_ok() {
            thread::yield_now();
        }
    }
}
