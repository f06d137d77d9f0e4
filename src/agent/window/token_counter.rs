//! The exact sizes of what is sent, by the model's own tokenizer, counted on a thread of their own: the agent asks and
//! goes on with the estimate until the answer is there. Each text is counted once in a session. Models whose tokenizer
//! is not public start no thread and load nothing.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use base::model::fingerprint::Fingerprint;
use context::tokens::request_size::Countable;
use context::tokens::tokenizer::Encoding;

/// The thread's name, as the system shows it.
const THREAD: &str = "token-counter";

/// Counts one text.
type CountTask = Box<dyn FnOnce(Encoding) -> Option<u32> + Send>;

/// The counts so far; `None` for what is on its way, or cannot be counted.
type CountedTexts = Mutex<HashMap<Fingerprint, Option<u32>>>;

/// A session's counting thread. It sleeps while nothing is asked and ends when this is dropped.
pub struct TokenCounter {
    encoding: Encoding,
    tasks: Sender<(Fingerprint, CountTask)>,
    known: Arc<CountedTexts>,
}

impl TokenCounter {
    /// Starts the thread, which first loads the tables. `None` when the system has no thread to give.
    pub fn start(encoding: Encoding) -> Option<Self> {
        let (tasks, asked) = mpsc::channel();
        let known = Arc::new(CountedTexts::default());
        let shared = Arc::downgrade(&known);
        thread::Builder::new().name(THREAD.to_owned()).spawn(move || work(encoding, &asked, &shared)).ok()?;
        Some(Self { encoding, tasks, known })
    }

    /// Whose counts these are.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The count of a part of a request, with its framing, where it is known; otherwise it will be.
    pub fn count<T: Countable + Clone + Send + 'static>(&self, of: Fingerprint, part: &T) -> Option<u32> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = known.get(&of) {
            return *count;
        }
        known.insert(of, None);
        let part = part.clone();
        // A thread that is gone leaves the estimate in force.
        let _ = self.tasks.send((of, Box::new(move |encoding| part.exact(encoding))));
        None
    }
}

fn work(encoding: Encoding, asked: &Receiver<(Fingerprint, CountTask)>, known: &Weak<CountedTexts>) {
    encoding.load();
    while let Ok((of, count)) = asked.recv() {
        // What still waits when the session ends is of no use to anybody.
        let Some(known) = known.upgrade() else { return };
        if let Some(tokens) = count(encoding) {
            known.lock().unwrap_or_else(PoisonError::into_inner).insert(of, Some(tokens));
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
        assert_eq!(counter.count(of, &text), None, "nobody waits");
        let tokens = loop {
            match counter.count(of, &text) {
                Some(tokens) => break tokens,
                None => thread::yield_now(),
            }
        };
        assert_eq!(Some(tokens), text.exact(Encoding::O200k));
        assert_eq!(
            counter.count(of, &Arc::<str>::from("something else, by mistake")),
            Some(tokens),
            "not counted again"
        );
        let tasks = counter.tasks.clone();
        drop(counter);
        while tasks.send((of, Box::new(|_| None))).is_ok() {
            thread::yield_now();
        }
    }
}
