//! `mycode export`: a session as Markdown, HTML, JSON or a picture. Reads only the log, so it also works
//! while the session is open elsewhere.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::theme::ThemeName;
use records::export::write::{self, ExportError, ExportFormat, ExportOptions};

#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The session's id (or a prefix of it) or log file [default: the last session]
    pub session: Option<String>,

    /// md, html, json, svg, or atif (the trajectory format of Harbor) [default: by the ending of --out, else md]
    #[arg(long, short, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,

    /// The same as --format svg: a picture of the terminal
    #[arg(long, conflicts_with = "format")]
    pub svg: bool,

    /// Write to FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Replace FILE if it exists
    #[arg(long, requires = "out")]
    pub force: bool,

    /// Only the last turn
    #[arg(long)]
    pub last_turn: bool,

    /// Width of the picture in characters
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(20..=400))]
    pub columns: u16,

    /// Colors of the picture: dark, light or high-contrast
    #[arg(long, value_name = "NAME", default_value = "dark")]
    pub theme: ThemeName,
}

pub fn run(cli: &SharedArgs, args: &ExportArgs) -> Result<(), Failure> {
    let log = open::log_of(cli.model.folder.as_deref(), args.session.as_deref())?;
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
