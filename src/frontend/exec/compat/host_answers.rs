//! Our questions as Claude's permission requests, and their answers as ours.

use serde_json::{Value, json};

use super::claude::uuid;
use base::config::mode::Mode;
use base::config::settings::Permission;
use base::protocol::approval::{Answer, AskedQuestion, Question};
use base::protocol::claude_tools;
use base::protocol::op::{Op, Quick};

/// The request, and the arguments in it; `call_of` gives a call in Claude's names.
pub fn request(question: &Question, call_of: impl FnOnce(&str, &str) -> (String, Value)) -> (Value, Value) {
    let (name, input, more) = match question {
        Question::Approval(request) => {
            let (name, input) = call_of(&request.tool, &request.args);
            let rule = json!({"type": "addRules", "rules": [{"toolName": name}], "behavior": "allow", "destination": "session"});
            let suggestions = if request.session_scope.is_some() { json!([rule]) } else { json!([]) };
            let more = json!({
                "tool_use_id": request.call_id, "title": request.title, "decision_reason": request.reason,
                "permission_suggestions": suggestions, "agent_id": request.agent,
            });
            (name, input, more)
        }
        Question::Ask { questions } => {
            let asked: Vec<Value> = questions.iter().map(asked).collect();
            ("AskUserQuestion".to_owned(), json!({ "questions": asked }), json!({"tool_use_id": uuid()}))
        }
        Question::Plan(plan) => {
            ("ExitPlanMode".to_owned(), json!({"plan": plan.text}), json!({"tool_use_id": uuid()}))
        }
    };
    let mut request =
        json!({"subtype": "can_use_tool", "tool_name": name, "display_name": name, "input": input});
    if let (Value::Object(request), Value::Object(more)) = (&mut request, more) {
        request.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
    }
    (request, input)
}

fn asked(question: &AskedQuestion) -> Value {
    let option = |label: &String| json!({"label": label, "description": ""});
    let options: Vec<Value> = question.options.iter().map(option).collect();
    json!({"question": question.question, "header": "", "options": options, "multiSelect": false})
}

/// `input` is what was in the request: other arguments in the answer are a change.
pub fn answer(question: &Question, input: &Value, answer: Result<Value, String>) -> Answer {
    let answer = match answer {
        Ok(answer) if answer["behavior"] == "allow" => answer,
        Ok(answer) => {
            return Answer::No { note: answer["message"].as_str().unwrap_or_default().to_owned() };
        }
        Err(why) => return Answer::No { note: why },
    };
    let changed = answer["updatedInput"].as_object().filter(|changed| input.as_object() != Some(changed));
    match question {
        Question::Approval(request) => match changed {
            Some(changed) => Answer::Changed { args: claude_tools::args(&request.tool, changed) },
            None if allows_more(&answer) => Answer::Session,
            None => Answer::Once,
        },
        Question::Ask { questions } => {
            let answers = changed.and_then(|changed| changed.get("answers"));
            let reply = |asked: &AskedQuestion| {
                let answer = answers.and_then(|answers| answers[&asked.question].as_str());
                answer.unwrap_or_default().to_owned()
            };
            Answer::Replies { replies: questions.iter().map(reply).collect() }
        }
        Question::Plan(_) => Answer::Accept { permission: Permission::Ask },
    }
}

fn updates(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["updatedPermissions"].as_array().into_iter().flatten()
}

fn allows_more(answer: &Value) -> bool {
    updates(answer).any(|update| update["type"] == "addRules" && update["behavior"] == "allow")
}

/// What else an answer wants: another permission mode.
pub fn wishes(answer: &Result<Value, String>) -> Vec<Op> {
    let modes = answer.iter().flat_map(updates).filter(|update| update["type"] == "setMode");
    let ops = modes.filter_map(|update| mode(update["mode"].as_str()?).ok()).flatten();
    ops.map(Op::from).collect()
}

pub fn mode(name: &str) -> Result<Vec<Quick>, String> {
    let permission = match name {
        "plan" => return Ok(vec![Quick::SetMode { mode: Mode::Plan }]),
        "default" | "manual" | "dontAsk" => Permission::Ask,
        "acceptEdits" => Permission::AcceptEdits,
        "auto" => Permission::Auto,
        "bypassPermissions" => Permission::Full,
        _ => return Err(format!("mycode has no permission mode {name}")),
    };
    Ok(vec![Quick::SetMode { mode: Mode::Auto }, Quick::SetPermission { permission }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_questions() {
        let questions = vec![AskedQuestion { question: "Which?".into(), options: vec![], optional: false }];
        let question = Question::Ask { questions };
        let (request, input) = request(&question, |_, _| (String::new(), Value::Null));
        assert_eq!(request["tool_name"], "AskUserQuestion");
        let mut changed = input.clone();
        changed["answers"] = json!({"Which?": "both"});
        let allowed = json!({"behavior": "allow", "updatedInput": changed});
        let replies = vec!["both".to_owned()];
        assert_eq!(answer(&question, &input, Ok(allowed)), Answer::Replies { replies });
        let no = Answer::No { note: "later".to_owned() };
        assert_eq!(answer(&question, &input, Ok(json!({"behavior": "deny", "message": "later"}))), no);
        assert_eq!(
            wishes(&Ok(json!({"updatedPermissions": [{"type": "setMode", "mode": "plan"}]}))).len(),
            1
        );
        assert!(mode("x").is_err());
    }
}
