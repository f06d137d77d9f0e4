//! A run's state in words, what it did and cost since its start, and how to continue it.

use std::path::PathBuf;

use super::log;
use super::record::{Run, RunKind};
use crate::cli::each::{attempts::was_stopped, sessions};
use base::config::paths::Paths;
use base::protocol::exit_code::ExitCode;
use context::report::gather::Report;
use context::session::log::path_of;

pub fn of(run: &Run) -> String {
    match (run.end, run.running) {
        (Some(end), _) => ExitCode::shown(end.exit_code),
        (None, false) => "killed".to_owned(),
        (None, true) => match log::last_line(run) {
            Some(line) => format!("running: {line}"),
            None => "running".to_owned(),
        },
    }
}

pub fn how_to_continue(run: &Run) -> String {
    let id = run.record.session.as_ref().unwrap_or(&run.record.id);
    match run.record.kind {
        RunKind::Exec | RunKind::Goal if run.record.tree.is_some() => {
            format!("`mycode exec --worktree --resume {id}` continues it")
        }
        RunKind::Exec | RunKind::Goal => format!("`mycode exec --resume {id}` continues it"),
        RunKind::Build => format!("`mycode build --resume {id}` continues it"),
        RunKind::Batch if run.end.is_some_and(|end| end.exit_code == ExitCode::CostLimit as u8) => {
            "the same command with a higher --max-cost continues it".to_owned()
        }
        RunKind::Batch => "the same command continues it; with --again, failed tasks, too".to_owned(),
        RunKind::Attempts if run.end.is_some_and(|end| !was_stopped(end.exit_code.into())) => {
            "the same command makes new attempts; `mycode work` lists the old ones' branches".to_owned()
        }
        RunKind::Attempts => "the same command continues it".to_owned(),
    }
}

pub fn logs(run: &Run) -> Vec<PathBuf> {
    let record = &run.record;
    match (&record.session, &record.tree) {
        (Some(session), Some(tree)) => vec![path_of(&Paths::from_env().project(tree), session)],
        (Some(session), None) => vec![path_of(run.project_state(), session)],
        (None, Some(folder)) => sessions::logs(folder),
        (None, None) => Vec::new(),
    }
}

pub fn figures(run: &Run) -> Report {
    Report::of_logs(&logs(run), run.record.started_ms)
}
