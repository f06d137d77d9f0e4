//! Addresses and processes: what a download reaches, and what a signal ends.

use super::assessment::{Assessment, Effect, Risk};
use crate::shell::interpret::call::Arg;

const LOCAL: &[&str] = &["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "::1"];

pub fn target(arg: &Arg) -> Assessment {
    match host_of(arg) {
        Some(host) if LOCAL.contains(&host.as_str()) => {
            Assessment::new(Risk::Workspace, "talks to this machine").with(Effect::Net(host))
        }
        host => {
            let host = host.unwrap_or_else(|| arg.text.clone());
            Assessment::new(Risk::Network, format!("needs network access ({host})")).with(Effect::Net(host))
        }
    }
}

fn host_of(target: &Arg) -> Option<String> {
    let text = target.text.split_once("://").map_or(target.text.as_str(), |(_, rest)| rest);
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let start = target.text.len() - text.len();
    if target.open_at.is_some_and(|at| at < start + end) {
        // The port may be unknown, the host may not.
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

pub fn signal(args: &[Arg]) -> Assessment {
    let Some(first) = args.first() else { return Assessment::reads() };
    if matches!(first.text.as_str(), "-l" | "-L" | "-0") {
        return Assessment::reads();
    }
    let mut targets = args.iter().map(|arg| arg.text.as_str()).filter(|text| *text != "--").peekable();
    if targets.peek().is_some_and(|text| matches!(*text, "-s" | "-n")) {
        targets.nth(1);
    } else if args.len() > 1 {
        targets.next_if(|text| text.starts_with('-'));
    }
    let targets: Vec<&str> = targets.collect();
    if targets.iter().any(|target| matches!(*target, "-1" | "1" | "0")) {
        return Assessment::new(Risk::Destroys, "kills all of your processes");
    }
    // Jobs, and processes just started here.
    if targets.iter().all(|target| target.starts_with('%') || target.starts_with("$!")) {
        return Assessment::new(Risk::Workspace, "stops processes it started");
    }
    Assessment::new(Risk::Unknown, "kills another program")
}
