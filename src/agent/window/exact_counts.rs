//! When exact sizes are asked for and taken up: from the first request on, for as long as the model's tokenizer stays the
//! same.

use super::fixed_prompt::FixedPrompt;
use super::token_counter::TokenCounter;
use crate::session::conversation::Conversation;
use context::tokens::tokenizer::Encoding;

/// The exact counts of one session, where the model's tokenizer is public.
#[derive(Default)]
pub struct ExactCounts {
    /// Runs from the first request on.
    counter: Option<TokenCounter>,
}

impl ExactCounts {
    /// Counts with the tokenizer of this model from here on: takes the counts that are there and asks for what is missing.
    /// Never waits.
    pub fn start(&mut self, model: &str, prompt: &mut FixedPrompt, conversation: &mut Conversation) {
        let wanted = Encoding::of_model(model);
        if self.counter.as_ref().map(TokenCounter::encoding) != wanted {
            self.forget(prompt, conversation);
            self.counter = wanted.and_then(TokenCounter::start);
        }
        self.take(model, prompt, conversation);
    }

    /// The same without starting anything: before the first request nothing is loaded.
    pub fn take(&mut self, model: &str, prompt: &mut FixedPrompt, conversation: &mut Conversation) {
        let wanted = Encoding::of_model(model);
        if self.counter.as_ref().is_some_and(|counter| Some(counter.encoding()) != wanted) {
            self.forget(prompt, conversation);
        }
        let Some(counter) = &self.counter else { return };
        prompt.refine(counter);
        conversation.history.refine(|of, message| counter.count(of, message));
        weigh_calibration(prompt, conversation);
    }

    /// Goes back to estimates: another session begins, or another tokenizer counts.
    pub fn forget(&mut self, prompt: &mut FixedPrompt, conversation: &mut Conversation) {
        self.counter = None;
        prompt.forget_counts();
        conversation.history.forget_counts();
        weigh_calibration(prompt, conversation);
    }
}

/// The calibration corrects only what is not exact.
fn weigh_calibration(prompt: &FixedPrompt, conversation: &mut Conversation) {
    let (total, exact) = prompt.counted();
    let (total, exact) = (total + conversation.history.tokens(), exact + conversation.history.counted());
    conversation.usage.calibration.weigh(exact, total);
}
