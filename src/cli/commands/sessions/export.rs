//! `mycode export`: a session as Markdown, HTML, JSON or a picture. Reads only the log, so it also works
//! while the session is open elsewhere.

use super::export_args::ExportArgs;
use crate::cli::args::Cli;
use crate::cli::report::{self, Failure};
use crate::cli::setup::log_of::log_of;
use records::export::write::{self, ExportError, ExportFormat, ExportOptions};

pub fn run(cli: &Cli, args: &ExportArgs) -> Result<(), Failure> {
    let log = log_of(cli.model.folder.as_deref(), args.session.as_deref())?;
    let by_ending = args.out.as_deref().and_then(write::format_of);
    let format = if args.svg { ExportFormat::Svg } else { args.format.or(by_ending).unwrap_or_default() };
    let options =
        ExportOptions { format, last_turn: args.last_turn, columns: args.columns, theme: args.theme };
    let Some(out) = &args.out else { return report::print(&write::text(&log, options)?) };
    write::write(&log, out, options, args.force).map_err(|error| {
        let hint = match &error {
            ExportError::Exists(_) => "name another file, or add --force to replace it",
            _ => "check the folder, its permissions and the disk space",
        };
        Failure::task(error, hint)
    })?;
    report::say(&format!("Wrote {}\n", out.display()))
}
