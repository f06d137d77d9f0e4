//! `mycode man`: the manual page, generated from the same arguments as `--help`.

use clap_mangen::Man;

use crate::cli::command_line;
use crate::cli::report::{self, Failure};
use base::search::fuzzy;

pub fn run(command: Option<&str>, list: bool) -> Result<(), Failure> {
    let mut whole = command_line::command();
    whole.build();
    if list {
        let names = whole.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help");
        report::print(&names.map(|name| format!("{name}\n")).collect::<String>())?;
        return Ok(());
    }
    let page = match command {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(command) => command.clone().display_name(format!("mycode-{name}")),
            None => return Err(unknown(name, &whole)),
        },
    };
    let mut roff = Vec::new();
    Man::new(page)
        .source(concat!("mycode ", env!("CARGO_PKG_VERSION")))
        .manual("MyCodeAgent")
        .render(&mut roff)?;
    report::print(&String::from_utf8_lossy(&roff))?;
    Ok(())
}

fn unknown(name: &str, whole: &clap::Command) -> Failure {
    let names = || whole.get_subcommands().map(clap::Command::get_name);
    let meant = fuzzy::nearest_name(name, names()).map(|near| format!("did you mean `mycode man {near}`? "));
    let all = names().collect::<Vec<_>>().join(", ");
    let hint = format!("{}commands: {all}", meant.unwrap_or_default());
    Failure::usage(format!("unknown command '{name}'"), hint)
}
