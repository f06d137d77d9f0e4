//! User-defined slash commands: a Markdown file with front matter, as in Claude Code, Codex and opencode, or a TOML file
//! as in Gemini CLI. A folder is a namespace (`git/fix.md` is `/git:fix`). A prompt may contain commands, which are replaced
//! by their output: `` !`git diff` ``, in TOML `!{git diff}` (slash-commands of Claude Code, commands of opencode,
//! custom-commands of Gemini CLI, November 2026). Unsupported features (agent, named arguments) are noted in the description.

use crate::arguments::translate;
use crate::skill::definition::{self, Skill};
use crate::skill::fill;
use crate::skill::set::SkillSet;
use base::config::trusted::agent_files::CommandFile;
use base::format::{frontmatter, settings_file};
use base::pattern::Pattern;
use base::protocol::event::CommandRow;
use base::text::one_line;

const DESCRIPTION_CHARS: usize = 120;
const NOT_USED: [&str; 2] = ["agent", "arguments"];
/// A mention in Gemini CLI's format, such as `@{src/a.rs}`.
static MENTION: Pattern = Pattern::new(r"@\{([^{}\n]+)\}");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    pub row: CommandRow,
    /// Calls allowed without approval, such as `Bash(git diff:*)`.
    pub allowed_tools: Vec<String>,
    pub model: Option<String>,
    parts: Vec<PromptPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    Text(String),
    Command(String),
}

impl PromptPart {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Command(text) => text,
        }
    }
}

/// The commands (the first of each name wins), and a sentence for the user about each invalid file.
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
    if file.path.extension().is_some_and(|extension| extension == "toml") {
        let parsed = settings_file::parse(&file.path, &file.text)?;
        let prompt = parsed["prompt"].as_str().ok_or("it has no `prompt`")?.replace("{{args}}", "$ARGUMENTS");
        let prompt = MENTION.replace_all(&prompt, "@$1");
        let description = parsed["description"].as_str().unwrap_or_default();
        return command(file, split(prompt.trim(), "!{", "}"), "", description.to_owned());
    }
    let parts = frontmatter::split(file.text.trim_start_matches('\u{feff}'));
    let head = parts.head.unwrap_or_default();
    let map = frontmatter::read_lenient(head)?;
    let hint = frontmatter::written(head, "argument-hint").unwrap_or_default();
    let description = frontmatter::text_of(head, &map, "description").unwrap_or_default();
    let unused: Vec<&str> = NOT_USED.into_iter().filter(|key| map.contains_key(*key)).collect();
    let fenced = split(parts.body.trim(), "```!", "```").into_iter().flat_map(|part| match part {
        PromptPart::Text(text) => split(&text, "!`", "`"),
        command @ PromptPart::Command(_) => vec![command],
    });
    let mut made = command(file, fenced.collect(), &hint, description)?;
    if !unused.is_empty() {
        let help = format!("{} ({} not used)", made.row.help, unused.join(", "));
        made.row.help = one_line(&help, DESCRIPTION_CHARS);
    }
    made.allowed_tools = definition::words_of(&map, "allowed-tools");
    made.model = frontmatter::text_of(head, &map, "model").filter(|model| !model.is_empty());
    Ok(made)
}

/// The texts and commands of a prompt, in order. Braces inside a command belong to it.
fn split(prompt: &str, open: &str, close: &str) -> Vec<PromptPart> {
    let (mut parts, mut rest) = (Vec::new(), prompt);
    let mut from = 0;
    while let Some(at) = rest[from..].find(open).map(|at| from + at) {
        let inside = &rest[at + open.len()..];
        let mut depth = 0;
        let end = inside.char_indices().find(|(at, c)| {
            let ends = inside[*at..].starts_with(close) && depth == 0;
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            ends
        });
        match end {
            Some((end, _)) if !inside[..end].trim().is_empty() => {
                parts.push(PromptPart::Text(rest[..at].to_owned()));
                parts.push(PromptPart::Command(inside[..end].trim().to_owned()));
                (rest, from) = (&inside[end + close.len()..], 0);
            }
            _ => from = at + open.len(),
        }
    }
    parts.push(PromptPart::Text(rest.to_owned()));
    parts.retain(|part| !part.text().is_empty());
    parts
}

fn command(
    file: &CommandFile,
    parts: Vec<PromptPart>,
    hint: &str,
    description: String,
) -> Result<OwnCommand, String> {
    let first = parts.first().ok_or("it has no prompt")?;
    let help = match description.is_empty() {
        true => first.text().lines().next().unwrap_or_default().to_owned(),
        false => description,
    };
    let row = CommandRow {
        name: file.name.clone(),
        args: one_line(hint.trim_matches(['"', '\'']), DESCRIPTION_CHARS),
        help: one_line(&help, DESCRIPTION_CHARS),
    };
    Ok(OwnCommand { row, allowed_tools: Vec::new(), model: None, parts })
}

/// Skills that users can call as commands; a command of the same name takes precedence.
pub fn rows_of(skills: &SkillSet, commands: &[OwnCommand]) -> Vec<CommandRow> {
    let called = skills.iter().filter(|skill| skill.for_user);
    let free = called.filter(|skill| commands.iter().all(|command| command.row.name != skill.name));
    let row = |skill: &Skill| CommandRow {
        name: skill.name.clone(),
        args: skill.hint.clone(),
        help: one_line(&skill.description, DESCRIPTION_CHARS),
    };
    free.map(row).collect()
}

pub fn called<'c, 't>(commands: &'c [OwnCommand], text: &'t str) -> Option<(&'c OwnCommand, &'t str)> {
    let rest = text.strip_prefix('/')?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let command = commands.iter().find(|command| command.row.name == name)?;
    Some((command, args.trim()))
}

/// The prompt with its arguments. In commands, each argument is quoted as one word for the shell.
pub fn expand(commands: &[OwnCommand], text: &str) -> Option<Vec<PromptPart>> {
    let (command, args) = called(commands, text)?;
    let words = fill::words_of(args);
    let shell_words: Vec<String> = words.iter().map(|word| translate::quoted(word)).collect();
    let shell_args = shell_words.join(" ");
    let from_one = !command.parts.iter().any(|part| fill::counts_from_zero(part.text()));
    let mut used = false;
    let mut filled: Vec<PromptPart> = Vec::new();
    for part in &command.parts {
        let (part, has_place) = match part {
            PromptPart::Text(text) => {
                let (text, used) = fill::placed(text, args, &words, &[], from_one);
                (PromptPart::Text(text), used)
            }
            PromptPart::Command(line) => {
                let (line, used) = fill::placed(line, &shell_args, &shell_words, &[], from_one);
                (PromptPart::Command(line), used)
            }
        };
        used |= has_place;
        filled.push(part);
    }
    if !used && !args.is_empty() {
        filled.push(PromptPart::Text(format!("\n\n{args}")));
    }
    Some(filled)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> CommandFile {
        CommandFile { name: name.to_owned(), path: format!("/{name}.md").into(), text: text.to_owned() }
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
        assert_eq!(rows, [("git:review", "[file] [line]", "Review it"), ("plain", "", "Do it.")]);
        assert_eq!(notices.len(), 1);
        let gemini = "description = \"Plan it\"\nprompt = \"\"\"\nPlan {{args}} with !{ls ${x}}.\n\"\"\"\n";
        let gemini = CommandFile { path: "/plan.toml".into(), ..file("plan", gemini) };
        let empty = CommandFile { path: "/empty.toml".into(), ..file("empty", "description = \"x\"") };
        let (gemini, notices) = read(&[gemini, empty]);
        assert_eq!(
            notices,
            ["/empty.toml defines no command: it has no `prompt`. Correct the file, or remove it."]
        );
        assert_eq!(own[0].model.as_deref(), Some("opus"));
        assert_eq!(gemini[0].row.help, "Plan it");
        let text = |text: &str| PromptPart::Text(text.to_owned());
        let run = |line: &str| PromptPart::Command(line.to_owned());
        let planned = [text("Plan tests with "), run("ls ${x}"), text(".")];
        assert_eq!(expand(&gemini, "/plan tests").unwrap(), planned);
        assert_eq!(expand(&own, "/git:review a.rs").unwrap(), [text("Review a.rs.")]);
        assert_eq!(expand(&own, "/other"), None);
        let (own, _) = read(&[file("log", "!`git log $1` and !`\nof `x` !`")]);
        let parts = expand(&own, "/log \"a; rm b\"").unwrap();
        assert_eq!(parts[0], run("git log 'a; rm b'"));
        assert_eq!(parts.len(), 4, "{parts:?}");
        let (own, _) = read(&[file("fence", "Look:\n```!\ngit log\ngit `date`\n```\nEnd.")]);
        let looked = [text("Look:\n"), run("git log\ngit `date`"), text("\nEnd.")];
        assert_eq!(expand(&own, "/fence").unwrap(), looked);
    }
}
