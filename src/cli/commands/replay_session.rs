//! `mycode replay SESSION`: makes every request of a stored session again from its log, byte for byte, and checks it. Needs
//! no network, no key and no configuration.

use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::{Value, json};

use crate::base::text;
use crate::cli::args::ReplayArgs;
use crate::cli::report::{self, Failure, FailureKind};
use crate::cli::setup::open;
use crate::context::replay::run::{self, ReplayCheck, Replayed};
use crate::provider::chat::body::{self, Flavor};
use crate::session::reader;

/// Replays and prints; fails when a request is not what was sent.
///
/// # Errors
/// No such session, a mismatch, a file that cannot be written.
pub fn run(folder: Option<&std::path::Path>, session: &str, args: &ReplayArgs) -> Result<(), Failure> {
    let log = open::log_of(folder, Some(session))?;
    let read = reader::read(&log)?;
    if read.skipped > 0 {
        eprintln!("warning: {} could not be read and left out", text::plural(read.skipped, "line"));
    }
    let mut dump = match &args.dump {
        Some(path) => Some(BufWriter::new(File::create(path)?)),
        None => None,
    };
    let mut failed = None;
    let requests = run::play(&read.records, |number, built| {
        let Some(out) = &mut dump else { return };
        let messages = body::messages(&built.request, Flavor { strict: false });
        // Numbered from 0, as the dump of a trace is.
        if let Err(error) = writeln!(out, "{}", json!({"n": number - 1, "messages": messages})) {
            failed.get_or_insert(error);
        }
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    if let Some(mut out) = dump {
        out.flush()?;
    }
    report::print(&if args.json { format!("{}\n", to_json(&requests)) } else { table(&requests) })?;
    let differing = requests.iter().find_map(|request| match &request.verdict {
        ReplayCheck::Differs(what) => Some((request.number, what)),
        _ => None,
    });
    match differing {
        None => Ok(()),
        Some((number, what)) => Err(Failure::new(
            FailureKind::Task,
            format!("request {number} is not what was sent: first differs {what}"),
            "the log was changed after it was written, or this version of mycode builds requests differently",
        )),
    }
}

fn verdict(verdict: &ReplayCheck) -> (&'static str, &str) {
    match verdict {
        ReplayCheck::Same => ("ok", ""),
        ReplayCheck::Differs(what) => ("differs", what),
        ReplayCheck::NoHash => ("no hash recorded", ""),
    }
}

fn table(requests: &[Replayed]) -> String {
    let mut out = format!("{:>7} {:>9}  {:<17} {}\n", "request", "tokens", "hash", "break");
    for request in requests {
        let (word, first) = verdict(&request.verdict);
        let mut more: Vec<String> = Vec::new();
        if !first.is_empty() {
            more.push(format!("first: {first}"));
        }
        if let Some(broken) = &request.broken {
            let causes: Vec<String> = broken
                .causes
                .iter()
                .map(|cause| format!("{} [{}]", cause.kind.as_str(), cause.reason))
                .collect();
            more.push(format!(
                "at message {}, {} tokens re-read: {}",
                broken.at + 1,
                broken.tokens_lost,
                causes.join("; ")
            ));
        }
        if !request.answered {
            more.push("not answered".to_owned());
        }
        let line = format!("{:>7} {:>9}  {word:<17} {}", request.number, request.tokens, more.join("; "));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let same = requests.iter().filter(|request| request.verdict == ReplayCheck::Same).count();
    let unknown = requests.iter().filter(|request| request.verdict == ReplayCheck::NoHash).count();
    let breaks = requests.iter().filter(|request| request.broken.is_some()).count();
    out.push_str(&format!(
        "{} of {} requests are byte for byte what was sent, {unknown} without a recorded hash; {breaks} cache breaks\n",
        same,
        requests.len()
    ));
    out
}

fn to_json(requests: &[Replayed]) -> Value {
    let rows: Vec<Value> = requests
        .iter()
        .map(|request| {
            let (word, first) = verdict(&request.verdict);
            json!({
                "request": request.number, "tokens": request.tokens, "hash": word,
                "first_difference": (!first.is_empty()).then_some(first),
                "break": request.broken, "answered": request.answered,
            })
        })
        .collect();
    let same = requests.iter().all(|request| !matches!(request.verdict, ReplayCheck::Differs(_)));
    json!({"requests": rows, "same": same})
}
