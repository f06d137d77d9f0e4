//! Runs the checks, in the order of the report.

use super::findings::Findings;
use super::{folders, model, own};
use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;

pub async fn run(cli: &SharedArgs, config: bool) -> Result<bool, Failure> {
    if config {
        report::print(include_str!("../../../../config.toml"))?;
        return Ok(true);
    }
    let opened = open::open(&cli.model, Permission::Ask)?;
    let mut findings = Findings::new(&opened);
    folders::check(&mut findings);
    own::check_rules(&mut findings);
    own::check_skills(&mut findings);
    own::check_hooks(&mut findings);
    folders::check_sandbox(&mut findings);
    folders::check_environment(&mut findings);
    own::check_mcp(&mut findings);
    own::check_language_servers(&mut findings);
    model::check(&mut findings).await;
    own::check_web(&mut findings);
    for notice in &opened.loaded.notices {
        findings.sentence(format!("note: {notice}"));
    }
    report::say(&findings.text)?;
    Ok(findings.works)
}
