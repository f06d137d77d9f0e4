//! `mycode replay --trace` on a recording of our own: the table, the JSON and the dump tell the same story.

use serde_json::Value;

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
    for (block, heading) in blocks.iter().zip(["peak max overflows", "verbatim %    S1 %    S2 % epochs/100"])
    {
        let rows: Vec<&str> = block.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(rows, ["policy", "raw", "last5", "seed", "eco", "default", "high"], "{table}");
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
            total += messages.iter().map(mycode::trace::measure::message_tokens).sum::<u64>();
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
