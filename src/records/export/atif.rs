//! Agent Trajectory Interchange Format, version 1.8, as in Harbor's models (`harbor.models.trajectories` of Harbor 0.26.0
//! on PyPI, read 2026-11-25). One model reply is one step, with its results as its observation; messages of the user and the
//! program are separate steps, so that nothing the model saw is missing. Sub-agents are embedded.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use base::clock;
use base::config::provider::models;
use base::model::call::ToolSpec;
use base::model::item::{Item, ItemId, ToolResult};
use base::model::usage::Usage;
use context::session::effective::EffectiveSession;
use context::session::record::Record;
use context::session::{list, log, reader};

const SCHEMA: &str = "ATIF-v1.8";
/// Sub-agents have none of their own; this only limits a damaged log.
const DEPTH: usize = 3;

pub fn render(log: &Path) -> io::Result<String> {
    Ok(format!("{:#}\n", trajectory(log, DEPTH)?))
}

fn trajectory(path: &Path, depth: usize) -> io::Result<Value> {
    let records = reader::read(path)?.records;
    let kept: HashSet<ItemId> = EffectiveSession::of(records.clone()).items().map(|(id, _)| id).collect();
    let mut steps = Steps::default();
    for record in &records {
        match record {
            Record::Meta(meta) => steps.session = meta.id.clone(),
            Record::Frame(frame) => {
                if let Some(tools) = &frame.tools {
                    steps.tools = Arc::clone(tools);
                }
                if let Some(params) = &frame.params {
                    (steps.model, steps.effort) = (params.model.to_string(), params.reasoning_effort.clone());
                }
                for text in
                    [&frame.system, &frame.rules].into_iter().flatten().filter(|text| !text.is_empty())
                {
                    steps.said("system", text.to_string(), None);
                }
            }
            Record::Item(record) if kept.contains(&record.id) => steps.item(record.ms, &record.item),
            Record::Request(request) => steps.replied(request.ms, &request.model, request.usage.as_ref()),
            Record::Beside { ms, model, usage } => steps.totals.add(model, usage, *ms),
            _ => {}
        }
    }
    steps.flush();
    let agents = path.parent().and_then(Path::parent).map(log::agents_of);
    let mut embedded = Vec::new();
    if let Some(agents) = agents.filter(|_| depth > 0) {
        for (index, call_id) in std::mem::take(&mut steps.delegated) {
            let Some(id) = list::made_for(&agents, &steps.session, &call_id) else { continue };
            let Ok(mut inner) = trajectory(&log::path_of(&agents, &id), depth - 1) else { continue };
            inner["trajectory_id"] = json!(id);
            embedded.push(inner);
            let results = steps.all[index]["observation"]["results"].as_array_mut().into_iter().flatten();
            for result in results.filter(|result| result["source_call_id"] == *call_id) {
                result["subagent_trajectory_ref"] = json!([{"trajectory_id": id}]);
            }
        }
    }
    Ok(steps.whole(embedded))
}

#[derive(Default)]
struct Totals {
    usage: Usage,
    cost_usd: f64,
    unpriced: bool,
}

impl Totals {
    fn add(&mut self, model: &str, usage: &Usage, ms: u64) {
        self.usage.add(usage);
        match models::cost(model, usage, ms) {
            Some(cost) => self.cost_usd += cost,
            None => self.unpriced = true,
        }
    }
}

#[derive(Default)]
struct Steps {
    session: String,
    model: String,
    effort: Option<Arc<str>>,
    tools: Arc<[ToolSpec]>,
    all: Vec<Value>,
    totals: Totals,
    reply: Option<Reply>,
    calls: HashMap<Arc<str>, usize>,
    delegated: Vec<(usize, Arc<str>)>,
}

#[derive(Default)]
struct Reply {
    ms: u64,
    text: String,
    reasoning: String,
    calls: Vec<Value>,
    ids: Vec<Arc<str>>,
    /// The reply's usage; once it is known, what follows belongs to the next reply.
    metrics: Option<Value>,
    model: String,
}

impl Steps {
    fn item(&mut self, ms: u64, item: &Item) {
        match item {
            Item::Assistant { text, .. } => self.reply(ms).text.push_str(text),
            Item::Reasoning(reasoning) => self.reply(ms).reasoning.push_str(&reasoning.text),
            Item::ToolCall(call) => {
                let arguments = call.parsed_args().unwrap_or_else(|_| json!({"_raw": call.args}));
                let reply = self.reply(ms);
                reply.calls.push(json!({
                    "tool_call_id": call.id, "function_name": call.name, "arguments": arguments,
                }));
                reply.ids.push(Arc::clone(&call.id));
            }
            Item::ToolResult(result) => self.result(result),
            Item::User(_) => self.said("user", item.text().into_owned(), Some(ms)),
            _ => self.said("system", item.text().into_owned(), Some(ms)),
        }
    }

    fn reply(&mut self, ms: u64) -> &mut Reply {
        if self.reply.as_ref().is_some_and(|reply| reply.metrics.is_some()) {
            self.flush();
        }
        let model = self.model.clone();
        self.reply.get_or_insert_with(|| Reply { ms, model, ..Reply::default() })
    }

    fn replied(&mut self, ms: u64, model: &str, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.totals.add(model, usage, ms);
        }
        let reply = self.reply(ms);
        reply.model = model.to_owned();
        reply.metrics = Some(usage.map_or(Value::Null, |usage| {
            without_nulls(json!({
                "prompt_tokens": usage.input, "completion_tokens": usage.output, "cached_tokens": usage.cached,
                "cost_usd": models::cost(model, usage, ms),
                "extra": {"cache_write_tokens": usage.cache_write, "reasoning_tokens": usage.reasoning},
            }))
        }));
        if reply.text.is_empty() && reply.reasoning.is_empty() && reply.calls.is_empty() {
            self.reply = None;
        }
    }

    fn result(&mut self, result: &ToolResult) {
        self.flush();
        let shown = json!({"source_call_id": result.call_id, "content": result.envelope.wire()});
        // A user's own command has no call.
        let Some(index) = self.calls.get(&result.call_id).copied() else {
            return self.said("user", result.envelope.wire().into_owned(), None);
        };
        if result.envelope.data.delegated().is_some() {
            self.delegated.push((index, Arc::clone(&result.call_id)));
        }
        let step = &mut self.all[index];
        if step["observation"].is_null() {
            step["observation"] = json!({"results": []});
        }
        if let Some(results) = step["observation"]["results"].as_array_mut() {
            results.push(shown);
        }
    }

    fn said(&mut self, source: &str, message: String, ms: Option<u64>) {
        self.flush();
        self.push(json!({"source": source, "message": message, "timestamp": ms.map(timestamp)}));
    }

    fn flush(&mut self) {
        let Some(reply) = self.reply.take() else { return };
        let index = self.all.len();
        self.calls.extend(reply.ids.iter().map(|id| (Arc::clone(id), index)));
        let calls = (!reply.calls.is_empty()).then_some(reply.calls);
        let reasoning = (!reply.reasoning.is_empty()).then_some(reply.reasoning);
        self.push(json!({
            "source": "agent", "message": reply.text, "timestamp": timestamp(reply.ms), "model_name": reply.model,
            "reasoning_effort": self.effort, "reasoning_content": reasoning, "tool_calls": calls,
            "metrics": reply.metrics, "llm_call_count": 1,
        }));
    }

    fn push(&mut self, step: Value) {
        let mut numbered = Map::from_iter([("step_id".to_owned(), json!(self.all.len() + 1))]);
        if let Value::Object(step) = without_nulls(step) {
            numbered.extend(step);
        }
        self.all.push(Value::Object(numbered));
    }

    fn whole(self, embedded: Vec<Value>) -> Value {
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|spec| {
                let function = json!({
                    "name": spec.name, "description": spec.description, "parameters": spec.schema,
                });
                json!({"type": "function", "function": function})
            })
            .collect();
        let usage = self.totals.usage;
        let cost_usd = (!self.totals.unpriced).then_some(self.totals.cost_usd);
        let total_steps = self.all.len();
        without_nulls(json!({
            "schema_version": SCHEMA,
            "session_id": self.session,
            "agent": {
                "name": "mycode", "version": env!("CARGO_PKG_VERSION"), "model_name": self.model,
                "tool_definitions": tools,
            },
            "steps": self.all,
            "final_metrics": without_nulls(json!({
                "total_prompt_tokens": usage.input, "total_completion_tokens": usage.output,
                "total_cached_tokens": usage.cached, "total_cost_usd": cost_usd, "total_steps": total_steps,
            })),
            "subagent_trajectories": (!embedded.is_empty()).then_some(embedded),
        }))
    }
}

fn timestamp(ms: u64) -> String {
    clock::utc(ms)
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(all) = &mut value {
        all.retain(|_, value| !value.is_null());
    }
    value
}
