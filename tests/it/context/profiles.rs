//! What the profiles cost on made-up sessions, replayed: one that saves more never costs more, and small windows don't
//! rewrite the past at every step.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::support::workplace::{Workplace, stdout};

/// A later profile may be cheaper by chance, most of all where the window leaves little choice.
fn chance(window: u64) -> f64 {
    if window > 32_000 { 1.05 } else { 1.12 }
}

/// A line of code that nothing else says.
fn line(rng: &mut Rng) -> String {
    let mut word = || (0..rng.usize(4..11)).map(|_| rng.lowercase()).collect::<String>();
    match word().len() % 3 {
        0 => format!("    let {}_{} = self.{}(&{});", word(), word(), word(), word()),
        1 => format!("pub fn {}({}: u32) -> {} {{", word(), word(), word()),
        _ => format!("    // {} {} {} {}", word(), word(), word(), word()),
    }
}

/// A recording: `turns` times a request of the user with `steps` steps, `idle_s` apart.
fn recording(rng: &mut Rng, turns: usize, steps: usize, idle_s: u64) -> String {
    let files: Vec<Vec<String>> = (0..30).map(|_| (0..400).map(|_| line(rng)).collect()).collect();
    let mut events = vec![json!({"t": "meta", "source": "made-up"})];
    let (mut number, mut ts) = (0, 0);
    for turn in 0..turns {
        events.push(json!({"t": "user", "text": format!("now part {turn} of the plan")}));
        for _ in 0..steps {
            (number, ts) = (number + 1, ts + 8);
            let file = rng.usize(0..files.len());
            let from = rng.usize(0..300);
            let shown: Vec<String> = (from..from + rng.usize(60..100))
                .map(|at| format!("{}\t{}", at + 1, files[file][at]))
                .collect();
            let path = format!("src/part_{file}.rs");
            let (name, args, text) = match rng.u32(0..10) {
                0..5 => (
                    "read",
                    json!({"path": path, "offset": from + 1, "limit": shown.len()}),
                    shown.join("\n"),
                ),
                5..8 => {
                    let cases: Vec<String> = (0..rng.usize(10..120))
                        .map(|_| format!("test {} ... ok", line(rng).trim()))
                        .collect();
                    ("bash", json!({"command": format!("cargo test part_{file}")}), cases.join("\n"))
                }
                _ => {
                    let old = files[file][from..from + 3].join("\n");
                    (
                        "edit",
                        json!({"path": path, "old_string": old, "new_string": "// gone"}),
                        "applied".into(),
                    )
                }
            };
            events.push(json!({"t": "tool_call", "id": number.to_string(), "name": name, "args": args, "g": number, "ts": ts}));
            events.push(json!({"t": "tool_result", "id": number.to_string(), "text": text}));
        }
        (number, ts) = (number + 1, ts + 8);
        let text = format!("Part {turn} is done: {}", line(rng));
        events.push(json!({"t": "assistant", "text": text, "g": number, "ts": ts}));
        ts += idle_s;
    }
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn figures(place: &Workplace, window: u64, binding: &str) -> [Value; 3] {
    ["eco", "default", "high"].map(|profile| {
        let window = window.to_string();
        let output = place.command(&[
            "replay",
            "--trace",
            "traces",
            "--policy",
            profile,
            "--window",
            &window,
            "--binding",
            binding,
            "--system-tokens",
            "1700",
            "--json",
        ]);
        let json: Value = serde_json::from_str(&stdout(&{ output }.output().unwrap())).unwrap();
        json["policies"][0].clone()
    })
}

#[test]
fn a_profile_that_saves_more_never_costs_more() {
    for (seed, turns, steps, idle_s) in [(1, 1, 60, 0), (2, 7, 5, 0), (3, 7, 5, 900), (4, 4, 10, 400)] {
        let place = Workplace::new();
        place.file("traces/a.jsonl", recording(&mut Rng::with_seed(seed), turns, steps, idle_s));
        let others = [(128_000, "rejects"), (32_000, "none")];
        // One long turn, and turns with pauses, differ most.
        let others = others.into_iter().filter(|_| [1, 3].contains(&seed));
        for (window, binding) in [(128_000, "none")].into_iter().chain(others) {
            let costs = figures(&place, window, binding).map(|row| row["cost"].as_f64().unwrap());
            let told = format!("seed {seed}, window {window}, binding {binding}: {costs:?}");
            assert!(costs.is_sorted_by(|less, more| *less <= more * chance(window)), "{told}");
        }
    }
}

#[test]
fn a_long_turn_in_a_small_window_is_rewritten_now_and_then() {
    let place = Workplace::new();
    place.file("traces/a.jsonl", recording(&mut Rng::with_seed(5), 1, 80, 0));
    for (window, most) in [(8_000, 38.0), (16_000, 17.0), (32_000, 8.0)] {
        for row in figures(&place, window, "none") {
            let epochs = row["epochs_per_100"].as_f64().unwrap() * row["requests"].as_f64().unwrap() / 100.0;
            assert!(
                epochs <= most && row["overflows"] == 0,
                "window {window}: {epochs} of at most {most}: {row}"
            );
        }
    }
}
