//! Programs that reach beyond the workspace: the network, the system, other people's machines.

use super::assessment::{Assessment, Effect, Risk};
use super::network_tables::{ENDING, LASTING, LOCAL, OPENSSL_LOCAL, REMOTE, SYSTEM};
use super::options;
use super::path_effects::{changing, secret};
use crate::policy::path_scope::{PathScope, ReadRisk};
use crate::shell::interpret::call::{Arg, Call};

/// Whether the program reaches other machines, the system or what lasts, whatever its words.
pub fn reaches_beyond(name: &str) -> bool {
    matches!(name, "curl" | "wget" | "kill" | "rsync" | "openssl")
        || [REMOTE, SYSTEM, LASTING, ENDING].iter().any(|list| list.contains(&name))
}

/// What the call does, when it is one of these.
pub fn judge(call: &Call, place: &PathScope) -> Option<Assessment> {
    let name = call.name();
    if ENDING.contains(&name) || name.starts_with("mkfs.") {
        return Some(Assessment::new(Risk::Never, format!("{name} destroys a disk")));
    }
    match name {
        "curl" | "wget" => return Some(fetch(call, place)),
        "kill" => return Some(kill(call)),
        "openssl" => return Some(openssl(call, place)),
        "rsync" | "scp" if call.args().iter().any(|arg| is_remote(&arg.text)) => {
            return Some(account(name));
        }
        _ => {}
    }
    if super::readers::asks_version(call.args()) && (REMOTE.contains(&name) || SYSTEM.contains(&name)) {
        return Some(Assessment::looks());
    }
    if LASTING.contains(&name) {
        return Some(Assessment::new(
            Risk::Guarded,
            format!("{name} changes what lasts, or hands out secrets"),
        ));
    }
    if SYSTEM.contains(&name) {
        let run = Effect::Run(name.to_owned());
        return Some(Assessment::new(Risk::Outside, format!("{name} works beyond the workspace")).with(run));
    }
    REMOTE.contains(&name).then(|| account(name))
}

/// It needs the network, and the user's own keys for it.
fn account(name: &str) -> Assessment {
    Assessment { grade: Risk::Outside, ..network(name) }
}

fn network(name: &str) -> Assessment {
    Assessment::new(Risk::Network, format!("{name} needs the network")).with(Effect::Net(name.to_owned()))
}

/// `host:path`.
fn is_remote(text: &str) -> bool {
    let front = text.split('/').next().unwrap_or_default();
    !text.starts_with('-') && (front.contains(':') || text.contains("::") || text.contains("://"))
}

fn openssl(call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    if super::readers::asks_version(args) {
        return Assessment::looks();
    }
    if !args.first().and_then(Arg::certain).is_some_and(|sub| OPENSSL_LOCAL.contains(&sub)) {
        return account("openssl");
    }
    // It can be told to load a library, so nobody vouches for it without walls.
    let mut finding = Assessment::new(Risk::Unsure, "it makes or checks keys and sums");
    for pair in args.windows(2) {
        let option = pair[0].text.trim_start_matches('-');
        if option.ends_with("out") || matches!(option, "writerand" | "CAserial" | "signature") {
            finding.raise(changing(&pair[1], call, place));
        }
    }
    for arg in args {
        let path = arg.text.strip_prefix("file:").map(Arg::known);
        if let ReadRisk::Secret(what) = place.reading(path.as_ref().unwrap_or(arg), &call.folders, false) {
            finding.raise(secret(&what));
        }
    }
    finding
}

fn fetch(call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    let valued = [
        "-o",
        "-O",
        "-H",
        "-d",
        "-X",
        "-u",
        "-A",
        "-e",
        "-b",
        "-c",
        "-F",
        "-T",
        "-m",
        "-w",
        "-x",
        "-K",
        "-U",
        "-P",
        "-t",
        "-i",
        "-D",
        "-E",
        "-r",
        "--output",
        "--header",
        "--data",
        "--request",
        "--user",
        "--max-time",
        "--write-out",
        "--retry",
        "--data-raw",
        "--form",
        "--connect-timeout",
        "--data-binary",
        "--data-urlencode",
        "--json",
        "--cacert",
        "--cert",
        "--key",
        "--url",
        "--timeout",
        "--tries",
        "--output-document",
        "--directory-prefix",
        "--post-data",
        "--cookie",
        "--cookie-jar",
        "--upload-file",
        "--dump-header",
    ];
    // Of curl `-O` takes no value.
    let valued: Vec<&str> =
        valued.into_iter().filter(|option| !(call.name() == "curl" && *option == "-O")).collect();
    let mut targets: Vec<Arg> = options::operands(args, &valued).into_iter().cloned().collect();
    targets.extend(options::value(args, "", "--url"));
    let mut finding = Assessment::looks();
    if targets.is_empty()
        || options::has(args, &["--config", "--input-file", "--proxy", "--preproxy", "--use-askpass"])
        || args.iter().any(|arg| {
            matches!(arg.text.as_str(), "-K" | "-i" | "-x")
                && (call.name() == "curl" && arg.text != "-i" || call.name() == "wget" && arg.text == "-i")
        })
    {
        finding.raise(network(call.name()));
    }
    for target in &targets {
        match host_of(target) {
            Some(host) if LOCAL.contains(&host.as_str()) => {
                finding
                    .raise(Assessment::new(Risk::Works, "it talks to this machine").with(Effect::Net(host)));
            }
            host => {
                let host = host.unwrap_or_else(|| target.text.clone());
                finding.raise(
                    Assessment::new(Risk::Network, format!("it needs the network: {host}"))
                        .with(Effect::Net(host)),
                );
            }
        }
    }
    let written = [
        options::value(
            args,
            if call.name() == "curl" { "-o" } else { "-O" },
            if call.name() == "curl" { "--output" } else { "--output-document" },
        ),
        options::value(args, if call.name() == "wget" { "-P" } else { "" }, "--directory-prefix"),
        options::value(args, if call.name() == "curl" { "-D" } else { "" }, "--dump-header"),
        options::value(args, if call.name() == "curl" { "-c" } else { "" }, "--cookie-jar"),
        options::value(args, "", "--output-dir"),
        options::value(args, "", "--etag-save"),
        options::value(args, "", "--trace"),
    ];
    for value in written.into_iter().flatten() {
        finding.raise(changing(&value, call, place));
    }
    for arg in args {
        if let ReadRisk::Secret(what) = place.reading(arg, &call.folders, false) {
            finding.raise(secret(&what));
        }
        if let Some(path) = arg.text.strip_prefix("file://")
            && let ReadRisk::Secret(what) = place.reading(&Arg::known(path), &call.folders, false)
        {
            finding.raise(secret(&what));
        }
        // `-F name=@file` and `-d @file`.
        for piece in arg.text.split(['@', '<']).skip(1) {
            if let ReadRisk::Secret(what) = place.reading(&Arg::known(piece), &call.folders, false) {
                finding.raise(secret(&what));
            }
        }
    }
    finding
}

/// The host of an address; `None` when it is not certain.
fn host_of(target: &Arg) -> Option<String> {
    let text = target.text.split_once("://").map_or(target.text.as_str(), |(_, rest)| rest);
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let start = target.text.len() - text.len();
    if target.open_at.is_some_and(|at| at < start + end) {
        // A port may be open, a host not.
        let colon = text.find(':')?;
        if target.open_at? <= start + colon {
            return None;
        }
    }
    let front = &text[..end];
    if front.contains(['@', '\\']) {
        return None;
    }
    let host = if front.starts_with('[') {
        front.split_inclusive(']').next().unwrap_or(front)
    } else {
        front.split(':').next().unwrap_or(front)
    };
    Some(host.to_owned())
}

fn kill(call: &Call) -> Assessment {
    let args = call.args();
    let signals: Vec<&Arg> = args.iter().collect();
    let targets: Vec<&Arg> = signals
        .iter()
        .enumerate()
        .filter(|(at, arg)| {
            let signal = *at == 0 && arg.text.starts_with('-') && args.len() > 1 && arg.text != "--";
            let value = *at > 0 && matches!(args[*at - 1].text.as_str(), "-s" | "-n");
            !signal && !value && !matches!(arg.text.as_str(), "-s" | "-n" | "--")
        })
        .map(|(_, arg)| *arg)
        .collect();
    if args.first().is_some_and(|arg| matches!(arg.text.as_str(), "-l" | "-L" | "-0")) {
        return Assessment::looks();
    }
    if targets.iter().any(|arg| arg.text == "-1" || arg.text == "1" || arg.text == "0") {
        return Assessment::new(Risk::Never, "it ends every program of its owner");
    }
    // Jobs, and what was just started here.
    let own = |arg: &&Arg| arg.text.starts_with('%') || arg.text.starts_with("$!");
    if targets.iter().all(own) {
        return Assessment::new(Risk::Works, "it ends what it started");
    }
    Assessment::new(Risk::Unsure, "it ends another program")
}
