//! Task: does part of the work in a separate window. Returns a short answer; Recall finds the rest.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent_types::{self, TYPES};
use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool, object};
use crate::cx::{SubAgents, ToolCx};
use crate::run::jobs::JobKind;
use crate::run::shell::Shell;
use crate::sub_agent::{SubReport, SubTask};
use base::model::envelope::{Envelope, Status};
use base::model::observation::{Delegated, Observation};
use base::sanitize;
use base::text::{self, human_tokens, plural};
use guard::redact::detector::TextSource;

/// Maximum answer, in bytes: about two thousand tokens.
const ANSWER_BYTES: usize = 8_000;
/// Time for a sub-agent to interrupt its own call and write its log.
pub const CLEAN_UP: Duration = Duration::from_secs(2);
const NAMED_FILES: usize = 12;

#[derive(Deserialize)]
pub struct Args {
    description: Option<String>,
    prompt: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    model: Option<String>,
    resume: Option<String>,
    isolation: Option<String>,
    #[serde(default)]
    background: bool,
}

pub struct Task;

impl TypedTool for Task {
    type Args = Args;
    const NAME: &'static str = "Task";
    const ARGUMENTS: &'static str =
        "type, prompt, description?, model?, resume?, isolation?, background? boolean";
    const WORK: ToolWork<Args> = ToolWork::Async(work);
    const CLEAN_UP: Duration = CLEAN_UP;

    fn schema() -> Value {
        let mut schema = Self::accepted();
        schema["properties"]["type"]["enum"] = TYPES.iter().map(|kind| &*kind.name).collect();
        schema
    }

    /// User-defined types aren't in the schema shown to the model.
    fn accepted() -> Value {
        let mut schema = object(Self::ARGUMENTS);
        schema["properties"]["model"]["enum"] = json!(["main", "light"]);
        schema["properties"]["isolation"]["enum"] = json!(["worktree"]);
        schema
    }

    fn parallel(args: &Value) -> bool {
        args["isolation"].is_string()
            || args["background"] == true
            || args["type"].as_str().and_then(agent_types::find).is_some_and(|kind| kind.only_reads)
    }

    fn title(args: &Args) -> String {
        let what = args.description.as_deref().unwrap_or(&args.prompt);
        format!("Task {}: {}", args.kind(), text::one_line(what, 80))
    }
}

impl Args {
    fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("general")
    }
}

fn work(args: Arc<Args>, cx: &ToolCx) -> BoxFuture<'_, ToolOutcome> {
    Box::pin(async move {
        let Some(agents) = &cx.sub_agents else {
            return Err(ToolError::failed("no sub-agents can run here; do the work yourself"));
        };
        let task = SubTask {
            kind: args.kind().to_owned(),
            prompt: args.prompt.clone(),
            light: args.model.as_deref().map(|model| model == "light"),
            resume: args.resume.clone(),
            own_tree: args.isolation.is_some(),
            background: args.background,
            at_most: None,
        };
        if args.background {
            return start(agents, task, &Task::title(&args), cx);
        }
        match agents.run(task, cx).await {
            Ok(report) => Ok(envelope(args.kind(), &report)),
            Err(message) => Err(ToolError::invalid(message)),
        }
    })
}

fn start(agents: &Arc<dyn SubAgents>, task: SubTask, title: &str, cx: &ToolCx) -> ToolOutcome {
    let failed = |error: io::Error| ToolError::failed(format!("the agent can't be started: {error}"));
    let path = cx.spill.reserve("agent").map_err(failed)?;
    let job = cx.shell.jobs.begin(title, path, JobKind::Agent).map_err(failed)?;
    let own = ToolCx {
        cancel: job.cancel.clone(),
        // A new shell, because a job must not keep the list of jobs alive.
        shell: Arc::new(Shell::new(cx.shell.cwd())),
        progress: Arc::new(|_| {}),
        ..cx.clone()
    };
    let (agents, running) = (Arc::clone(agents), Arc::clone(&job));
    let number = cx.shell.jobs.follow(job, async move {
        let report = match agents.run(task.clone(), &own).await {
            Ok(report) => report,
            Err(message) => return (format!("failed: {message}"), None),
        };
        let envelope = envelope(&task.kind, &report);
        let text = format!("{}\n{}", envelope.text, envelope.body);
        let text = own.redactor.redact(&text, TextSource::Text);
        running.report(&sanitize::without_tags(&text), (Arc::clone(&report.model), report.usage));
        (report.ended_early().unwrap_or_else(|| "done".to_owned()), None)
    });
    let said =
        format!("started as job {number}. Its report comes when it ends; Job waits for it or stops it");
    Ok(Envelope::success(said))
}

pub fn envelope(kind: &str, report: &SubReport) -> Envelope {
    let spent = report.usage.total();
    let mut said = format!("{kind} agent {}: {}", report.id, plural(report.steps as usize, "step"));
    if spent > 0 {
        said.push_str(&format!(", {} tokens", human_tokens(spent)));
    }
    if let Some(why) = report.ended_early() {
        said.push_str(&format!(
            "; it ended early ({why}). Task with resume=\"{}\" continues where it stopped",
            report.id
        ));
    }
    if !report.changed.is_empty() {
        said.push_str(&format!("; changed {}", report.changed.join(", ")));
    }
    if !report.left.is_empty() {
        said.push_str(&format!(". {}", report.left));
    }
    let end = report.answer.floor_char_boundary(ANSWER_BYTES);
    if end < report.answer.len() {
        said.push_str(&format!(
            "; the answer continues for {} more: Recall with agent=\"{}\" and a query",
            text::human_bytes((report.answer.len() - end) as u64),
            report.id
        ));
    }
    let mut files: Vec<String> =
        report.read.iter().take(NAMED_FILES).map(|(path, item)| format!("{path} #{item}")).collect();
    if report.read.len() > NAMED_FILES {
        files.push(format!("{} more", report.read.len() - NAMED_FILES));
    }
    let mut body = report.answer[..end].to_owned();
    if !files.is_empty() {
        body.push_str(&format!("\n\n[it read {}; Recall with agent and id opens one]", files.join(", ")));
    }
    let mut envelope = Envelope::success(said)
        .observed(Observation::Task(Delegated {
            agent: Some(report.id.clone()),
            kind: Some(kind.to_owned()),
            steps: Some(report.steps.into()),
            window_tokens: Some(report.window_tokens),
            model: Some(report.model.to_string()),
            usage: Some(report.usage),
            ..Delegated::default()
        }))
        .with_body("answer", body);
    if report.ended_early().is_some() {
        envelope.status = Status::Partial;
    }
    envelope
}
