//! The skills of a session, and how they are listed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::definition::Skill;
use base::config::trusted::skill_files::SkillFile;
use base::path;
use base::search::{by_meaning, words};
use base::text::elide;

/// Characters of the listing in the tool's description, which has about 110 tokens in total.
const LISTING_CHARS: usize = 135;
const LEAST_CHARS: usize = 30;

#[derive(Clone, Debug, Default)]
pub struct SkillSet {
    skills: Vec<Skill>,
}

impl SkillSet {
    /// The skills, and a sentence for the user about each invalid file.
    pub fn read(files: &[SkillFile]) -> (Self, Vec<String>) {
        let (mut set, mut notices) = (Self::default(), Vec::new());
        for file in files {
            match Skill::parse(file) {
                Ok(skill) if set.find(&skill.name).is_none() => set.skills.push(skill),
                Ok(_) => {}
                Err(why) => notices.push(format!(
                    "{} isn't a skill: {why}. Correct the file, or remove it.",
                    file.path.display()
                )),
            }
        }
        (set, notices)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    pub fn for_model(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.for_model)
    }

    pub fn find(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name.eq_ignore_ascii_case(name))
    }

    /// The skill called by the user in this text, and the text after its name.
    pub fn called<'a>(&self, text: &'a str) -> Option<(&Skill, &'a str)> {
        let rest = text.strip_prefix('/')?;
        let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let skill = self.skills.iter().find(|skill| skill.for_user && skill.name == name)?;
        Some((skill, args.trim()))
    }

    /// Readable folders outside the workspace: those of skills, and `also`.
    pub fn readable_with(&self, also: &Path) -> Vec<PathBuf> {
        let home = std::env::home_dir().unwrap_or_default();
        let real = |skill: &Skill| path::follow(skill.folder());
        let mut folders: Vec<PathBuf> = self.skills.iter().map(real).collect();
        // A link must not expose a parent of the user's home folder.
        folders.retain(|folder| !home.starts_with(folder));
        folders.push(also.to_owned());
        folders
    }

    /// What the model always sees, identical on every run: names, and as much of the descriptions as fits.
    pub fn listing(&self) -> String {
        let all: Vec<&Skill> = self.for_model().collect();
        let names: usize = all.iter().map(|skill| skill.name.chars().count() + 2).sum();
        let room = LISTING_CHARS.saturating_sub(names) / all.len().max(1);
        let mut told = String::new();
        for (place, skill) in all.iter().enumerate() {
            let more = format!("{} more", all.len() - place);
            let separator = if place == 0 { "" } else { ", " };
            let one = match room > LEAST_CHARS {
                true => format!("{} ({})", skill.name, elide(&skill.description, room - 3)),
                false => skill.name.clone(),
            };
            let last = place + 1 == all.len();
            let behind = if last { 0 } else { more.len() + 2 };
            if told.chars().count() + separator.len() + one.chars().count() + behind > LISTING_CHARS {
                return format!("{told}{separator}{more}");
            }
            told.push_str(separator);
            told.push_str(&one);
        }
        told
    }

    /// The model's skills that match a query, or all if none does.
    pub fn search(&self, query: &str, most: usize) -> Vec<&Skill> {
        let all: Vec<&Skill> = self.for_model().collect();
        let found = by_meaning::best(query, &described(&all), most);
        match found.is_empty() {
            true => all.into_iter().take(most).collect(),
            false => found.into_iter().map(|place| all[place]).collect(),
        }
    }

    pub fn clearly_about(&self, text: &str, most: usize) -> Vec<&Skill> {
        let all: Vec<&Skill> = self.for_model().collect();
        clearly_about(text, &described(&all), most).into_iter().map(|place| all[place]).collect()
    }
}

fn described<'a>(skills: &[&'a Skill]) -> Vec<(&'a str, &'a str)> {
    skills.iter().map(|skill| (&*skill.name, &*skill.description)).collect()
}

const IN_NAME: usize = 2;
/// Minimum score for a suggestion, unless every term of the name matches.
const LEAST: usize = 4;
/// A longer text matches more words by chance, so it needs one more point per this many terms.
const TERMS_PER_POINT: usize = 15;

/// The indexes of `things` (name, description) that the text is clearly about, best first; for unrequested suggestions.
pub fn clearly_about(text: &str, things: &[(&str, &str)], most: usize) -> Vec<usize> {
    let asked: HashSet<String> = words::telling(text).into_iter().map(|term| term.text).collect();
    let least = LEAST + asked.len() / TERMS_PER_POINT;
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, (name, description)) in things.iter().enumerate() {
        let of_name: HashSet<String> = parts(name);
        let said = of_name.intersection(&asked).count();
        let points = said * IN_NAME + parts(description).intersection(&asked).count();
        if !of_name.is_empty() && said == of_name.len() || points >= least {
            found.push((points, at));
        }
    }
    found.sort_by_key(|(points, _)| std::cmp::Reverse(*points));
    found.into_iter().take(most).map(|(_, at)| at).collect()
}

fn parts(text: &str) -> HashSet<String> {
    let apart = text.replace(['-', '_', ':', '/', '.'], " ");
    words::telling(&apart).into_iter().map(|term| term.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(count: usize) -> SkillSet {
        let file = |n: usize| {
            SkillFile {
            path: format!("/s/quarterly-report-{n}/SKILL.md").into(),
            text: "---\ndescription: Builds the quarterly report from the ledgers of all departments\n---\nDo it.".to_owned(),
            by_user: true,
            plugin: None,
        }
        };
        SkillSet::read(&(0..count).map(file).collect::<Vec<_>>()).0
    }

    #[test]
    fn the_listing_has_a_limit() {
        assert_eq!(set(0).listing(), "");
        assert_eq!(
            set(2).listing(),
            "quarterly-report-0 (Builds the quarterly report from the ledger…), quarterly-report-1 (Builds the quarterly \
             report from the ledger…)"
        );
        let many = set(150).listing();
        assert!(many.chars().count() <= LISTING_CHARS && many.ends_with(" more"), "{many}");
        assert!(many.starts_with("quarterly-report-0, quarterly-report-1, "), "{many}");
    }

    #[test]
    fn only_what_is_meant() {
        let things = [
            (
                "pdf",
                "Extract text and tables from PDF files, fill forms, merge documents. Use when handling PDFs.",
            ),
            (
                "mcp-builder",
                "Guide for creating MCP servers that let LLMs use external services and APIs through tools.",
            ),
            (
                "webapp-testing",
                "Test local web applications with Playwright: verify frontend functionality, debug UI behavior.",
            ),
        ];
        let clear = |text: &str| clearly_about(text, &things, 2);
        assert_eq!(clear("merge these two pdfs"), [0]);
        assert_eq!(clear("Build an MCP server for our API, with tools"), [1]);
        assert_eq!(clear("verify the frontend behavior with playwright"), [2]);
        for other in [
            "fix the failing test",
            "run the tests",
            "why is the build slow?",
            "read the tables module and add a column",
        ] {
            assert_eq!(clear(other), Vec::<usize>::new(), "{other}");
        }
    }
}
