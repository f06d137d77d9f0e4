//! The contract of a tool, and the adapter from its typed form to the one that the dispatcher can hold in a list.

use std::future::Future;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::cx::ToolCx;
use crate::model::call::ToolSpec;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::policy::access::Access;

/// Why a tool gave no envelope of its own.
#[derive(Debug, Error)]
pub enum ToolError {
    /// Goes back to the model, which can repair its call.
    #[error("{}: {message}", code.as_str())]
    Model { code: ErrorCode, message: String },
    /// Ends the turn: the program itself cannot go on.
    #[error("{0}")]
    Fatal(String),
}

impl ToolError {
    /// A failure that the model can repair.
    pub fn model(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Model { code, message: message.into() }
    }

    /// Wrong arguments.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::model(ErrorCode::InvalidParam, message)
    }
}

/// What an approval shows before the call runs.
#[derive(Debug)]
pub enum Preview {
    Text(String),
    /// A unified diff.
    Diff(String),
    /// The call can change nothing, whatever the user says: what it would answer.
    Vain(Result<Envelope, ToolError>),
}

/// A tool with typed arguments: what a tool's file implements.
pub trait TypedTool: Send + Sync + 'static {
    /// The arguments object. Optional ones are `Option` or have a default; unknown ones are ignored.
    type Args: DeserializeOwned + Send + Sync;

    /// The name the model calls.
    const NAME: &'static str;

    /// Whether several calls of this tool may run at the same time (it changes nothing).
    const READ_ONLY: bool = false;

    /// What the model is told: from `prompts/tools/<name>.md`.
    fn description(&self) -> &'static str;

    /// JSON Schema of the arguments, as small as it can be.
    fn schema(&self) -> Value;

    /// What the call will touch. Paths are absolute and normalized.
    ///
    /// # Errors
    /// When the arguments name something that cannot be resolved.
    fn access(&self, args: &Self::Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError>;

    /// One line for people: the tool and its most telling argument, such as `Read src/a.rs:10-40`.
    fn title(&self, args: &Self::Args) -> String;

    /// What an approval shows before the call runs. Must change nothing.
    fn preview(&self, args: &Self::Args, cx: &ToolCx) -> Preview {
        let _ = cx;
        Preview::Text(self.title(args))
    }

    /// Does it.
    fn run(&self, args: Self::Args, cx: &ToolCx) -> impl Future<Output = Result<Envelope, ToolError>> + Send;
}

/// A call that was parsed and can be judged, shown and run. Made by [`Tool::prepare`].
pub trait Prepared: Send + Sync {
    /// See [`TypedTool::access`].
    ///
    /// # Errors
    /// See [`TypedTool::access`].
    fn access(&self, cx: &ToolCx) -> Result<Vec<Access>, ToolError>;
    /// See [`TypedTool::title`].
    fn title(&self) -> String;
    /// See [`TypedTool::preview`].
    fn preview(&self, cx: &ToolCx) -> Preview;
    /// See [`TypedTool::run`].
    fn run<'a>(self: Box<Self>, cx: &'a ToolCx) -> BoxFuture<'a, Result<Envelope, ToolError>>
    where
        Self: 'a;
}

/// A tool as the registry holds it.
pub trait Tool: Send + Sync {
    fn name(&self) -> &'static str;
    fn read_only(&self) -> bool;
    fn spec(&self) -> ToolSpec;
    /// Parses the arguments.
    ///
    /// # Errors
    /// `INVALID_PARAM`, naming the argument at fault and what the tool expects.
    fn prepare<'a>(&'a self, args: Value) -> Result<Box<dyn Prepared + 'a>, ToolError>;
}

struct Call<'a, T: TypedTool> {
    tool: &'a T,
    args: T::Args,
}

impl<T: TypedTool> Prepared for Call<'_, T> {
    fn access(&self, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        self.tool.access(&self.args, cx)
    }

    fn title(&self) -> String {
        self.tool.title(&self.args)
    }

    fn preview(&self, cx: &ToolCx) -> Preview {
        self.tool.preview(&self.args, cx)
    }

    fn run<'a>(self: Box<Self>, cx: &'a ToolCx) -> BoxFuture<'a, Result<Envelope, ToolError>>
    where
        Self: 'a,
    {
        let Self { tool, args } = *self;
        Box::pin(tool.run(args, cx))
    }
}

impl<T: TypedTool> Tool for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn read_only(&self) -> bool {
        T::READ_ONLY
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: T::NAME.into(),
            description: self.description().trim().into(),
            schema: self.schema(),
        }
    }

    fn prepare<'a>(&'a self, args: Value) -> Result<Box<dyn Prepared + 'a>, ToolError> {
        let args = serde_json::from_value::<T::Args>(args).map_err(|error| {
            ToolError::invalid(format!(
                "{}: {error}. Expected arguments: {}",
                T::NAME,
                expected(&self.schema())
            ))
        })?;
        Ok(Box::new(Call { tool: self, args }))
    }
}

/// `path, offset?, limit?`: a schema's arguments in one line, for error messages.
fn expected(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema["properties"].as_object() else {
        return "none".to_owned();
    };
    properties
        .iter()
        .map(|(name, shape)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            match shape["type"].as_str() {
                Some(kind) => format!("{name}{mark} ({kind})"),
                None => format!("{name}{mark}"),
            }
        })
        .collect::<Vec<_>>()
        .join(", ")
}
