//! Recognizes slash commands and `#text`, and runs them.

use super::table::{ALIASES, COMMANDS, ELSEWHERE};
use super::{models, show};
use crate::tui::app::App;
use crate::tui::msg::Cmd;
use base::config::mode::Mode;
use base::config::settings::Permission;
use base::protocol::goal::{self, Goal, GoalState};
use base::protocol::maintain::Maintain;
use base::protocol::notice;
use base::protocol::op::{Idle, Op, Quick, Undo, Work};
use base::search::fuzzy;
use base::search::words::listed;

const LONE_SIGNS: [[&str; 2]; 2] = [
    ["!", "Type a command after `!` to run it in your shell, such as `!git status`."],
    ["#", "Type a line after `#` to keep it as a rule or a note, such as `#use spaces, not tabs`."],
];

/// Runs a command. `/etc/hosts is wrong` isn't one: the first word must be letters, without leading space.
pub fn run(app: &mut App, text: &str) -> bool {
    if let Some(kept) = kept(text) {
        if refuses_during_turn(app, "#…") {
            app.composer.restore(text);
        } else {
            app.send(Quick::Keep { text: kept.to_owned() });
        }
        return true;
    }
    if let Some([_, usage]) = LONE_SIGNS.iter().find(|[sign, _]| *sign == text.trim()) {
        app.inform(*usage);
        return true;
    }
    let as_command = if listed("exit quit :q :wq", text.trim()) { "/quit" } else { text.trim_end() };
    let Some(rest) = as_command.strip_prefix('/') else { return false };
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_own = app.own_commands.iter().any(|command| command.name == name);
    let alias = ALIASES.iter().find(|[alias, _]| *alias == name && !is_own);
    let name = alias.map_or(name, |[_, name]| *name);
    let args = args.trim();
    match name {
        "help" => show::help(app, args),
        "model" if args.is_empty() => models::models(app),
        "model" => models::switch(app, args),
        "permission" => permission(app, args),
        "mode" => mode(app, args),
        "context" => show::context(app, args),
        "status" => app.send(Quick::ShowStatus),
        "skills" => app.send(Quick::ShowSkills),
        "hooks" => app.send(Quick::ListHooks),
        "trust" => app.send(Quick::ShowTrust),
        "mcp" => mcp(app, args),
        "stats" => app.send(Quick::ShowStats),
        "cost" => app.send(Quick::ShowCost),
        "todos" => show::todos(app),
        "jobs" => jobs(app, args),
        "compact" => compact(app, args),
        "uncompact" => app.send(Idle::Uncompact),
        "recall" if args.is_empty() => {
            app.inform("/recall 12 shows item #12 in full; /recall WORDS searches this session.");
        }
        "recall" => app.send(Quick::Recall { what: args.to_owned() }),
        "effort" => models::effort(app, args),
        "plan" => mode(app, Mode::Plan.into_str()),
        "stop" if app.turn.is_some() => app.interrupt(),
        "rename" => rename(app, args),
        "fork" => fork(app),
        "notes" => app.send(Quick::ListNotes),
        "login" => models::login(app, args),
        "logout" if args.is_empty() => models::login(app, ""),
        "logout" => app.send(Quick::SaveKey { vendor: args.to_owned(), key: None }),
        "maintain" => match Maintain::parse(args) {
            Ok(work) => between_turns(app, name, Work::Maintain(work)),
            Err(message) => app.warn(format!("{message}.")),
        },
        "goal" => goal(app, args),
        "review" => between_turns(app, name, Work::Review),
        "init" => init(app, args),
        "resume" if args.is_empty() => between_turns(app, name, Quick::ListSessions),
        "resume" if args == "all" => between_turns(app, name, Quick::ListAllSessions),
        "resume" => between_turns(app, name, Idle::Resume { session: args.to_owned() }),
        "rewind" => between_turns(app, name, Undo::ListPoints),
        "vim" => vim(app),
        "clear" => between_turns(app, name, Idle::Clear),
        "diff" => show::diff(app, args),
        "copy" => show::copy(app, args),
        "export" => show::export(app, args),
        "theme" => show::theme(app, args),
        "quit" => app.command(Cmd::Quit),
        // Expanded by the agent.
        _ if own_name(app, name).is_some() => return false,
        _ => return unknown(app, name, text),
    }
    true
}

/// Completes the name of the user's own command.
pub fn in_full(app: &App, text: String) -> String {
    let name = text.strip_prefix('/').and_then(|rest| rest.split(char::is_whitespace).next());
    match name.and_then(|name| Some((name, own_name(app, name)?))) {
        Some((name, whole)) => format!("/{whole}{}", &text[1 + name.len()..]),
        None => text,
    }
}

fn own_name<'a>(app: &'a App, name: &str) -> Option<&'a str> {
    fuzzy::whole_name(name, app.own_commands.iter().map(|command| command.name.as_str()))
}

/// Whether the text was meant as a command; if so, reports the unknown name and restores the text.
fn unknown(app: &mut App, name: &str, text: &str) -> bool {
    let is_word =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'));
    if let Some([_, advice]) = ELSEWHERE.iter().find(|[other, _]| *other == name) {
        app.inform(*advice);
        return true;
    }
    if is_word {
        let own = app.own_commands.iter().map(|command| command.name.as_str());
        let nearest = fuzzy::nearest_name(name, COMMANDS.iter().map(|[name, ..]| *name).chain(own));
        let meant = nearest.map_or(String::new(), |nearest| format!(" Did you mean /{nearest}?"));
        let how = "/help lists all commands. To send it as text, put a space before it.";
        app.warn(format!("Unknown command: /{name}.{meant} {how}"));
        // Keep the text if there's more than the name.
        if text.trim_end().contains(char::is_whitespace) {
            app.composer.restore(text);
        }
    }
    is_word
}

/// Refuses during a turn: `op` would replace the session under it.
fn between_turns(app: &mut App, name: &str, op: impl Into<Op>) {
    if !refuses_during_turn(app, &format!("/{name}")) {
        app.send(op);
    }
}

fn kept(text: &str) -> Option<&str> {
    let kept = text.strip_prefix('#')?.trim();
    (!kept.is_empty() && !kept.contains('\n') && !kept.starts_with('#')).then_some(kept)
}

fn refuses_during_turn(app: &mut App, name: &str) -> bool {
    if app.turn.is_some() {
        app.warn(format!("A turn is running. Press Esc to stop it, then try {name} again."));
    }
    app.turn.is_some()
}

fn rename(app: &mut App, title: &str) {
    let Some(session) = app.session.as_ref().map(|info| info.id.clone()) else { return };
    if title.is_empty() {
        return app.warn("Usage: /rename TITLE. /resume renames other sessions.");
    }
    app.send(Quick::NameSession { session, title: title.to_owned() });
}

fn fork(app: &mut App) {
    let Some(session) = app.session.as_ref().map(|info| info.id.clone()) else { return };
    between_turns(app, "fork", Idle::ForkSession { session });
}

fn permission(app: &mut App, args: &str) {
    if args.is_empty() {
        return show::permissions(app, false);
    }
    match args.parse::<Permission>() {
        Ok(Permission::Full) => {
            show::permissions(app, true);
            app.hint = Some("Enter confirms: no questions, no sandbox".to_owned());
        }
        Ok(permission) => {
            app.set_permission(permission);
            app.permission_asked = Some(permission);
        }
        Err(message) => app.warn(format!("{message}.")),
    }
}

fn mode(app: &mut App, args: &str) {
    if args.is_empty() {
        let mode = app.session.as_ref().map(|info| info.mode.into_str());
        return app.inform(match mode {
            Some(mode) => format!("Mode: {mode}. /mode normal, explore, analyze or plan changes it."),
            None => "The session is still starting. Try again in a moment.".to_owned(),
        });
    }
    match args.parse::<Mode>() {
        Ok(mode) => {
            app.set_mode(mode);
            app.inform(notice::mode_changed(mode));
        }
        Err(message) => app.warn(format!("{message}.")),
    }
}

fn mcp(app: &mut App, args: &str) {
    let (word, server) = args.split_once(' ').unwrap_or((args, ""));
    match (word, server.trim().to_owned()) {
        ("on" | "off", server) if !server.is_empty() => {
            app.send(Quick::SwitchMcp { server, on: word == "on" });
            app.send(Quick::ShowMcp);
        }
        ("", _) => app.send(Quick::ShowMcp),
        _ => app.warn("Usage: /mcp off NAME or /mcp on NAME; /mcp alone lists the servers."),
    }
}

fn jobs(app: &mut App, args: &str) {
    let id = args.strip_prefix("stop").map(str::trim).map(str::parse::<u32>);
    match id {
        Some(Ok(id)) => app.send(Quick::StopJob { id }),
        Some(Err(_)) => app.warn("Usage: /jobs stop N, such as /jobs stop 1."),
        None => show::jobs(app),
    }
}

fn vim(app: &mut App) {
    if app.theme.is_plain() {
        return app.inform("Plain mode has no Vim keys.");
    }
    let on = app.composer.vim.is_none();
    app.composer.set_vim(on);
    app.inform(match on {
        true => "Vim mode: Esc for normal mode. `vim = true` in config.toml keeps it on.",
        false => "Vim mode is off.",
    });
}

fn compact(app: &mut App, args: &str) {
    let words: Vec<&str> = args.split_whitespace().collect();
    app.send(match words.as_slice() {
        ["auto", "on"] => Op::Idle(Idle::AutoCompact { on: true }),
        ["auto", "off"] => Op::Idle(Idle::AutoCompact { on: false }),
        ["auto"] | ["auto", _] => return app.warn("Usage: /compact [FOCUS], or /compact auto on|off."),
        _ => Op::Work(Work::Compact { focus: (!args.is_empty()).then(|| args.to_owned()) }),
    });
}

fn goal(app: &mut App, args: &str) {
    match (args, args.rsplit_once(" --check ")) {
        ("", _) => app.inform(app.goal.as_ref().map_or_else(goal::none_open, GoalState::report)),
        ("stop", _) => {
            app.goal = None;
            app.send(Idle::StopGoal);
        }
        ("go", _) => between_turns(app, "goal", Work::NextRound),
        (_, Some((text, check))) if !text.trim().is_empty() && !check.trim().is_empty() => {
            let goal = Goal { text: text.trim().to_owned(), check: unquoted(check.trim()).to_owned() };
            between_turns(app, "goal", Work::Goal(goal));
        }
        _ => {
            app.composer.restore(&format!("/goal {args}"));
            app.warn("Usage: /goal TEXT --check COMMAND, such as /goal fix the parser --check cargo test -q");
        }
    }
}

fn unquoted(command: &str) -> &str {
    let inner =
        |quote: char| command.strip_prefix(quote)?.strip_suffix(quote).filter(|it| !it.contains(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(command)
}

fn init(app: &mut App, args: &str) {
    match args {
        "" if refuses_during_turn(app, "/init") => {}
        "" => {
            app.turn_label = Some("/init");
            app.begin_turn();
            app.send(Work::Init);
        }
        "no" => {
            app.send(Quick::DeclineInit);
            app.inform("mycode won't offer a rules file in this project again. /init still writes one.");
        }
        _ => app.warn("Usage: /init writes or improves the rules file; /init no stops the offer."),
    }
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
        assert!(run(&mut app, "/foo bar"));
        assert_eq!(app.composer.text(), "/foo bar");
        assert!(!run(&mut app, " /foo bar"));
        assert!(run(&mut app, "exit") && !run(&mut app, "exit code 1 in CI"));
    }

    #[test]
    fn a_goal_has_a_text_and_a_check() {
        for (typed, check) in [
            ("/goal fix it --check cargo test -q", "cargo test -q"),
            ("/goal fix it --check 'cargo test -q'", "cargo test -q"),
            ("/goal fix it --check test 'a' = 'a'", "test 'a' = 'a'"),
        ] {
            let mut app = App::new(Theme::new(false), (80, 24));
            assert!(run(&mut app, typed));
            let sent = format!("{:?}", app.take_commands());
            let goal = Goal { text: "fix it".to_owned(), check: check.to_owned() };
            assert!(sent.contains(&format!("{goal:?}")), "{sent}");
        }
        let mut app = App::new(Theme::new(false), (80, 24));
        assert!(run(&mut app, "/goal fix it"));
        assert_eq!(app.composer.text(), "/goal fix it", "nothing typed is lost");
    }

    #[test]
    fn half_of_a_switch_compacts_nothing() {
        for typed in ["/compact auto", "/compact auto offf"] {
            let mut app = App::new(Theme::new(false), (80, 24));
            assert!(run(&mut app, typed));
            let done = format!("{:?}", app.take_commands());
            assert!(done.contains("Usage: /compact") && !done.contains("Work"), "{done}");
        }
    }

    #[test]
    fn every_listed_command_runs() {
        assert_eq!((COMMANDS.len(), ALIASES.len(), ELSEWHERE.len()), (37, 31, 43), "every row is understood");
        for name in COMMANDS.iter().map(|[name, ..]| name).chain(ALIASES.iter().map(|[alias, _]| alias)) {
            let mut app = App::new(Theme::new(false), (80, 24));
            assert!(run(&mut app, &format!("/{name}")));
            let commands = app.take_commands();
            assert!(!format!("{commands:?}").contains("Unknown"), "{name}: {commands:?}");
        }
    }
}
