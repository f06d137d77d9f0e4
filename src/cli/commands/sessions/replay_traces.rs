//! `mycode replay --trace` (and `mycode replay SESSION --policy`): replays sessions under context policies
//! and prints what each would have cost and kept. Needs no network, key or configuration.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::replay_session;
use crate::cli::args::SharedArgs;
use crate::cli::commands::peers::replay_past;
use crate::cli::commands::sessions::replay_args::ReplayArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::{ContextSettings, MIN_WINDOW_TOKENS, Origin};
use records::trace::compare::{Comparison, PolicySums, RecordedSession};
use records::trace::metrics::measure::InputPrices;
use records::trace::policy::{ALL, Policy};
use records::trace::recording::reader;
use records::trace::simulate::ReplayOptions;
use records::trace::table::PolicyTable;

pub fn run(cli: &SharedArgs, args: &ReplayArgs) -> Result<(), Failure> {
    let folder = cli.model.folder.as_deref();
    if let Some(from) = &args.from {
        return replay_past::run(cli, args, from);
    }
    if args.trace.is_empty() && args.policy.is_none() {
        if args.json {
            let hint = "add --policy all to compare policies, or leave --json out";
            return Err(Failure::usage("only a comparison of policies can be printed as JSON", hint));
        }
        return replay_session::run(folder, args);
    }
    let policies = policies(args.policy.as_deref().unwrap_or("all"))?;
    let mut files = Vec::new();
    for path in &args.trace {
        files.extend(reader::files(path).map_err(|error| unreadable(path, &error))?);
    }
    if args.trace.is_empty() {
        files.push(open::log_of(folder, args.session.as_deref())?);
    }
    if files.is_empty() {
        return Err(Failure::usage("no recordings in that folder", "name a .jsonl or .jsonl.gz file"));
    }
    if (args.dump.is_some() || args.print.is_some()) && (files.len() > 1 || policies.len() > 1) {
        let hint = "name one file with --trace and one --policy";
        return Err(Failure::usage("--dump and --print take one recording and one policy", hint));
    }
    let least = args.system_tokens.saturating_add(MIN_WINDOW_TOKENS);
    if args.window < least {
        let hint = format!("use at least {least}");
        return Err(Failure::usage(format!("a window of {} tokens is too small", args.window), hint));
    }
    let mut settings = ContextSettings::for_window(args.window, Origin::User);
    settings.cached_price = args.cached_price.clamp(0.0, 1.0);
    settings.write_price = args.write_price.max(1.0);
    let prices = InputPrices { cached: settings.cached_price, uncached: settings.write_price };
    let options =
        ReplayOptions { binding: args.binding, system_tokens: args.system_tokens, set: args.set.clone() };
    let comparison = Comparison { policies, settings, options };
    let read = |path: &Path| {
        let session = match args.trace.is_empty() {
            true => RecordedSession::of_log(path),
            false => RecordedSession::of_recording(path),
        }?;
        if session.skipped > 0 {
            eprintln!("warning: {}: skipped {} damaged lines", path.display(), session.skipped);
        }
        Ok(session)
    };
    if let Some(wanted) = args.print {
        let session = read(&files[0]).map_err(|error| unreadable(&files[0], &error))?;
        return printed(&comparison, &session, wanted);
    }
    let sessions = match &args.dump {
        Some(dump) => {
            let session = read(&files[0]).map_err(|error| unreadable(&files[0], &error))?;
            let sums = dumped(&comparison, &session, dump)?;
            vec![(session.source, sums)]
        }
        None => comparison.sessions(&files, read).map_err(|(path, error)| unreadable(&path, &error))?,
    };
    let table = PolicyTable::new(&comparison, prices, &sessions);
    report::print(&if args.json { format!("{}\n", table.to_json()) } else { table.render(args.by_source) })?;
    Ok(())
}

fn printed(comparison: &Comparison, session: &RecordedSession, wanted: usize) -> Result<(), Failure> {
    let (mut page, mut requests) = (String::new(), 0);
    comparison.session(session, |n, sent| {
        requests = n + 1;
        for message in sent.iter().filter(|_| n == wanted) {
            let (role, text) =
                (&message.value["role"], message.value["content"].as_str().unwrap_or_default());
            page.push_str(&format!(
                "--- {}, {} tokens\n{text}\n",
                role.as_str().unwrap_or_default(),
                message.tokens
            ));
            for call in message.value["tool_calls"].as_array().into_iter().flatten() {
                let (name, args) = (&call["function"]["name"], &call["function"]["arguments"]);
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                page.push_str(&format!("{} {}\n", text(name), text(args)));
            }
        }
    });
    if page.is_empty() {
        let hint = format!("the session has {requests}, counted from 0");
        return Err(Failure::usage(format!("there is no request {wanted}"), hint));
    }
    report::say(&page)?;
    Ok(())
}

fn dumped(comparison: &Comparison, session: &RecordedSession, path: &Path) -> Result<PolicySums, Failure> {
    let mut out = BufWriter::new(File::create(path).map_err(|error| unreadable(path, &error))?);
    let mut written = Ok(());
    let sums = comparison.session(session, |n, sent| {
        let messages: Vec<&Value> = sent.iter().map(|sent| &sent.value).collect();
        if written.is_ok() {
            written = writeln!(out, "{}", json!({"n": n, "messages": messages}));
        }
    });
    written.and_then(|()| out.flush())?;
    Ok(sums)
}

fn policies(wanted: &str) -> Result<Vec<Policy>, Failure> {
    if wanted == "all" {
        return Ok(ALL.to_vec());
    }
    wanted
        .split(',')
        .map(|name| {
            name.trim().parse().map_err(|message: String| Failure::usage(message, "see mycode replay --help"))
        })
        .collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let hint = "name a recording (.jsonl or .jsonl.gz) or a folder of them";
    Failure::usage(format!("cannot read {}: {error}", path.display()), hint)
}
