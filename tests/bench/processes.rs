//! The real binary against a fake server: time to the first request, memory, tokens, time per step.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::answer::Reply;
use crate::support::answer::answer;
use crate::support::server::{FakeServer, Recorded};
use crate::support::tokens;
use crate::support::workplace::Workplace;

const RUNS: usize = 9;

/// Prints one line a figure.
pub fn print() {
    println!("figure                                       median      promise");
    let line = |name: &str, value: String, promise: &str| println!("{name:<40} {value:>12}   {promise}");
    line("--version", format!("{:.1} ms", median(RUNS, version)), "< 10 ms");
    line("--help", format!("{:.1} ms", median(RUNS, help)), "< 10 ms");
    line("start to first request", format!("{:.1} ms", median(RUNS, first_request)), "< 30 ms");
    let (requests, rss_kib, cpu_ms) = twelve_steps();
    line("13-request task: peak memory", format!("{:.1} MiB", rss_kib / 1024.0), "< 40 MiB");
    line("13-request task: CPU with its tools", format!("{cpu_ms:.0} ms"), "< 100 ms beyond tools");
    line("13-request task: per step", format!("{:.1} ms", gaps(&requests)), "overhead < 5 ms");
    let first = &requests[0].body;
    let fixed = tokens::count(first["messages"][0]["content"].as_str().unwrap())
        + tokens::count(&first["tools"].to_string());
    line("L1 with all schemas", format!("{fixed} tokens"), "<= 3,000");
    line("first request", format!("{} tokens", tokens::of_request(first)), "<= 3,200");
    line("13-request task: effective tokens", format!("{:.0}", effective(&requests)), "<= 12,000");
    let requests = resumed_session();
    line("15 resumed turns: requests", requests.len().to_string(), "75");
    line("15 resumed turns: effective tokens", format!("{:.0}", effective(&requests)), "<= 100,000");
    line("resume of 10,000 items", format!("{:.0} ms", long_resume()), "< 200 ms");
    line("report of 200 sessions of 1 MB", format!("{:.0} ms", median(3, big_report)), "< 1,000 ms");
    let binary = std::fs::metadata(env!("CARGO_BIN_EXE_mycode")).map_or(0, |meta| meta.len());
    line("binary", format!("{:.1} MB", binary as f64 / 1e6), "<= 30 MB");
    println!();
}

fn median(runs: usize, mut run: impl FnMut() -> f64) -> f64 {
    let mut values: Vec<f64> = (0..runs).map(|_| run()).collect();
    values.sort_by(f64::total_cmp);
    values[runs / 2]
}

fn quiet(place: &Workplace, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn timed(args: &[&str]) -> f64 {
    let place = Workplace::new();
    let begun = Instant::now();
    quiet(&place, args).status().unwrap();
    begun.elapsed().as_secs_f64() * 1e3
}

fn version() -> f64 {
    timed(&["--version"])
}

fn help() -> f64 {
    timed(&["--help"])
}

fn first_request() -> f64 {
    let server = FakeServer::start(vec![answer().text("Hello.").into()]);
    let place = Workplace::new();
    let url = server.base_url();
    let begun = Instant::now();
    quiet(&place, &["exec", "--base-url", &url, "--model", "m", "hello"]).status().unwrap();
    (server.requests()[0].at - begun).as_secs_f64() * 1e3
}

fn bug_project() -> Workplace {
    let place = Workplace::new();
    place
        .file("src/seq.py", "def last(items):\n    return items[len(items)]\n")
        .file(
            "src/util.py",
            (0..60).map(|n| format!("def helper_{n}(x):\n    return x + {n}\n")).collect::<String>(),
        )
        .file(
            "check.sh",
            "grep -q 'len(items) - 1' src/seq.py && echo '1 passed' || { echo FAILED; exit 1; }\n",
        );
    place
}

fn task(turn: usize, steps: &[(&str, Value)]) -> Vec<Reply> {
    let mut replies: Vec<Reply> = steps
        .iter()
        .map(|(tool, args)| answer().text("Next step.").call(tool, args.clone()).into())
        .collect();
    replies.push(answer().text(&format!("Turn {turn} is done; the check passes.")).into());
    replies
}

fn bug_fix() -> Vec<Reply> {
    let read = |path: &str| ("Read", json!({"path": path}));
    let bash = |command: &str| ("Bash", json!({"command": command}));
    task(
        0,
        &[
            ("LS", json!({})),
            ("Grep", json!({"pattern": "def "})),
            read("src/seq.py"),
            bash("sh check.sh"),
            read("src/util.py"),
            ("Grep", json!({"pattern": "last"})),
            (
                "Edit",
                json!({"path": "src/seq.py", "old_string": "items[len(items)]", "new_string": "items[len(items) - 1]"}),
            ),
            bash("sh check.sh"),
            read("check.sh"),
            ("Glob", json!({"pattern": "**/*.py"})),
            bash("ls -la"),
            bash("sh check.sh"),
        ],
    )
}

/// Requests, peak KiB and CPU milliseconds (children included) of the 13-request task.
fn twelve_steps() -> (Vec<Recorded>, f64, f64) {
    let server = FakeServer::start(bug_fix());
    let place = bug_project();
    let report = place.home().join("time.txt");
    let command =
        quiet(&place, &["exec", "--base-url", &server.base_url(), "--model", "m", "fix the bug in last()"]);
    let mut outer = Command::new("/usr/bin/time");
    outer.args(["-f", "%M %U %S", "-o"]).arg(&report).arg(command.get_program()).args(command.get_args());
    outer.current_dir(place.project()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    outer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).arg0("time");
    let measured = outer.status().is_ok_and(|status| status.success());
    if !measured {
        // No `time` program here: the task still runs, memory and CPU stay unknown.
        let mut command = command;
        command.status().unwrap();
    }
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    let mut fields = text.split_whitespace().filter_map(|field| field.parse::<f64>().ok());
    let rss = fields.next().unwrap_or(f64::NAN);
    let cpu = fields.sum::<f64>() * 1e3;
    (server.requests(), rss, cpu)
}

fn gaps(requests: &[Recorded]) -> f64 {
    let mut gaps: Vec<f64> =
        requests.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64() * 1e3).collect();
    gaps.sort_by(f64::total_cmp);
    gaps[gaps.len() / 2]
}

/// Uncached tokens plus a tenth of the cached ones, the prefix shared with the previous request being cached.
fn effective(requests: &[Recorded]) -> f64 {
    let mut before: Vec<Value> = Vec::new();
    let mut sum = 0.0;
    for request in requests {
        let mut pieces = vec![request.body["tools"].clone()];
        pieces.extend(request.body["messages"].as_array().unwrap().iter().cloned());
        let shared = pieces.iter().zip(&before).take_while(|(a, b)| a == b).count();
        let size = |pieces: &[Value]| -> usize {
            pieces.iter().map(|piece| tokens::of_request(&json!({"messages": [piece]}))).sum()
        };
        let tools = tokens::count(&request.body["tools"].to_string());
        let cached = if shared == 0 { 0 } else { tools + size(&pieces[1..shared]) };
        let all = tools + size(&pieces[1..]);
        sum += (all - cached) as f64 + cached as f64 / 10.0;
        before = pieces;
    }
    sum
}

/// 15 turns of five requests, each turn its own process that resumes the session.
fn resumed_session() -> Vec<Recorded> {
    let mut replies = Vec::new();
    for turn in 0..15 {
        let noisy = format!(
            "for i in $(seq 120); do echo \"step $i of turn {turn} compiled without a problem\"; done"
        );
        replies.extend(task(
            turn,
            &[
                ("Grep", json!({"pattern": format!("helper_{turn}\\b")})),
                ("Read", json!({"path": "src/util.py"})),
                (
                    "Edit",
                    json!({"path": "src/util.py", "old_string": format!("x + {turn}\n"), "new_string": format!("x - {turn}\n")}),
                ),
                ("Bash", json!({"command": noisy})),
            ],
        ));
    }
    let server = FakeServer::start(replies);
    let place = bug_project();
    for turn in 0..15 {
        let mut args = vec!["exec", "--model", "m"];
        if turn > 0 {
            args.push("-c");
        }
        let (url, prompt) = (server.base_url(), format!("turn {turn}: change helper_{turn} to subtract"));
        args.extend(["--base-url", &url, &prompt]);
        quiet(&place, &args).status().unwrap();
    }
    server.requests()
}

/// Time of `mycode report --since` over 200 MB of sessions.
fn big_report() -> f64 {
    let server = FakeServer::start(bug_fix());
    let place = bug_project();
    quiet(&place, &["exec", "--base-url", &server.base_url(), "--model", "m", "fix it"]).status().unwrap();
    let whole = std::fs::read_to_string(place.log()).unwrap();
    let (first, rest) = whole.split_once('\n').unwrap();
    let log = format!("{first}\n{}", rest.repeat((1 << 20) / rest.len() + 1));
    for n in 0..200 {
        std::fs::write(place.log().with_file_name(format!("20200101-000000-{n:04}.jsonl")), &log).unwrap();
    }
    let begun = Instant::now();
    quiet(&place, &["report", "--since", "2020-01-01"]).status().unwrap();
    begun.elapsed().as_secs_f64() * 1e3
}

/// Time from start to the first request of a session with 10,000 items.
fn long_resume() -> f64 {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Two.").into()]);
    let place = bug_project();
    let url = server.base_url();
    quiet(&place, &["exec", "--base-url", &url, "--model", "m", "begin"]).status().unwrap();
    let mut log = std::fs::read_to_string(place.log()).unwrap();
    for n in 0..3_333_u64 {
        let id = 100 + n * 3;
        let body = "some line of output that a tool printed\\n".repeat(20);
        log.push_str(&format!("{{\"item\":{{\"id\":{id},\"ms\":1,\"tokens\":9,\"item\":{{\"user\":{{\"text\":\"go on {n}\"}}}}}}}}\n"));
        log.push_str(&format!("{{\"item\":{{\"id\":{},\"ms\":1,\"tokens\":12,\"item\":{{\"tool_call\":{{\"id\":\"c{n}\",\"name\":\"LS\",\"args\":\"{{}}\"}}}}}}}}\n", id + 1));
        log.push_str(&format!("{{\"item\":{{\"id\":{},\"ms\":1,\"tokens\":200,\"item\":{{\"tool_result\":{{\"call_id\":\"c{n}\",\"tool\":\"LS\",\"envelope\":{{\"status\":\"success\",\"data\":{{\"path\":\".\"}},\"body_key\":\"entries\",\"body\":\"{body}\",\"time_ms\":1}}}}}}}}}}\n", id + 2));
    }
    std::fs::write(place.log(), log).unwrap();
    let begun = Instant::now();
    quiet(&place, &["exec", "-c", "--context-window", "1000000", "--base-url", &url, "--model", "m", "end"])
        .status()
        .unwrap();
    let requests = server.requests();
    (requests[requests.len() - 1].at - begun).as_secs_f64() * 1e3
}
