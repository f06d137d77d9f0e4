//! `mycode sandbox`: runs the user's command in the agent's sandbox. This process becomes the helper, so that
//! the exit code is the command's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand};

use crate::cli::args::SharedArgs;
#[cfg(target_os = "linux")]
use crate::cli::report::OrFail;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use agent::calls::policy_engine::{PolicyEngine, SandboxSupport};
use base::config::settings::Permission;
use base::secret;
use base::system::os;
#[cfg(target_os = "linux")]
use base::{config::paths::Paths, path::on_one_line};
use guard::policy::rules::Rules;
#[cfg(target_os = "linux")]
use guard::sandbox::linux::guard::set_aside;
use guard::sandbox::probe;
use guard::sandbox::session::Sandbox;
use guard::sandbox::spec::{Confinement, SandboxLevel};
#[cfg(target_os = "linux")]
use {guard::sandbox::launch, guard::sandbox::private_folder, guard::sandbox::spec::LaunchMode};

const HELP: &str = include_str!("../../help/sandbox.txt");

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = HELP)]
pub struct SandboxArgs {
    #[command(subcommand)]
    pub action: Option<SandboxAction>,

    /// Allow network access
    #[arg(long)]
    pub network: bool,

    /// The command: one argument is run by bash, several are a program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Subcommand)]
pub enum SandboxAction {
    /// Put back what the sandbox moved aside, or list it
    Restore(RestoreArgs),
}

/// Returns only if the command couldn't be started.
pub fn run(cli: &SharedArgs, args: &SandboxArgs) -> Result<u8, Failure> {
    if let Some(SandboxAction::Restore(args)) = &args.action {
        return restore(cli, args).map(|()| 0);
    }
    let opened = open::open(&cli.model, Permission::Auto)?;
    let words: Vec<OsString> = match &args.command[..] {
        [line] => vec!["bash".into(), "-c".into(), line.clone()],
        words => words.to_vec(),
    };
    // The user typed the command, so don't ask.
    let level = match opened.loaded.work.permission {
        Permission::Full => return Err(not_started(&words, &start(&words, &opened.workspace))),
        Permission::ReadOnly => SandboxLevel::ReadOnly,
        Permission::Ask | Permission::AcceptEdits | Permission::Auto => SandboxLevel::Workspace,
    };
    if let Some(why) = probe::status().refusal() {
        let hint = "`mycode doctor` shows each layer; --permission full runs the command without a sandbox";
        return Err(Failure::config(why, hint));
    }
    let sandbox = Sandbox::new(
        opened.workspace.clone(),
        opened.own_folders(),
        vec![opened.project_state.join("tool-output")],
    )
    .with(&opened.loaded.work.folders);
    let line = args.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let (own, rules) = (opened.own_folders(), Rules::default());
    let engine = PolicyEngine::new(&opened.loaded.work, rules, &opened.workspace, Vec::new(), &own);
    // What the agent may do without asking.
    let (command, _) = engine.check(&line, &opened.workspace, Some(SandboxSupport::Sandbox));
    let opened_settings = command.settings();
    let confinement = Confinement::Confined { level, network: args.network, opened: opened_settings };
    let error = match enter(&sandbox, confinement, &opened.workspace, &words) {
        Ok(error) | Err(error) => error,
    };
    Err(not_started(&words, &error))
}

fn not_started(words: &[OsString], error: &std::io::Error) -> Failure {
    let name = words.first().map_or_else(Default::default, |name| name.to_string_lossy());
    Failure::task(format!("{name} could not be started: {error}"), "check the program's name and PATH")
}

fn start(words: &[OsString], folder: &Path) -> std::io::Error {
    let Some((program, rest)) = words.split_first() else { return std::io::ErrorKind::InvalidInput.into() };
    os::become_program(cleaned(Command::new(program).args(rest), folder))
}

fn cleaned<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    secret::remove_credentials(command);
    command.current_dir(folder)
}

/// Becomes the command; returns why that failed.
fn enter(
    sandbox: &Sandbox,
    confinement: Confinement,
    folder: &Path,
    words: &[OsString],
) -> std::io::Result<std::io::Error> {
    #[cfg(target_os = "linux")]
    {
        let Some(mut spec) = sandbox.spec(confinement, folder)? else { return Ok(start(words, folder)) };
        spec.foreground = true;
        let private = spec.private.0.clone();
        let file = launch::spec_file(&LaunchMode::Confined(Box::new(spec)))?;
        let mut helper = Command::new(launch::helper()?);
        os::place(&file, launch::SPEC_FD)?;
        // The helper removes it.
        sandbox.keep_private_after_exec()?;
        let helper = helper.args(launch::arguments(None)).args(words);
        let error = os::become_program(cleaned(helper, folder));
        private_folder::remove(&private);
        Ok(error)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let Some(wrapper) = sandbox.wrap(confinement, folder, None)? else { return Ok(start(words, folder)) };
        sandbox.keep_private_after_exec()?;
        let mut command = Command::new(wrapper.program);
        cleaned(command.args(wrapper.args).args(words), folder);
        for (name, value) in wrapper.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Ok(os::become_program(&mut command))
    }
}

#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// List what was moved aside, also without NAME
    #[arg(long)]
    list: bool,

    /// What to put back: its name in the list (or a prefix of it), or its path
    name: Option<PathBuf>,
}

#[cfg(target_os = "linux")]
fn restore(cli: &SharedArgs, args: &RestoreArgs) -> Result<(), Failure> {
    // Don't load the configuration: a planted one may be unreadable.
    let workspace = open::workspace(cli.model.folder.as_deref())?;
    let all = set_aside::list(&Paths::from_env().state.join("set-aside"));
    let Some(wanted) = args.name.as_ref().filter(|_| !args.list) else {
        let rows: Vec<String> = all
            .iter()
            .map(|one| format!("{}  {}\n", one.id, on_one_line(&one.origin.to_string_lossy())))
            .collect();
        if rows.is_empty() {
            return report::say("Nothing was moved aside.\n");
        }
        let how = "`mycode sandbox restore NAME` puts one back where it was.\n";
        return report::say(&(rows.concat() + how));
    };
    let text = wanted.to_string_lossy();
    let is_meant = |one: &&set_aside::SetAside| {
        !text.is_empty() && one.id.starts_with(&*text) || one.origin == workspace.join(wanted)
    };
    let found: Vec<_> = all.iter().filter(is_meant).collect();
    let one = match found.as_slice() {
        [one] => one,
        [] => {
            let hint = "`mycode sandbox restore` lists all";
            return Err(Failure::usage(format!("nothing named '{text}' was moved aside"), hint));
        }
        several => {
            let hint = "`mycode sandbox restore` lists all; give the first column of one";
            return Err(Failure::usage(format!("'{text}' matches {} entries", several.len()), hint));
        }
    };
    let (origin, path) =
        (on_one_line(&one.origin.to_string_lossy()), on_one_line(&one.path.to_string_lossy()));
    one.restore().or_task(
        format!("{origin} could not be restored"),
        format!("it is still at {path}; move what took its place, or recreate the folder"),
    )?;
    report::say(&format!("Restored {origin}.\n"))
}

#[cfg(not(target_os = "linux"))]
fn restore(_: &SharedArgs, _: &RestoreArgs) -> Result<(), Failure> {
    report::say("Nothing was moved aside.\n")
}
