//! Runs the checks, in the order of the report.

use super::findings::{self, Findings};
use super::model;
use crate::cli::args::{ModelArgs, SharedArgs};
use crate::cli::report::{self, Failure};
use crate::cli::setup::{limits, open};
use base::config::error::ConfigError;
use base::config::files::source;
use base::config::paths::Paths;
use base::config::settings::Permission;
use base::config::trusted::json_files;

pub async fn run(cli: &SharedArgs, config: bool) -> Result<bool, Failure> {
    if config {
        report::print(include_str!("../../../../config.toml"))?;
        return Ok(true);
    }
    let mistake = source::user(&Paths::from_env().user_config()).err();
    let model = ModelArgs { skip_user_file: mistake.is_some(), ..cli.model.clone() };
    let opened = open::open(&model, Permission::Ask)?;
    let mut found = Findings::new(&opened);
    if let Some(ConfigError { what, hint }) = mistake {
        found.works = false;
        found.sentence(format!(
            "error: {what}\nhint: {hint}. The rest of this report leaves that file out.\n"
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
    let unusable = limits::parse(&opened.loaded.rules).ok().and_then(|rules| limits::unusable(&rules));
    let not_used = unusable.into_iter().chain(json_files::not_used(&opened.workspace));
    for notice in opened.loaded.notices.iter().cloned().chain(not_used) {
        found.sentence(format!("note: {notice}"));
    }
    report::say(&found.text)?;
    Ok(found.works)
}
