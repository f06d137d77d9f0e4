//! Calls that a model writes as text, in the notation it was trained on. Each is found by the tool's name in one of the frames;
//! its arguments are the JSON object, the tags or the Python arguments that follow. What only talks about a notation, in
//! backticks or among other prose, is none.

use serde_json::{Map, Value};

use base::format::json_repair;
use base::pattern::Pattern;

#[derive(Clone, Debug, PartialEq)]
pub struct TextCall {
    pub tool: String,
    pub args: Value,
}

/// Where a tool's name stands: Hermes, Qwen, GLM (`<tool_call>`), Llama (`<function=`), Anthropic, MiniMax and DSML (`<invoke`),
/// Mistral (`[TOOL_CALLS]`), DeepSeek, Kimi, harmony.
static FRAMES: Pattern = Pattern::new(concat!(
    r#"(?s)(?:<tool_call>\s*(?:<function=)?|<function=|<\S{0,8}invoke name="|\[TOOL_CALLS\]\s*|<\|python_tag\|>\s*|"#,
    r#"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<\|tool_call_begin\|>\s*(?:functions\.)?|"#,
    r#"to=(?:functions\.)?|<\|tool_call>\s*(?:call:)?)(?P<tool>[A-Za-z_]\w*)"#
));
/// A JSON object that names its tool, behind a frame, or as all of the reply's last part.
static NAMED: Pattern = Pattern::new(
    r#"(?s)(?:<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<function_calls>|<tool_use>|<\|tool_call\|>|```(?:json|tool_call|tool_code)?|^|\n\n)\s*\[?\s*(?P<object>\{\s*"(?:type"\s*:\s*"function"\s*,\s*")?(?:name|tool|function|tool_name|action|recipient_name)"\s*:.*)$"#,
);
/// `[Bash(command="ls")]`, also in a `tool_code` block.
static PYTHON: Pattern = Pattern::new(
    r#"(?s)^\s*(?:```(?:tool_code|python)?\s*)?\[?(?P<tool>[A-Za-z_]\w*)\((?P<args>\s*\w+\s*=.*)\)\]?\s*(?:```)?\s*$"#,
);

/// The text before the calls, and the calls; `None` if there is none that the tools could run.
pub fn read(text: &str, tools: &[&str]) -> Option<(String, Vec<TextCall>)> {
    let meant = |name: &str| tools.iter().copied().find(|tool| plain(tool) == plain(name)).map(str::to_owned);
    let masked = masked(text);
    let mut found = Vec::new();
    let mut first = None;
    let starts: Vec<_> = FRAMES
        .captures_iter(&masked)
        .filter_map(|frame| {
            let tool = frame.name("tool")?;
            Some((frame.get(0)?.start(), tool.end(), meant(tool.as_str())?))
        })
        .collect();
    for (index, (start, after, tool)) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(text.len(), |next| next.0);
        let args = arguments(&text[*after..end])?;
        first.get_or_insert(*start);
        found.push(TextCall { tool: tool.clone(), args });
    }
    if found.is_empty() {
        let (at, calls) = named(text, &masked, &meant).or_else(|| python(text, &meant))?;
        first = Some(at);
        found = calls;
    }
    let before = &text[..first.unwrap_or(0)];
    let before = before
        .trim_end()
        .trim_end_matches("<function_calls>")
        .trim_end_matches("```json")
        .trim_end_matches("```");
    // What a template wraps around all of it is nothing that was said.
    let said = if before.contains("<|") || before.contains("<｜") { "" } else { before.trim_end() };
    Some((said.to_owned(), found))
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], "")
}

/// The tool of a call that can't be read, such as one with broken arguments.
pub fn attempted(text: &str, tools: &[&str]) -> Option<String> {
    static IN_FRAME: Pattern = Pattern::new(
        r#"(?s)(?:<tool_call>|<tool_use>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|?>)[^A-Za-z]{0,40}(?:name|function|tool|tool_name)"\s*:\s*"(?P<tool>[A-Za-z_]+)"#,
    );
    static ALONE: Pattern = Pattern::new(
        r#"(?s)^\s*(?:```(?:json|tool_call|tool_code)?\s*)?\[?\{\s*"(?:name|tool|function|tool_name|action)"\s*:\s*"(?P<tool>[A-Za-z_]+)"\s*,\s*"(?:arguments|args|parameters|input|params|action_input)"\s*:"#,
    );
    let masked = masked(text);
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let framed = FRAMES.captures_iter(&masked).chain(IN_FRAME.captures_iter(&masked));
    let alone = [text, last].into_iter().filter_map(|part| ALONE.captures(part));
    framed.chain(alone).find_map(|found| {
        let named = plain(found.name("tool")?.as_str());
        tools.iter().find(|tool| plain(tool) == named).map(|tool| (*tool).to_owned())
    })
}

/// The text with quoted code blanked out, at the same places. A block of JSON may be a call.
fn masked(text: &str) -> String {
    static QUOTED: Pattern = Pattern::new(r"(?s)```(?P<language>\w*)[^\n]*\n.*?```|`[^`\n]+`");
    let mut masked = text.to_owned();
    for found in QUOTED.captures_iter(text) {
        let language = found.name("language").map_or("", |language| language.as_str());
        if let Some(quoted) = found.get(0).filter(|_| !["json", "tool_call", "tool_code"].contains(&language))
        {
            masked.replace_range(quoted.range(), &" ".repeat(quoted.len()));
        }
    }
    masked
}

fn arguments(rest: &str) -> Option<Value> {
    static PARAMETER: Pattern =
        Pattern::new(r#"(?s)<\S{0,8}parameter(?:=|\s+name=")(\w+)"?[^>]*>\n?(.*?)\n?</\S{0,8}parameter>"#);
    static KEY: Pattern = Pattern::new(r"(?s)<arg_key>(\w+)</arg_key>\s*<arg_value>(.*?)</arg_value>");
    let open = rest.find('{');
    let tags: Map<String, Value> = PARAMETER
        .captures_iter(rest)
        .chain(KEY.captures_iter(rest))
        .map(|found| (found[1].to_owned(), Value::String(found[2].to_owned())))
        .collect();
    if !tags.is_empty() {
        return Some(Value::Object(tags));
    }
    object(&rest[open?..])
}

fn object(text: &str) -> Option<Value> {
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok();
    let end = text.rfind('}').map(|at| &text[..=at]);
    first.or_else(|| json_repair::object(end?)).filter(Value::is_object)
}

fn named(
    text: &str,
    masked: &str,
    meant: &impl Fn(&str) -> Option<String>,
) -> Option<(usize, Vec<TextCall>)> {
    // A fenced object counts only where nothing but it was said.
    let shown = if text.trim_start().starts_with("```") { text } else { masked };
    let found = NAMED.captures(shown)?;
    let objects = found.name("object")?;
    let mut calls = Vec::new();
    let mut values = serde_json::Deserializer::from_str(&text[objects.start()..]).into_iter::<Value>();
    let mut end = objects.start();
    while let Some(Ok(Value::Object(mut call))) = values.next() {
        end = objects.start() + values.byte_offset();
        let keys = ["name", "tool", "function", "tool_name", "action", "recipient_name"];
        let name = keys.iter().find_map(|key| call.get(*key)?.as_str());
        let tool = meant(name?.rsplit('.').next()?)?;
        let args = ["arguments", "args", "parameters", "input", "params", "action_input"];
        let args = args.iter().find_map(|key| call.remove(*key))?;
        let args = match args {
            Value::String(inner) => serde_json::from_str(&inner).ok()?,
            args => args,
        };
        calls.push(TextCall { tool, args: Some(args).filter(Value::is_object)? });
    }
    // Behind it only the frame is closed.
    static CLOSED: Pattern = Pattern::new(r"^(?:[\]\s`;]|<[^<>]{1,40}>)*$");
    (!calls.is_empty() && CLOSED.is_match(&text[end..])).then_some((found.get(0)?.start(), calls))
}

fn python(text: &str, meant: &impl Fn(&str) -> Option<String>) -> Option<(usize, Vec<TextCall>)> {
    static ARGUMENT: Pattern = Pattern::new(
        r#"(?s)\s*(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+|True|False|true|false)\s*(?:,|$)"#,
    );
    let found = PYTHON.captures(text)?;
    let tool = meant(&found["tool"])?;
    let mut args = Map::new();
    let mut rest = &found["args"];
    while let Some(argument) =
        ARGUMENT.captures(rest).filter(|argument| argument.get(0).is_some_and(|all| all.start() == 0))
    {
        let value = match &argument[2] {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            quoted if quoted.starts_with('\'') => {
                Value::String(quoted[1..quoted.len() - 1].replace("\\'", "'").replace("\\n", "\n"))
            }
            json => serde_json::from_str(json).ok()?,
        };
        args.insert(argument[1].to_owned(), value);
        rest = &rest[argument[0].len()..];
    }
    (rest.trim().is_empty() && !args.is_empty())
        .then_some((0, vec![TextCall { tool, args: Value::Object(args) }]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOOLS: [&str; 3] = ["Bash", "Read", "MultiEdit"];

    #[test]
    fn every_notation_is_read() {
        for text in [
            "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}\n</tool_call>",
            "<tool_call>\n<function=Bash>\n<parameter=command>\nls -a\n</parameter>\n</function>\n</tool_call>",
            "<function=Bash>{\"command\": \"ls -a\"}</function>",
            "[TOOL_CALLS][{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}]",
            "[TOOL_CALLS]Bash[ARGS]{\"command\": \"ls -a\"}",
            "<|python_tag|>{\"name\": \"Bash\", \"parameters\": {\"command\": \"ls -a\"}}",
            "[Bash(command=\"ls -a\")]",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>Bash\n```json\n{\"command\": \"ls -a\"}\n```<｜tool▁call▁end｜>",
            "<｜tool▁call▁begin｜>Bash<｜tool▁sep｜>{\"command\": \"ls -a\"}<｜tool▁call▁end｜>",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"Bash\">\n<｜DSML｜parameter name=\"command\" string=\"true\">ls -a</｜DSML｜parameter>\n</｜DSML｜invoke>",
            "<|start|>assistant<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{\"command\": \"ls -a\"}",
            "<function_calls>\n<invoke name=\"Bash\">\n<parameter name=\"command\">ls -a</parameter>\n</invoke>\n</function_calls>",
            "<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls -a</arg_value>\n</tool_call>",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>{\"command\": \"ls -a\"}<|tool_call_end|>",
            "```json\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}\n```",
            "```tool_code\nBash(command='ls -a')\n```",
            "<minimax:tool_call>\n<invoke name=\"Bash\">\n<parameter name=\"command\">ls -a</parameter>\n</invoke>\n</minimax:tool_call>",
            "{\"name\": \"Bash\", \"arguments\": \"{\\\"command\\\": \\\"ls -a\\\"}\"}",
        ] {
            let (said, calls) = read(text, &TOOLS).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                calls,
                [TextCall { tool: "Bash".to_owned(), args: json!({"command": "ls -a"}) }],
                "{text}"
            );
            assert_eq!(said.replace("<minimax:tool_call>", "").trim(), "", "{text}");
        }
        let two = "I look.\n<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"a\"}}</tool_call>";
        assert_eq!(read(two, &TOOLS).unwrap().0, "I look.");
        let both = "<invoke name=\"Read\"><parameter name=\"path\">a</parameter></invoke><invoke name=\"Bash\"><parameter name=\"command\">b</parameter></invoke>";
        assert_eq!(read(both, &TOOLS).unwrap().1.len(), 2);
    }

    #[test]
    fn talk_about_notations_is_none() {
        for text in [
            "Hermes models write `<tool_call>{\"name\": \"Bash\", \"arguments\": {}}</tool_call>`.",
            "An example:\n\n```xml\n<function=Bash>\n<parameter=command>ls</parameter>\n</function>\n```\n\nThat is Qwen.",
            "The log has {\"name\": \"Bash\"} in it.",
            "Use Bash(command) to run it.",
            "A parser:\n\n```python\nx = '<tool_call>{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}</tool_call>'\n```\n\nThat is it.",
            "The configuration is:\n\n```json\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n```\n\nThat is all.",
            "<invoke name=\"Frobnicate\"><parameter name=\"a\">b</parameter></invoke>",
            "I ran Bash and read a file.",
            "",
        ] {
            assert_eq!(read(text, &TOOLS), None, "{text}");
        }
    }
}
