//! Opens, refreshes, accepts and closes completions. The only popup file that knows the app.

use super::files::{self, FileRanking, Token};
use super::state::{Candidate, Completion, CompletionKind};
use crate::tui::app::App;
use crate::tui::command::table::COMMANDS;
use crate::tui::msg::Cmd;
use base::protocol::op::Quick;

pub fn refresh(app: &mut App) {
    let commands = commands(app);
    if !commands.is_empty() {
        if app.dismissed == Some(0) {
            return;
        }
        match &mut app.completion {
            Some(open) if matches!(open.kind, CompletionKind::Commands) => open.refresh(commands),
            _ => app.completion = Some(Completion::new(CompletionKind::Commands, 0, commands)),
        }
        return;
    }
    let Some(token) = files::token(app.composer.text(), app.composer.cursor()) else {
        app.completion = None;
        app.dismissed = None;
        return;
    };
    let before = &app.composer.text()[..app.composer.cursor()];
    if outside(before).is_some() && app.dismissed != Some(token.at) {
        return app.command(Cmd::CompleteShell(before.to_owned()));
    }
    let goes_on = app.files.paths.as_ref().is_some_and(|paths| token.goes_on(paths));
    if app.dismissed == Some(token.at) || goes_on {
        app.completion = None;
        return;
    }
    if let Some(open) = app.completion.as_mut().filter(|open| matches!(open.kind, CompletionKind::Files(_))) {
        return open.set_token(token);
    }
    if !app.files.requested {
        app.files.requested = true;
        app.send(Quick::ListFiles);
    }
    app.completion = Some(Completion::of_files(FileRanking::new(token, app.files.paths.clone())));
}

pub fn dismiss(app: &mut App) {
    app.dismissed = app.completion.take().map(|open| open.at);
}

pub fn accept(app: &mut App) -> bool {
    let Some(open) = &app.completion else { return false };
    let Some(offer) = open.chosen() else { return false };
    app.composer.complete(open.at, &offer.insertion);
    refresh(app);
    true
}

pub fn shell_command(app: &App) -> Option<String> {
    let before = &app.composer.text()[..app.composer.cursor()];
    before.starts_with('!').then(|| before.to_owned())
}

/// A mention of a path outside the workspace, which is completed like a word of a `!command`.
pub fn outside(before: &str) -> Option<Token> {
    let is_outside = |token: &Token| token.query.starts_with("../") || token.query.starts_with("~/");
    files::token(before, before.len()).filter(|token| is_outside(token) && !before.starts_with('!'))
}

pub fn shell_words(app: &mut App, before: &str, words: Vec<String>) {
    if app.composer.text().get(..app.composer.cursor()) != Some(before) {
        return;
    }
    if let Some(token) = outside(before) {
        let offers = words.iter().map(|word| Candidate::new(word, files::insertion(word))).collect();
        app.completion =
            Some(Completion::new(CompletionKind::Shell, token.at, offers)).filter(|_| !words.is_empty());
        return;
    }
    let (at, _) = last_word(before);
    match words.as_slice() {
        [] => app.hint = Some("no completions".to_owned()),
        [word] => app.composer.complete(at, &word_insertion(word)),
        words => {
            let common = word_insertion(common_start(words));
            if common.trim_end().len() > before.len() - at {
                app.composer.complete(at, common.trim_end());
            }
            let offer = |word: &String| Candidate::new(word, word_insertion(word));
            let offers = words.iter().map(offer).collect();
            app.completion = Some(Completion::new(CompletionKind::Shell, at, offers));
        }
    }
}

pub fn mention(path: &str) -> String {
    files::insertion(path).trim_end().to_owned()
}

fn commands(app: &App) -> Vec<Candidate> {
    let text = app.composer.text();
    let typed = text.strip_prefix('/').filter(|typed| !typed.contains(char::is_whitespace));
    let Some(typed) = typed.filter(|_| app.composer.cursor() == text.len()) else { return Vec::new() };
    let own = app.own_commands.iter().filter(|row| COMMANDS.iter().all(|[name, ..]| *name != row.name));
    let all = COMMANDS.iter().copied().chain(own.map(|row| [&*row.name, &row.args, &row.help]));
    let offer = |[name, args, help]: [&str; 3]| Candidate {
        shown: format!("/{name} {args}"),
        help: Some(help.to_owned()),
        insertion: format!("/{name} "),
    };
    let mut found: Vec<_> = all.filter(|[name, ..]| name.starts_with(typed)).collect();
    found.sort_by_key(|[name, ..]| *name != typed);
    found.into_iter().map(offer).collect()
}

// The words of a `!command`: where the last one starts, and what replaces it.

const ENDS: [char; 9] = [' ', '\t', '\n', '|', ';', '&', '<', '>', '('];

fn word_insertion(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len() + 1);
    for c in word.chars() {
        if c.is_whitespace() || "'\"\\$`&|;<>()*?[]{}!#".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    if !word.ends_with('/') {
        escaped.push(' ');
    }
    escaped
}

/// Start of the last word, and whether it names a program.
pub fn last_word(before: &str) -> (usize, bool) {
    let escaped = |at: usize| before[..at].ends_with('\\');
    let end = before.char_indices().rev().find(|(at, c)| ENDS.contains(c) && !escaped(*at));
    let start = end.map_or(1, |(at, c)| at + c.len_utf8()).max(1);
    let ahead = before[1..start].trim_end();
    (start, ahead.is_empty() || ahead.ends_with(['|', ';', '&', '(']))
}

fn common_start(words: &[String]) -> &str {
    let Some(first) = words.first() else { return "" };
    let shared = words.iter().skip(1).fold(first.len(), |length, word| {
        let same = first.char_indices().zip(word.chars()).take_while(|((_, a), b)| a == b);
        length.min(same.last().map_or(0, |((at, c), _)| at + c.len_utf8()))
    });
    &first[..shared]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_commands() {
        assert_eq!(last_word("!gi"), (1, true));
        assert_eq!(last_word("!git sta"), (5, false));
        assert_eq!(last_word("!ls | gr"), (6, true));
        assert_eq!(last_word("!cat a\\ b"), (5, false));
        assert_eq!(word_insertion("a b"), "a\\ b ");
        assert_eq!(word_insertion("src/"), "src/");
        assert_eq!(common_start(&["cargo".to_owned(), "cat".to_owned()]), "ca");
    }
}
