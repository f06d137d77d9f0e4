//! `mycode trust`: lets the folder's configuration, in its present form, set what it otherwise may not, and
//! releases rules files that were held back.

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::config::trusted::held_back::HeldBack;
use base::config::trusted::own_files::OwnFiles;
use base::config::trusted::trust::Trust;
use base::config::trusted::{active, project_file};
use base::sanitize;

#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Revoke the trust
    #[arg(long)]
    pub revoke: bool,
}

pub fn run(cli: &SharedArgs, args: &TrustArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::Ask)?;
    let trust = Trust::read(&opened.project_state);
    let workspace = &opened.workspace;
    let path = sanitize::reveal(&project_file::place(workspace)).into_owned();
    if args.revoke {
        trust.revoke()?;
        return report::print(&format!("{path} and the project's own definitions are no longer trusted.\n"));
    }
    let held_back = HeldBack::new(&opened.project_state);
    let held = held_back.list();
    held_back.release()?;
    for rules in held.keys().map(|path| sanitize::reveal(&path.display().to_string()).into_owned()) {
        report::print(&format!("{rules} is used as project rules from the next message on.\n"))?;
    }
    let defined = OwnFiles::of_project(workspace).definitions(workspace);
    let changes = active::differences(&defined, &trust);
    if !changes.is_empty() {
        report::print(&format!("Changed since you trusted it:\n{}", sanitize::reveal(&changes)))?;
    }
    if !defined.is_empty() {
        trust.give(&defined)?;
        let mut names: Vec<&str> = defined.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        report::print(&format!(
            "Trusted the project's {} as they are now: {}. If one changes, that one is ignored until you trust it again.\n",
            active::kinds(&defined),
            sanitize::reveal(&names.join(", "))
        ))?;
    }
    let other = !held.is_empty() || !defined.is_empty();
    match project_file::wishes(workspace)? {
        Some((settings, wishes)) if !wishes.is_empty() => {
            trust.give(&[settings])?;
            let wishes: String =
                wishes.iter().map(|wish| format!("  {}\n", sanitize::reveal(wish))).collect();
            report::print(&format!(
                "Trusted {path} as it is now. It sets:\n{wishes}If it changes, it is ignored until you trust it again.\n"
            ))
        }
        _ if other => Ok(()),
        None => report::print(&format!("Nothing to trust: there is no {path}.\n")),
        Some(_) => report::print(&format!("Nothing to trust: no setting in {path} needs it.\n")),
    }
}
