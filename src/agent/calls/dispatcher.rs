//! The only way a call can run: parse → access → decide → ask → run → redact → truncate. Every failure
//! becomes an envelope that lets the model fix its call.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::approval::{Approver, denied, envelope_of, never_run};
use super::policy_engine::{AssessedToolCall, PolicyEngine};
use super::stages::{Admission, AdmittedCall, CallQueue, Consent, GroupedCall, OpenedCall};
use super::{call_effects, result};
use crate::control::{Events, TurnControl, UserPrompter};
use crate::hooks::tool_hooks::{Hooked, SharedHooks};
use base::model::call::{ToolCall, ToolSpec};
use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::ToolResult;
use base::process::task;
use guard::policy::verdict::Verdict;
use tools::api::{Prepared, Tool, ToolError};
use tools::cx::ToolCx;
use tools::output::Limits;
use tools::registry;

pub struct Dispatcher {
    tools: Vec<Box<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
    pub cx: ToolCx,
    pub policy: Arc<PolicyEngine>,
    pub hooks: Option<SharedHooks>,
    pub interactive: bool,
    denied: AtomicU32,
}

impl Dispatcher {
    /// The tools in `left_out` can be called but aren't described to the model.
    pub fn new(
        cx: ToolCx,
        policy: Arc<PolicyEngine>,
        tools: Vec<Box<dyn Tool>>,
        interactive: bool,
        left_out: &[&str],
    ) -> Self {
        let told = |tool: &dyn Tool| !left_out.contains(&tool.name());
        let specs = tools.iter().filter(|tool| told(tool.as_ref())).map(|tool| tool.spec()).collect();
        Self { tools, specs, cx, policy, hooks: None, interactive, denied: AtomicU32::new(0) }
    }

    /// Call only before the first request: schemas never change within a session.
    pub fn describe(&mut self, change: impl FnOnce(&[ToolSpec]) -> Arc<[ToolSpec]>) {
        self.specs = change(&self.specs);
    }

    pub fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// Calls denied since the last call of this method.
    pub fn take_denied(&self) -> u32 {
        self.denied.swap(0, Ordering::Relaxed)
    }

    pub fn queue<'c>(&self, calls: &'c [Arc<ToolCall>]) -> CallQueue<'c> {
        CallQueue { rest: calls, carried: None, alone: calls.len() == 1 }
    }

    /// The next calls to run in parallel. A call is assessed only after everything before it that may change something.
    pub async fn next_group(&self, queue: &mut CallQueue<'_>, control: &TurnControl) -> Vec<GroupedCall> {
        let mut group: Vec<GroupedCall> = queue.carried.take().into_iter().collect();
        while group.last().is_none_or(|last| last.parallel) {
            let Some((call, rest)) = queue.rest.split_first() else { break };
            queue.rest = rest;
            let grouped = if queue.alone {
                GroupedCall::new(Arc::clone(call), false)
            } else {
                self.grouped(call, control).await
            };
            if !grouped.parallel && !group.is_empty() {
                queue.carried = Some(grouped);
                break;
            }
            group.push(grouped);
        }
        group
    }

    /// Parallel only if its tool or command just reads, needs no answer, and doesn't change the shell's folder.
    async fn grouped(&self, call: &Arc<ToolCall>, control: &TurnControl) -> GroupedCall {
        let call = Arc::clone(call);
        let Ok((tool, args)) = self.resolve(&call, call.parsed_args().unwrap_or_default()) else {
            return GroupedCall::new(call, false);
        };
        if tool.parallel(&args) || tool.name() != "Bash" {
            let parallel = tool.parallel(&args);
            return GroupedCall::new(call, parallel);
        }
        let background = args["background"] == true;
        let Some(prepared) = tool.prepare(args).ok().filter(|_| !background) else {
            return GroupedCall::new(call, false);
        };
        let assessed = tokio::select! {
            assessed = self.assess(&*prepared, &self.cx) => assessed.ok(),
            () = control.cancel.cancelled() => None,
        };
        let parallel = assessed.as_ref().is_some_and(|assessed| {
            let moves = assessed.calls().iter().any(|call| ["cd", "pushd", "popd"].contains(&call.name()));
            !moves && !self.policy.may_change(assessed) && self.policy.decide(assessed) == Verdict::Allow
        });
        GroupedCall { assessed, ..GroupedCall::new(call, parallel) }
    }

    /// Assesses what a call would do. Parses its command once, for all later decisions.
    async fn assess(&self, prepared: &dyn Prepared, cx: &ToolCx) -> Result<AssessedToolCall, Box<Envelope>> {
        let accesses = prepared.access(cx).await.map_err(|error| envelope_of(&error))?;
        let policy = Arc::clone(&self.policy);
        // Blocks: reads files, and asks git what a command would change.
        let assessed = task::blocking(move || policy.assess(&accesses)).await;
        assessed.map_err(|error| denied(&format!("the call could not be checked: {error}")))
    }

    pub fn announce_waiting(&self, calls: &[Arc<ToolCall>], events: &Events) {
        for call in calls.iter().skip(1) {
            let prepared = self
                .resolve(call, call.parsed_args().unwrap_or_default())
                .and_then(|(tool, args)| tool.prepare(args));
            let title = prepared.map_or_else(|_| call.name.to_string(), |prepared| prepared.title());
            call_effects::waiting(&self.cx, call, &title, events);
        }
    }

    pub fn has_command(&self, group: &[GroupedCall]) -> bool {
        group.iter().any(|grouped| matches!(&*self.name(&grouped.call), "Bash" | "MoreTools"))
    }

    pub fn has_background(&self) -> bool {
        self.cx.shell.jobs.list().iter().any(|job| job.ended.is_none())
            || !self.cx.shell.leftovers.commands().is_empty()
    }

    /// Results are in call order. Asks the user about `next` while the group, if it only reads, is running.
    pub async fn run_group(
        &self,
        mut group: Vec<GroupedCall>,
        next: Option<&mut GroupedCall>,
        limits: Limits,
        control: &Arc<TurnControl>,
    ) -> Vec<ToolResult> {
        let is_command = self.has_command(&group);
        let calls: Vec<_> = group.iter().map(|grouped| Arc::clone(&grouped.call)).collect();
        let admitted = match group.first_mut().and_then(|first| first.admitted.take()) {
            Some(known) => vec![known],
            None => self.admit(group, control).await,
        };
        // A command that may change files is alone in its group. Attribute changes to it only if they were made while it ran.
        let changes = admitted.iter().flatten().any(|admitted| admitted.command.is_some());
        let mut news = Vec::new();
        if is_command {
            news.extend(self.file_news().await);
        }
        let running = calls.iter().zip(admitted).map(|(call, gate)| async move {
            let envelope = match gate {
                Err(envelope) => *envelope,
                Ok(admitted) => self.run(call, admitted, limits, control).await,
            };
            call_effects::ran(call, &control.events);
            envelope
        });
        let (envelopes, ()) = join(join_all(running), self.ask_meanwhile(next, control)).await;
        call_effects::journal_notices(&self.cx, &control.events);
        let mut results = Vec::with_capacity(calls.len());
        for (call, mut envelope) in calls.iter().zip(envelopes) {
            if is_command {
                let changed = call_effects::changed(&self.cx, changes.then_some((call, &envelope))).await;
                if let Some(changed) = changed {
                    envelope.data.set_outdated(changed.outdated);
                    news.push(changed.text);
                }
            }
            let found = self.cx.language_servers.after_edits(&control.cancel).await;
            for news in news.drain(..).chain(found) {
                result::add_block(&mut envelope, &format!("<system-reminder>{news}</system-reminder>"));
            }
            let (call_id, tool) = (Arc::clone(&call.id), self.name(call));
            result::clean(&self.cx, &mut envelope, &tool, limits);
            // The model now knows the text of news and previews too.
            self.cx.files.show(envelope.error.as_ref().map_or(&envelope.text, |error| &error.message));
            results.push(ToolResult::new(call_id, tool, envelope));
        }
        if let Some(last) = results.last_mut() {
            result::add_news(&mut last.envelope, &self.cx.shell.jobs.take_ended());
        }
        results
    }

    async fn admit(&self, group: Vec<GroupedCall>, control: &TurnControl) -> Vec<Admission> {
        let opened =
            join_all(group.iter().map(|grouped| self.open(&grouped.call, Consent::Rules, control))).await;
        let mut admitted = Vec::with_capacity(group.len());
        for (grouped, opened) in group.into_iter().zip(opened) {
            admitted.push(match opened {
                Ok(opened) => self.judge(opened, grouped.assessed, Consent::Rules, control).await,
                Err(envelope) => Err(envelope),
            });
        }
        admitted
    }

    async fn admit_one(
        &self,
        call: &ToolCall,
        known: Option<AssessedToolCall>,
        consent: Consent,
        control: &TurnControl,
    ) -> Admission {
        self.judge(self.open(call, consent, control).await?, known, consent, control).await
    }

    async fn ask_meanwhile(&self, next: Option<&mut GroupedCall>, control: &TurnControl) {
        let Some(next) = next else { return };
        let asks = |assessed: &AssessedToolCall| matches!(self.policy.decide(assessed), Verdict::Ask { .. });
        if self.interactive
            && let Some(assessed) = next.assessed.take_if(|assessed| asks(assessed))
        {
            next.admitted = Some(self.admit_one(&next.call, Some(assessed), Consent::Rules, control).await);
        }
    }

    pub async fn run_alone(
        &self,
        call: ToolCall,
        window_tokens: u64,
        control: &Arc<TurnControl>,
    ) -> Option<ToolResult> {
        let group = vec![GroupedCall::new(Arc::new(call), false)];
        self.run_group(group, None, Limits::for_window(window_tokens), control).await.pop()
    }

    pub async fn run_for_user(
        &self,
        call: ToolCall,
        window_tokens: u64,
        control: &Arc<TurnControl>,
    ) -> ToolResult {
        let limits = Limits::for_window(window_tokens);
        let mut envelope = match self.admit_one(&call, None, Consent::Own, control).await {
            Ok(admitted) => self.run(&call, admitted, limits, control).await,
            Err(envelope) => *envelope,
        };
        result::clean(&self.cx, &mut envelope, "Bash", limits);
        ToolResult::new(call.id, call.name, envelope.with("by_user", true))
    }

    /// The result of a call that the reply's end cut off; it says more than "retry", which would be cut off again.
    pub fn answer_cut(&self, call: &ToolCall, events: &Events) -> ToolResult {
        call_effects::started(&self.cx, call, &call.name, events);
        let message = format!(
            "Not run: the call was cut off at the output limit after {} characters. Nothing was written. Write the file in \
             parts: the first with Write, the rest with Edit",
            call.args.chars().count()
        );
        let envelope = Envelope::error(ErrorCode::InvalidParam, message);
        ToolResult::new(Arc::clone(&call.id), Arc::clone(&call.name), envelope)
    }

    fn find(&self, name: &str) -> Result<&dyn Tool, ToolError> {
        registry::find(&self.tools, name).map_err(|_| {
            let offered: Vec<&str> = self.specs.iter().map(|spec| &*spec.name).collect();
            registry::unknown(name, &offered)
        })
    }

    /// A call's tool and arguments. A tool that is loaded on demand can be called by its own name.
    fn resolve(&self, call: &ToolCall, args: Value) -> Result<(&dyn Tool, Value), ToolError> {
        match self.find(&call.name) {
            Ok(tool) => match registry::instead(tool.name(), &args, &self.cx.shell.cwd()) {
                Some((name, args)) => Ok((self.find(name)?, args)),
                None => Ok((tool, args)),
            },
            Err(error) => {
                let through = self.tools.iter().find(|tool| tool.takes(&call.name)).ok_or(error)?;
                Ok((through.as_ref(), json!({"name": &*call.name, "args": args})))
            }
        }
    }

    pub fn name(&self, call: &ToolCall) -> Arc<str> {
        self.resolve(call, call.parsed_args().unwrap_or_default())
            .map_or_else(|_| Arc::clone(&call.name), |(tool, _)| tool.name().into())
    }

    fn parse(&self, call: &ToolCall) -> Result<Box<dyn Prepared>, Box<Envelope>> {
        self.resolve(call, Value::Null).map_err(not_run)?;
        let args = call.parsed_args().map_err(|message| {
            let name = self.name(call);
            not_run(ToolError::invalid(format!(
                "{name}: {message}. Send the call again with one valid JSON object"
            )))
        })?;
        let prepared = self.resolve(call, args).and_then(|(tool, args)| tool.prepare(args));
        prepared.map_err(not_run)
    }

    /// Parses the call and runs the user's hooks, which may change it. The user's own calls skip hooks.
    async fn open(
        &self,
        call: &ToolCall,
        consent: Consent,
        control: &TurnControl,
    ) -> Result<OpenedCall, Box<Envelope>> {
        let parsed = self.parse(call);
        let title = parsed.as_ref().map_or_else(|_| call.name.to_string(), |prepared| prepared.title());
        call_effects::started(&self.cx, call, &title, &control.events);
        if control.cancel.is_cancelled() {
            return Err(never_run());
        }
        let prepared = parsed?;
        let Some(hooks) = self.hooks.as_ref().filter(|_| consent != Consent::Own) else {
            return Ok(OpenedCall { call: call.clone(), prepared, hooked: None });
        };
        let args = call.parsed_args().unwrap_or_default();
        let meant = self.resolve(call, args).map(|(tool, args)| tool.meant(args));
        let meant = meant.map_err(|error| envelope_of(&error))?;
        let mut hooked = Hooked::new(hooks, meant, call);
        let (call, prepared) = match hooked.before(call, &control.cancel).await {
            Some(call) => (call.clone(), self.parse(&call)?),
            None => (call.clone(), prepared),
        };
        Ok(OpenedCall { call, prepared, hooked: Some(hooked) })
    }

    /// Decides on the call, asking the user if needed. `Err` is the envelope for the model. The user's own calls are always allowed.
    async fn judge(
        &self,
        opened: OpenedCall,
        known: Option<AssessedToolCall>,
        mut consent: Consent,
        control: &TurnControl,
    ) -> Result<AdmittedCall, Box<Envelope>> {
        let OpenedCall { call, mut prepared, mut hooked } = opened;
        let cx = self.cx_until(control);
        // Assess again if hooks may have changed the call.
        let mut assessed = match known.filter(|_| hooked.is_none()) {
            Some(known) => known,
            None => tokio::select! {
                assessed = self.assess(&*prepared, &cx) => assessed?,
                () = control.cancel.cancelled() => return Err(never_run()),
            },
        };
        let own = consent == Consent::Own;
        let verdict = if own { Verdict::Allow } else { self.policy.decide(&assessed) };
        let verdict = match &hooked {
            Some(hooked) => hooked.decided(verdict, &assessed, &control.cancel).await?,
            None => verdict,
        };
        match verdict {
            Verdict::Allow if !own && !self.interactive && self.policy.is_unwanted_commit(&assessed) => {
                return Err(not_run(ToolError::invalid(
                    "the user did not ask for a commit. Leave the changes uncommitted, and say so",
                )));
            }
            Verdict::Allow => {}
            Verdict::Deny { reason } => {
                self.denied.fetch_add(1, Ordering::Relaxed);
                return Err(denied(&format!(
                    "{reason}. Do what you can without it, or tell the user what you need"
                )));
            }
            Verdict::Ask { reason } => {
                let (policy, interactive, denied) = (&self.policy, self.interactive, &self.denied);
                let approver = Approver { policy, cx, interactive, denied, control };
                if let Some(args) = approver.ask(&call, &*prepared, &assessed, reason).await? {
                    (prepared, assessed) = Box::pin(self.changed(&call, args, &mut hooked, control)).await?;
                }
                consent = Consent::Asked;
            }
        }
        // Scanning every file before and after is slow in a large tree, so skip it for commands that only read.
        let command = self.policy.may_change(&assessed);
        Ok(AdmittedCall { command: command.then(|| prepared.title()), prepared, assessed, consent, hooked })
    }

    /// The call with the arguments that the user changed. What is forbidden stays forbidden.
    async fn changed(
        &self,
        call: &ToolCall,
        args: Value,
        hooked: &mut Option<Hooked>,
        control: &TurnControl,
    ) -> Result<(Box<dyn Prepared>, AssessedToolCall), Box<Envelope>> {
        let prepared = self.parse(&ToolCall { args: args.to_string().into(), ..call.clone() })?;
        let cx = self.cx_until(control);
        let assessed = tokio::select! {
            assessed = self.assess(&*prepared, &cx) => assessed?,
            () = control.cancel.cancelled() => return Err(never_run()),
        };
        if let Verdict::Deny { reason } = self.policy.decide(&assessed) {
            return Err(denied(&format!("the user changed this call, and {reason}")));
        }
        if let Some(hooked) = hooked {
            hooked.changed(&args);
        }
        Ok((prepared, assessed))
    }

    async fn run(
        &self,
        call: &ToolCall,
        admitted: AdmittedCall,
        limits: Limits,
        control: &Arc<TurnControl>,
    ) -> Envelope {
        if control.cancel.is_cancelled() {
            return *never_run();
        }
        let mut cx = self.cx_for(call, control);
        let AdmittedCall { prepared, command, assessed, consent, hooked } = admitted;
        cx.by_user = consent == Consent::Own;
        cx.may_keep = self.policy.may_keep(&assessed);
        if !cx.by_user {
            cx.confinement = self.policy.confinement(&assessed, consent == Consent::Asked);
        }
        (cx.observation, cx.calls) = (limits, assessed.calls());
        if !cx.denied.is_empty() && assessed.runs_command() {
            let (denied, sandbox) = (Arc::clone(&cx.denied), Arc::clone(&cx.sandbox));
            // Blocks: expands wildcards into files.
            let _ = task::blocking(move || sandbox.mask(denied.masks())).await;
        }
        if let Some(command) = &command
            && !call_effects::before_command(&self.cx, command, control).await
        {
            return *never_run();
        }
        let begun = Instant::now();
        let outcome = tokio::select! {
            outcome = prepared.run(&cx) => Some(outcome),
            () = after(&control.cancel, prepared.clean_up()) => None,
        };
        let took = begun.elapsed();
        let changed = match command {
            Some(_) => call_effects::after_command(&cx, &control.events).await,
            None => Vec::new(),
        };
        if !self.interactive {
            call_effects::tell_of_discarded(&cx, &changed, &control.events);
        }
        let Some(outcome) = outcome else { return *result::interrupted() };
        let mut envelope = outcome.unwrap_or_else(|error| *envelope_of(&error));
        result::keep_apart(&mut envelope);
        envelope.data.set_changed(changed);
        envelope.took(took);
        if let Some(hooked) = hooked {
            call_effects::after_hooks(&self.cx, hooked, &mut envelope, control).await;
        }
        envelope
    }

    fn cx_until(&self, control: &TurnControl) -> ToolCx {
        ToolCx { cancel: control.cancel.clone(), ..self.cx.clone() }
    }

    fn cx_for(&self, call: &ToolCall, control: &Arc<TurnControl>) -> ToolCx {
        let mut cx = self.cx.clone();
        cx.cancel = control.cancel.child_token();
        cx.call_id = Arc::clone(&call.id);
        cx.progress = call_effects::progress(&self.cx, call, &control.events);
        if self.interactive && self.find("AskUser").is_ok() {
            cx.asker = Some(Arc::new(UserPrompter {
                questions: Arc::clone(&control.questions),
                cancel: control.cancel.clone(),
            }));
        }
        cx
    }

    pub async fn file_news(&self) -> Option<String> {
        Some(call_effects::changed(&self.cx, None).await?.text)
    }

    pub fn root(&self) -> &Arc<PathBuf> {
        &self.cx.root
    }
}

fn not_run(mut error: ToolError) -> Box<Envelope> {
    error.message = format!("{}. Nothing was run.", error.message.trim_end_matches('.'));
    envelope_of(&error)
}

async fn after(cancel: &CancellationToken, grace: Duration) {
    cancel.cancelled().await;
    tokio::time::sleep(grace).await;
}
