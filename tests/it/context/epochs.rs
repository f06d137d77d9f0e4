//! Whole sessions with models that bind their reasoning to everything before it, over real HTTP: requests only grow, what is
//! rewritten begins an epoch without the reasoning that was bound to it, and no refusal ends a session.

use std::fs;

use context::session::reader;
use context::session::record::Record;
use serde_json::{Value, json};

use crate::support::answer::{Dialect, Reply, answer};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, passage, stderr};

const MODELS: [(Dialect, &str, &str); 2] = [
    (Dialect::Anthropic, "anthropic", "claude-opus-5-5"),
    (Dialect::Responses, "responses", "gpt-6.1-terra"),
];

fn place() -> Workplace {
    let place = Workplace::new();
    for file in 0..4 {
        place.file(&format!("f{file}.rs"), passage(file * 5, 400));
    }
    place
}

fn exec(
    place: &Workplace,
    server: &FakeServer,
    provider: &str,
    model: &str,
    args: &[&str],
) -> std::process::Output {
    let url = server.base_url();
    let mut all = vec!["exec", "--provider", provider, "--base-url", &url, "--model", model];
    all.extend(args);
    place.command(&all).output().unwrap()
}

/// A step of the model, of every kind in turn.
fn step(number: usize) -> Reply {
    let thinks = answer().reasoning(&format!("I think of step {number}."));
    let file = format!("f{}.rs", number % 4);
    match number % 6 {
        0 => thinks.call(
            "TodoWrite",
            json!({"todos": [{"content": format!("job {number}"), "status": "in_progress"}]}),
        ),
        1 => thinks.text("I look.").call("Read", json!({"path": file, "start_line": number * 3 % 200 + 1})),
        2 => thinks.call("Bash", json!({"command": format!("head -n {} {file}", number % 50 + 10)})),
        3 => thinks.call("Grep", json!({"pattern": "fn "})).call("LS", json!({})),
        4 => {
            thinks.call("Write", json!({"path": format!("new{number}.txt"), "content": passage(number, 20)}))
        }
        _ => thinks.call("Read", json!({"path": file, "limit": 60})),
    }
    .into()
}

fn done(number: usize) -> Reply {
    answer().reasoning("All is done.").text(&format!("Done, part {number}.")).into()
}

/// What the log says of each request but the first: whether it began an epoch.
fn begins(place: &Workplace) -> Vec<bool> {
    let records = reader::read(&place.log()).unwrap().records;
    let sent = records.into_iter().filter_map(|record| match record {
        Record::Sent(sent) => Some(sent.epoch.is_some()),
        _ => None,
    });
    sent.skip(1).collect()
}

/// The messages of a request, without the cache marks that move.
fn messages(body: &Value) -> Vec<Value> {
    let mut list = body["messages"].as_array().or_else(|| body["input"].as_array()).cloned().unwrap();
    for block in list.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        if let Some(fields) = block.as_object_mut() {
            fields.remove("cache_control");
        }
    }
    list
}

/// Whether `after` is `before` with something behind it.
fn grew(before: &Value, after: &Value) -> bool {
    let (before_list, after_list) = (messages(before), messages(after));
    let Some((last, rest)) = before_list.split_last() else { return true };
    let head = |body: &Value| (body["tools"].clone(), body["instructions"].clone());
    // Blocks of the user join the last message of the user.
    let joined = after_list.get(rest.len()).is_some_and(|now| {
        now == last
            || now["role"] == last["role"]
                && now["content"]
                    .as_array()
                    .zip(last["content"].as_array())
                    .is_some_and(|(now, was)| now.starts_with(was))
    });
    head(before) == head(after) && after_list.starts_with(rest) && joined
}

fn check(place: &Workplace, server: &FakeServer, refused: usize) {
    assert_eq!(server.refusals().len(), refused, "{:?}", server.refusals());
    // Summaries are asked for without tools.
    let bodies = server.requests().into_iter().map(|request| request.body);
    let bodies: Vec<Value> = bodies.filter(|body| body["tools"].is_array()).collect();
    let begins = begins(place);
    assert_eq!(begins.len() + 1, bodies.len());
    for (number, (pair, begins)) in bodies.windows(2).zip(begins).enumerate() {
        assert_eq!(grew(&pair[0], &pair[1]), !begins, "request {}", number + 2);
    }
}

/// Turns in processes of their own, in windows in which everything is folded and compacted.
#[test]
fn long_sessions_in_any_window() {
    for (_, provider, model) in MODELS {
        for window in ["16000", "200000"] {
            let place = place();
            let server = FakeServer::start(Vec::new());
            server.bind_reasoning();
            server.on_body(
                "Summarize the conversation for a coding agent",
                answer().text("## Objectives & Status\n- going on"),
            );
            for turn in 0..5 {
                let steps = if turn == 0 { 26 } else { 7 };
                (0..steps).for_each(|number| server.push(step(turn * 7 + number)));
                server.push(done(turn));
                let text = format!("part {turn} of the work");
                let mut args = vec!["--context-window", window, text.as_str()];
                if turn > 0 {
                    args.insert(0, "-c");
                }
                let output = exec(&place, &server, provider, model, &args);
                assert!(output.status.success(), "{provider} {window}: {}", stderr(&output));
            }
            check(&place, &server, 0);
            let epochs = begins(&place).into_iter().filter(|begins| *begins).count();
            let requests = server.requests();
            let last = &requests[requests.len() - 1].raw;
            let kept = last.matches("\"signature\"").count() + last.matches("\"encrypted_content\"").count();
            match window {
                "16000" => assert!((1..=20).contains(&epochs), "{provider}: {epochs} epochs"),
                _ => {
                    assert!(epochs <= 1 && kept >= 7, "{provider}: {epochs} epochs, {kept} blocks at the end")
                }
            }
        }
    }
}

/// Reasoning that does not fit its past any more, and none that the program knows of: an edited log stands for one of an older
/// version, a model of whose binding the table knows nothing for one of tomorrow.
#[test]
fn a_refusal_costs_the_reasoning_and_nothing_else() {
    for (_, provider, model) in MODELS {
        let place = place();
        let server = FakeServer::start(vec![step(1), step(2), done(1)]);
        server.bind_reasoning();
        assert!(exec(&place, &server, provider, model, &["begin"]).status.success());
        let log = place.log();
        let text = fs::read_to_string(&log).unwrap();
        // The requests are not in the log of an older version.
        let old: String = text
            .lines()
            .filter(|line| !line.starts_with("{\"sent\""))
            .map(|line| format!("{}\n", line.replace("\"begin\"", "\"begun\"")))
            .collect();
        fs::write(&log, old).unwrap();
        [step(3), step(4), done(2)].into_iter().for_each(|reply| server.push(reply));
        let output = exec(&place, &server, provider, model, &["-c", "go on"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(server.refusals().len(), 1, "asked again without reasoning, and never refused after that");
        assert!(stderr(&output).contains("continuing without it"), "{}", stderr(&output));
        assert_eq!(server.left(), 0);
        // The next process knows.
        server.push(done(3));
        assert!(exec(&place, &server, provider, model, &["-c", "and now?"]).status.success());
        assert_eq!(server.refusals().len(), 1);
    }
}

#[test]
fn todos_rules_and_files_are_told_behind_what_was_sent() {
    for (dialect, provider, model) in MODELS {
        let place = place();
        place.file("CODE_LAW.md", "Be brief.\n");
        let todo = |status: &str| json!({"todos": [{"content": "find it", "status": status}, {"content": "mend it", "status": "pending"}]});
        let server = FakeServer::start(vec![
            answer().reasoning("a").call("TodoWrite", todo("in_progress")).into(),
            answer().reasoning("b").call("Read", json!({"path": "f0.rs"})).into(),
            answer().reasoning("c").call("TodoWrite", todo("completed")).into(),
            done(1),
        ]);
        server.bind_reasoning();
        assert!(exec(&place, &server, provider, model, &["begin"]).status.success());
        place.file("CODE_LAW.md", "Be very brief.\n").file("f0.rs", "changed\n");
        [step(3), done(2)].into_iter().for_each(|reply| server.push(reply));
        assert!(exec(&place, &server, provider, model, &["-c", "go on"]).status.success());
        check(&place, &server, 0);
        let bodies = server.requests();
        let last = &bodies[bodies.len() - 1].raw;
        let first = last.find("[0/2] In progress: find it.").expect("the first recap stays");
        assert!(first < last.find("[1/2] Pending: mend it.").expect("the next one is behind it"));
        assert_eq!(last.matches("find it. Pending").count(), 1, "each is said once");
        assert!(last.contains("Be brief.") && last.contains("Be very brief."), "{last}");
        let role =
            if dialect == Dialect::Anthropic { "\"role\":\"system\"" } else { "<system-reminder>Todos" };
        assert!(last.contains(role), "{last}");
        assert!(last.contains("f0.rs"), "{last}");
    }
}

#[test]
fn a_switch_to_a_small_window_is_a_switch() {
    let place = place();
    let server = FakeServer::start((0..2).map(done).collect());
    for (model, window) in [("large", "128000"), ("small", "12000")] {
        let args = ["-c", "--context-window", window, "go on"];
        let args = if model == "large" { &args[1..] } else { &args[..] };
        let output = exec(&place, &server, "openai", model, args);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let tools = |number: usize| server.requests()[number].body["tools"].as_array().unwrap().len();
    assert!(tools(1) < tools(0), "a small window has fewer tools");
    let log = reader::read(&place.log()).unwrap();
    let epochs = log.records.iter().filter_map(|record| match record {
        Record::Sent(sent) => sent.epoch.as_ref(),
        _ => None,
    });
    let causes: Vec<&str> =
        epochs.flat_map(|epoch| &epoch.causes).map(|cause| cause.kind.into_str()).collect();
    assert_eq!(causes[0], "model switch", "{causes:?}");
    assert!(causes.contains(&"tools changed"), "{causes:?}");
}
