//! Which vendor to use, where the keys of several are set.

use super::ask::answer;
use super::open;
use crate::cli::args::ModelArgs;
use crate::cli::report::{self, Failure, OrFail as _};
use base::config::settings::Permission;
use base::folder::update::update;

/// Asks once which vendor to use if several keys are set and nothing says it; the answer is kept in the user's own file.
pub fn ask_vendor(args: &ModelArgs) -> Result<(), Failure> {
    let opened = open::open(args, Permission::Ask)?;
    let names = opened.loaded.undecided();
    let names: Vec<String> = names.iter().map(|(vendor, made)| vendor.full_name(&made.model)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let rows: String = names.iter().zip(1..).map(|(name, number)| format!("  [{number}] {name}\n")).collect();
    let file = opened.paths.user_config();
    report::print(&format!(
        "Several vendors' keys are set. Which model should mycode use?\n{rows}1 by default; {} keeps the answer, and --model \
         chooses another: ",
        file.display()
    ))?;
    let number = answer()?.parse::<usize>().unwrap_or(1);
    let Some(model) = names.get(number.saturating_sub(1)) else { return Ok(()) };
    let kept = update(&file, |before| {
        let before = String::from_utf8_lossy(before.unwrap_or_default()).into_owned();
        Ok(Some(format!("model = \"{model}\"\n{before}").into_bytes()))
    });
    kept.or_task(format!("{} can't be written", file.display()), "use --model")
}
