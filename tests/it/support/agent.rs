//! An agent in this process, for tests that need to act while a turn runs: answer questions, interrupt, steer.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use mycode::agent::build::{self, Handle, Setup};
use mycode::config::load::{self, Sources};
use mycode::config::paths::Paths;
use mycode::config::raw::Raw;
use mycode::config::settings::Permission;
use mycode::policy::sandbox::launch;
use mycode::protocol::event::{Event, TurnEnd};
use mycode::protocol::op::Op;
use mycode::provider::registry;

use super::workplace::Workplace;

/// A running agent.
pub struct TestAgent {
    pub handle: Handle,
    /// Everything it said so far.
    pub seen: Vec<Event>,
}

impl TestAgent {
    /// Starts one; `config` is the text of a `config.toml`.
    pub fn start(place: &Workplace, config: &str, interactive: bool) -> Self {
        launch::use_helper(env!("CARGO_BIN_EXE_mycode").into());
        let paths = Paths { config: place.home(), state: place.home().join("state") };
        let none = BTreeMap::<String, String>::new();
        let loaded = load::load(Sources {
            flags: Raw::parse(config).unwrap(),
            vars: &|name| none.get(name).cloned(),
            paths: &paths,
            workspace: &place.project(),
            trust: false,
            default_permission: if interactive { Permission::Ask } else { Permission::Auto },
        })
        .unwrap();
        let settings = loaded.provider.clone().unwrap();
        let setup = Setup {
            provider: registry::build(&settings).unwrap(),
            model: Arc::clone(&settings.model),
            loaded,
            workspace: place.project(),
            project_state: paths.project(&place.project()),
            own_folders: vec![place.home()],
            interactive,
            resume: None,
        };
        Self { handle: build::start(setup).unwrap(), seen: Vec::new() }
    }

    pub fn send(&self, op: Op) {
        self.handle.ops.send(op).unwrap();
    }

    pub fn submit(&self, text: &str) {
        self.send(Op::Submit { text: text.to_owned() });
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

    /// One whole turn.
    pub async fn turn(&mut self, text: &str) -> TurnEnd {
        self.submit(text);
        self.end().await
    }
}
