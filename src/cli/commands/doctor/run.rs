//! Runs the checks.

use super::checks::{CHECKS, Check};
use super::findings::Findings;
use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;

/// Prints the report; returns whether a model is set up and answers.
pub async fn run(cli: &SharedArgs, config: bool) -> Result<bool, Failure> {
    if config {
        report::print(include_str!("../../../../config.toml"))?;
        return Ok(true);
    }
    let opened = open::open(&cli.model, Permission::Ask)?;
    let mut findings = Findings::new(&opened);
    for check in CHECKS {
        match check {
            Check::Local(check) => check(&mut findings),
            Check::Asking(check) => check(&mut findings).await,
        }
    }
    report::say(findings.text())?;
    Ok(findings.works)
}
