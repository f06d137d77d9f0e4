//! The exact sizes of what is sent, by the model's own tokenizer, counted on a thread of their own: the agent asks and
//! goes on with the estimate until the answer is there. Each text is counted once in a session. Models whose tokenizer
//! is not public start no thread and load nothing.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use super::core::Core;
use crate::context::budget::size;
use crate::context::budget::tokenizer::Encoding;
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
            Self::Block(text) => size::exact_block(text, encoding),
            Self::Schemas(specs) => size::exact_schemas(specs, encoding),
            Self::Message(message) => size::exact_message(message, encoding),
        }
    }
}

/// The counts so far; `None` for what is on its way, or cannot be counted.
type Known = Mutex<HashMap<Fingerprint, Option<u32>>>;

/// A session's counting thread. It sleeps while nothing is asked and ends when this is dropped.
pub struct Counter {
    encoding: Encoding,
    jobs: Sender<(Fingerprint, Countable)>,
    known: Arc<Known>,
}

impl Counter {
    /// Starts the thread, which first loads the tables. `None` when the system has no thread to give.
    fn start(encoding: Encoding) -> Option<Self> {
        let (jobs, asked) = mpsc::channel();
        let known = Arc::new(Known::default());
        let told = Arc::downgrade(&known);
        thread::Builder::new().name(THREAD.to_owned()).spawn(move || work(encoding, &asked, &told)).ok()?;
        Some(Self { encoding, jobs, known })
    }

    /// The count where it is known; otherwise it will be.
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

fn work(encoding: Encoding, asked: &Receiver<(Fingerprint, Countable)>, told: &Weak<Known>) {
    encoding.load();
    while let Ok((of, what)) = asked.recv() {
        // What still waits when the session ends is of no use to anybody.
        let Some(known) = told.upgrade() else { return };
        if let Some(count) = what.count(encoding) {
            known.lock().unwrap_or_else(PoisonError::into_inner).insert(of, Some(count));
        }
    }
}

impl Core {
    /// Counts with the tokenizer of the present model from here on, if that is public: takes the counts that are there
    /// and asks for what is missing. Never waits.
    pub fn count_exactly(&mut self) {
        let wanted = Encoding::of_model(&self.params.model);
        if self.counter.as_ref().map(|counter| counter.encoding) != wanted {
            self.forget_counts();
            self.counter = wanted.and_then(Counter::start);
        }
        self.take_counts();
    }

    /// The same without starting anything: before the first request nothing is loaded.
    pub fn take_counts(&mut self) {
        let wanted = Encoding::of_model(&self.params.model);
        if self.counter.as_ref().is_some_and(|counter| Some(counter.encoding) != wanted) {
            self.forget_counts();
        }
        let Some(counter) = &self.counter else { return };
        let block = |of, text: &Arc<str>| counter.ask(of, || Countable::Block(Arc::clone(text)));
        self.system.refine(block);
        if let Some(law) = self.law.part_mut() {
            law.refine(block);
        }
        self.schemas.refine(|of, specs| counter.ask(of, || Countable::Schemas(Arc::clone(specs))));
        self.conversation
            .history
            .refine(|of, message| counter.ask(of, || Countable::Message(message.clone())));
        self.weigh();
    }

    /// Goes back to estimates: another session begins, or another tokenizer counts.
    pub fn forget_counts(&mut self) {
        self.counter = None;
        self.system.forget_count();
        self.schemas.forget_count();
        if let Some(law) = self.law.part_mut() {
            law.forget_count();
        }
        self.conversation.history.forget_counts();
        self.weigh();
    }

    /// How much of the next request is counted decides what its size is worth.
    fn weigh(&mut self) {
        let fixed = [(self.system.tokens, self.system.counted), (self.schemas.tokens, self.schemas.counted)];
        let law = self.law.part().map(|law| (law.tokens, law.counted));
        let history = &self.conversation.history;
        let (mut counted, mut total) = (history.counted(), history.tokens());
        for (tokens, exact) in fixed.into_iter().chain(law) {
            total += u64::from(tokens);
            counted += if exact { u64::from(tokens) } else { 0 };
        }
        self.conversation.calibration.weigh(counted, total);
    }
}
