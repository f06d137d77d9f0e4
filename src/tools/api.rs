//! The tool traits, and the adapter to the object-safe form that the dispatcher stores. Only the adapter moves blocking
//! work off the async threads: the task that runs a turn also handles user operations, and an interrupt must
//! not wait for the disk.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::arguments::ignored::Ignored;
use super::arguments::normalize::normalize;
use super::cx::ToolCx;
use base::config::prompts;
use base::model::call::ToolSpec;
use base::model::envelope::{Envelope, ErrorCode};
use base::process::task;
use guard::policy::access::Access;

/// A failed call; the model gets the message and can fix its call.
#[derive(Debug, Error)]
#[error("{}: {message}", code.into_str())]
pub struct ToolError {
    pub code: ErrorCode,
    pub message: String,
}

impl ToolError {
    pub fn model(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::model(ErrorCode::InvalidParam, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::model(ErrorCode::NotFound, message)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::model(ErrorCode::Conflict, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::model(ErrorCode::ExecutionError, message)
    }

    pub fn interrupted() -> Self {
        Self::model(ErrorCode::Interrupted, "the user interrupted this call; it changed nothing")
    }
}

pub type ToolOutcome = Result<Envelope, ToolError>;

#[derive(Debug)]
pub enum Preview {
    Text(String),
    Diff(String),
    /// The call wouldn't change anything; this is its answer.
    NoEffect(ToolOutcome),
}

pub enum ToolWork<A> {
    /// On the blocking pool. An interrupted call finishes there, so that no write stops halfway; searches check `cancel`.
    Blocking(fn(&A, &ToolCx) -> ToolOutcome),
    /// Runs on the async threads: waits for a process or the user. Dropping it stops it.
    Async(for<'a> fn(Arc<A>, &'a ToolCx) -> BoxFuture<'a, ToolOutcome>),
}

const CLEAN_UP: Duration = Duration::from_millis(80);

/// A tool with typed arguments, implemented once per tool. Everything but `title` may block.
pub trait TypedTool: Send + Sync + 'static {
    type Args: DeserializeOwned + Send + Sync + 'static;

    const NAME: &'static str;

    const READ_ONLY: bool = false;

    /// How long an interrupted call may clean up before it is dropped.
    const CLEAN_UP: Duration = CLEAN_UP;

    fn parallel(_: &Value) -> bool {
        Self::READ_ONLY
    }

    const WORK: ToolWork<Self::Args>;

    /// In the format of [`object`].
    const ARGUMENTS: &'static str;

    /// JSON Schema of the arguments; keep it minimal.
    fn schema() -> Value {
        object(Self::ARGUMENTS)
    }

    /// The accepted schema, if it is broader than the one the model sees.
    fn accepted() -> Value {
        Self::schema()
    }

    /// What the call will access; nothing by default. Paths are absolute and normalized.
    fn access(_: &Self::Args, _: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    /// One line for the user, such as `Read src/a.rs:10-40`.
    fn title(args: &Self::Args) -> String;

    /// For an approval prompt. Must not change anything, and may access only what [`ToolCx::judged`] lists.
    fn preview(args: &Self::Args, _: &ToolCx) -> Preview {
        Preview::Text(Self::title(args))
    }
}

/// A schema from a list such as `path, limit? integer, tags? strings, kind a|b`. Arguments are required unless marked
/// with `?`, and strings unless a type or the possible values follow. One can be a list of objects with their own
/// arguments: `path, edits [old, new]`.
pub fn object(arguments: &str) -> Value {
    let (before, items) = arguments.split_once(" [").unwrap_or((arguments, ""));
    let (items, after) = items.split_once(']').unwrap_or((items, ""));
    let list = before.rsplit(", ").next().filter(|_| !items.is_empty());
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for argument in before.split(", ").chain(after.split(", ").filter(|after| !after.is_empty())) {
        let (name, kind) = argument.split_once(' ').unwrap_or((argument, "string"));
        let optional = name.strip_suffix('?');
        required.extend(optional.is_none().then_some(name));
        let shape = match kind {
            "strings" => json!({"type": "array", "items": {"type": "string"}}),
            values if values.contains('|') => json!({"enum": values.split('|').collect::<Vec<_>>()}),
            _ if Some(argument) == list => json!({"type": "array", "items": object(items)}),
            kind => json!({"type": kind}),
        };
        properties.insert(optional.unwrap_or(name).to_owned(), shape);
    }
    // Key order matters: models fill in arguments in this order.
    match required.is_empty() {
        true => json!({"type": "object", "properties": properties}),
        false => json!({"type": "object", "required": required, "properties": properties}),
    }
}

/// A server's schema with required arguments first, because models fill them in that order.
pub fn in_filling_order(schema: Value) -> Value {
    match schema {
        Value::Object(mut all) => {
            let required = all.get("required").cloned().unwrap_or_default();
            let is_required = |name: &String| {
                required.as_array().is_some_and(|names| names.iter().any(|one| *one == **name))
            };
            if let Some(Value::Object(properties)) = all.get_mut("properties") {
                let (first, last): (Vec<_>, Vec<_>) =
                    std::mem::take(properties).into_iter().partition(|(name, _)| is_required(name));
                properties.extend(first.into_iter().chain(last));
            }
            let early = ["type", "required"].map(|key| all.shift_remove_entry(key));
            let rest = all.into_iter();
            Value::Object(
                early
                    .into_iter()
                    .flatten()
                    .chain(rest)
                    .map(|(key, value)| (key, in_filling_order(value)))
                    .collect(),
            )
        }
        Value::Array(all) => Value::Array(all.into_iter().map(in_filling_order).collect()),
        other => other,
    }
}

/// A parsed call, ready to be judged, shown and run. Made by [`Tool::prepare`].
pub trait Prepared: Send + Sync {
    fn title(&self) -> String;
    /// See [`TypedTool::access`]. Returns at once if the turn is interrupted.
    fn access<'a>(&'a self, _: &'a ToolCx) -> BoxFuture<'a, Result<Vec<Access>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    /// See [`TypedTool::preview`]. Returns at once if the turn is interrupted.
    fn preview<'a>(&'a self, _: &'a ToolCx) -> BoxFuture<'a, Preview> {
        Box::pin(async { Preview::Text(self.title()) })
    }
    fn clean_up(&self) -> Duration {
        CLEAN_UP
    }
    fn run<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutcome>;
}

pub trait Tool: Send + Sync {
    fn name(&self) -> &'static str;
    fn parallel(&self, args: &Value) -> bool;
    fn spec(&self) -> ToolSpec;
    /// The tool that will run and its arguments; unchanged if they can't be parsed.
    fn meant(&self, args: Value) -> (String, Value) {
        let ours = self.translated(args.clone()).map_or(args, |(ours, _)| ours);
        (self.name().to_owned(), ours)
    }
    /// Whether this tool dispatches to the on-demand tool of this name.
    fn takes(&self, _name: &str) -> bool {
        false
    }
    /// Another agent's arguments converted to ours, and the keys without a counterpart; `None` if they aren't sufficient.
    fn translated(&self, _args: Value) -> Option<(Value, Vec<String>)> {
        None
    }
    fn prepare(&self, args: Value) -> Result<Box<dyn Prepared>, ToolError>;
}

pub type Specs<'a> = BoxFuture<'a, Result<Vec<ToolSpec>, ToolError>>;

/// Tools whose schemas aren't part of every request.
pub trait ToolSource: Send + Sync {
    /// The names that requests list, most useful first. Fixed for the session, so it must not contact a server.
    fn listed(&self) -> Vec<String>;

    fn takes(&self, name: &str) -> bool;

    /// The specs of one tool, or of all; connects if necessary.
    fn specs<'a>(&'a self, name: Option<&'a str>, cx: &'a ToolCx) -> Specs<'a>;

    fn parallel(&self, name: &str, args: &Value) -> bool;

    /// Parses a call without connecting.
    fn prepare(&self, name: &str, args: Value) -> Result<Box<dyn Prepared>, ToolError>;
}

impl<T: TypedTool> Tool for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn parallel(&self, args: &Value) -> bool {
        T::parallel(&self.meant(args.clone()).1)
    }

    fn translated(&self, args: Value) -> Option<(Value, Vec<String>)> {
        let normalized = normalize(T::NAME, &T::accepted(), args);
        Some((normalized.args.ok()?, normalized.ignored.0))
    }

    fn spec(&self) -> ToolSpec {
        let description = prompts::of_tool(T::NAME).trim().into();
        ToolSpec { name: T::NAME.into(), description, schema: T::schema() }
    }

    fn prepare(&self, args: Value) -> Result<Box<dyn Prepared>, ToolError> {
        let normalized = normalize(T::NAME, &T::accepted(), args);
        let ignored = normalized.ignored;
        let parsed = normalized
            .args
            .and_then(|args| serde_json::from_value::<T::Args>(args).map_err(|error| error.to_string()));
        let args = parsed.map_err(|error| {
            let note = ignored.note().map_or(String::new(), |note| format!(" ({note})"));
            ToolError::invalid(format!(
                "{}: {error}{note}. Expected arguments: {}",
                T::NAME,
                expected(&T::schema())
            ))
        })?;
        Ok(Box::new(PreparedCall::<T> { args: Arc::new(args), ignored, accesses: Arc::default() }))
    }
}

struct PreparedCall<T: TypedTool> {
    args: Arc<T::Args>,
    ignored: Ignored,
    /// What the call declared to access. The verdict is based on it, and the call can't go beyond it.
    accesses: Arc<OnceLock<Arc<[Access]>>>,
}

/// Boxed, so that [`blocking`] is compiled once and not for each tool.
type Work<R> = Box<dyn FnOnce(&ToolCx) -> Result<R, ToolError> + Send>;

impl<T: TypedTool> PreparedCall<T> {
    /// Runs `work` restricted to what was judged or, without a verdict, to what it declares now. Blocks.
    fn held_to_judged<R: 'static>(
        &self,
        work: impl FnOnce(&T::Args, ToolCx) -> Result<R, ToolError> + Send + 'static,
    ) -> Work<R> {
        let (args, accesses) = (Arc::clone(&self.args), Arc::clone(&self.accesses));
        Box::new(move |cx| work(&args, judged(cx, &accesses, &|| T::access(&args, cx))?))
    }
}

fn judged(
    cx: &ToolCx,
    accesses: &OnceLock<Arc<[Access]>>,
    declared: &dyn Fn() -> Result<Vec<Access>, ToolError>,
) -> Result<ToolCx, ToolError> {
    let judged = match accesses.get() {
        Some(judged) => judged,
        None => {
            let now = declared()?.into();
            accesses.get_or_init(|| now)
        }
    };
    Ok(ToolCx { judged: Some(Arc::clone(judged)), ..cx.clone() })
}

fn with_ignored(mut outcome: ToolOutcome, ignored: &Ignored) -> ToolOutcome {
    if let Some(note) = ignored.note() {
        match &mut outcome {
            Ok(envelope) if envelope.text.is_empty() => envelope.text = note,
            Ok(envelope) => envelope.text.push_str(&format!("; {note}")),
            Err(ToolError { message, .. }) => message.push_str(&format!(" ({note})")),
        }
    }
    outcome
}

impl<T: TypedTool> Prepared for PreparedCall<T> {
    fn clean_up(&self) -> Duration {
        T::CLEAN_UP
    }

    fn title(&self) -> String {
        T::title(&self.args)
    }

    fn access<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Result<Vec<Access>, ToolError>> {
        let judged = self.held_to_judged(|_, cx| Ok(cx.judged.iter().flat_map(|all| all.to_vec()).collect()));
        Box::pin(until_interrupted(cx, judged))
    }

    fn preview<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Preview> {
        let preview = until_interrupted(cx, self.held_to_judged(|args, cx| Ok(T::preview(args, &cx))));
        Box::pin(async {
            match preview.await.unwrap_or_else(|error| Preview::NoEffect(Err(error))) {
                Preview::NoEffect(outcome) => Preview::NoEffect(with_ignored(outcome, &self.ignored)),
                preview => preview,
            }
        })
    }

    fn run<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let outcome = match T::WORK {
                ToolWork::Blocking(work) => {
                    blocking(cx, self.held_to_judged(move |args, cx| work(args, &cx))).await
                }
                ToolWork::Async(work) => match blocking(cx, self.held_to_judged(|_, cx| Ok(cx))).await {
                    Ok(cx) => work(Arc::clone(&self.args), &cx).await,
                    Err(error) => Err(error),
                },
            };
            match &outcome {
                Ok(envelope) => cx.files.show(&envelope.body),
                Err(error) => cx.files.show(&error.message),
            }
            with_ignored(outcome, &self.ignored)
        })
    }
}

pub async fn blocking<R: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&ToolCx) -> Result<R, ToolError> + Send + 'static,
) -> Result<R, ToolError> {
    let cx = cx.clone();
    task::blocking(move || work(&cx)).await.unwrap_or_else(|error| {
        Err(ToolError::model(ErrorCode::InternalError, format!("the tool failed unexpectedly: {error}")))
    })
}

/// Like [`blocking`] for work that changes nothing: it is abandoned when the turn is interrupted.
async fn until_interrupted<R: Send + 'static>(
    cx: &ToolCx,
    work: impl FnOnce(&ToolCx) -> Result<R, ToolError> + Send + 'static,
) -> Result<R, ToolError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(ToolError::interrupted()),
        done = blocking(cx, work) => done,
    }
}

pub fn requires(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
}

/// `path, offset?, limit?`: a schema's arguments on one line, for error messages.
fn expected(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else { return "none".to_owned() };
    let arguments = properties.iter().map(|(name, shape)| {
        let mark = if requires(schema, name) { "" } else { "?" };
        shape["type"]
            .as_str()
            .map_or_else(|| format!("{name}{mark}"), |kind| format!("{name}{mark} ({kind})"))
    });
    arguments.collect::<Vec<_>>().join(", ")
}
