//! Facts about models: windows, prices, endpoints, reasoning. The data and its sources are in `models.toml`;
//! a user's own `models.toml` overrides it, and settings override both. An unknown model gets the
//! default window and no price.

use std::sync::{LazyLock, OnceLock};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Deserialize;
use toml::{Table, Value};

use crate::config::settings::{Binding, ContextSettings};
use crate::model::usage::{PriceUsed, Usage};

/// In tokens, if nothing is known.
pub const DEFAULT_WINDOW: u64 = 128_000;
/// Maximum length of a chain of `like` rows.
const MOST_LIKE: usize = 8;

const SHIPPED: &str = include_str!("models.toml");
/// When `models.toml` was last compared with its sources.
pub const TABLE_DATE: &str = "2026-11-25";

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelFacts {
    pub api: Api,
    pub window: u64,
    /// Most tokens of a prompt, if less than the window.
    input: Option<u64>,
    pub output: Option<u32>,
    pub price: Option<Price>,
    shares: Option<CacheShares>,
    /// The price from a certain day on.
    later: Option<LaterPrice>,
    peak: Option<PeakHours>,
    pub tier: Option<PriceTier>,
    #[serde(default = "five")]
    pub cache: u64,
    /// Supported levels; empty if unknown.
    pub effort: Vec<String>,
    pub thinking: Thinking,
    pub binding: Binding,
    pub replay: Option<Replay>,
    /// Real tokens per estimated token.
    #[serde(default = "one")]
    pub tokens: f64,
    pub system_messages: bool,
    pub images: bool,
    /// Whether answers can be bound to a schema while there are tools.
    pub schemas: bool,
}

fn five() -> u64 {
    5
}

fn one() -> f64 {
    1.0
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// For cache reads; `input` if missing.
    pub read: Option<f64>,
    pub write: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheShares {
    read: f64,
    #[serde(default = "one")]
    write: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaterPrice {
    from: String,
    price: Price,
}

/// A factor on all prices from Monday to Friday, for UTC hours such as `["01-04"]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeakHours {
    factor: f64,
    hours: Vec<String>,
}

impl PeakHours {
    fn contain(&self, time: &Zoned) -> bool {
        let within = |span: &String| {
            let (from, to) = span.split_once('-')?;
            Some((from.parse::<i8>().ok()?..to.parse().ok()?).contains(&time.hour()))
        };
        time.weekday().to_monday_zero_offset() < 5 && self.hours.iter().any(|span| within(span) == Some(true))
    }
}

/// Factors on all prices if a prompt exceeds `above` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTier {
    pub above: u64,
    pub input: f64,
    pub output: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    #[default]
    Chat,
    Responses,
    Messages,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    #[default]
    None,
    /// Only if requested, within a token budget.
    Budget,
    /// Only if requested, without a budget.
    Ask,
    /// Unless disabled.
    On,
    /// Can't be disabled.
    Always,
    /// Can be disabled, except between calls.
    Between,
}

/// What a Chat Completions server needs of earlier messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replay {
    /// Reasoning with calls.
    Content,
    /// Reasoning in every assistant's message.
    Everywhere,
    /// An assistant's message between results and the user, and call ids of nine characters.
    Order,
    /// The thought signature of each call.
    Signature,
}

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl ModelFacts {
    pub fn inform(&self, settings: &mut ContextSettings) {
        (settings.cached_price, settings.write_price) =
            self.cache_prices().unwrap_or((settings.cached_price, settings.write_price));
        settings.cache_ms = self.cache * 60_000;
        settings.tier_tokens = self.tier.map(|tier| tier.above);
        settings.binding = self.binding;
        settings.token_ratio = self.tokens;
        settings.reply_tokens = (self.api == Api::Messages).then(|| self.reply_tokens()).flatten();
    }

    pub fn prompt_window(&self) -> u64 {
        self.input.map_or(self.window, |input| input.min(self.window))
    }

    /// Reply tokens to request: an agent needs no more, and the rest of the window stays free.
    pub fn reply_tokens(&self) -> Option<u32> {
        self.output.map(|most| most.min(64_000))
    }

    /// The supported effort nearest to `wanted`; `wanted` itself if none is known.
    pub fn effort_for<'a>(&'a self, wanted: &'a str) -> &'a str {
        let level = |name: &str| EFFORTS.iter().position(|level| *level == name);
        let Some(at) = level(wanted) else { return wanted };
        let taken = self.effort.iter().filter_map(|name| Some((level(name)?.abs_diff(at), name)));
        taken.min_by_key(|(distance, _)| *distance).map_or(wanted, |(_, name)| name)
    }

    /// In US dollars, at the usual hours.
    pub fn cost(&self, fresh: u64, read: u64, written: u64, output: u64) -> Option<f64> {
        self.cost_by(self.price?, (fresh, read, written, output))
    }

    fn cost_by(&self, price: Price, (fresh, read, written, output): (u64, u64, u64, u64)) -> Option<f64> {
        let tier = self.tier.filter(|tier| fresh + read + written > tier.above);
        let (input_factor, output_factor) = tier.map_or((1.0, 1.0), |tier| (tier.input, tier.output));
        let prompt = fresh as f64 * price.input
            + read as f64 * price.read.unwrap_or(price.input)
            + written as f64 * price.write.unwrap_or(price.input);
        Some((prompt * input_factor + output as f64 * price.output * output_factor) / 1e6)
    }

    /// The price at this time, its factor, and which price it is.
    fn price_at(&self, ms: u64) -> Option<(Price, f64, PriceUsed)> {
        let time = Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?.to_zoned(TimeZone::UTC);
        let later = self.later.as_ref().filter(|later| time.date().to_string() >= later.from);
        let price = later.map_or(self.price, |later| Some(later.price))?;
        let peak = self.peak.as_ref().filter(|peak| peak.contain(&time));
        let used = match (peak, later) {
            (Some(_), _) => PriceUsed::Peak,
            (None, Some(_)) => PriceUsed::Later,
            (None, None) => PriceUsed::Usual,
        };
        Some((price, peak.map_or(1.0, |peak| peak.factor), used))
    }

    /// The cost at the price of this time.
    pub fn cost_at(&self, usage: &Usage, ms: u64) -> Option<f64> {
        let (price, factor, _) = self.price_at(ms)?;
        let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
        let cost = self.cost_by(price, (fresh, usage.cached, usage.cache_write, usage.output))?;
        Some(cost * factor)
    }

    /// Prices of a cached token and of a cache write, relative to an uncached token.
    fn cache_prices(&self) -> Option<(f64, f64)> {
        let Some(price) = self.price.filter(|price| price.input > 0.0) else {
            return self.shares.map(|shares| (shares.read, shares.write));
        };
        let share = |cost: Option<f64>| cost.map_or(1.0, |cost| cost / price.input);
        Some((share(price.read), share(price.write)))
    }
}

struct Row {
    names: Vec<String>,
    family: bool,
    /// The row's text in the shipped table.
    text: &'static str,
    facts: OnceLock<ModelFacts>,
}

impl Row {
    // The table is a constant, and a test parses every row.
    #[allow(clippy::expect_used)]
    fn facts(&self) -> &ModelFacts {
        self.facts.get_or_init(|| shipped_facts(self.text).expect("a shipped row is valid"))
    }
}

/// Rows are parsed on demand, because all of them would take a tenth of the startup time.
static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let row = |text: &'static str| {
        let family = text.contains("\nfamily = ");
        Row { names: names(text).map(normal).collect(), family, text, facts: OnceLock::new() }
    };
    blocks().map(row).collect()
});
static OWN: OnceLock<Vec<Row>> = OnceLock::new();

fn blocks() -> impl Iterator<Item = &'static str> {
    SHIPPED.split("[[models]]").skip(1)
}

fn names(text: &'static str) -> impl Iterator<Item = &'static str> {
    let says = |line: &&str| ["name = ", "family = ", "aliases = "].iter().any(|key| line.starts_with(key));
    text.lines().filter(says).flat_map(|line| line.split('"').skip(1).step_by(2))
}

fn shipped_facts(text: &'static str) -> Result<ModelFacts, String> {
    let read = |text: &str| toml::from_str::<Table>(text).map_err(|error| error.to_string());
    let mut chain = vec![read(text)?];
    while let Some(like) = chain.last().and_then(|row| text_of(row, "like")) {
        let by = |key: &str| blocks().find(|text| text.contains(&format!("\n{key} = \"{like}\"\n")));
        let base =
            by("name").or_else(|| by("family")).ok_or_else(|| format!("like '{like}', which isn't a row"))?;
        chain.push(read(base)?);
    }
    read_facts(&chain[0], &chain, &[])
}

fn table() -> impl Iterator<Item = &'static Row> {
    OWN.get().into_iter().flatten().chain(TABLE.iter())
}

pub fn take_own(text: &str) -> Result<(), String> {
    let rows = rows(text, &TABLE_TEXT)?;
    let _ = OWN.set(rows);
    Ok(())
}

static TABLE_TEXT: LazyLock<Vec<Table>> = LazyLock::new(|| tables(SHIPPED).unwrap_or_default());

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    models: Vec<Table>,
}

fn tables(text: &str) -> Result<Vec<Table>, String> {
    toml::from_str::<File>(text).map(|file| file.models).map_err(|error| error.to_string())
}

/// Each row starts as a copy of the row it is `like`, or of the row with its name in `under`.
fn rows(text: &str, under: &[Table]) -> Result<Vec<Row>, String> {
    let own = tables(text)?;
    own.iter().map(|row| read_row(row, &own, under)).collect()
}

fn read_row(row: &Table, own: &[Table], under: &[Table]) -> Result<Row, String> {
    let facts = read_facts(row, own, under)?.into();
    let aliases = row.get("aliases").and_then(Value::as_array).into_iter().flatten();
    let names = name_of(row).into_iter().chain(aliases.filter_map(Value::as_str));
    Ok(Row { names: names.map(normal).collect(), family: row.contains_key("family"), text: "", facts })
}

fn name_of(row: &Table) -> Option<&str> {
    text_of(row, "family").or_else(|| text_of(row, "name"))
}

fn read_facts(row: &Table, own: &[Table], under: &[Table]) -> Result<ModelFacts, String> {
    let name = name_of(row).ok_or("a row has neither a name nor a family")?;
    let say = |why: String| format!("{name}: {why}");
    let mut full = inherited(row, own, under, 0).map_err(say)?;
    for key in ["name", "family", "like", "aliases"] {
        full.remove(key);
    }
    // An empty table removes a fact.
    full.retain(|_, value| !value.as_table().is_some_and(Table::is_empty));
    if under.is_empty() && !full.contains_key("window") {
        return Err(say("it has no window".to_owned()));
    }
    full.entry("window").or_insert_with(|| Value::Integer(DEFAULT_WINDOW.cast_signed()));
    let mut facts: ModelFacts = full.try_into().map_err(|error: toml::de::Error| say(error.to_string()))?;
    if row.contains_key("family") {
        facts.price = facts.price.filter(|_| row.contains_key("price"));
    }
    Ok(facts)
}

fn inherited(row: &Table, own: &[Table], under: &[Table], depth: usize) -> Result<Table, String> {
    let like = text_of(row, "like");
    let in_own = like.and_then(|like| named(own, like));
    let in_under = || named(under, like.or_else(|| text_of(row, "name")).or_else(|| text_of(row, "family"))?);
    let mut full = match (in_own, in_under()) {
        _ if depth > MOST_LIKE => return Err("its `like` entries form a loop".to_owned()),
        (Some(base), _) => inherited(base, own, under, depth + 1)?,
        (None, Some(base)) => inherited(base, under, &[], depth + 1)?,
        (None, None) => match like {
            Some(like) => return Err(format!("like '{like}', which isn't a row")),
            None => Table::new(),
        },
    };
    full.extend(row.clone());
    Ok(full)
}

fn named<'a>(rows: &'a [Table], wanted: &str) -> Option<&'a Table> {
    let by = |key: &str| rows.iter().find(|row| text_of(row, key) == Some(wanted));
    by("name").or_else(|| by("family"))
}

fn text_of<'a>(row: &'a Table, key: &str) -> Option<&'a str> {
    row.get(key).and_then(Value::as_str)
}

/// Accepts the spellings of vendors, gateways and clouds.
pub fn facts(model: &str) -> Option<&'static ModelFacts> {
    let name = normal(model);
    let exact = table().find(|row| !row.family && row.names.iter().any(|known| is_same(known, &name)));
    // A family is a name prefix; the longest is the most specific.
    let length = |row: &&Row| {
        let begins = |known: &&String| row.family && name.starts_with(known.as_str());
        row.names.iter().filter(begins).map(String::len).max().unwrap_or(0)
    };
    let family = || table().filter(|row| length(row) > 0).max_by_key(length);
    exact.or_else(family).map(Row::facts)
}

/// The cost of a request at this time; of models without a known price, what the server charged.
pub fn cost(model: &str, usage: &Usage, ms: u64) -> Option<f64> {
    let charged = || (usage.charged > 0).then_some(usage.charged as f64 / 1e9);
    facts(model).and_then(|facts| facts.cost_at(usage, ms)).or_else(charged)
}

pub fn price_used(model: &str, ms: u64) -> PriceUsed {
    facts(model).and_then(|facts| facts.price_at(ms)).map(|(.., used)| used).unwrap_or_default()
}

/// The effort levels that a model supports, weakest first, and its default.
pub fn efforts(model: &str) -> (Vec<&'static str>, &'static str) {
    let known = facts(model).map(|facts| &facts.effort).filter(|known| !known.is_empty());
    let Some(known) = known else { return (vec!["low", "medium", "high"], "medium") };
    let default = EFFORTS.into_iter().find(|level| known[0] == *level);
    let taken = EFFORTS.into_iter().filter(|level| known.iter().any(|name| name == level));
    (taken.collect(), default.unwrap_or("medium"))
}

pub fn known_names() -> impl Iterator<Item = &'static str> {
    table().filter(|row| !row.family).flat_map(|row| row.names.iter().map(String::as_str))
}

/// Strips the vendor prefix and replaces dots with hyphens: `anthropic/claude-opus-5.5`,
/// `us.anthropic.claude-opus-5-5-v1:0` and `claude-opus-5-5@20260901` are the same model.
fn normal(model: &str) -> String {
    let mut name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    if let Some(at) = name.find("claude") {
        name = name[at..].replace('.', "-");
    }
    name
}

fn is_same(known: &str, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(known) else { return false };
    let word = |part: &str| {
        // `-4-8` is another version, but `-20250929` and `-2026-04-23` are dates.
        let date = part.bytes().all(|byte| byte.is_ascii_digit()) && rest.len() > 8;
        date || matches!(part, "latest" | "preview" | "fast" | "v1" | "v2")
    };
    match rest.chars().next() {
        None | Some(':' | '@') => true,
        Some('-') => rest[1..].split([':', '@']).next().is_some_and(|rest| rest.split('-').all(word)),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "models_tests.rs"]
mod tests;
