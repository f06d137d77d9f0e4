//! An agent in this process, for tests that need to act while a turn runs: answer questions, interrupt, steer.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::Arc;

use agent::assemble::{self, Handle, RunLimits, Setup};
use base::config::files::load::{self, Loaded, Sources};
use base::config::files::raw::Raw;
use base::config::paths::Paths;
use base::config::settings::Permission;
use base::model::provider::Provider;
use base::protocol::approval::Answer;
use base::protocol::event::{Event, TurnEnd};
use base::protocol::op::{Control, Op, Work};
use guard::sandbox::launch;
use mycode::cli::setup::ports::PORTS;
use provider::registry;

use super::workplace::Workplace;

/// A running agent.
pub struct TestAgent {
    pub handle: Handle,
    /// Everything it said so far.
    pub seen: Vec<Event>,
}

fn paths(place: &Workplace) -> Paths {
    Paths { config: place.home(), state: place.home().join("state") }
}

fn loaded(place: &Workplace, config: &str, interactive: bool) -> Loaded {
    load::load(Sources {
        flags: Raw::parse(config).unwrap(),
        vars: &|name| (name == "MYCODE_LANGUAGE_SERVERS").then(|| "false".to_owned()),
        paths: &paths(place),
        workspace: &place.project(),
        trust: false,
        skip_user_files: false,
        default_permission: if interactive { Permission::Ask } else { Permission::Auto },
    })
    .unwrap()
}

impl TestAgent {
    /// Starts one; `config` is the text of a `config.toml`.
    pub fn start(place: &Workplace, config: &str, interactive: bool) -> Self {
        launch::use_helper(env!("CARGO_BIN_EXE_mycode").into());
        let loaded = loaded(place, config, interactive);
        let provider = registry::build(&loaded.provider.clone().unwrap()).unwrap();
        Self::run(place, loaded, provider, interactive, (None, RunLimits::default()))
    }

    /// Starts a headless one with limits.
    pub fn limited(place: &Workplace, config: &str, limits: RunLimits) -> Self {
        launch::use_helper(env!("CARGO_BIN_EXE_mycode").into());
        let loaded = loaded(place, config, false);
        let provider = registry::build(&loaded.provider.clone().unwrap()).unwrap();
        Self::run(place, loaded, provider, false, (None, limits))
    }

    /// Starts one that asks `provider`, whatever `config` names, or goes on with the session of a log.
    pub fn with(
        place: &Workplace,
        config: &str,
        provider: Arc<dyn Provider>,
        resume: Option<PathBuf>,
    ) -> Self {
        Self::run(place, loaded(place, config, false), provider, false, (resume, RunLimits::default()))
    }

    /// Goes on with the session of a log, headless.
    pub fn resumed(place: &Workplace, config: &str, log: PathBuf) -> Self {
        let loaded = loaded(place, config, false);
        let provider = registry::build(&loaded.provider.clone().unwrap()).unwrap();
        Self::run(place, loaded, provider, false, (Some(log), RunLimits::default()))
    }

    fn run(
        place: &Workplace,
        loaded: Loaded,
        provider: Arc<dyn Provider>,
        interactive: bool,
        (resume, limits): (Option<PathBuf>, RunLimits),
    ) -> Self {
        let setup = Setup {
            provider,
            model: loaded.provider.as_ref().map(|settings| Arc::clone(&settings.model)).unwrap(),
            loaded,
            workspace: place.project(),
            project_state: paths(place).project(&place.project()),
            own_folders: vec![place.home()],
            interactive,
            resume,
            limits,
            editor: None,
            host: None,
            ports: PORTS,
            instructions: String::new(),
            session_id: None,
        };
        Self { handle: assemble::start(setup).unwrap(), seen: Vec::new() }
    }

    pub fn send(&self, op: impl Into<Op>) {
        self.handle.ops.send(op.into()).unwrap();
    }

    pub fn submit(&self, text: &str) {
        self.send(Work::Submit { text: text.to_owned() });
    }

    /// Waits for the first event that `wanted` takes.
    pub async fn until<T>(&mut self, mut wanted: impl FnMut(&Event) -> Option<T>) -> T {
        loop {
            let event = self.handle.events.recv().await.expect("the agent ended");
            let found = wanted(&event);
            self.seen.push(event);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// Waits for the end of the turn.
    pub async fn end(&mut self) -> TurnEnd {
        self.until(|event| match event {
            Event::TurnEnded(end) => Some(end.clone()),
            _ => None,
        })
        .await
    }

    /// Answers the next question.
    pub async fn answer(&mut self, answer: Answer) {
        let asked = |event: &Event| match event {
            Event::Ask { id, .. } => Some(*id),
            _ => None,
        };
        let id = self.until(asked).await;
        self.send(Control::Answer { id, answer });
    }

    /// One whole turn.
    pub async fn turn(&mut self, text: &str) -> TurnEnd {
        self.submit(text);
        self.end().await
    }
}
