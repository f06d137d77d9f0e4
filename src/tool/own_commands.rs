//! Slash commands that the user has defined: a Markdown file with front matter (description, argument-hint) and the prompt
//! behind it, as Claude Code has them (code.claude.com/docs/en/skills, "Available string substitutions", by
//! anthropics/claude-plugins-official#6246, looked up 2026-11-22): `$ARGUMENTS` stands for all arguments, `$ARGUMENTS[0]` for the
//! first, and a folder is a namespace (`git/fix.md` is `/git:fix`). A single digit stood for one argument from `$1` on until
//! 2026; today `$0` is the first in Claude Code. Files of both kinds are about: one that has a `$0` counts from zero. What is
//! not done here (model, allowed-tools, named arguments, `` !`…` ``) is said in the description.

use crate::base::text::one_line;
use crate::config::trusted::command_files::CommandFile;
use crate::note::frontmatter;
use crate::protocol::event::CommandRow;

const DESCRIPTION_CHARS: usize = 120;
const NOT_USED: [&str; 3] = ["model", "allowed-tools", "arguments"];

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    pub row: CommandRow,
    prompt: String,
}

/// The commands that the files define, the first of a name, and a sentence for the user about each file that defines none.
pub fn read(files: &[CommandFile]) -> (Vec<OwnCommand>, Vec<String>) {
    let (mut own, mut notices): (Vec<OwnCommand>, Vec<String>) = (Vec::new(), Vec::new());
    for file in files {
        match parse(file) {
            Ok(command) if own.iter().all(|other| other.row.name != command.row.name) => own.push(command),
            Ok(_) => {}
            Err(why) => notices.push(format!(
                "{} defines no command: {why}. Correct the file, or remove it.",
                file.path.display()
            )),
        }
    }
    (own, notices)
}

fn parse(file: &CommandFile) -> Result<OwnCommand, String> {
    let parts = frontmatter::split(&file.text);
    let (head, hint) = without_hint(parts.head.unwrap_or_default());
    let map = frontmatter::read(&head)?;
    let prompt = parts.body.trim();
    if prompt.is_empty() {
        return Err("no prompt follows its front matter".to_owned());
    }
    let description = frontmatter::text_of(&head, &map, "description");
    let mut help = description.unwrap_or_else(|| prompt.lines().next().unwrap_or_default().to_owned());
    let mut unused: Vec<&str> = NOT_USED.into_iter().filter(|key| map.contains_key(*key)).collect();
    if prompt.contains("!`") {
        unused.push("!`…`");
    }
    if !unused.is_empty() {
        help.push_str(&format!(" ({} not used)", unused.join(", ")));
    }
    let row = CommandRow {
        name: file.name.clone(),
        args: one_line(&hint, DESCRIPTION_CHARS),
        help: one_line(&help, DESCRIPTION_CHARS),
    };
    Ok(OwnCommand { row, prompt: prompt.to_owned() })
}

/// The head without its `argument-hint`, and that: a hint such as `[file] [line]` is no YAML, though it is what all write.
fn without_hint(head: &str) -> (String, String) {
    let is_hint = |line: &&str| line.starts_with("argument-hint:");
    let (hint, rest): (Vec<&str>, Vec<&str>) = head.lines().partition(is_hint);
    let hint = hint.first().map_or("", |line| line.trim_start_matches("argument-hint:"));
    (rest.join("\n"), hint.trim().trim_matches(['"', '\'']).to_owned())
}

/// The prompt that `text` stands for, when it is one of the commands with its arguments.
pub fn expand(commands: &[OwnCommand], text: &str) -> Option<String> {
    let rest = text.strip_prefix('/')?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let command = commands.iter().find(|command| command.row.name == name)?;
    Some(fill(&command.prompt, args.trim()))
}

fn fill(prompt: &str, args: &str) -> String {
    let each = words(args);
    let first = usize::from(!prompt.contains("$0"));
    let word = |place: Option<usize>| place.and_then(|place| each.get(place)).map_or("", String::as_str);
    let mut out = String::with_capacity(prompt.len() + args.len());
    let mut used = false;
    let mut rest = prompt;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digit = rest.chars().next().and_then(|c| c.to_digit(10));
        if let Some((place, behind)) = indexed(rest) {
            out.push_str(word(Some(place)));
            (rest, used) = (behind, true);
        } else if let Some(behind) = rest.strip_prefix("ARGUMENTS") {
            out.push_str(args);
            (rest, used) = (behind, true);
        } else if let Some(digit) = digit {
            out.push_str(word((digit as usize).checked_sub(first)));
            (rest, used) = (&rest[1..], true);
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    // A command that takes none gets what was said behind its prompt.
    if !used && !args.is_empty() {
        out.push_str(&format!("\n\n{args}"));
    }
    out
}

/// The place in `ARGUMENTS[place]`, and what follows it.
fn indexed(text: &str) -> Option<(usize, &str)> {
    let (place, behind) = text.strip_prefix("ARGUMENTS[")?.split_once(']')?;
    Some((place.parse().ok()?, behind))
}

/// Arguments apart: words, or what stands between quotation marks.
fn words(args: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = args.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted = matches!(first, '"' | '\'').then(|| rest[1..].find(first)).flatten();
        let (word, end) = match quoted {
            Some(length) => (&rest[1..=length], length + 2),
            None => {
                let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..length], length)
            }
        };
        words.push(word.to_owned());
        rest = rest[end..].trim_start();
    }
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> CommandFile {
        CommandFile { name: name.to_owned(), path: format!("/{name}.md").into(), text: text.to_owned() }
    }

    #[test]
    fn arguments_fill_the_prompt() {
        assert_eq!(fill("a $1 b $2 c $3.", "x \"y z\""), "a x b y z c .");
        assert_eq!(fill("all: $ARGUMENTS; $ and $x", "one two"), "all: one two; $ and $x");
        assert_eq!(fill("Review.", "the parser"), "Review.\n\nthe parser");
        assert_eq!(fill("say $1", "$2 $1"), "say $2", "an argument is no template");
        assert_eq!(fill("Review.", ""), "Review.");
        assert_eq!(fill("a $0 b $1 c $2.", "x \"y z\""), "a x b y z c .", "from zero where there is a `$0`");
        assert_eq!(fill("$ARGUMENTS[1], $ARGUMENTS[x], $1", "a b"), "b, a b[x], a");
    }

    #[test]
    fn front_matter_and_first_of_a_name() {
        let text =
            "---\ndescription: Review it\nargument-hint: [file] [line]\nmodel: opus\n---\nReview $1.\n";
        let files = [
            file("git:review", text),
            file("plain", "Do it.\nThen stop."),
            file("plain", "x"),
            file("no", ""),
        ];
        let (own, notices) = read(&files);
        let rows: Vec<(&str, &str, &str)> =
            own.iter().map(|own| (&*own.row.name, &*own.row.args, &*own.row.help)).collect();
        assert_eq!(
            rows,
            [("git:review", "[file] [line]", "Review it (model not used)"), ("plain", "", "Do it.")]
        );
        assert_eq!(notices.len(), 1);
        assert_eq!(expand(&own, "/git:review a.rs").unwrap(), "Review a.rs.");
        assert_eq!(expand(&own, "/other"), None);
    }
}
