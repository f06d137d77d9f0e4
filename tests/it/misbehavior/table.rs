//! Every row in five variants: with the fault, done well (silent, not a request more), in the chat (silent but for what
//! applies there), with the nudge ignored (it ends all the same), and taken up again in the middle.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agent::assemble::RunLimits;
use base::protocol::event::{EndReason, Event, TurnEnd};
use serde_json::Value;
use tokio::runtime::Builder;

use super::rows::{Row, rows};
use super::run::{project, text};
use crate::support::agent::TestAgent;
use crate::support::answer::Answer;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

/// What a turn showed.
struct Played {
    nudges: Vec<String>,
    requests: Vec<Value>,
    end: TurnEnd,
}

impl Played {
    fn sent(&self) -> String {
        self.requests.last().map(Value::to_string).unwrap_or_default().replace("\\\"", "\"")
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Front {
    Headless,
    Chat,
    /// Goes on with the session that is there.
    Resumed,
}

fn play(place: &Workplace, front: Front, most_steps: usize, task: &str, script: Vec<Answer>) -> Played {
    let server = FakeServer::start(script.into_iter().map(Into::into).collect());
    let config = format!(
        "provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"\nmax_steps = {most_steps}",
        server.base_url()
    );
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (end, seen) = runtime.block_on(async {
        let mut agent = match front {
            Front::Headless => TestAgent::limited(place, &config, RunLimits::default()),
            Front::Chat => TestAgent::start(place, &config, true),
            Front::Resumed => TestAgent::resumed(place, &config, place.log()),
        };
        (agent.turn(task).await, agent.seen)
    });
    let kind = |event: &Event| match event {
        Event::Nudge(nudge) => serde_json::to_value(nudge.kind).unwrap().as_str().map(str::to_owned),
        _ => None,
    };
    let requests = server.requests().into_iter().map(|request| request.body).collect();
    Played { nudges: seen.iter().filter_map(kind).collect(), requests, end }
}

const MANY: usize = 50;

/// Checks every row, and fails with the names of all that failed.
fn each(check: impl Fn(Row)) {
    let fails = |row: &Row| catch_unwind(AssertUnwindSafe(|| check(row.clone()))).is_err();
    let failed: Vec<&str> = rows().iter().filter(|row| fails(row)).map(|row| row.name).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn then(mut script: Vec<Answer>, last: Option<Answer>) -> Vec<Answer> {
    script.extend(last);
    script
}

fn settled() -> Answer {
    text("It is as it should be: nothing more can be done here.")
}

#[test]
fn each_fault_is_told_of_once_and_answered() {
    each(|row| {
        let script = then(row.fault.clone(), row.asks_again().then(settled));
        let requests = script.len();
        let played = play(&project(), Front::Headless, MANY, row.task, script);
        assert_eq!(played.nudges, row.kinds(), "{}", row.name);
        assert!(played.sent().contains(row.says), "{}: not sent: {}", row.name, played.sent());
        assert_eq!((played.requests.len(), &played.end.reason), (requests, &EndReason::Done), "{}", row.name);
    });
}

#[test]
fn good_work_costs_nothing() {
    each(|row| {
        let count = row.well.len();
        let played = play(&project(), Front::Headless, MANY, row.task, row.well);
        let found = (played.nudges.len(), played.requests.len(), &played.end.reason);
        assert_eq!(found, (0, count, &EndReason::Done), "{}: {:?}", row.name, played.nudges);
    });
}

#[test]
fn a_nudge_that_is_ignored_ends_all_the_same() {
    each(|row| {
        let again = row.asks_again().then(|| row.fault.last().cloned()).flatten();
        let script = then(row.fault.clone(), again);
        let count = script.len();
        let played = play(&project(), Front::Headless, MANY, row.task, script);
        assert_eq!((played.requests.len(), &played.end.reason), (count, &EndReason::Done), "{}", row.name);
        assert_eq!(played.nudges, row.kinds(), "{}", row.name);
    });
}

#[test]
fn a_resumed_run_knows_what_was_seen() {
    each(|row| {
        let Some(at) = row.cut_at() else { return };
        let place = project();
        let before = play(&place, Front::Headless, at, row.task, row.fault[..at].to_vec());
        assert!(matches!(before.end.reason, EndReason::StepLimit { .. }), "{}: {:?}", row.name, before.end);
        let rest = then(row.fault[at..].to_vec(), row.asks_again().then(settled));
        let played = play(&place, Front::Resumed, MANY, "Go on with it.", rest);
        assert_eq!(played.nudges, row.kinds(), "{}", row.name);
        assert!(played.sent().contains(row.says), "{}: not sent: {}", row.name, played.sent());
    });
}

#[test]
fn in_the_chat_only_what_misleads_is_told() {
    each(|row| {
        if row.only_headless {
            return;
        }
        let script = then(row.fault.clone(), row.in_chat.then(settled));
        let played = play(&project(), Front::Chat, MANY, row.task, script);
        let expected = if row.in_chat { row.kinds() } else { Vec::new() };
        assert_eq!(played.nudges, expected, "{}", row.name);
    });
}
