//! `mycode replay SESSION`: rebuilds every request of a stored session from its log, byte for byte, and
//! verifies it. Needs no network, key or configuration.

use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::json;

use crate::cli::commands::sessions::replay_args::ReplayArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::text;
use context::replay::run::{self, ReplayCheck, Replayed};
use context::session::reader;
use context::session::record::Record;
use provider::chat::body;

/// Fails if a request differs from what was sent.
pub fn run(folder: Option<&std::path::Path>, args: &ReplayArgs) -> Result<(), Failure> {
    let log = open::log_of(folder, args.session.as_deref())?;
    let read = reader::read(&log)?;
    if read.skipped > 0 {
        eprintln!("warning: skipped {} that could not be read", text::plural(read.skipped, "line"));
    }
    let mut dump = match &args.dump {
        Some(path) => Some(BufWriter::new(File::create(path)?)),
        None => None,
    };
    let mut failed = None;
    let requests = run::play(&read.records, |number, built| {
        let Some(out) = &mut dump else { return };
        let messages = body::messages(&built.request);
        // Numbered from 0, like the dump of a trace.
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
    report::print(&table(&requests))?;
    let differing = requests.iter().find_map(|request| match &request.check {
        ReplayCheck::Differs(what) => Some((request.number, what)),
        _ => None,
    });
    match differing {
        None => Ok(()),
        Some((number, what)) => Err(Failure::task(
            format!("request {number} is not what was sent: it first differs {what}"),
            possible_reason(&read.records),
        )),
    }
}

/// Why a replay may differ. The log keeps the text of shortened items, but not of those sent unchanged.
fn possible_reason(records: &[Record]) -> String {
    let app = records.iter().find_map(|record| match record {
        Record::Meta(meta) if meta.app != env!("CARGO_PKG_VERSION") => Some(&meta.app),
        _ => None,
    });
    match app {
        Some(app) => format!(
            "the log was written by mycode {app}, and this is {}, which may word requests differently; or the log was \
             changed afterwards",
            env!("CARGO_PKG_VERSION")
        ),
        None => "the log was changed after it was written, or another build of mycode wrote it".to_owned(),
    }
}

fn outcome(check: &ReplayCheck) -> (&'static str, Option<&str>) {
    match check {
        ReplayCheck::Same => ("ok", None),
        ReplayCheck::Differs(what) => ("differs", Some(what)),
        ReplayCheck::NoHash => ("no hash recorded", None),
    }
}

fn count(requests: &[Replayed], wanted: impl Fn(&Replayed) -> bool) -> usize {
    requests.iter().filter(|request| wanted(request)).count()
}

fn table(requests: &[Replayed]) -> String {
    let mut out = format!("{:>7} {:>9}  {:<17} {}\n", "request", "tokens", "hash", "new epoch");
    for request in requests {
        let (word, first) = outcome(&request.check);
        let mut more: Vec<String> = first.iter().map(|first| format!("first {first}")).collect();
        if let Some(epoch) = &request.epoch {
            let causes: Vec<String> = epoch
                .causes
                .iter()
                .map(|cause| format!("{} [{}]", cause.kind.into_str(), cause.reason))
                .collect();
            let cold = if epoch.cold { " (the cache was cold)" } else { "" };
            let reasoning = match epoch.reasoning {
                0 => String::new(),
                count => format!(", {} of reasoning left out", text::plural(count as usize, "block")),
            };
            more.push(format!(
                "at message {}, {} tokens re-read{cold}, {} saved{reasoning}: {}",
                epoch.at + 1,
                epoch.tokens_lost,
                epoch.tokens_saved,
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
    out.push_str(&format!(
        "{} of {} requests match what was sent byte for byte, {} without a recorded hash; new epochs: {}\n",
        count(requests, |request| request.check == ReplayCheck::Same),
        requests.len(),
        count(requests, |request| request.check == ReplayCheck::NoHash),
        count(requests, |request| request.epoch.is_some())
    ));
    out
}
