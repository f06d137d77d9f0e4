//! What the model answers in a turn, and its one correction if the answer must match a schema.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::output_schema::{self, OutputSchema};
use super::printer::{ModelAnswer, Printer, failed};
use base::model::item::{Item, ItemId, ReminderTopic};
use base::protocol::event::{EndReason, Event, FailureCause, Level, TurnEnd};
use base::protocol::ledger::{LedgerRow, LedgerView};
use base::protocol::op::{Op, Work};
use base::text::human_tokens;

pub struct TurnAnswer {
    schema: Option<OutputSchema>,
    pub said: ModelAnswer,
    /// The last text was cut at the output limit; the next one continues it.
    cut: bool,
    /// What was said before the model was told what is open; a short reply to that completes it.
    earlier: Option<String>,
    before: Option<TurnEnd>,
    corrected: bool,
}

impl TurnAnswer {
    pub fn new(schema: Option<OutputSchema>) -> Self {
        Self {
            schema,
            said: ModelAnswer::default(),
            cut: false,
            earlier: None,
            before: None,
            corrected: false,
        }
    }

    pub fn begin(&mut self, prompt: String) -> String {
        *self = Self::new(self.schema.take());
        match &self.schema {
            Some(schema) => format!("{prompt}\n\n{}", schema.instruction()),
            None => prompt,
        }
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Item { item, .. } => {
                if let Item::Assistant { text, .. } = &**item {
                    let cut = self.said.text.take().filter(|_| std::mem::take(&mut self.cut));
                    let said = cut.unwrap_or_default() + text;
                    let completes =
                        |earlier: &&String| self.schema.is_none() && said.len() < earlier.len() / 2;
                    self.said.text = Some(match self.earlier.as_ref().filter(completes) {
                        Some(earlier) => format!("{}\n\n{said}", earlier.trim_end()),
                        None => said,
                    });
                }
            }
            Event::ToolStarted { .. } => self.cut = false,
            Event::Nudge(nudge) => {
                self.cut = nudge.kind == ReminderTopic::Cut;
                if nudge.kind == ReminderTopic::Finish {
                    self.earlier.clone_from(&self.said.text);
                }
            }
            _ => {}
        }
    }

    pub fn shown(&mut self, event: &Event, printer: &mut (impl Printer + ?Sized)) -> io::Result<()> {
        self.told(markdown(event).unwrap_or_default(), printer)
    }

    pub fn told(&mut self, text: String, printer: &mut (impl Printer + ?Sized)) -> io::Result<()> {
        let item = Arc::new(Item::assistant(text));
        let said = Event::Item { id: ItemId::default(), item };
        self.event(&said);
        printer.event(&said)
    }

    /// Returns `Ok` at the end, and `Err` if another turn follows, with the result of submitting it.
    pub fn ended(
        &mut self,
        end: TurnEnd,
        ops: &UnboundedSender<Op>,
        printer: &mut (impl Printer + ?Sized),
    ) -> Result<TurnEnd, io::Result<()>> {
        let end = joined(self.before.as_ref(), end);
        if end.goal.as_ref().is_some_and(|round| round.goes_on()) && end.reason == EndReason::Done {
            self.before = Some(end);
            return Err(Ok(()));
        }
        let Some(schema) = self.schema.as_ref().filter(|_| end.reason == EndReason::Done) else {
            return Ok(end);
        };
        match schema.read(self.said.text.as_deref().unwrap_or_default()) {
            Ok(output) => {
                self.said.output = Some(output);
                Ok(end)
            }
            Err(why) if self.corrected => Ok(TurnEnd { reason: invalid(&why), ..end }),
            Err(why) => {
                (self.before, self.corrected) = (Some(end), true);
                let _ = ops.send(Work::Submit { text: output_schema::correction(&why) }.into());
                let text = format!("the answer is not valid ({why}); asking once for a correction");
                Err(printer.event(&Event::Notice { level: Level::Info, text }))
            }
        }
    }
}

fn joined(first: Option<&TurnEnd>, end: TurnEnd) -> TurnEnd {
    let Some(first) = first else { return end };
    let mut usage = first.usage;
    usage.add(&end.usage);
    TurnEnd {
        steps: first.steps + end.steps,
        denied: first.denied + end.denied,
        elapsed_ms: first.elapsed_ms + end.elapsed_ms,
        usage,
        set_aside: [&first.set_aside[..], &end.set_aside].concat(),
        ..end
    }
}

fn invalid(why: &str) -> EndReason {
    let hint = "the answer is saved in the session. Describe the fields in the task, or simplify the schema";
    failed(&format!("the answer is not valid against the schema: {why}"), hint, FailureCause::Schema)
}

// What answers a command such as `/cost`, for programs and editors.

pub fn markdown(event: &Event) -> Option<String> {
    match event {
        Event::Ledger(view) => Some(ledger(view)),
        Event::Status(rows) | Event::Cost(rows) => {
            Some(rows.iter().map(|(name, value)| format!("- {name}: {value}\n")).collect())
        }
        _ => None,
    }
}

fn ledger(view: &LedgerView) -> String {
    let (total, window) = (human_tokens(view.total_tokens), human_tokens(view.window_tokens));
    let mut text = format!(
        "{total} of {window} tokens\n\n| id | layer | tokens | form | origin |\n|---|---|---|---|---|\n"
    );
    for row in &view.rows {
        let LedgerRow { id, layer, tokens, form, .. } = row;
        let origin = row.origin.replace('|', "\\|");
        text.push_str(&format!("| {id} | {layer} | {tokens} | {form} | {origin} |\n"));
    }
    text
}
