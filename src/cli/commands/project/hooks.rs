//! `mycode hooks`: what runs on which event and where it comes from, or why it doesn't run.

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::sanitize;
use tools::hook::listing;

pub fn run(cli: &SharedArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    let text = listing::text(&opened.loaded.own.hooks, &opened.workspace);
    report::print(&sanitize::reveal(&text))
}
