//! User-defined slash commands: a Markdown file with front matter, as in Claude Code, Codex and opencode, or a TOML file
//! as in Gemini CLI. A folder is a namespace (`git/fix.md` is `/git:fix`). Unsupported features (model, allowed-tools, named
//! arguments, commands in the text) are noted in the description.

use serde::Deserialize;

use crate::skill::definition::Skill;
use crate::skill::fill;
use crate::skill::set::SkillSet;
use base::config::trusted::agent_files::CommandFile;
use base::format::frontmatter;
use base::protocol::event::CommandRow;
use base::text::one_line;

const DESCRIPTION_CHARS: usize = 120;
const NOT_USED: [&str; 4] = ["model", "agent", "allowed-tools", "arguments"];
/// Commands whose output other agents put into the text.
const COMMANDS: [&str; 2] = ["!`", "!{"];

#[derive(Deserialize)]
struct TomlCommand {
    prompt: String,
    #[serde(default)]
    description: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    pub row: CommandRow,
    prompt: String,
}

/// The commands, the first of each name, and a sentence for the user about each invalid file.
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
        let TomlCommand { prompt, description } =
            toml::from_str(&file.text).map_err(|error| error.message().to_owned())?;
        return command(file, &prompt.replace("{{args}}", "$ARGUMENTS"), "", description, Vec::new());
    }
    let parts = frontmatter::split(file.text.trim_start_matches('\u{feff}'));
    let head = parts.head.unwrap_or_default();
    let map = frontmatter::read_lenient(head)?;
    let hint = frontmatter::written(head, "argument-hint").unwrap_or_default();
    let description = frontmatter::text_of(head, &map, "description").unwrap_or_default();
    let unused = NOT_USED.into_iter().filter(|key| map.contains_key(*key)).collect();
    command(file, parts.body, &hint, description, unused)
}

fn command(
    file: &CommandFile,
    prompt: &str,
    hint: &str,
    description: String,
    mut unused: Vec<&str>,
) -> Result<OwnCommand, String> {
    let prompt = prompt.trim();
    if prompt.is_empty() {
        return Err("it has no prompt".to_owned());
    }
    let mut help = match description.is_empty() {
        true => prompt.lines().next().unwrap_or_default().to_owned(),
        false => description,
    };
    if COMMANDS.iter().any(|mark| prompt.contains(mark)) {
        unused.push("commands in the text");
    }
    if !unused.is_empty() {
        help.push_str(&format!(" ({} not used)", unused.join(", ")));
    }
    let row = CommandRow {
        name: file.name.clone(),
        args: one_line(hint.trim_matches(['"', '\'']), DESCRIPTION_CHARS),
        help: one_line(&help, DESCRIPTION_CHARS),
    };
    Ok(OwnCommand { row, prompt: prompt.to_owned() })
}

/// The skills users can call as commands; a command of the same name wins.
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

pub fn expand(commands: &[OwnCommand], text: &str) -> Option<String> {
    let rest = text.strip_prefix('/')?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let command = commands.iter().find(|command| command.row.name == name)?;
    Some(fill::fill(&command.prompt, args.trim(), &[]))
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
        assert_eq!(
            rows,
            [("git:review", "[file] [line]", "Review it (model not used)"), ("plain", "", "Do it.")]
        );
        assert_eq!(notices.len(), 1);
        let gemini = "description = \"Plan it\"\nprompt = \"\"\"\nPlan {{args}} with !{ls}.\n\"\"\"\n";
        let gemini = CommandFile { path: "/plan.toml".into(), ..file("plan", gemini) };
        let (gemini, _) = read(&[gemini]);
        assert_eq!(gemini[0].row.help, "Plan it (commands in the text not used)");
        assert_eq!(expand(&gemini, "/plan tests").unwrap(), "Plan tests with !{ls}.");
        assert_eq!(expand(&own, "/git:review a.rs").unwrap(), "Review a.rs.");
        assert_eq!(expand(&own, "/other"), None);
    }
}
