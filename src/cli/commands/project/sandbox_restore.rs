//! `mycode sandbox restore`: lists and restores what the sandbox has moved aside.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};

#[cfg(target_os = "linux")]
use crate::{cli::report::OrFail, cli::setup::open};
#[cfg(target_os = "linux")]
use base::{config::paths::Paths, path::on_one_line};
#[cfg(target_os = "linux")]
use guard::sandbox::linux::guard::set_aside;

#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// List what was moved aside, also without NAME
    #[arg(long)]
    pub list: bool,

    /// What to put back: its name in the list (or a prefix of it), or its path
    pub name: Option<PathBuf>,
}

#[cfg(target_os = "linux")]
pub fn run(cli: &SharedArgs, args: &RestoreArgs) -> Result<(), Failure> {
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

/// Nothing is moved aside on other systems.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &SharedArgs, _: &RestoreArgs) -> Result<(), Failure> {
    report::say("Nothing was moved aside.\n")
}
