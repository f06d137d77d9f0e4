//! Single cases beside the table.

use std::time::{Duration, Instant};

use agent::assemble::RunLimits;
use base::deadline::Deadline;
use base::protocol::event::{EndReason, FailureCause};
use serde_json::{Value, json};

use super::run::{bash, edit, joined, project, run_with, text, todo, with_pytest};
use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{stderr, stdout};

#[test]
fn a_failed_check_is_not_passed_over() {
    let failing = || with_pytest(project(), "1 failed, 2 passed in 0.10s", 1);
    let passing = || with_pytest(project(), "3 passed in 0.10s", 0);
    let fixed = "Changed a.py: f returns 2.";
    let pytest = || answer().call("Bash", json!({"command": "PATH=.:$PATH; pytest -q | tail -1"}));
    for (place, answer, told) in [
        (
            failing(),
            fixed,
            Some("The last `pytest` failed (\"1 failed, 2 passed in 0.10s\"); your answer doesn't say so."),
        ),
        (failing(), "Changed a.py, but one test still fails.", None),
        (failing(), "f returns 2. All tests pass.", Some("The last `pytest` failed")),
        (passing(), "f returns 2. All tests pass.", None),
    ] {
        place.git(&["init", "-q"]);
        std::process::Command::new("chmod")
            .args(["+x", "pytest"])
            .current_dir(place.project())
            .status()
            .unwrap();
        let mut script = joined(vec![edit(), vec![pytest(), text(answer)]]);
        script.extend(told.map(|_| text("One test fails, and it did before.")));
        let count = script.len();
        let run = run_with(place, &[], "Make f return 2", script);
        assert_eq!(run.requests.len(), count, "{answer}: {}", run.words);
        assert_eq!(run.nudges.len(), usize::from(told.is_some()), "{answer}: {}", run.words);
        assert!(run.words.contains(told.unwrap_or_default()), "{}", run.words);
        assert_eq!(run.code, 0);
    }
}

/// Also if the test failed before the change, and if the claim follows the first reminder.
#[test]
fn a_false_claim_is_told_of_whenever_it_is_made() {
    let place = with_pytest(project(), "1 failed, 2 passed in 0.10s", 1);
    place.git(&["init", "-q"]);
    let pytest =
        || answer().call("Bash", json!({"command": "chmod +x pytest; PATH=.:$PATH; pytest -q | tail -1"}));
    let script = joined(vec![
        vec![pytest()],
        edit(),
        vec![text("f returns 2."), pytest(), text("f returns 2. All tests pass."), text("One test fails.")],
    ]);
    let run = run_with(place, &[], "Make f return 2", script);
    assert_eq!(run.nudges, ["finish", "finish"], "{}", run.words);
    assert!(run.words.contains("The last `pytest` failed"), "{}", run.words);
    assert_eq!((run.requests.len(), run.end["result"].as_str()), (7, Some("One test fails.")));
}

#[test]
fn tests_that_never_ran_are_not_claimed() {
    let claim = || text("f returns 2. All tests pass.");
    let run = run_with(
        project(),
        &[],
        "Make f return 2",
        joined(vec![edit(), vec![claim(), text("No test was run.")]]),
    );
    assert!(
        run.words.contains("Your answer says that tests pass; none ran after the last change."),
        "{}",
        run.words
    );
    assert!(!run.words.contains("nothing was built"), "one cause, one line: {}", run.words);
    assert_eq!(run.end["facts"], json!(["never_checked"]));
}

#[test]
fn calls_as_text_are_never_done() {
    let formats = [
        "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
        "<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>",
        "[TOOL_CALLS][{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}]",
        "[TOOL_CALLS]Bash[ARGS]{\"command\": \"ls\"}",
        "<|python_tag|>{\"name\": \"Bash\", \"parameters\": {\"command\": \"ls\"}}",
        "<｜tool▁call▁begin｜>Bash<｜tool▁sep｜>{\"command\": \"ls\"}<｜tool▁call▁end｜>",
        "<function_calls>\n<invoke name=\"Bash\">\n<parameter name=\"command\">ls</parameter>\n</invoke>",
        "<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
        "```json\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n```",
        "<TOOLCALL>[{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}]</TOOLCALL>",
        "<tool_calls>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_calls>",
        "<|action_start|><|plugin|>{\"name\": \"Bash\", \"parameters\": {\"command\": \"ls\"}}<|action_end|>",
        "<|START_ACTION|>[{\"tool_name\": \"Bash\", \"parameters\": {\"command\": \"ls\"}}]<|END_ACTION|>",
        "<|tool_call_start|>[Bash(command=\"ls\")]<|tool_call_end|>",
        "<|python_tag|>Bash.call(command=\"ls\")",
        "```tool_code\nprint(Bash(command='ls'))\n```",
        "<|start|>assistant<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{\"command\":\"ls\"}",
    ];
    for format in formats {
        let run =
            run_with(project(), &[], "List the files", vec![text(format), text("a.py and two scripts.")]);
        assert_eq!((run.nudges.len(), run.requests.len(), run.code), (0, 2, 0), "{format}: {}", run.words);
        let body = run.last_body();
        assert!(body.contains("check.sh") && body.contains("\"role\":\"tool\""), "it ran: {format}: {body}");
    }
    // Several at once, other agents' names, prose behind them.
    let two = "<tool_call>\n{\"name\": \"run_shell_command\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>\n\
               <tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.py\"}}\n</tool_call>\nI will report the result.";
    let run = run_with(project(), &[], "List the files", vec![text(two), text("a.py and two scripts.")]);
    assert_eq!((run.nudges.len(), run.requests.len()), (0, 2), "{}", run.words);
    assert_eq!(run.last_body().matches("\"role\":\"tool\"").count(), 2);
    // What can't be read, and what no tool is called, is answered so that it can be repaired.
    for (broken, said) in [
        ("<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": ", "JSON"),
        (
            "<tool_call>\n{\"name\": \"frobnicate\", \"arguments\": {}}\n</tool_call>",
            "there is no tool frobnicate",
        ),
    ] {
        let run = run_with(project(), &[], "List the files", vec![text(broken), text("I could not do it.")]);
        assert_eq!(run.requests.len(), 2, "{}", run.words);
        assert!(run.last_body().contains(said), "{}", run.last_body());
    }
    for talk in [
        "The format is `<tool_call>{\"name\": \"Bash\"}</tool_call>`, which Hermes models write.",
        "An example:\n\n```xml\n<function=Bash>\n<parameter=command>ls</parameter>\n</function>\n```\n\nSo it is XML.",
    ] {
        let run = run_with(project(), &[], "How does Qwen write calls?", vec![text(talk)]);
        assert_eq!((run.nudges.len(), run.code), (0, 0), "{talk}");
    }
}

/// What the first message says about tests.
#[test]
fn the_first_message_names_the_test_command() {
    for (files, commands) in [
        (&[("Makefile", "all:\n\ttrue\ncheck: all\n\ttrue\n")][..], &["make check"][..]),
        (
            &[("tests/test_a.py", "import unittest\n")],
            &["python3 -m pytest -q", "python3 -m unittest discover -s tests"],
        ),
        (&[("test_a.py", "import a\n"), (".venv/bin/python", "")], &[".venv/bin/python -m pytest -q"]),
        (&[("Cargo.toml", "")], &["cargo test"]),
    ] {
        let place = project();
        for (name, content) in files {
            place.file(name, *content);
        }
        let run = run_with(place, &[], "What is f?", vec![text("A function.")]);
        let first = run.last_body();
        let named = |command: &&str| first.contains(&format!("Tests: `{command}`."));
        assert!(commands.iter().any(named), "{commands:?}: {first}");
    }
}

#[test]
fn a_cut_reply_goes_on() {
    let cut = |words: &str| text(words).finish("length");
    let run = run_with(
        project(),
        &[],
        "Tell a story",
        vec![cut("Once upon a"), cut(" time there"), text(" was a fox.")],
    );
    assert_eq!((run.code, run.end["result"].as_str()), (0, Some("Once upon a time there was a fox.")));
    assert_eq!(run.nudges, ["cut", "cut"]);
    assert!(run.words.contains("Pick up at its last word and repeat nothing."));
    let endless = (0..4).map(|_| cut("more")).collect();
    let run = run_with(project(), &[], "Tell a story", endless);
    assert_eq!((run.code, run.requests.len(), run.end["reason"].as_str()), (13, 4, Some("failed")));
    // What was said before a call isn't the answer.
    let read = answer().call("Read", json!({"path": "a.py"}));
    let run = run_with(project(), &[], "What is f?", vec![cut("First"), read, text("A function.")]);
    assert_eq!(run.end["result"], "A function.");
    // A call that was cut never runs.
    let half = answer().call_raw("Write", "{\"path\": \"new.txt\", \"content\": \"abc").finish("length");
    let run = run_with(project(), &[], "Write something", vec![half, text("It was too long.")]);
    assert!(
        !run.place.project().join("new.txt").exists()
            && run.last_body().contains("Not run: the call was cut off"),
        "{}",
        run.last_body()
    );
}

#[test]
fn a_short_reply_to_the_reminder_completes_the_answer() {
    let answer = "Class `Tree` in tree.py holds the tree; its nodes are in `node.py`.";
    let ticked = "Only the list was not updated.";
    let read = || vec![todo("in_progress"), text(answer)];
    let run =
        run_with(project(), &[], "Which class holds the tree?", joined(vec![read(), vec![text(ticked)]]));
    assert_eq!(
        (&*run.nudges, run.end["result"].as_str()),
        (&["finish".to_owned()][..], Some(&*format!("{answer}\n\n{ticked}")))
    );
    assert!(run.words.contains("Only your last reply counts as the answer"), "{}", run.words);
    let again = "The list was not updated. Class `Tree` in tree.py holds the tree.";
    let run =
        run_with(project(), &[], "Which class holds the tree?", joined(vec![read(), vec![text(again)]]));
    assert_eq!(run.end["result"], again);
    // A list of an earlier turn isn't brought up again.
    let next = run_with(run.place, &["-c"], "And the nodes?", vec![text("They are in node.py.")]);
    assert!(next.nudges.is_empty(), "{}", next.words);
}

#[test]
fn a_model_that_is_stuck_is_stopped() {
    let again = |count: usize| (0..count).map(|_| bash("cat nowhere.txt")).collect::<Vec<_>>();
    let run = run_with(project(), &[], "Read it", again(20));
    assert_eq!((run.code, run.requests.len(), run.nudges.len()), (13, 12, 1), "{}", run.end);
    assert!(run.end["message"].as_str().unwrap().contains("the same failing call 12 times"), "{}", run.end);
    // Every failure is shown with its error and its count.
    assert!(
        run.last_body().contains("No such file or directory")
            && run.last_body().contains("has failed 4 times")
    );
    assert!(!run.last_body().contains("the same output as"), "{}", run.last_body());
    // Also if each reply ends with a call that works.
    let edit = json!({"path": "a.py", "old_string": "return 7", "new_string": "return 2"});
    let beside = || answer().call("Edit", edit.clone()).call("Bash", json!({"command": "sh ./check.sh"}));
    let run = run_with(project(), &[], "Make it 2", (0..20).map(|_| beside()).collect());
    assert_eq!((run.code, run.requests.len(), run.nudges.len()), (13, 13, 1), "{}", run.end);
    // A poll is none, nor is a test that is run again after a change.
    let polls = vec![
        answer().call("Bash", json!({"command": "sleep 300", "background": true})),
        answer().call("Job", json!({"id": 1})),
        answer().call("Job", json!({"id": 1})),
        answer().call("Job", json!({"id": 1})),
        answer().call("Job", json!({"id": 1})),
        answer().call("Job", json!({"id": 1})),
        answer().call("Job", json!({"id": 1, "stop": true})),
        text("It is stopped."),
    ];
    assert!(run_with(project(), &[], "Wait", polls).nudges.is_empty());
}

#[test]
fn nudges_can_be_switched_off() {
    let place = project();
    std::fs::write(place.home().join("config.toml"), "nudges = false\n").unwrap();
    let run =
        run_with(place, &[], "Make f return 2", joined(vec![edit(), vec![text("I'll now run the tests.")]]));
    assert_eq!((run.nudges.len(), run.code), (0, 0));
}

/// Also one that ends before its call does.
#[test]
fn a_check_in_the_background_counts() {
    let check = || answer().call("Bash", json!({"command": "sh ./check.sh", "background": true}));
    let wait = || answer().call("Job", json!({"id": 1, "wait_s": 9}));
    let run = run_with(
        project(),
        &[],
        "Make f return 2",
        joined(vec![edit(), vec![check(), wait(), text("It does.")]]),
    );
    assert!(run.nudges.is_empty(), "{}", run.words);
}

#[test]
fn what_the_turn_put_back_needs_no_check() {
    let back =
        answer().call("Edit", json!({"path": "a.py", "old_string": "return 2", "new_string": "return 1"}));
    let run = run_with(project(), &[], "Try it", joined(vec![edit(), vec![back, text("It is as it was.")]]));
    assert!(run.nudges.is_empty(), "{}", run.words);
    // Nor does prose.
    let write = answer().call("Write", json!({"path": "NOTES.md", "content": "# Notes\n"}));
    let run = run_with(project(), &[], "Write NOTES.md", vec![write, text("Written.")]);
    assert!(run.nudges.is_empty(), "{}", run.words);
}

#[test]
fn exit_codes_say_what_happened() {
    let read = || answer().call("Read", json!({"path": "a.py"}));
    let run = run_with(project(), &["--max-steps", "2"], "Look", vec![read(), read(), read()]);
    assert_eq!((run.code, run.end["reason"].as_str()), (5, Some("step_limit")));
    let denied = |after: &str| vec![bash("rm -rf /"), text(after)];
    let run = run_with(project(), &[], "Delete everything", denied("It was refused."));
    assert_eq!((run.code, run.end["reason"].as_str()), (8, Some("done")), "{}", run.end);
    // A refusal on the way isn't the end.
    let run = run_with(
        project(),
        &[],
        "Delete",
        vec![bash("rm -rf /"), read(), text("It was refused, so I looked.")],
    );
    assert_eq!((run.code, run.end["denied"].as_u64()), (0, Some(1)), "{}", run.end);
    let run = run_with(project(), &[], "Look", vec![text(""), text(""), text("")]);
    assert_eq!(run.code, 13, "{}", run.end);
}

#[tokio::test]
async fn a_deadline_ends_the_run() {
    let server = FakeServer::start(vec![bash("sleep 300").into(), crate::support::answer::silence()]);
    let place = project();
    let deadline = Deadline::new(Instant::now(), Duration::from_millis(1_500));
    let limits = RunLimits { deadline: Some(deadline), ..RunLimits::default() };
    let config = format!(
        "provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"",
        server.base_url()
    );
    let mut agent = TestAgent::limited(&place, &config, limits);
    let end = agent.turn("Wait").await;
    assert!(
        matches!(&end.reason, EndReason::Failed { cause: FailureCause::Deadline, .. }),
        "{:?}",
        end.reason
    );
    let first = &server.requests()[0].raw;
    assert!(first.contains("Time limit: 0 minutes.") && first.contains("There is a time limit."), "{first}");
    // The command went on as a job instead of eating up the time.
    assert!(server.requests()[1].raw.contains("Still running after 1 s, now as job 1."));
}

/// What benchmarks read: every call has its result in its own step, sub-agents are embedded and referred to, totals add up.
#[test]
fn a_run_as_a_trajectory() {
    let place = project();
    let file = place.project().join("t.json");
    let out = file.to_string_lossy().into_owned();
    let task = json!({"type": "explore", "prompt": "look around", "description": "look"});
    let replies = vec![
        answer().reasoning("Hm.").call("Task", task),
        text("There is a.py."),
        answer().text("Now.").call("Read", json!({"path": "a.py"})),
        text("f returns 1."),
    ];
    let run = run_with(place, &["--trajectory", &out], "What does f return?", replies);
    let whole: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((run.code, whole["schema_version"].as_str()), (0, Some("ATIF-v1.8")));
    let steps = whole["steps"].as_array().unwrap();
    let numbers: Vec<u64> = steps.iter().map(|step| step["step_id"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=steps.len() as u64).collect::<Vec<_>>());
    for step in steps {
        let made: Vec<&Value> =
            step["tool_calls"].as_array().into_iter().flatten().map(|call| &call["tool_call_id"]).collect();
        let results = step["observation"]["results"].as_array();
        let answered: Vec<&Value> =
            results.into_iter().flatten().map(|result| &result["source_call_id"]).collect();
        assert_eq!(made, answered, "{step}");
        assert!(step["source"] == "agent" || step["metrics"].is_null(), "{step}");
    }
    let agent = &whole["subagent_trajectories"][0]["trajectory_id"];
    let refers = steps.iter().any(|step| {
        step["observation"]["results"][0]["subagent_trajectory_ref"][0]["trajectory_id"] == *agent
    });
    assert!(agent.is_string() && refers, "{whole:#}");
    let of_steps: u64 = steps.iter().filter_map(|step| step["metrics"]["prompt_tokens"].as_u64()).sum();
    assert!(
        whole["final_metrics"]["total_prompt_tokens"].as_u64().unwrap() > of_steps,
        "the sub-agent's count too"
    );
}

/// With Harbor's own classes, from a Python that has them or into the folder of packages that `MYCODE_SDKS` names.
#[test]
fn harbor_runs_it() {
    let script = |name: &str| format!("{}/tests/eval/{name}", env!("CARGO_MANIFEST_DIR"));
    let found = std::process::Command::new(script("harbor-python")).output().unwrap();
    let named = stdout(&found);
    let Some((python, packages)) = named.split_once('\t') else {
        eprintln!("skipped: {}", stderr(&found).trim());
        return;
    };
    let place = project();
    let logs = place.home().join("logs");
    std::fs::create_dir_all(&logs).unwrap();
    let server = FakeServer::start(vec![
        bash("ls").usage(1_000, 0, 9).into(),
        text("Three files.").usage(2_000, 900, 9).into(),
    ]);
    let out = std::process::Command::new(python)
        .args([&script("drive.py"), env!("CARGO_BIN_EXE_mycode"), &server.base_url()])
        .args([place.project(), logs])
        .env("MYCODE_HOME", place.home())
        .envs([("PYTHONPATH", packages), ("LITELLM_LOCAL_MODEL_COST_MAP", "True")])
        .output()
        .unwrap();
    let said = stdout(&out);
    let last: Value = serde_json::from_str(said.lines().last().unwrap_or_default()).unwrap_or_default();
    assert_eq!(
        (&last["input"], &last["metadata"]["exit_code"]),
        (&json!(3_000), &json!("0")),
        "{said}{}",
        stderr(&out)
    );
}
