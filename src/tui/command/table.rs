//! The list of slash commands, and which text is one. A new command is one file and one line here.

use super::api::Command;
use super::compact;
use super::context;
use super::help;
use super::init;
use super::jobs;
use super::model;
use super::permission;
use super::recall;
use super::resume;
use super::rewind;
use super::session;
use super::uncompact;
use crate::protocol::event::Level;
use crate::search::fuzzy;
use crate::tui::app::App;

/// All commands, in the order in which they are shown.
pub static COMMANDS: &[Command] = &[
    Command { name: "help", args: "", help: "commands and keys", run: help::run },
    Command { name: "model", args: "[name]", help: "show or change the model", run: model::run },
    Command {
        name: "permission",
        args: "[level]",
        help: "read-only, ask, auto or full",
        run: permission::run,
    },
    Command {
        name: "context",
        args: "[verb id]",
        help: "what fills the window; why, pin, drop, restore",
        run: context::run,
    },
    Command { name: "jobs", args: "[stop N]", help: "background jobs", run: jobs::run },
    Command {
        name: "compact",
        args: "[focus]",
        help: "summarize old rounds now; `auto on|off`",
        run: compact::run,
    },
    Command { name: "uncompact", args: "", help: "take the last compaction back", run: uncompact::run },
    Command {
        name: "recall",
        args: "ID|QUERY",
        help: "an original, or a search in this session",
        run: recall::run,
    },
    Command { name: "init", args: "[no]", help: "write CODE_LAW.md; `no` stops the offer", run: init::run },
    Command { name: "resume", args: "[id]", help: "continue another session", run: resume::run },
    Command { name: "rewind", args: "", help: "undo turns: files, conversation, both", run: rewind::run },
    Command { name: "clear", args: "", help: "begin a new, empty session", run: session::clear },
    Command { name: "quit", args: "", help: "leave (also Ctrl-D)", run: session::quit },
];

/// What the same commands are called elsewhere: fingers know these words.
const ALIASES: [(&str, &str); 6] = [
    ("exit", "quit"),
    ("new", "clear"),
    ("undo", "rewind"),
    ("sessions", "resume"),
    ("models", "model"),
    ("permissions", "permission"),
];

/// Runs `text` if it is a command. A text such as `/etc/hosts is wrong` is none: only a known first word, or a single
/// word without further slashes, counts.
pub fn run(app: &mut App, text: &str) -> bool {
    let Some(rest) = text.trim().strip_prefix('/') else { return false };
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name);
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        (command.run)(app, args.trim(), COMMANDS);
        return true;
    }
    let single_word =
        args.is_empty() && !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-');
    if single_word {
        let meant = match nearest(name) {
            Some(nearest) => format!(" Did you mean /{nearest}?"),
            None => String::new(),
        };
        app.notice(Level::Warning, format!("There is no command /{name}.{meant} /help lists all commands."));
    }
    single_word
}

fn nearest(name: &str) -> Option<&'static str> {
    fuzzy::nearest_name(name, COMMANDS.iter().map(|command| command.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::render::theme::Theme;

    #[test]
    fn paths_are_not_commands() {
        let mut app = App::new(Theme::new(false), (80, 24));
        assert!(!run(&mut app, "/etc/hosts is wrong"));
        assert!(!run(&mut app, "/etc/hosts"));
        assert!(!run(&mut app, "/ what"));
        assert!(run(&mut app, "/help"));
        assert!(run(&mut app, "/hlep"));
        assert_eq!(nearest("hlep"), Some("help"));
        assert_eq!(nearest("contxt"), Some("context"));
        assert_eq!(nearest("foo"), None);
    }
}
