//! When the exact sizes are asked for and taken up: from the first request on, for as long as the model's tokenizer stays
//! the same.

use super::token_counter::TokenCounter;
use crate::agent::core::Core;
use crate::context::tokens::tokenizer::Encoding;

impl Core {
    /// Counts with the tokenizer of the present model from here on, if that is public: takes the counts that are there
    /// and asks for what is missing. Never waits.
    pub fn count_exactly(&mut self) {
        let wanted = Encoding::of_model(&self.params.model);
        if self.counter.as_ref().map(|counter| counter.encoding()) != wanted {
            self.forget_counts();
            self.counter = wanted.and_then(TokenCounter::start);
        }
        self.take_counts();
    }

    /// The same without starting anything: before the first request nothing is loaded.
    pub fn take_counts(&mut self) {
        let wanted = Encoding::of_model(&self.params.model);
        if self.counter.as_ref().is_some_and(|counter| Some(counter.encoding()) != wanted) {
            self.forget_counts();
        }
        let Some(counter) = &self.counter else { return };
        self.system.refine(|of, text| counter.block(of, text));
        if let Some(law) = self.law.part_mut() {
            law.refine(|of, text| counter.block(of, text));
        }
        self.schemas.refine(|of, specs| counter.schemas(of, specs));
        self.conversation.history.refine(|of, message| counter.message(of, message));
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
