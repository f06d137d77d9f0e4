//! The account of one request: a row for each part; the sum is the request's size.

use super::parts::FixedPart;
use crate::history::entry::HistoryEntry;
use crate::history::manager::HistoryManager;
use crate::rules::project_rules;
use crate::session::record::FormName;
use crate::tokens::calibration::Calibration;
use base::clock;
use base::config::provider::models;
use base::config::settings::ContextSettings;
use base::model::item::{Item, ItemId};
use base::model::observation::{Observation, View};
use base::protocol::ledger::{AgentSum, Epochs, LedgerRow, LedgerView};
use base::text;

const ORIGIN_CHARS: usize = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerId {
    System,
    Rules,
    History,
    Question,
    Todo,
    Scratchpad,
}

impl LayerId {
    pub fn label(self) -> &'static str {
        match self {
            Self::System => "L1",
            Self::Rules => "L2",
            Self::History => "L3",
            Self::Question => "L4",
            Self::Todo => "L5",
            Self::Scratchpad => "L6",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Item(ItemId),
    Part(&'static str),
}

impl Subject {
    pub fn label(self) -> String {
        match self {
            Self::Item(id) => id.to_string(),
            Self::Part(name) => name.split(' ').next().unwrap_or(name).to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    pub subject: Subject,
    pub layer: LayerId,
    /// Estimated tokens, framing included.
    pub tokens: u32,
    pub form: FormName,
    pub pinned: bool,
}

impl LedgerEntry {
    pub fn fixed<T>(layer: LayerId, name: &'static str, part: &FixedPart<T>) -> Self {
        Self { subject: Subject::Part(name), layer, tokens: part.tokens, form: FormName::Full, pinned: true }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub rows: Vec<LedgerEntry>,
}

impl Ledger {
    pub fn total(&self) -> u64 {
        self.rows.iter().map(|row| u64::from(row.tokens)).sum()
    }

    /// The ledger for users; its rows sum to the calibrated total despite rounding.
    pub fn view(
        &self,
        history: &HistoryManager,
        settings: &ContextSettings,
        scale: &Calibration,
        epochs: &Epochs,
        rules: Option<&FixedPart>,
    ) -> LedgerView {
        let (mut plain, mut shown) = (0, 0);
        let rows: Vec<LedgerRow> = self
            .rows
            .iter()
            .map(|row| {
                plain += u64::from(row.tokens);
                let before = std::mem::replace(&mut shown, scale.apply(plain));
                LedgerRow {
                    id: row.subject.label(),
                    layer: row.layer.label().to_owned(),
                    origin: match row.subject {
                        Subject::Part(name) => match rules.filter(|_| row.layer == LayerId::Rules) {
                            Some(rules) => {
                                format!("rules: {}", project_rules::named_in(&rules.content).join(", "))
                            }
                            None => name.to_owned(),
                        },
                        Subject::Item(id) => history.entry(id).map(origin_of).unwrap_or_default(),
                    },
                    tokens: shown - before,
                    form: row.form.into_str().to_owned(),
                    pinned: row.pinned,
                }
            })
            .collect();
        LedgerView {
            total_tokens: shown,
            rows,
            window_tokens: settings.window_tokens,
            window_origin: settings.window_origin.into_str().to_owned(),
            error_percent: scale.error_percent(plain),
            epochs: epochs.clone(),
            agents: history.entries().iter().filter_map(agent).collect(),
        }
    }
}

fn agent(entry: &HistoryEntry) -> Option<AgentSum> {
    let Item::ToolResult(result) = &*entry.item else { return None };
    let done = result.envelope.data.delegated()?;
    let usage = done.usage?;
    Some(AgentSum {
        id: done.agent.clone()?,
        kind: done.kind.clone()?,
        steps: done.steps.unwrap_or(0),
        tokens: usage.total(),
        cost_usd: models::cost(done.model.as_deref()?, &usage, clock::now_ms()),
        held_tokens: done.window_tokens.unwrap_or(0),
        result_tokens: u64::from(entry.tokens()),
    })
}

fn origin_of(entry: &HistoryEntry) -> String {
    match entry.form() {
        FormName::Note | FormName::Folded => "note on folded steps".to_owned(),
        _ => origin(&entry.item),
    }
}

pub fn origin(item: &Item) -> String {
    match item {
        Item::User(message) => format!("user: {}", text::one_line(&message.text, ORIGIN_CHARS)),
        Item::Assistant { text: words, .. } => format!("assistant: {}", text::one_line(words, ORIGIN_CHARS)),
        Item::Reasoning(_) => "reasoning".to_owned(),
        Item::ToolCall(call) => format!("call {} {}", call.name, text::one_line(&call.args, ORIGIN_CHARS)),
        Item::ToolResult(result) => {
            let data = &result.envelope.data;
            let subject = data.subject().unwrap_or_default();
            let range = match &*data.observation {
                Observation::Read(View { start_line: Some(start), end_line: Some(end), .. }) => {
                    format!(":{start}-{end}")
                }
                _ => String::new(),
            };
            format!("{} {}{range}", result.tool, text::one_line(subject, ORIGIN_CHARS)).trim_end().to_owned()
        }
        Item::Summary(_) => "archived summary".to_owned(),
        Item::Reminder(reminder) => format!("reminder: {}", reminder.about.into_str()),
        Item::Image(image) => {
            format!("image {} {}×{}", text::one_line(&image.path, ORIGIN_CHARS), image.width, image.height)
        }
    }
}
