//! `mycode skills`: lists the available skills, or shows one as the model gets it.

use serde_json::json;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::sanitize;
use base::search::fuzzy;
use tools::skill::definition::Skill;
use tools::skill::set::SkillSet;

#[derive(Args, Debug)]
pub struct SkillsArgs {
    /// Show this skill as the model sees it
    pub name: Option<String>,

    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

pub fn run(cli: &SharedArgs, args: &SkillsArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    let (skills, unusable) = SkillSet::read(&opened.loaded.own.skills);
    for notice in opened.loaded.notices.iter().chain(&unusable) {
        eprintln!("note: {}", sanitize::clean(notice));
    }
    if let Some(name) = &args.name {
        let skill = skills.find(name).ok_or_else(|| unknown(name, &skills))?;
        let text = skill.instructions("", &opened.workspace);
        return report::say(&format!("{}\n\n{text}\n\n[{}]\n", row(skill), skill.surroundings()));
    }
    if args.json {
        let row = |skill: &Skill| {
            json!({
                "name": skill.name, "description": skill.description, "path": skill.path, "by_user": skill.by_user,
                "for_model": skill.for_model, "for_user": skill.for_user, "allowed_tools": skill.allowed_tools,
                "not_used": skill.not_used,
            })
        };
        return report::print(&format!("{}\n", json!(skills.iter().map(row).collect::<Vec<_>>())));
    }
    let rows: String = skills.iter().map(|skill| format!("{}\n", row(skill))).collect();
    if rows.is_empty() { report::print(&format!("{NONE}\n")) } else { report::say(&rows) }
}

const NONE: &str = "No skills. Put a folder with a SKILL.md into .mycode/skills or .claude/skills here, or into \
                    ~/.config/mycode/skills or ~/.claude/skills for all projects.";

fn row(skill: &Skill) -> String {
    format!("{}\n  {}\n  {}", skill.name, skill.for_users(), skill.path.display())
}

fn unknown(name: &str, skills: &SkillSet) -> Failure {
    let meant = fuzzy::nearest_name(name, skills.iter().map(|skill| skill.name.as_str()));
    let meant = meant.map_or(String::new(), |near| format!("did you mean {near}? "));
    let hint = format!("{meant}`mycode skills` lists them");
    Failure::usage(format!("unknown skill '{}'", sanitize::reveal(name)), hint)
}
