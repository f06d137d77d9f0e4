//! The program: from its arguments to an exit code.

use std::process::ExitCode;

use super::command_line::Cli;
use super::report::Failure;
use crate::cli::commands::table;
use guard::sandbox::git::wrapper;
#[cfg(target_os = "linux")]
use guard::sandbox::launch::HELPER_NAME;
use guard::sandbox::linux::enter;

pub fn main() -> ExitCode {
    // Before any thread starts: the helper must have only one.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == HELPER_NAME) {
        enter::run(std::env::args_os().skip(2).collect());
    }
    if wrapper::is_asked_for(std::env::args_os().nth(1).as_deref()) {
        wrapper::run(std::env::args_os().skip(2).collect());
    }
    let cli = Cli::from_env();
    if let Some(done) = table::run_at_once(&cli) {
        return done.map_or_else(|failure| failure.report(), ExitCode::from);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return Failure::task(format!("can't start: {error}"), "try again").report();
        }
    };
    let code = match runtime.block_on(table::run(&cli)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(),
    };
    // A tool that is still cleaning up, or a blocking read, must not delay the exit.
    runtime.shutdown_background();
    code
}
