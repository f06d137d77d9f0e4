//! `mycode hooks`: what runs on which event, from where, and what does not and why.

use crate::cli::args::Cli;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::sanitize;
use tools::hook::listing;

/// Prints the list.
pub fn run(cli: &Cli) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    let text = listing::text(&opened.loaded.own.hooks, &opened.workspace);
    report::print(&sanitize::reveal(&text))
}
