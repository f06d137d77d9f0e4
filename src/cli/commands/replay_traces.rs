//! `mycode replay --trace` (and `mycode replay SESSION --policy`): plays recorded sessions under context policies and prints
//! what each would have cost and kept. Needs no network, no key and no configuration.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::replay_session;
use crate::cli::args::{Cli, ReplayArgs};
use crate::cli::report::{self, Failure, FailureKind};
use crate::cli::setup::open;
use crate::config::settings::{ContextSettings, MIN_WINDOW_TOKENS, Origin};
use crate::trace::events;
use crate::trace::measure::{Meter, Sums};
use crate::trace::policy::{ALL, Policy};
use crate::trace::reader;
use crate::trace::simulate;
use crate::trace::table::{self, PolicyRow};
use crate::trace::verbatim;

/// Plays and prints.
///
/// # Errors
/// Unknown policies, files that cannot be read, a dump of more than one thing.
pub fn run(cli: &Cli, args: &ReplayArgs) -> Result<(), Failure> {
    let folder = cli.model.folder.as_deref();
    if let (Some(session), None) = (&args.session, &args.policy) {
        return replay_session::run(folder, session, args);
    }
    let policies = policies(args.policy.as_deref().unwrap_or("all"))?;
    let mut files = Vec::new();
    for path in &args.trace {
        files.extend(reader::files(path).map_err(|error| unreadable(path, &error))?);
    }
    if let Some(session) = &args.session {
        files.push(open::log_of(folder, Some(session))?);
    }
    if files.is_empty() {
        return Err(Failure::new(
            FailureKind::Usage,
            "no recordings in that folder",
            "name a .jsonl or .jsonl.gz file",
        ));
    }
    if args.dump.is_some() && (files.len() > 1 || policies.len() > 1) {
        return Err(Failure::new(
            FailureKind::Usage,
            "--dump takes one recording and one policy",
            "name one file with --trace and one --policy",
        ));
    }
    if args.window < MIN_WINDOW_TOKENS {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("a window of {} tokens is too small", args.window),
            format!("use at least {MIN_WINDOW_TOKENS}"),
        ));
    }
    let mut settings = ContextSettings::for_window(args.window, Origin::User);
    settings.cached_price = args.cached_price.clamp(0.0, 1.0);
    let mut dump = match &args.dump {
        Some(path) => Some(BufWriter::new(File::create(path).map_err(|error| unreadable(path, &error))?)),
        None => None,
    };
    let mut raw_cost = 0.0;
    let mut rows: Vec<PolicyRow> =
        policies.iter().map(|policy| PolicyRow { policy: *policy, sums: Sums::default() }).collect();
    for file in &files {
        let (events, skipped) = if args.session.is_some() {
            let log = crate::session::reader::read(file).map_err(|error| unreadable(file, &error))?;
            (events::of_session(&log.records), log.skipped)
        } else {
            let recording = reader::read(file).map_err(|error| unreadable(file, &error))?;
            (events::of_recording(&recording), recording.skipped)
        };
        if skipped > 0 {
            eprintln!("warning: {}: skipped {skipped} damaged lines", file.display());
        }
        let needs = verbatim::needs(&events);
        let mut raw = None;
        for row in &mut rows {
            let mut meter = Meter::new(&needs, args.window);
            let mut failed = None;
            simulate::play(&events, row.policy, &settings, |n, ts, messages| {
                let sent = meter.record(n, ts, messages);
                if let Some(out) = &mut dump {
                    let messages: Vec<&Value> = sent.iter().map(|sent| &sent.value).collect();
                    if let Err(error) = writeln!(out, "{}", json!({"n": n, "messages": messages})) {
                        failed = Some(error);
                    }
                }
            });
            if let Some(error) = failed {
                return Err(error.into());
            }
            let sums = meter.finish();
            if row.policy == Policy::Raw {
                raw = Some(sums.cost(settings.cached_price));
            }
            row.sums.add(&sums);
        }
        raw_cost += raw.unwrap_or_else(|| {
            let mut meter = Meter::new(&[], args.window);
            simulate::play(&events, Policy::Raw, &settings, |n, ts, messages| {
                meter.record(n, ts, messages);
            });
            meter.finish().cost(settings.cached_price)
        });
    }
    if let Some(mut out) = dump {
        out.flush()?;
    }
    report::print(&if args.json {
        format!("{}\n", table::to_json(&rows, raw_cost, settings.cached_price, args.window, files.len()))
    } else {
        table::render(&rows, raw_cost, settings.cached_price)
    })?;
    Ok(())
}

fn policies(wanted: &str) -> Result<Vec<Policy>, Failure> {
    if wanted == "all" {
        return Ok(ALL.to_vec());
    }
    wanted
        .split(',')
        .map(|name| {
            name.trim().parse().map_err(|message: String| {
                Failure::new(FailureKind::Usage, message, "see mycode replay --help")
            })
        })
        .collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        FailureKind::Usage,
        format!("cannot read {}: {error}", path.display()),
        "name a recording (.jsonl or .jsonl.gz) or a folder of them",
    )
}
