//! `/jobs`: lists background jobs, or stops one.

use super::api::Command;
use crate::base::sanitize;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    let id = args.strip_prefix("stop").map(str::trim).map(str::parse::<u32>);
    match id {
        Some(Ok(id)) => app.send(Op::StopJob { id }),
        Some(Err(_)) => app.notice(Level::Warning, "Say which one: /jobs stop 1."),
        None if app.jobs.is_empty() => app.notice(Level::Info, "There are no background jobs."),
        None => {
            let lines = app.jobs.iter().map(|job| {
                let state = job.ended.as_deref().unwrap_or("running");
                format!("{} {state}: {}", job.id, sanitize::clean(&job.command))
            });
            let list = lines.collect::<Vec<_>>().join("\n");
            app.notice(Level::Info, format!("{list}\n/jobs stop N ends one."));
        }
    }
}
