//! MoreTools: the one tool in every request that calls, shows and searches all others. Schemas are sent as
//! results, so the request prefix stays unchanged and cached.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use serde_json::{Map, Value};

use crate::api::{Prepared, Tool, ToolError, ToolOutcome, ToolSource, object, requires};
use crate::cx::ToolCx;
use base::config::prompts;
use base::model::call::ToolSpec;
use base::model::envelope::Envelope;
use base::search::by_meaning;
use base::text::{elide, one_line};
use evidence::terms::translate;

pub const NAME: &str = "MoreTools";
/// Characters of the names listed in every request, about 60 tokens.
const LISTED_CHARS: usize = 190;
/// The limit if the servers alone need more.
const MOST_LISTED_CHARS: usize = 300;
/// Results shown in full. Of 180 plain questions about 198 tools of 15 real servers, 158 found theirs among these, and 172
/// with the [`IN_A_LINE`] after them, in fewer tokens than five in full and the names of ten.
const FOUND: usize = 3;
const IN_A_LINE: usize = 9;
/// A server with more tools only lists them.
const DESCRIBED_TOOLS: usize = 5;
const SERVERS_CHARS: usize = 300;
const FOUND_CHARS: usize = 400;
const FOUND_SCHEMA_BYTES: usize = 2_000;
const LINE_CHARS: usize = 100;
const ARGUMENTS_CHARS: usize = 120;

/// Sources don't change within a session.
pub struct MoreTools {
    sources: Arc<[Arc<dyn ToolSource>]>,
}

impl MoreTools {
    pub fn new(sources: Arc<[Arc<dyn ToolSource>]>) -> Option<Self> {
        sources.iter().any(|source| !source.listed().is_empty()).then_some(Self { sources })
    }

    fn source(&self, name: &str) -> Option<&Arc<dyn ToolSource>> {
        self.sources.iter().find(|source| source.takes(name))
    }

    fn listing(&self) -> String {
        let all: Vec<String> = self.sources.iter().flat_map(|source| source.listed()).collect();
        let mut listing = String::new();
        for (at, one) in all.iter().enumerate() {
            // Room that one source doesn't need is available to the others.
            let room = LISTED_CHARS.saturating_sub(listing.len()) / (all.len() - at);
            let one = shortened(one, room.saturating_sub("; ".len()));
            if listing.len() + one.len() > MOST_LISTED_CHARS {
                listing.push_str(&format!("; {} more", all.len() - at));
                break;
            }
            listing.push_str(if at == 0 { "" } else { "; " });
            listing.push_str(&one);
        }
        listing
    }
}

const CUT: &str = ", …}";

fn shortened(one: &str, chars: usize) -> Cow<'_, str> {
    match one.split_once(".{") {
        Some((server, _)) if one.len() > chars => {
            let kept = one.floor_char_boundary(chars.saturating_sub(CUT.len()));
            match one[..kept].rfind(", ").filter(|at| *at > server.len()) {
                Some(at) => format!("{}{CUT}", &one[..at]).into(),
                None => format!("{server}.*").into(),
            }
        }
        _ => one.into(),
    }
}

impl Tool for MoreTools {
    fn name(&self) -> &'static str {
        NAME
    }

    fn parallel(&self, args: &Value) -> bool {
        match Wish::of(args.clone()) {
            Ok(Wish::Call { name, args }) => {
                self.source(&name).is_some_and(|source| source.parallel(&name, &args))
            }
            _ => true,
        }
    }

    fn takes(&self, name: &str) -> bool {
        self.source(name).is_some()
    }

    fn meant(&self, args: Value) -> (String, Value) {
        match Wish::of(args.clone()) {
            Ok(Wish::Call { name, args }) => (name, args),
            _ => (NAME.to_owned(), args),
        }
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.into(),
            description: format!("{} There are: {}.", prompts::TOOL_MORE_TOOLS.trim(), self.listing()).into(),
            schema: object("name?, args? object, query?"),
        }
    }

    fn prepare(&self, args: Value) -> Result<Box<dyn Prepared>, ToolError> {
        let wish = Wish::of(args)?;
        let unknown = |name: &str| {
            let message =
                format!("there is no tool {name}. {NAME} with a query searches all: {}", self.listing());
            ToolError::invalid(message)
        };
        match wish {
            Wish::Call { name, args } => {
                self.source(&name).ok_or_else(|| unknown(&name))?.prepare(&name, args)
            }
            Wish::Look { name, query } => {
                let sources = match &name {
                    Some(name) => [Arc::clone(self.source(name).ok_or_else(|| unknown(name))?)].into(),
                    None => Arc::clone(&self.sources),
                };
                Ok(Box::new(Lookup { sources, name, query }))
            }
        }
    }
}

enum Wish {
    Call {
        name: String,
        args: Value,
    },
    /// The tool of this name, or those that match the query.
    Look {
        name: Option<String>,
        query: String,
    },
}

impl Wish {
    /// The tool's arguments may be next to its name, under other agents' name for them, or a JSON string.
    fn of(args: Value) -> Result<Self, ToolError> {
        let mut given = match args {
            Value::Object(given) => given,
            _ => Map::new(),
        };
        let text =
            |value: Option<Value>| value.and_then(|value| value.as_str().map(|text| text.trim().to_owned()));
        let name = text(given.remove("name")).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return match text(given.remove("query")) {
                Some(query) => Ok(Self::Look { name: None, query }),
                None => Err(ToolError::invalid(format!("{NAME} needs a name, or a query"))),
            };
        };
        let wrapped = ["arguments", "parameters"]
            .into_iter()
            .find(|name| given.get(*name).is_some_and(Value::is_object));
        let wrapped = wrapped.filter(|_| given.len() == 1).and_then(|name| given.remove(name));
        let args = match given.remove("args").or(wrapped) {
            Some(Value::String(text)) => serde_json::from_str(&text).map_err(|error| {
                ToolError::invalid(format!("args of {name} is not a JSON object: {error}"))
            })?,
            Some(args) if !args.is_null() => args,
            _ if !given.is_empty() => Value::Object(given),
            _ => return Ok(Self::Look { name: Some(name), query: String::new() }),
        };
        Ok(Self::Call { name, args })
    }
}

/// Shows the schema of one tool or of search results. Read-only.
struct Lookup {
    sources: Arc<[Arc<dyn ToolSource>]>,
    name: Option<String>,
    query: String,
}

impl Lookup {
    async fn look(&self, cx: &ToolCx) -> ToolOutcome {
        let asked = self.sources.iter().map(|source| source.specs(self.name.as_deref(), cx));
        let (mut specs, mut failed) = (Vec::new(), Vec::new());
        for answer in join_all(asked).await {
            match answer {
                Ok(found) => specs.extend(found),
                Err(error) => failed.push(error),
            }
        }
        if specs.is_empty()
            && let Some(error) = failed.pop()
        {
            return Err(error);
        }
        let all = specs.len();
        let servers = servers(&specs);
        let (shown, mut text): (Vec<String>, String) = match &self.name {
            Some(_) if all > DESCRIBED_TOOLS => (
                specs.iter().map(|spec| in_a_line(&spec.name, spec)).collect(),
                "a tool's own name shows its parameters".to_owned(),
            ),
            Some(_) => (specs.iter().map(|spec| described(spec, false)).collect(), String::new()),
            None => {
                let texts: Vec<String> = specs.iter().map(searched).collect();
                let things = specs.iter().zip(&texts).map(|(spec, text)| (&*spec.name, text.as_str()));
                let query = translate::concepts(&self.query).join(" ");
                let best = by_meaning::best(&query, &things.collect::<Vec<_>>(), FOUND + IN_A_LINE);
                let (best, others) = best.split_at(best.len().min(FOUND));
                let others = others.iter().map(|at| &specs[*at]);
                let others =
                    others.map(|spec| in_a_line(&elide(&with_arguments(spec), ARGUMENTS_CHARS), spec));
                let others = others.collect::<Vec<_>>().join("\n");
                let found = best.iter().map(|at| described(&specs[*at], true));
                let found = found.chain((!others.is_empty()).then_some(others)).collect();
                (found, format!("the best of {all} tools{servers}"))
            }
        };
        if shown.is_empty() {
            let failed: String = failed.iter().map(|error| format!("; {error}")).collect();
            let query = elide(&self.query, 80);
            let message = format!("no tool matches \"{query}\" ({all} searched{servers}){failed}");
            return Err(ToolError::not_found(message));
        }
        let apart = if self.name.is_some() && all > DESCRIBED_TOOLS { "\n" } else { "\n\n" };
        for error in failed {
            text.push_str(&format!("; {error}"));
        }
        Ok(Envelope::success(text).with_body("tools", shown.join(apart)))
    }
}

/// With its parameters, unless they are too large for a search result.
fn described(spec: &ToolSpec, short: bool) -> String {
    let about = if short { elide(&spec.description, FOUND_CHARS) } else { spec.description.to_string() };
    let args = spec.schema.to_string();
    match short && args.len() > FOUND_SCHEMA_BYTES {
        true => format!("{}: {about}\nargs: its name alone shows them", spec.name),
        false => format!("{}: {about}\nargs: {args}", spec.name),
    }
}

/// The text that is searched: the description, and the parameters with their meanings and values.
fn searched(spec: &ToolSpec) -> String {
    let mut text = spec.description.to_string();
    for (name, parameter) in spec.schema["properties"].as_object().into_iter().flatten() {
        let values = parameter["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for part in std::iter::once(name.as_str()).chain(parameter["description"].as_str()).chain(values) {
            text.push('\n');
            text.push_str(part);
        }
    }
    text
}

fn in_a_line(called: &str, spec: &ToolSpec) -> String {
    let about = one_line(&spec.description, LINE_CHARS);
    format!("{called}: {about}").trim_end_matches([':', ' ']).to_owned()
}

pub fn with_arguments(spec: &ToolSpec) -> String {
    let names = spec.schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
    let names =
        names.map(|name| if requires(&spec.schema, name) { name.clone() } else { format!("{name}?") });
    format!("{} {{{}}}", spec.name, names.collect::<Vec<_>>().join(", "))
}

/// The names of the servers, which list their tools.
fn servers(specs: &[ToolSpec]) -> String {
    let mut names: Vec<&str> = specs.iter().filter_map(|spec| Some(spec.name.split_once('.')?.0)).collect();
    names.dedup();
    match names.is_empty() {
        true => String::new(),
        false => format!("; servers: {}", elide(&names.join(", "), SERVERS_CHARS)),
    }
}

impl Prepared for Lookup {
    fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("Look up {name}"),
            None => format!("Look up tools \"{}\"", elide(&self.query, 80)),
        }
    }

    fn clean_up(&self) -> Duration {
        Duration::ZERO
    }

    fn run<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => Err(ToolError::interrupted()),
                outcome = self.look(cx) => outcome,
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::file::write::Write;
    use crate::find::ls::Ls;
    use crate::on_demand::toolbox::BuiltinSource;
    use crate::output::Spill;
    use crate::registry;

    fn more() -> MoreTools {
        let source = BuiltinSource::new(vec![Box::new(Ls), Box::new(Write)]);
        MoreTools::new(vec![Arc::new(source) as Arc<dyn ToolSource>].into()).unwrap()
    }

    async fn answer(args: Value) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let cx = ToolCx::new(dir.path().to_owned(), Arc::new(Spill::new(dir.path().join("spill"))));
        let said = |error: ToolError| error.to_string();
        let prepared = more().prepare(args).map_err(said)?;
        prepared.run(&cx).await.map(|envelope| envelope.wire().into_owned()).map_err(said)
    }

    #[test]
    fn searched_by_what_parameters_take() {
        let mode = json!({"type": "string", "description": "What to imitate", "enum": ["dark", "print"]});
        let schema = json!({"type": "object", "properties": {"mode": mode}});
        let spec = ToolSpec { name: "emulate".into(), description: "Sets the page up.".into(), schema };
        assert_eq!(searched(&spec), "Sets the page up.\nmode\nWhat to imitate\ndark\nprint");
    }

    #[test]
    fn servers_are_named_once() {
        let spec =
            |name: &'static str| ToolSpec { name: name.into(), description: "".into(), schema: json!({}) };
        assert_eq!(
            servers(&[spec("LS"), spec("db.read"), spec("db.write"), spec("mail.send")]),
            "; servers: db, mail"
        );
        assert_eq!(servers(&[spec("LS")]), "");
    }

    #[test]
    fn listed_with_their_arguments() {
        let spec = more().spec();
        assert!(spec.description.contains("LS {path?, "), "{}", spec.description);
        assert!(spec.description.contains("Write {path, content}."), "{}", spec.description);
        assert!(MoreTools::new(Arc::from([])).is_none());
    }

    /// The request's size with everything set up and nothing used, apart from the Skill tool's 110 tokens.
    #[test]
    fn the_listing_stays_small_however_many_there_are() {
        struct Many;
        impl ToolSource for Many {
            fn listed(&self) -> Vec<String> {
                (0..90).map(|n| format!("server-{n}.{{create_issue, list_pull_requests, +{n}}}")).collect()
            }
            fn takes(&self, _: &str) -> bool {
                false
            }
            fn specs<'a>(
                &'a self,
                _: Option<&'a str>,
                _: &'a ToolCx,
            ) -> BoxFuture<'a, Result<Vec<ToolSpec>, ToolError>> {
                Box::pin(async { Ok(Vec::new()) })
            }
            fn parallel(&self, _: &str, _: &Value) -> bool {
                false
            }
            fn prepare(&self, name: &str, _: Value) -> Result<Box<dyn Prepared>, ToolError> {
                Err(ToolError::invalid(name))
            }
        }
        let own: Arc<dyn ToolSource> = Arc::new(BuiltinSource::new(registry::on_demand(true)));
        let more = MoreTools::new(vec![own, Arc::new(Many) as Arc<dyn ToolSource>].into()).unwrap();
        let told = serde_json::to_string(&more.spec()).unwrap();
        let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&told).len();
        assert!(
            tokens <= 190 && told.contains("Symbols {") && told.contains("server-0.*; "),
            "{tokens} tokens: {told}"
        );
    }

    #[tokio::test]
    async fn described_searched_and_called() {
        let described = answer(json!({"name": "ls"})).await.unwrap();
        assert!(described.starts_with("LS: ") && described.contains("args: {"), "{described}");
        let found = answer(json!({"query": "write a file"})).await.unwrap();
        assert!(found.contains("Write: ") && found.contains("the best of 2 tools"), "{found}");
        let found = answer(json!({"query": "liste des dossiers"})).await.unwrap();
        assert!(found.contains("LS: "), "{found}");
        let called = answer(json!({"name": "LS", "args": {"path": "."}})).await.unwrap();
        assert!(called.contains("spill") || called.contains("empty"), "{called}");
        assert_eq!(answer(json!({"name": "LS", "path": "."})).await, Ok(called.clone()));
        assert_eq!(answer(json!({"name": "LS", "arguments": {"path": "."}})).await.as_ref(), Ok(&called));
        assert_eq!(answer(json!({"name": "LS", "args": "{\"path\": \".\"}"})).await, Ok(called));
        assert!(answer(json!({"name": "Frob", "args": {}})).await.unwrap_err().contains("no tool Frob"));
        assert!(answer(json!({})).await.unwrap_err().contains("needs a name"));
        assert!(answer(json!({"query": "zebra"})).await.unwrap_err().contains("2 searched"));
    }

    #[test]
    fn only_what_changes_nothing_runs_beside_others() {
        let more = more();
        assert!(more.parallel(&json!({"name": "LS", "args": {}})) && more.parallel(&json!({"query": "x"})));
        assert!(!more.parallel(&json!({"name": "Write", "args": {}})));
        assert!(more.takes("ls") && !more.takes("Bash"));
    }
}
