//! One skill: a folder with a `SKILL.md`, following agentskills.io plus Claude Code's extra fields
//! (github.com/agentskills/agentskills docs/specification.mdx; code.claude.com/docs/en/skills; both checked
//! 2026-11-22). More lenient if the meaning is clear: odd names, missing or invalid descriptions, no front matter. ``
//! !`command` `` doesn't run on loading; the model is asked to run it, so that the usual permission checks apply.

use std::fs;
use std::path::{Path, PathBuf};

use super::fill;
use base::config::trusted::skill_files::SkillFile;
use base::format::frontmatter;
use base::text::{elide, one_line};

const MAX_NAME_BYTES: usize = 64;
/// Claude Code's limit for descriptions.
const DESCRIPTION_CHARS: usize = 1_536;
const HINT_CHARS: usize = 120;
const USERS_CHARS: usize = 200;
const NOT_USED: [&str; 6] = ["model", "effort", "hooks", "disallowed-tools", "paths", "shell"];
const NAMED_FILES: usize = 40;
const LOOKED_INTO: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub hint: String,
    pub path: PathBuf,
    /// The user's own skill; otherwise the project's.
    pub by_user: bool,
    pub for_model: bool,
    pub for_user: bool,
    /// Calls allowed without approval while it is active, such as `Bash(git add:*)`.
    pub allowed_tools: Vec<String>,
    pub fork: Option<String>,
    pub not_used: Vec<&'static str>,
    compatibility: String,
    arguments: Vec<String>,
    body: String,
}

impl Skill {
    pub fn parse(file: &SkillFile) -> Result<Self, String> {
        if file.text.is_empty() {
            return Err("it is empty, no UTF-8 text, or larger than 256 kB".to_owned());
        }
        let whole = file.text.trim_start_matches('\u{feff}').trim_start();
        let parts = frontmatter::split(whole);
        if parts.head.is_none() && whole.lines().next() == Some("---") {
            return Err("no `---` line ends its front matter".to_owned());
        }
        let head = parts.head.unwrap_or_default();
        let map = frontmatter::read_lenient(head)?;
        let text = |key: &str| frontmatter::text_of(head, &map, key).unwrap_or_default();
        let is = |key: &str, truth: &str| text(key).eq_ignore_ascii_case(truth);
        let folder = file.path.parent().and_then(Path::file_name).unwrap_or_default();
        let names = [text("name"), folder.to_string_lossy().into_owned()];
        let name = names.iter().find(|name| is_name(name)).cloned();
        let name = name.or_else(|| names.iter().map(|name| as_name(name)).find(|name| is_name(name)));
        let body = parts.body.trim();
        if body.is_empty() {
            return Err("it has no instructions".to_owned());
        }
        let description = match text("description") {
            said if said.is_empty() => first_words(body),
            said => said,
        };
        let fork = match (is("context", "fork"), text("agent")) {
            (false, _) => None,
            (true, kind) => Some(agent_type(&kind)),
        };
        let name = name.ok_or("its name may have letters, digits, - and _ only, 64 at most")?;
        Ok(Self {
            name: file.plugin.as_ref().map_or_else(|| name.clone(), |plugin| format!("{plugin}:{name}")),
            description: one_line(&format!("{description} {}", text("when_to_use")), DESCRIPTION_CHARS),
            hint: one_line(
                frontmatter::written(head, "argument-hint").unwrap_or_default().trim_matches(['"', '\'']),
                HINT_CHARS,
            ),
            path: file.path.clone(),
            by_user: file.by_user,
            for_model: !is("disable-model-invocation", "true"),
            for_user: !is("user-invocable", "false"),
            allowed_tools: words_of(&map, "allowed-tools"),
            fork,
            not_used: NOT_USED.into_iter().filter(|key| map.contains_key(*key)).collect(),
            compatibility: one_line(&text("compatibility"), 500),
            arguments: words_of(&map, "arguments"),
            body: body.to_owned(),
        })
    }

    /// For users: what it does, whose it is, and its special properties.
    pub fn for_users(&self) -> String {
        let whose = if self.by_user { "yours" } else { "the project's" };
        let mut special = vec![whose.to_owned()];
        match (self.for_user, self.for_model) {
            (true, true) => special.push(format!("/{}", self.name)),
            (true, false) => special.push(format!("/{} only", self.name)),
            (false, _) => special.push("for the model only".to_owned()),
        }
        if !self.not_used.is_empty() {
            special.push(format!("not used: {}", self.not_used.join(", ")));
        }
        format!("{} ({})", elide(&self.description, USERS_CHARS), special.join("; "))
    }

    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    pub fn instructions(&self, args: &str, workspace: &Path) -> String {
        let body = fill::fill(&self.body, args.trim(), &self.arguments);
        let folder = self.folder().to_string_lossy();
        body.replace("${CLAUDE_SKILL_DIR}", &folder)
            .replace("${CLAUDE_PROJECT_DIR}", &workspace.to_string_lossy())
    }

    /// For the model: the folder's path and the other files in it. Reads the disk.
    pub fn surroundings(&self) -> String {
        let (files, more) = self.files();
        let mut told =
            format!("Skill folder: {}; paths in the skill are relative to it.", self.folder().display());
        if !files.is_empty() {
            let more = if more { ", and more" } else { "" };
            told.push_str(&format!(
                " Also in it, to be read or run when needed: {}{more}.",
                files.join(", ")
            ));
        }
        if !self.compatibility.is_empty() {
            told.push_str(&format!(" Compatibility: {}.", self.compatibility.trim_end_matches('.')));
        }
        if self.body.contains("!`") || self.body.contains("```!") {
            told.push_str(
                " Where it has !`command`, run the command with Bash first and use its output there.",
            );
        }
        told
    }

    fn files(&self) -> (Vec<String>, bool) {
        let mut files = Vec::new();
        let mut folders = vec![self.folder().to_owned()];
        let mut looked_into = 0;
        while let Some(folder) = folders.pop().filter(|_| looked_into < LOOKED_INTO) {
            looked_into += 1;
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                let Ok(kind) = entry.file_type() else { continue };
                if hidden || entry.path() == self.path || entry.file_name() == "node_modules" {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if let Ok(inside) = entry.path().strip_prefix(self.folder()) {
                    files.push(one_line(&inside.to_string_lossy(), 200));
                }
            }
        }
        files.sort_by_key(|name| (name.matches('/').count(), name.clone()));
        let more = files.len() > NAMED_FILES || !folders.is_empty();
        files.truncate(NAMED_FILES);
        (files, more)
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(plain)
}

/// Makes a valid name, such as `pdf-tools` from `PDF Tools`.
fn as_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

fn first_words(body: &str) -> String {
    let is_text = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let lines = body.lines().skip_while(|line| !is_text(line)).take_while(is_text);
    let words = lines.collect::<Vec<_>>().join(" ");
    let heading = || body.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']).to_owned();
    if words.is_empty() { heading() } else { words }
}

fn agent_type(name: &str) -> String {
    match name {
        "" | "general-purpose" => "general".to_owned(),
        "Explore" | "Plan" => name.to_lowercase(),
        name => name.to_owned(),
    }
}

/// A list, or words separated by spaces or commas outside parentheses.
pub fn words_of(map: &serde_json::Map<String, serde_json::Value>, key: &str) -> Vec<String> {
    let Some(text) = map.get(key).and_then(serde_json::Value::as_str) else {
        return frontmatter::list_of(map, key);
    };
    let mut open = 0_i32;
    let apart = |c: char| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open <= 0 && (c == ',' || c.is_whitespace())
    };
    text.split(apart).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Skill, String> {
        let path = "/skills/pdf/SKILL.md".into();
        Skill::parse(&SkillFile { path, text: text.to_owned(), by_user: true, plugin: None })
    }

    #[test]
    fn fields() {
        let skill = parse(
            "---\nname: PDF Tools\ndescription: Use when: asked\nargument-hint: [file] [page]\nuser-invocable: false\n\
             allowed-tools: Bash(git add:*), Read Bash(npm run test)\ncontext: fork\nagent: Explore\nmodel: opus\n\
             arguments: file page\ncompatibility: Needs qpdf\n---\n\n# Do\nRun ${CLAUDE_SKILL_DIR}/a.py $file !`date`\n",
        );
        let skill = skill.unwrap();
        assert_eq!((&*skill.name, &*skill.hint), ("pdf", "[file] [page]"));
        assert_eq!(skill.description, "Use when: asked");
        assert_eq!(skill.allowed_tools, ["Bash(git add:*)", "Read", "Bash(npm run test)"]);
        assert_eq!((skill.for_model, skill.for_user), (true, false));
        assert_eq!((skill.fork.as_deref(), &*skill.not_used), (Some("explore"), &["model"][..]));
        assert_eq!(
            skill.instructions("x.pdf 3", Path::new("/w")),
            "# Do\nRun /skills/pdf/a.py x.pdf !`date`"
        );
        let told = skill.surroundings();
        assert!(told.contains("Compatibility: Needs qpdf.") && told.contains("with Bash first"), "{told}");
    }

    #[test]
    fn what_is_no_skill() {
        for (text, description) in [
            ("---\nallowed-tools: [Read]\n---\n# Title", "Title"),
            ("---\nname: x\n---\n# Title\n\nDoes this\nand that.\n\nMore", "Does this and that."),
            ("\u{feff}# Title\r\n", "Title"),
            ("\n---\ndescription: It: works\n---\nx", "It: works"),
        ] {
            assert_eq!(parse(text).unwrap().description, description);
        }
        for (text, why) in [
            ("", "empty"),
            ("---\nname: x\n", "no `---` line"),
            ("---\n- a\n---\nx", "key: value"),
            ("---\na: b\n---\n", "no instructions"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
