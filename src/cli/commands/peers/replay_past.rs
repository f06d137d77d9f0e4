//! `mycode replay --from AGENT`: what the user's sessions in another agent would have cost under our
//! policies, and what they did cost. Reads only their files; needs no network and no key.

use super::import;
use crate::cli::args::SharedArgs;
use crate::cli::commands::sessions::replay_args::ReplayArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::{parallel, text};
use context::report::period;
use records::import::write;
use records::trace::past::{self, PastCost};

pub fn run(cli: &SharedArgs, args: &ReplayArgs, from: &str) -> Result<(), Failure> {
    let peer = import::peer(from)?;
    // The configuration includes the user's own prices.
    open::open(&cli.model, Permission::ReadOnly)?;
    let since = args.since.as_deref().map_or(Ok(0), period::since);
    let since =
        since.map_err(|wrong| Failure::usage(wrong, "give one such as 30d, 24h, 2w or 2026-11-01"))?;
    let mut found = (peer.find)(None)?;
    found.retain(|found| found.updated_ms >= since);
    // Each worker keeps a full session in memory.
    let parts = parallel::map(&found, 4, |found| {
        let told = (peer.read)(&found.path).ok()?;
        let mut past = PastCost::default();
        past.add(&write::records(&told, true));
        Some((past, told.unknown, usize::from(told.replies().next().is_some())))
    });
    let unreadable = parts.iter().filter(|part| part.is_none()).count();
    let (mut past, mut unknown, mut sessions) = (PastCost::default(), 0, 0);
    for part in parts.into_iter().flatten() {
        past.merge(part.0);
        (unknown, sessions) = (unknown + part.1, sessions + part.2);
    }
    if unreadable > 0 {
        eprintln!("warning: {} could not be read", text::plural(unreadable, "session"));
    }
    if unknown > 0 {
        eprintln!("warning: {} could not be read and were left out", text::plural(unknown, "line"));
    }
    if sessions == 0 {
        let when = args.since.as_deref().map_or(String::new(), |since| format!(" since {since}"));
        return report::say(&format!("No {} sessions with an answer were found{when}.\n", peer.title));
    }
    report::say(&past::render(&past, peer.title))
}
