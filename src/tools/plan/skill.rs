//! Skill: loads a skill's instructions. Offered only if there are skills; some run in a sub-agent.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::task;
use crate::api::{Prepared, Tool, ToolError, ToolOutcome, blocking, object};
use crate::cx::ToolCx;
use crate::skill::definition::Skill;
use crate::skill::set::SkillSet;
use crate::sub_agent::SubTask;
use base::config::prompts;
use base::model::call::ToolSpec;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::observation::{Delegated, Observation};
use base::text::{elide, one_line};

pub const NAME: &str = "Skill";
const FOUND: usize = 6;
const FOUND_CHARS: usize = 400;

pub struct SkillTool {
    skills: Arc<SkillSet>,
}

impl SkillTool {
    /// `None` if there are no skills for the model.
    pub fn boxed(skills: &Arc<SkillSet>) -> Option<Box<dyn Tool>> {
        let tool = || Box::new(Self { skills: Arc::clone(skills) }) as Box<dyn Tool>;
        skills.for_model().next().is_some().then(tool)
    }
}

impl Tool for SkillTool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn parallel(&self, _: &Value) -> bool {
        false
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.into(),
            description: format!("{} Skills: {}", prompts::TOOL_SKILL.trim(), self.skills.listing()).into(),
            schema: object("name, args?"),
        }
    }

    fn prepare(&self, args: Value) -> Result<Box<dyn Prepared>, ToolError> {
        let Value::Object(given) = args else { return Err(ToolError::invalid("Skill needs a name")) };
        // Other agents use `skill` or `command`, and include the slash.
        let name = ["name", "skill", "command"].iter().find_map(|key| text(&given, key));
        let name = name.unwrap_or_default().trim_start_matches('/').to_owned();
        if name.is_empty() {
            return Err(ToolError::invalid("Skill needs a name, or words that say what is to be done"));
        }
        let args = ["args", "arguments"].iter().find_map(|key| text(&given, key)).unwrap_or_default();
        Ok(Box::new(SkillCall { skills: Arc::clone(&self.skills), name, args }))
    }
}

/// An argument as text; a skill's arguments may be a list.
fn text(given: &Map<String, Value>, key: &str) -> Option<String> {
    match given.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

struct SkillCall {
    skills: Arc<SkillSet>,
    name: String,
    args: String,
}

impl SkillCall {
    async fn work(&self, cx: &ToolCx) -> ToolOutcome {
        let with_hyphens = || self.name.replace([' ', '_'], "-");
        let found = self.skills.find(&self.name).or_else(|| self.skills.find(&with_hyphens()));
        let Some(skill) = found else { return Ok(self.search()) };
        if !skill.for_model {
            let message =
                format!("only the user may start the skill {0} (/{0}); say so if it is needed", skill.name);
            return Err(ToolError::model(ErrorCode::PermissionDenied, message));
        }
        let (wanted, args, root) = (skill.clone(), self.args.clone(), Arc::clone(&cx.root));
        let loaded = blocking(cx, move |_| Ok((wanted.instructions(&args, &root), wanted.surroundings())));
        let (instructions, surroundings) = loaded.await?;
        let mut envelope = match (&skill.fork, &cx.sub_agents) {
            (Some(kind), Some(agents)) => {
                let task = SubTask {
                    kind: kind.clone(),
                    prompt: format!("{instructions}\n\n[{surroundings}]"),
                    light: None,
                    ..SubTask::default()
                };
                let report = agents.run(task, cx).await.map_err(ToolError::invalid)?;
                task::envelope(kind, &report)
            }
            _ => Envelope::success(surroundings).with_body("instructions", instructions),
        };
        let done = Delegated {
            query: Some(skill.name.clone()),
            allowed_tools: (!skill.allowed_tools.is_empty()).then(|| skill.allowed_tools.clone()),
            ..envelope.data.delegated().cloned().unwrap_or_default()
        };
        *envelope.data.observation = Observation::Skill(done);
        Ok(envelope)
    }

    fn search(&self) -> Envelope {
        let line = |skill: &Skill| format!("{}: {}", skill.name, elide(&skill.description, FOUND_CHARS));
        let found = self.skills.search(&self.name, FOUND);
        let lines: Vec<String> = found.into_iter().map(line).collect();
        let said = format!(
            "no skill is named \"{}\"; these are the closest of {}",
            elide(&self.name, 60),
            self.skills.for_model().count()
        );
        Envelope::success(said)
            .partial()
            .observed(Observation::Skill(Delegated {
                query: Some(one_line(&self.name, 200)),
                ..Delegated::default()
            }))
            .with_body("skills", lines.join("\n"))
    }
}

impl Prepared for SkillCall {
    fn title(&self) -> String {
        one_line(format!("{NAME} {} {}", self.name, self.args).trim_end(), 120)
    }

    fn clean_up(&self) -> Duration {
        task::CLEAN_UP
    }

    fn run<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(self.work(cx))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use base::config::trusted::skill_files::SkillFile;

    fn skills(count: usize) -> Arc<SkillSet> {
        let file = |n: usize| {
            SkillFile {
                plugin: None,
            path: format!("/s/{}-{n}/SKILL.md", ["webapp-testing", "xlsx", "brand_guidelines"][n % 3]).into(),
            text: "---\ndescription: Toolkit for interacting with and testing local web applications\n---\nDo it.".to_owned(),
            by_user: true,
        }
        };
        Arc::new(SkillSet::read(&(0..count).map(file).collect::<Vec<_>>()).0)
    }

    #[test]
    fn its_listing_stays_small_however_many_there_are() {
        let encoding = tiktoken_rs::o200k_base().unwrap();
        for count in [1, 3, 10, 40, 200] {
            let told = serde_json::to_string(&SkillTool::boxed(&skills(count)).unwrap().spec()).unwrap();
            let tokens = encoding.encode_ordinary(&told).len();
            assert!(tokens <= 110, "{count} skills: {tokens} tokens in {told}");
        }
        assert!(SkillTool::boxed(&skills(0)).is_none());
    }

    #[test]
    fn calls_as_models_make_them() {
        let tool = SkillTool::boxed(&skills(3)).unwrap();
        let title =
            |args: Value| tool.prepare(args).map(|call| call.title()).map_err(|error| error.to_string());
        assert_eq!(title(json!({"name": "xlsx-1", "args": "a b"})).unwrap(), "Skill xlsx-1 a b");
        assert_eq!(title(json!({"skill": "/xlsx-1"})).unwrap(), "Skill xlsx-1");
        assert!(title(json!({})).unwrap_err().contains("needs a name"));
    }
}
