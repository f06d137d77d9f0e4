//! Runs the checks, in the order of the report.

use super::findings::{self, Findings};
use super::model;
use crate::cli::args::{ModelArgs, SharedArgs};
use crate::cli::report::{self, Failure};
use crate::cli::setup::{limits, open};
use base::config::settings::Permission;
use base::config::trusted::json_files;

pub async fn run(cli: &SharedArgs, config: bool) -> Result<bool, Failure> {
    if config {
        report::print(include_str!("../../../../config.toml"))?;
        return Ok(true);
    }
    let (opened, mistake) = match open::open(&cli.model, Permission::Ask) {
        Ok(opened) => (opened, None),
        Err(mistake) => {
            let rest = ModelArgs { skip_user_files: true, ..cli.model.clone() };
            (open::open(&rest, Permission::Ask)?, Some(mistake))
        }
    };
    let mut found = Findings::new(&opened);
    if let Some(mistake) = mistake {
        found.works = false;
        found.sentence(format!(
            "error: {}\nhint: {}. The rest of this report leaves out your own configuration.\n",
            mistake.message(),
            mistake.hint
        ));
    }
    findings::check(&mut found);
    findings::check_rules(&mut found);
    findings::check_skills(&mut found);
    findings::check_plugins(&mut found);
    findings::check_hooks(&mut found);
    findings::check_sandbox(&mut found);
    findings::check_environment(&mut found);
    findings::check_mcp(&mut found);
    findings::check_language_servers(&mut found);
    model::check(&mut found).await;
    findings::check_web(&mut found);
    let unusable = match limits::parse(&opened.loaded.rules) {
        Ok(rules) => limits::unusable(&rules),
        Err(mistake) => {
            found.works = false;
            found.sentence(format!("error: {}\nhint: {}\n", mistake.message(), mistake.hint));
            None
        }
    };
    let not_used = unusable.into_iter().chain(json_files::not_used(&opened.workspace));
    for notice in opened.loaded.notices.iter().cloned().chain(not_used) {
        found.sentence(format!("note: {notice}"));
    }
    report::say(&found.text)?;
    Ok(found.works)
}
