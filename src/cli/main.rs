//! The program: from its arguments to an exit code.

use std::process::ExitCode;

use super::command_line::Cli;
use crate::cli::commands::table;
use crate::cli::runs::record::code_by_signal;
use guard::sandbox::git::wrapper;
#[cfg(target_os = "linux")]
use guard::sandbox::launch::HELPER_NAME;
#[cfg(target_os = "linux")]
use guard::sandbox::linux::{enter, system};
use tools::pdf;

pub fn main() -> ExitCode {
    // Before any thread starts: the helper must have only one.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == HELPER_NAME) {
        enter::run(std::env::args_os().skip(2).collect());
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == wrapper::NAME) {
        wrapper::run(std::env::args_os().skip(2).collect());
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == pdf::NAME) {
        pdf::run();
    }
    #[cfg(target_os = "linux")]
    system::hide_credentials();
    let code = Cli::from_env().and_then(|cli| table::run(&cli));
    code.map_or_else(|failure| failure.report(), |code| ExitCode::from(code_by_signal(code)))
}
