//! `mycode replay --trace` on a recording of our own: the table, the JSON and the dump tell the same story. And what is
//! counted, on small recordings whose figures can be told by hand.

use std::sync::Arc;

use base::config::settings::Binding;
use base::config::settings::{ContextSettings, Origin};
use base::model::request::Message;
use records::trace::metrics::measure::{Meter, Sums};
use records::trace::metrics::originals::SourceTexts;
use records::trace::policy::Policy;
use records::trace::recording::events::{self, ReplayEvent};
use records::trace::recording::reader::Recording;
use records::trace::simulate::{self, ReplayOptions, ReplayedRequest};
use serde_json::{Value, json};

use crate::support::workplace::Workplace;
use crate::support::workplace::stdout;

fn trace() -> String {
    format!("{}/tests/fixtures/bakery.jsonl.gz", env!("CARGO_MANIFEST_DIR"))
}

fn replay(more: &[&str]) -> String {
    let place = Workplace::new();
    let trace = trace();
    let mut args = vec!["replay", "--trace", trace.as_str()];
    args.extend(more);
    let output = place.command(&args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

#[test]
fn the_table_has_a_row_for_every_policy() {
    let table = replay(&[]);
    let blocks: Vec<&str> = table.split("\n\n").collect();
    for (block, heading) in blocks.iter().zip(["peak max overflows", "S2 %    S3 % re-reads epochs/100"]) {
        let rows: Vec<&str> = block.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(rows, ["policy", "raw", "eco", "default", "high"], "{table}");
        assert!(block.lines().next().unwrap().contains(heading), "{table}");
        assert!(block.lines().all(|line| line.chars().count() <= 120), "{table}");
    }
    assert_eq!(blocks.len(), 2, "{table}");
}

#[test]
fn our_policies_cost_less_than_raw_and_never_overflow() {
    for window in ["8192", "16000", "128000"] {
        let json: Value = serde_json::from_str(&replay(&["--json", "--window", window])).unwrap();
        for policy in json["policies"].as_array().unwrap() {
            let name = policy["policy"].as_str().unwrap();
            if ["eco", "default", "high"].contains(&name) {
                assert!(policy["cost"].as_f64().unwrap() < 1.0, "{window}: {policy}");
                assert_eq!(policy["overflows"], 0, "{window}: {policy}");
            }
        }
    }
}

#[test]
fn the_dump_recounts_to_the_table() {
    let place = Workplace::new();
    let dump = place.project().join("dump.jsonl");
    for policy in ["raw", "default"] {
        let json = replay(&["--policy", policy, "--json", "--dump", dump.to_str().unwrap()]);
        let json: Value = serde_json::from_str(&json).unwrap();
        let text = std::fs::read_to_string(&dump).unwrap();
        let requests: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(json["policies"][0]["requests"], requests.len());
        let mut total = 0;
        for (number, request) in requests.iter().enumerate() {
            assert_eq!(request["n"], number);
            let messages = request["messages"].as_array().unwrap();
            total += messages.iter().map(records::trace::metrics::measure::message_tokens).sum::<u64>();
            paired(messages);
        }
        assert_eq!(json["policies"][0]["input_tokens"], total);
    }
}

/// Every call is answered right behind its message, and nothing else is.
fn paired(messages: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let at = open.iter().position(|call| *call == id).expect("a result without a call");
            open.remove(at);
        } else {
            assert!(open.is_empty(), "calls without a result: {open:?}");
            open = message["tool_calls"]
                .as_array()
                .map(|calls| calls.iter().map(|call| call["id"].as_str().unwrap()).collect())
                .unwrap_or_default();
        }
    }
}

fn recorded(lines: Value) -> Vec<ReplayEvent> {
    let events = serde_json::from_value(lines).unwrap();
    events::of_recording(&Recording { events, skipped: 0 })
}

/// A request as the recording has it, to be changed.
#[derive(Clone)]
struct Request {
    turn_start: bool,
    cold: bool,
    messages: Vec<Message>,
}

fn requests(events: &[ReplayEvent]) -> Vec<Request> {
    let mut requests = Vec::new();
    let settings = ContextSettings::for_window(128_000, Origin::User);
    simulate::play(events, Policy::Raw, &settings, &ReplayOptions::default(), |request| {
        let &ReplayedRequest { turn_start, cold, messages, .. } = request;
        requests.push(Request { turn_start, cold, messages: messages.to_vec() });
    });
    requests
}

fn measured(events: &[ReplayEvent], requests: &[Request], options: ReplayOptions) -> Sums {
    let originals = SourceTexts::of(events);
    let mut meter = Meter::new(&originals, 128_000, &options);
    for (n, request) in requests.iter().enumerate() {
        let &Request { turn_start, cold, ref messages } = request;
        meter.record(&ReplayedRequest { n, turn_start, cold, messages });
    }
    meter.finish()
}

/// The requests with the message at `at` as `message`, from request `from` on.
fn changed(requests: &[Request], from: usize, at: usize, message: &Message) -> Vec<Request> {
    let mut requests = requests.to_vec();
    for request in &mut requests[from..] {
        request.messages[at] = message.clone();
    }
    requests
}

#[test]
fn only_lines_of_the_recording_are_genuine() {
    let events = recorded(json!([
        {"t": "user", "text": "Look at the parser"},
        {"t": "tool_call", "id": "a", "name": "read", "args": {"path": "src/parser.rs"}, "g": 1},
        {"t": "tool_result", "id": "a", "text": "fn parse_header() {\n    let limit_bytes = 80;\n}"},
        {"t": "assistant", "text": "It begins in parse_header.", "g": 2},
        {"t": "tool_call", "id": "b", "name": "bash", "args": {"command": "make"}, "g": 2},
        {"t": "tool_result", "id": "b", "text": "fine"},
        {"t": "tool_call", "id": "c", "name": "edit", "g": 3, "args": {"path": "src/parser.rs",
            "old_string": "let limit_bytes = 80;", "new_string": "let limit_bytes = parse_header();"}},
    ]));
    let requests = requests(&events);
    assert!(matches!(&requests[2].messages[2], Message::Result { text, .. } if text.contains("limit_bytes")));
    let held = |result: &str| {
        let result = Message::Result { call_id: "a".into(), text: result.into(), error: false };
        let requests = changed(&requests, 2, 2, &result);
        measured(&events, &requests, ReplayOptions::default()).held
    };
    // Names: `parser` of the user, `parse_header` of the result and the reply, `limit_bytes` of the result. A file name of
    // the agent's own. A line of the result.
    let raw = measured(&events, &requests, ReplayOptions::default());
    assert_eq!(raw.used, [5, 5, 3]);
    assert_eq!(raw.held, [5, 5, 3]);
    assert_eq!(held("[3 lines left out, with parse_header limit_bytes]"), [4, 3, 0]);
    assert_eq!(held("  fn parse_header() {\n[… 2 …]"), [3, 3, 1]);
    let quoted = "-fn parse_header() {\n+    let limit_bytes = 80;\n";
    assert_eq!(held(quoted), [5, 3, 0]);
    assert_eq!(held(&format!("[as #2]\n@@ -1,2 +1,2 @@\n{quoted}")), [5, 5, 3]);
}

/// Two steps, an answer, and five minutes later another turn.
fn two_turns() -> Vec<ReplayEvent> {
    recorded(json!([
        {"t": "user", "text": "go"},
        {"t": "tool_call", "id": "a", "name": "bash", "args": {"command": "make one"}, "g": 1, "ts": 0},
        {"t": "tool_result", "id": "a", "text": "first"},
        {"t": "tool_call", "id": "b", "name": "bash", "args": {"command": "make two"}, "g": 2, "ts": 10},
        {"t": "tool_result", "id": "b", "text": "second"},
        {"t": "assistant", "text": "Done.", "g": 3, "ts": 20},
        {"t": "user", "text": "more"},
        {"t": "assistant", "text": "Well.", "g": 4, "ts": 321},
    ]))
}

#[test]
fn epochs_end_where_something_sent_is_changed() {
    let events = two_turns();
    let raw = requests(&events);
    let flags: Vec<(bool, bool)> = raw.iter().map(|request| (request.turn_start, request.cold)).collect();
    assert_eq!(flags, [(true, false), (false, false), (false, false), (true, true)]);
    let breaks = |requests: &[Request]| measured(&events, requests, ReplayOptions::default()).epochs.breaks;
    assert_eq!(breaks(&raw), [0, 0, 0]);
    let pointer = Message::Result { call_id: "a".into(), text: "[left out]".into(), error: false };
    assert_eq!(breaks(&changed(&raw, 2, 2, &pointer)), [0, 0, 1]);
    assert_eq!(breaks(&changed(&raw, 3, 2, &pointer)), [0, 1, 0], "cold at a turn");
    let mut back = changed(&raw, 2, 2, &pointer);
    back[2].cold = true;
    back[3] = Request { cold: false, ..raw[3].clone() };
    assert_eq!(breaks(&back), [1, 1, 0]);
}

#[test]
fn reasoning_is_kept_by_what_stands_before_it_or_with_it() {
    let events = two_turns();
    let raw = requests(&events);
    let kept = |requests: &[Request], bound: bool| {
        let binding = if bound { Binding::Rejects } else { Binding::None };
        let sums = measured(&events, requests, ReplayOptions { binding, ..ReplayOptions::default() });
        (sums.epochs.blocks_kept, sums.epochs.blocks)
    };
    assert_eq!((kept(&raw, true), kept(&raw, false)), ((6, 6), (6, 6)));
    // The first result stands before the second reply, but is no part of one.
    let pointer = Message::Result { call_id: "a".into(), text: "[left out]".into(), error: false };
    let masked = changed(&raw, 2, 2, &pointer);
    assert_eq!((kept(&masked, true), kept(&masked, false)), ((4, 6), (6, 6)));
    // The second call is the second reply, and stands before the third.
    let Message::Call(call) = &raw[3].messages[3] else { panic!("{:?}", raw[3].messages) };
    let mut call = (**call).clone();
    call.args = "{}".into();
    let folded = changed(&raw, 3, 3, &Message::Call(Arc::new(call)));
    assert_eq!((kept(&folded, true), kept(&folded, false)), ((5, 6), (5, 6)));
}

#[test]
fn the_system_prompt_counts_in_every_request_and_is_cached_while_warm() {
    let events = two_turns();
    let sums = |system_tokens| {
        let options = ReplayOptions { system_tokens, ..ReplayOptions::default() };
        measured(&events, &requests(&events), options)
    };
    let (bare, with) = (sums(0), sums(2_560));
    assert_eq!(
        (bare.cached_tokens, with.cached_tokens),
        (0, 2 * 2_560),
        "the first and the cold one pay all"
    );
    assert_eq!(with.input_tokens, bare.input_tokens + 4 * 2_560);
    assert_eq!(with.peaks[0], bare.peaks[0] + 2_560);
}

#[test]
fn policies_leave_room_for_the_system_prompt() {
    let json = replay(&[
        "--json",
        "--policy",
        "raw,eco,default,high",
        "--window",
        "18000",
        "--system-tokens",
        "10000",
    ]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let overflows: Vec<u64> =
        json["policies"].as_array().unwrap().iter().map(|row| row["overflows"].as_u64().unwrap()).collect();
    assert!(overflows[0] > 0 && overflows[1..] == [0, 0, 0], "{overflows:?}");
}

#[test]
fn sources_are_shown_by_themselves_and_their_mean_counts_each_once() {
    let place = Workplace::new();
    for (name, source, steps) in [("a", "long", 5), ("b", "short", 1), ("c", "short", 1)] {
        let mut lines = vec![json!({"t": "meta", "source": source}), json!({"t": "user", "text": "go"})];
        for id in 0..steps {
            lines.push(json!({"t": "tool_call", "id": id.to_string(), "name": "bash", "args": {}}));
            lines.push(json!({"t": "tool_result", "id": id.to_string(), "text": "word ".repeat(3_000)}));
        }
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        place.file(&format!("traces/{name}.jsonl"), lines.join("\n"));
    }
    let run = |more: &[&str]| {
        let mut args = vec!["replay", "--trace", "traces", "--policy", "raw"];
        args.extend(more);
        stdout(&place.command(&args).output().unwrap())
    };
    let json: Value = serde_json::from_str(&run(&["--json", "--write-price", "1.25"])).unwrap();
    let row = &json["policies"][0];
    let (long, short) = (&row["by_source"]["long"], &row["by_source"]["short"]);
    assert_eq!((&row["sessions"], &long["sessions"], &short["sessions"]), (&json!(3), &json!(1), &json!(2)));
    assert_eq!((&row["requests"], &long["requests"], &short["requests"]), (&json!(7), &json!(5), &json!(2)));
    let hits = [row, long, short, &row["mean_of_sources"]].map(|row| row["hit"].as_f64().unwrap());
    assert!(hits[0] > hits[3] && hits[2] == 0.0 && (hits[3] - hits[1] / 2.0).abs() < 1e-9, "{hits:?}");
    let table = run(&["--by-source"]);
    let labels: Vec<&str> = table.lines().map(|line| line.get(..14).unwrap_or(line).trim()).collect();
    let block = ["policy", "raw", "raw long", "raw short", "raw (mean)"];
    assert_eq!(labels, [&block[..], &[""], &block].concat(), "{table}");
}
