//! What the options of `mycode exec` say about the agent.

use std::path::Path;
use std::time::{Duration, Instant};

use super::args::ExecArgs;
use super::brought::{lead, written_or_in_file};
use crate::cli::args::{SharedArgs, UNATTENDED_WAIT};
use crate::cli::report::{self, Failure};
use crate::cli::setup::agent_setup;
use crate::cli::setup::open::SessionSelector;
use agent::assemble::Setup;
use base::deadline::Deadline;
use base::search::fuzzy;
use frontend::exec::output_schema::OutputSchema;
use tools::mcp::servers;
use tools::own_commands;
use tools::skill::set::SkillSet;

pub async fn setup(cli: &SharedArgs, args: &ExecArgs, which: &SessionSelector) -> Result<Setup, Failure> {
    let begun = Instant::now();
    let mut cli = cli.clone();
    let is_unattended = args.each.batch_process.is_some() || args.limits.until.is_some();
    cli.model.default_wait = is_unattended.then_some(UNATTENDED_WAIT);
    args.form.extend(&mut cli.model)?;
    let mut setup = agent_setup::setup(&cli, false, which).await?;
    args.form.apply(&mut setup)?;
    if let Some(name) = args.form.agent.as_ref().filter(|_| !args.form.host) {
        lead(&mut setup, name)?;
    }
    let limits = &mut setup.limits;
    limits.review = args.review;
    limits.keep = args.limits.keep || setup.loaded.work.keep_services;
    let limit = args.limits.max_minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    limits.deadline = limit.map(|limit| Deadline::new(begun, limit));
    Ok(setup)
}

/// Completes a command's name. An unknown `/name` is refused, because the model would have to guess its meaning.
pub fn with_known_command(prompt: String, setup: &Setup) -> Result<String, Failure> {
    let word = prompt.split(char::is_whitespace).next().unwrap_or_default();
    let Some(name) = word.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains('/')) else {
        return Ok(prompt);
    };
    let own = &setup.loaded.own;
    let (commands, skills) = (own_commands::read(&own.commands).0, SkillSet::read(&own.skills).0);
    let rows =
        commands.iter().map(|command| command.row.clone()).chain(own_commands::rows_of(&skills, &commands));
    let mut names: Vec<String> = rows.map(|row| row.name).collect();
    names.extend(["init", "maintain", "context", "cost"].map(str::to_owned));
    let servers = servers::read(&own.mcp, true).0;
    let of_server =
        name.split_once(':').is_some_and(|(server, _)| servers.iter().any(|one| one.name == server));
    if let Some(whole) = fuzzy::whole_name(name, names.iter().map(String::as_str)) {
        return Ok(format!("/{whole}{}", &prompt[word.len()..]));
    }
    if of_server || Path::new(word).exists() {
        return Ok(prompt);
    }
    // Notices may say why it isn't known.
    setup.loaded.notices.iter().for_each(|notice| report::note(notice));
    let meant = fuzzy::nearest_name(name, names.iter().map(String::as_str));
    let meant = meant.map_or(String::new(), |near| format!("did you mean /{near}? "));
    let is_open = setup.loaded.notices.iter().any(|notice| notice.contains("`mycode trust`"));
    let trust = if is_open { "The project's own commands need `mycode trust`; to" } else { "To" };
    Err(Failure::usage(
        format!("there is no command /{name} for exec"),
        format!("{meant}{trust} send text that begins with /, put a space before it"),
    ))
}

pub fn schema(written: &str) -> Result<OutputSchema, Failure> {
    written_or_in_file(written).and_then(|text| OutputSchema::parse(&text)).map_err(|why| {
        Failure::usage(
            format!("--output-schema {written}: {why}"),
            "`mycode help exec` says what it is for; a schema is an object such as {\"type\": \"object\", …}",
        )
    })
}
