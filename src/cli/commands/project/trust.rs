//! `mycode trust`: lets the folder's configuration, in its present form, set what it otherwise may not, and
//! releases rules files that were held back.

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::config::trusted::held_back::HeldBack;
use base::config::trusted::own_files::OwnFiles;
use base::config::trusted::project_file;
use base::config::trusted::trust::Trust;
use base::sanitize;

#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Revoke the trust
    #[arg(long)]
    pub revoke: bool,
}

pub fn run(cli: &SharedArgs, args: &TrustArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::Ask)?;
    let trust = Trust::new(&opened.project_state);
    let path = base::config::paths::project_config(&opened.workspace);
    let path = path.display().to_string();
    let path = sanitize::reveal(&path);
    if args.revoke {
        trust.revoke()?;
        Trust::of_agents(&opened.project_state).revoke()?;
        return report::print(&format!(
            "{path} and what the project defines for the model are no longer trusted.\n"
        ));
    }
    let held_back = HeldBack::new(&opened.project_state);
    let held = held_back.list();
    held_back.release()?;
    for rules in held.keys().map(|path| sanitize::reveal(&path.display().to_string()).into_owned()) {
        report::print(&format!("{rules} is used as project rules from the next message on.\n"))?;
    }
    let defined = OwnFiles::of_project(&opened.workspace);
    if !defined.is_empty() {
        Trust::of_agents(&opened.project_state).give(&defined.contents(&opened.workspace))?;
        report::print(&format!(
            "Trusted the project's {} as they are now: {}. If one changes, all are ignored until you trust them \
             again.\n",
            defined.kinds(),
            sanitize::reveal(&defined.names(&opened.workspace))
        ))?;
    }
    let other = !held.is_empty() || !defined.is_empty();
    let text = match project_file::wishes(&opened.workspace)? {
        None if other => return Ok(()),
        None => return report::print(&format!("Nothing to trust: there is no {path}.\n")),
        Some((_, wishes)) if wishes.is_empty() && other => return Ok(()),
        Some((_, wishes)) if wishes.is_empty() => {
            return report::print(&format!("Nothing to trust: {path} sets nothing that needs it.\n"));
        }
        Some((text, wishes)) => {
            trust.give(&text)?;
            let wishes: Vec<String> =
                wishes.iter().map(|wish| format!("  {}\n", sanitize::reveal(wish))).collect();
            format!(
                "Trusted {path} as it is now. It sets:\n{}If it changes, it is ignored until you trust it again.\n",
                wishes.concat()
            )
        }
    };
    report::print(&text)
}
