//! The agent's questions as the client sees them: permissions directly, plans as permission to leave plan
//! mode, the model's questions as a form where the client supports forms.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    ClientCapabilities, CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, Error,
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, StringPropertySchema, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use futures_util::future::BoxFuture;
use futures_util::future::FutureExt as _;
use serde_json::json;

use crate::acp::connection::Client;
use crate::acp::updates::tool_call;
use base::config::settings::Permission;
use base::protocol::approval::{Answer, ApprovalRequest, AskedQuestion, Question};

const NOT_SHOWN: &str =
    "The user's editor cannot show this question. Ask it at the end of your answer, and stop there.";

pub type Outcome = BoxFuture<'static, Option<Answer>>;

type Choice = (&'static str, String, PermissionOptionKind, Answer);

pub fn call(question: &Question, name: &str, root: &Path) -> ToolCallUpdate {
    let pending = ToolCallUpdateFields::new().status(ToolCallStatus::Pending);
    match question {
        Question::Approval(request) => ToolCallUpdate::new(request.call_id.clone(), approval(request, root)),
        Question::Plan(plan) => {
            let content: Vec<ToolCallContent> = vec![tool_call::text(&*plan.text).into()];
            let fields = pending.title(format!("Carry out {}", plan.path)).kind(ToolKind::SwitchMode);
            let locations = vec![ToolCallLocation::new(root.join(&plan.path))];
            ToolCallUpdate::new(name.to_owned(), fields.content(content).locations(locations))
        }
        Question::Ask { questions } => {
            let title = questions.first().map_or_else(String::new, |asked| asked.question.clone());
            ToolCallUpdate::new(name.to_owned(), pending.title(title).kind(ToolKind::Other))
        }
    }
}

fn approval(request: &ApprovalRequest, root: &Path) -> ToolCallUpdateFields {
    let mut content: Vec<ToolCallContent> = Vec::new();
    let begun = tool_call::begun(&request.call_id, &request.tool, &request.title, "", root);
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Pending).kind(begun.kind);
    let mut fields = fields.title(request.title.clone()).name(request.tool.clone());
    let places = if request.is_diff { tool_call::diff_places(&request.detail, root) } else { Vec::new() };
    if !places.is_empty() {
        let at =
            |place: &tool_call::DiffPlace| ToolCallLocation::new(place.diff.path.clone()).line(place.line);
        fields = fields.locations(places.iter().map(at).collect::<Vec<_>>());
        content.extend(places.into_iter().map(|place| place.diff.into()));
    } else if !request.detail.is_empty() {
        content.push(tool_call::fenced(&request.detail).into());
    }
    let by = request.agent.as_ref().map_or(String::new(), |agent| format!("{agent}: "));
    content.push(tool_call::text(format!("{by}{}", request.reason)).into());
    fields.content(content)
}

pub fn ask(
    question: Question,
    call: ToolCallUpdate,
    session: &SessionId,
    client: &Client,
    capabilities: &ClientCapabilities,
) -> Outcome {
    match question {
        Question::Approval(request) => permission(choices(&request), call, session, client),
        Question::Plan(_) => permission(plan_choices(), call, session, client),
        Question::Ask { questions } => {
            let forms = capabilities.elicitation.as_ref().is_some_and(|offered| offered.supports_form());
            match questions.as_slice() {
                _ if forms => form(questions, session, client),
                [asked] if !asked.options.is_empty() => permission(replies(asked), call, session, client),
                _ => async { Some(Answer::No { note: NOT_SHOWN.to_owned() }) }.boxed(),
            }
        }
    }
}

fn choices(request: &ApprovalRequest) -> Vec<Choice> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let mut choices = vec![("once", "Allow".to_owned(), AllowOnce, Answer::Once)];
    if let Some(scope) = &request.session_scope {
        choices.push(("session", format!("Allow {scope} in this session"), AllowAlways, Answer::Session));
    }
    if let Some(prefix) = &request.always_prefix {
        let text = format!("Always allow `{prefix}` in this project");
        choices.push(("always", text, AllowAlways, Answer::Always));
    }
    choices.push(("reject", "Reject".to_owned(), RejectOnce, Answer::no()));
    choices
}

fn plan_choices() -> Vec<Choice> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let accept = |permission| Answer::Accept { permission };
    let inside = "Yes, and don't ask inside the workspace (sandboxed)".to_owned();
    vec![
        ("ask", "Yes, and ask before each change".to_owned(), AllowOnce, accept(Permission::Ask)),
        ("auto", inside, AllowAlways, accept(Permission::Auto)),
        ("reject", "Not yet".to_owned(), RejectOnce, Answer::no()),
    ]
}

fn replies(asked: &AskedQuestion) -> Vec<Choice> {
    let reply = |text: &String| Answer::Replies { replies: vec![text.clone()] };
    let options = asked.options.iter();
    let options = options.map(|text| ("", text.clone(), PermissionOptionKind::AllowOnce, reply(text)));
    let none = ("reject", "None of these".to_owned(), PermissionOptionKind::RejectOnce, Answer::no());
    options.chain([none]).collect()
}

fn permission(choices: Vec<Choice>, call: ToolCallUpdate, session: &SessionId, client: &Client) -> Outcome {
    let id = |at: usize, name: &str| if name.is_empty() { format!("option-{at}") } else { name.to_owned() };
    let options = (0..).zip(&choices);
    let options = options.map(|(at, (name, text, kind, _))| PermissionOption::new(id(at, name), text, *kind));
    let params = RequestPermissionRequest::new(session.clone(), call, options.collect());
    let reply = client.ask::<RequestPermissionResponse>("session/request_permission", json!(params));
    async move {
        match reply.await.map(|reply| reply.outcome) {
            Ok(RequestPermissionOutcome::Selected(selected)) => {
                let mut answers = (0..).zip(choices).map(|(at, (name, _, _, answer))| (id(at, name), answer));
                let chosen = answers.find(|(id, _)| **id == *selected.option_id.0);
                Some(chosen.map_or_else(Answer::no, |(_, answer)| answer))
            }
            Ok(_) => None,
            Err(error) => Some(failed(&error)),
        }
    }
    .boxed()
}

fn failed(error: &Error) -> Answer {
    Answer::No { note: format!("the user's editor could not ask them: {}", error.message) }
}

fn form(questions: Vec<AskedQuestion>, session: &SessionId, client: &Client) -> Outcome {
    let name = |at: usize| format!("answer_{}", at + 1);
    let mut schema = ElicitationSchema::new();
    for (at, asked) in questions.iter().enumerate() {
        let options = (!asked.options.is_empty()).then(|| asked.options.clone());
        let property = StringPropertySchema::new().title(asked.question.clone()).enum_values(options);
        schema = schema.property(name(at), property, !asked.optional);
    }
    let message = match questions.as_slice() {
        [asked] => asked.question.clone(),
        several => format!("{} questions", several.len()),
    };
    let mode = ElicitationFormMode::new(ElicitationSessionScope::new(session.clone()), schema);
    let params = CreateElicitationRequest::new(mode, message);
    let reply = client.ask::<CreateElicitationResponse>("elicitation/create", json!(params));
    async move {
        let said = match reply.await.map(|reply| reply.action) {
            Ok(ElicitationAction::Accept(accepted)) => accepted.content.unwrap_or_default(),
            Ok(_) => return Some(Answer::no()),
            Err(error) => return Some(failed(&error)),
        };
        let word = |at: usize| match said.get(&name(at)) {
            Some(ElicitationContentValue::String(text)) => text.clone(),
            _ => String::new(),
        };
        Some(Answer::Replies { replies: (0..questions.len()).map(word).collect() })
    }
    .boxed()
}
