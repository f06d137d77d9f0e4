//! The help, and how each mistake on the command line is answered.

use std::fmt::Write;

use super::page::page;
use crate::support::workplace::{Workplace, stderr, stdout};

/// The help of a command and of all its subcommands.
fn help(command: &mut clap::Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or("mycode").to_owned();
    let _ = writeln!(text, "{}\n$ {name} --help\n{}", "=".repeat(100), command.render_long_help());
    for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
        help(subcommand, text);
    }
}

#[test]
fn help_pages() {
    let mut command = mycode::cli::command_line::command().term_width(100);
    command.build();
    let mut text = String::new();
    help(&mut command, &mut text);
    page("help.txt", &text);
}

#[test]
fn command_line_errors() {
    let place = Workplace::new();
    place.file("file.txt", "x").file(".mycode/config.toml", "model = \"m\"\npermission = \"full\"\n");
    let mut text = String::new();
    for args in [
        &["login"][..],
        &["sesions"],
        &["fix it"],
        &["-C", "nowhere", "sessions"],
        &["-C", "file.txt", "sessions"],
        &["exec"],
        &["exec", "--permission", "yolo", "fix it"],
        &["exec", "--provider", "x", "fix it"],
        &["exec", "--header", "x", "fix it"],
        &["exec", "--model"],
        &["resume", "0198"],
        &["rewind"],
        &["context"],
        &["tool", "Read", "--args", "{"],
        &["notes", "show", "login"],
        &["sessions"],
        &["trust", "--revoke"],
        &["trust"],
        &["policy", "check"],
        &["no-such-command", "x"],
    ] {
        let output = place.command(args).env("MYCODE_BASE_URL", "").output().unwrap();
        let quoted =
            args.iter().map(|arg| if arg.contains(' ') { format!(" '{arg}'") } else { format!(" {arg}") });
        let _ = writeln!(text, "$ mycode{}", quoted.collect::<String>());
        let _ = write!(text, "{}{}", stdout(&output), stderr(&output));
        let _ = writeln!(text, "[exit code {}]\n", output.status.code().unwrap());
    }
    let project = place.project().display().to_string();
    page("command_line.txt", &text.replace(&project, "/project"));
}
