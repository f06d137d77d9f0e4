//! The arguments of `mycode export`, as clap reads them. Plain data whose doc comments are the help.

use std::path::PathBuf;

use clap::Args;

use base::config::theme::ThemeName;
use records::export::write::ExportFormat;

#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The session's id (or the beginning of it) or log file [default: the last session]
    pub session: Option<String>,

    /// md, html, json or svg [default: by the ending of --out, else md]
    #[arg(long, short, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,

    /// The same as --format svg: a picture of the terminal
    #[arg(long, conflicts_with = "format")]
    pub svg: bool,

    /// Write to FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Replace FILE if it is there
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
