//! Calls that a model writes as text, in the notation it was trained on: a frame with the tool's name, a JSON object that
//! names its tool, Python arguments, or ReAct lines. Notation that is only mentioned, in backticks or within prose, is no call.

use std::ops::Range;

use serde_json::{Map, Value};

use base::format::json_repair;
use base::model::item::Item;
use base::pattern::{Pattern, PhrasePattern};
use tools::arguments::tool_names;

#[derive(Clone, Debug, PartialEq)]
pub struct TextCall {
    /// As written, if it matches no tool.
    pub tool: String,
    /// Left as invalid JSON if unreadable, so that the tool reports what is wrong.
    pub args: String,
}

/// Hermes, Qwen, GLM (`<tool_call>`), Llama (`<function=`), Anthropic, MiniMax and DSML (`<invoke`), Mistral
/// (`[TOOL_CALLS]`), DeepSeek, Kimi, harmony, ReAct. The tool's name or an object with it follows.
static FRAMES: Pattern = Pattern::new(include_str!("words/call_frames.regex"));
static ALONE: Pattern = Pattern::new(include_str!("words/call_alone.regex"));
/// `[Bash(command="ls")]`, also in a `tool_code` block.
static PYTHON: Pattern = Pattern::new(include_str!("words/call_python.regex"));
static CLOSED: Pattern = Pattern::new(r"^(?:[\]\s`;,}]|<[^<>]{1,60}>)*");
const NAMES: [&str; 6] = ["name", "tool", "function", "tool_name", "action", "recipient_name"];
const ARGUMENTS: [&str; 7] =
    ["arguments", "args", "parameters", "input", "params", "action_input", "tool_input"];
/// With more prose around them, calls are only examples for the reader.
const BETWEEN_CHARS: usize = 300;
const AFTER_CHARS: usize = 150;

/// The text before the calls, and the calls. A plain answer compiles no pattern.
pub fn read(text: &str, tools: &[&str]) -> Option<(String, Vec<TextCall>)> {
    let (before, calls) = framed(text, tools)
        .or_else(|| alone(text, tools))
        .or_else(|| python(text, tools))
        .or_else(|| tags(text, tools))
        .filter(|(before, _)| !is_example(before))?;
    let before = without_opening(before);
    // A template's wrapper isn't part of the text.
    let said = if before.contains("<|") || before.contains("<｜") { "" } else { before };
    Some((said.to_owned(), calls))
}

fn without_opening(before: &str) -> &str {
    static OPENED: Pattern = Pattern::new(r"(?:\s|<[^<>\s]{1,40}>|```(?:json|xml)?)*$");
    OPENED.find(before).map_or(before, |opened| &before[..opened.start()])
}

/// The text with quoted code blanked out but all offsets unchanged. Blocks that may be calls stay.
fn masked(text: &str, calls: &[&str]) -> String {
    static QUOTED: Pattern = Pattern::new(r"(?s)```(?P<language>\w*)[^\n]*\n.*?```|`[^`\n]+`");
    let mut masked = text.to_owned();
    for found in QUOTED.captures_iter(text) {
        let language = found.name("language").map_or("", |language| language.as_str());
        if let Some(quoted) = found.get(0).filter(|_| !calls.contains(&language)) {
            masked.replace_range(quoted.range(), &" ".repeat(quoted.len()));
        }
    }
    masked
}

fn framed<'t>(text: &'t str, tools: &[&str]) -> Option<(&'t str, Vec<TextCall>)> {
    ["<", "[TOOL_CALLS]", "to=", "Action:"].iter().find(|sign| text.contains(**sign))?;
    // The results that a model invents end its reply; a call's own text may hold such a tag.
    static INVENTED: Pattern = Pattern::new(r"</tool_call>\s*<tool_response");
    let text = INVENTED.find(text).map_or(text, |found| &text[..found.start()]);
    let masked = masked(text, &["json", "xml", "tool_call", "tool_code"]);
    let frames: Vec<_> = FRAMES
        .captures_iter(&masked)
        .filter(|frame| frame.get(0).is_some_and(|found| is_frame(found.as_str(), &text[found.end()..])))
        .collect();
    let starts: Vec<usize> = frames.iter().filter_map(|frame| Some(frame.get(0)?.start())).collect();
    let before = &text[..*starts.first()?];
    let mut calls = Vec::new();
    let mut end = before.len();
    for (at, frame) in frames.iter().enumerate() {
        let next = starts.get(at + 1).copied().unwrap_or(text.len());
        if starts[at] < end {
            continue;
        }
        if !calls.is_empty() && text[end..starts[at]].chars().count() > BETWEEN_CHARS {
            return None;
        }
        let found = match (frame.name("tool"), frame.name("object")) {
            (Some(tool), _) => {
                let (args, length) = arguments(&text[tool.end()..next])?;
                end = tool.end() + length;
                vec![TextCall { tool: tool.as_str().to_owned(), args }]
            }
            (_, Some(object)) => {
                let (found, length) = objects(&text[object.start()..next]);
                end = object.start() + length;
                found
            }
            _ => return None,
        };
        calls.extend(found);
        end += closing(&text[end..next]);
    }
    // An unknown tool counts only if nothing else is said. ReAct may continue with an invented result.
    let after = text[end..].trim();
    let after = if after.starts_with("Observation") { "" } else { after };
    let known = calls.iter().all(|call| tool_names::meant(&call.tool, tools).is_some());
    let ends = after.is_empty() || known && is_comment(after);
    (!calls.is_empty() && ends).then(|| (before, meant(calls, tools)))
}

/// The words in ReAct's and harmony's frames also occur in prose.
fn is_frame(frame: &str, rest: &str) -> bool {
    if frame.starts_with("Action:") {
        return rest.trim_start().starts_with("Action Input:");
    }
    !frame.starts_with("to=") || frame.contains("functions.") || rest.contains("<|message|>")
}

fn closing(text: &str) -> usize {
    CLOSED.captures(text).and_then(|closed| Some(closed.get(0)?.end())).unwrap_or(0)
}

fn meant(calls: Vec<TextCall>, tools: &[&str]) -> Vec<TextCall> {
    let ours = |call: TextCall| match tool_names::meant(&call.tool, tools) {
        Some(tool) => TextCall { tool: tool.to_owned(), ..call },
        None => call,
    };
    calls.into_iter().map(ours).collect()
}

fn is_example(before: &str) -> bool {
    static SHOWS: PhrasePattern = PhrasePattern::new(include_str!("words/shows_notation.regex"));
    without_opening(before).lines().last().is_some_and(|line| SHOWS.is_match(line))
}

fn is_comment(after: &str) -> bool {
    static OWN: PhrasePattern =
        PhrasePattern::new(r"(?i)^(I|I('|’)ll|let me|now|then|next|after|once|this|we)\b");
    after.chars().count() <= AFTER_CHARS
        && !after.contains("\n\n")
        && OWN.is_match(after)
        && !is_example(after)
}

/// The arguments after a tool's name, and where they end; `None` if there are none.
fn arguments(rest: &str) -> Option<(String, usize)> {
    static PARAMETER: Pattern = Pattern::new(include_str!("words/call_parameter.regex"));
    static KEY: Pattern = Pattern::new(r"(?s)<arg_key>(\w+)</arg_key>\s*<arg_value>(.*?)</arg_value>");
    let mut end = 0;
    let mut tags = Map::new();
    for found in PARAMETER.captures_iter(rest).chain(KEY.captures_iter(rest)) {
        end = end.max(found.get(0).map_or(0, |whole| whole.end()));
        tags.insert(found[1].to_owned(), Value::String(found[2].to_owned()));
    }
    if !tags.is_empty() {
        return Some((Value::Object(tags).to_string(), end));
    }
    let open = rest.find('{')?;
    let (object, range) = object(&rest[open..]);
    let unread = || rest[open..][range.clone()].to_owned();
    Some((object.map_or_else(unread, |value| value.to_string()), open + range.end))
}

/// The object at the start of the text, and its range; a broken one extends to the last brace.
fn object(text: &str) -> (Option<Value>, Range<usize>) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = values.next() {
        return (Some(value).filter(Value::is_object), 0..values.byte_offset());
    }
    let end = text.rfind('}').map_or(text.len(), |at| at + 1);
    (json_repair::object(&text[..end]), 0..end)
}

/// The calls in successive objects, ignoring text between them, and where they end.
fn objects(text: &str) -> (Vec<TextCall>, usize) {
    let (mut calls, mut at) = (Vec::new(), 0);
    while let Some(open) = text[at..]
        .find('{')
        .filter(|open| text[at..at + open].trim_matches(['[', ',', ';', ' ', '\n']).is_empty())
    {
        let from = at + open;
        let (value, range) = object(&text[from..]);
        let unread = || broken(&text[from..][range.clone()]).into_iter().collect();
        let found = value.map_or_else(unread, of_object);
        if found.is_empty() {
            break;
        }
        calls.extend(found);
        at = from + range.end;
    }
    (calls, at)
}

fn of_object(value: Value) -> Vec<TextCall> {
    let Value::Object(mut object) = value else { return Vec::new() };
    if let Some(Value::Array(several)) = object.remove("tool_calls") {
        return several.into_iter().flat_map(of_object).collect();
    }
    if object.get("function").is_some_and(Value::is_object) {
        return object.remove("function").map(of_object).unwrap_or_default();
    }
    let name = NAMES.iter().find_map(|key| Some(object.get(*key)?.as_str()?.to_owned()));
    let args = ARGUMENTS.iter().find_map(|key| object.remove(*key));
    let (Some(tool), Some(args)) = (name, args) else { return Vec::new() };
    let args = args.as_str().map_or_else(|| args.to_string(), str::to_owned);
    vec![TextCall { tool, args }]
}

fn broken(text: &str) -> Option<TextCall> {
    static NAMED: Pattern = Pattern::new(include_str!("words/call_broken.regex"));
    let found = NAMED.captures(text)?;
    let args = found.name("args").map_or("{", |args| args.as_str());
    Some(TextCall { tool: found["tool"].to_owned(), args: args.to_owned() })
}

fn alone<'t>(text: &'t str, tools: &[&str]) -> Option<(&'t str, Vec<TextCall>)> {
    text.find('{')?;
    let masked = masked(text, &["json", "tool_call", "tool_code"]);
    // A fenced object counts only if the text begins with it.
    let shown = if text.trim_start().starts_with("```") { text } else { &masked };
    let found = ALONE.captures(shown)?;
    let from = found.name("object")?.start();
    let (calls, length) = objects(&text[from..]);
    let end = from + length;
    let known = calls.iter().all(|call| tool_names::meant(&call.tool, tools).is_some());
    (!calls.is_empty() && known && end + closing(&text[end..]) == text.len())
        .then(|| (&text[..found.get(0).map_or(0, |whole| whole.start())], meant(calls, tools)))
}

fn python<'t>(text: &'t str, tools: &[&str]) -> Option<(&'t str, Vec<TextCall>)> {
    static ARGUMENT: Pattern = Pattern::new(include_str!("words/python_argument.regex"));
    text.trim_end().strip_suffix([')', ']', '`', '>'])?;
    let found = PYTHON.captures(text)?;
    let before = &text[..found.get(0)?.start()];
    // Behind prose, only our own name: `open(path='x')` there is code.
    if !before.is_empty() && !tools.contains(&&found["tool"]) {
        return None;
    }
    let tool = tool_names::meant(&found["tool"], tools)?.to_owned();
    let mut args = Map::new();
    let mut rest = &found["args"];
    while let Some(argument) = ARGUMENT.captures(rest) {
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
        .then(|| (before, vec![TextCall { tool, args: Value::Object(args).to_string() }]))
}

/// `<read_file><path>a.py</path></read_file>`, as written by Cline and Roo Code.
fn tags<'t>(text: &'t str, tools: &[&str]) -> Option<(&'t str, Vec<TextCall>)> {
    static OPENING: Pattern = Pattern::new(r"<(?P<tool>[A-Za-z_]{2,40})>\s*<[A-Za-z_]+>");
    text.find("</")?;
    let masked = masked(text, &["json", "tool_call", "tool_code"]);
    let is_tool = |tool: &str| tool_names::meant(tool, tools).is_some() || tool_names::is_answer(tool);
    let (mut calls, mut before, mut at) = (Vec::new(), None, 0);
    while let Some(found) = OPENING.captures(&masked[at..]).and_then(|found| found.name("tool")) {
        let (start, tool) = (at + found.start(), found.as_str().to_owned());
        let open = start + tool.len() + 1;
        let length = text[open..].find(&format!("</{tool}>")).filter(|_| is_tool(&tool))?;
        let args = tagged(&text[open..open + length])?;
        before.get_or_insert(&text[..start - 1]);
        at = open + length + tool.len() + 3;
        calls.push(TextCall { tool, args: Value::Object(args).to_string() });
    }
    let after = text[at..].trim();
    let before = before?;
    (after.is_empty() || is_comment(after)).then(|| (before, meant(calls, tools)))
}

fn tagged(mut text: &str) -> Option<Map<String, Value>> {
    let mut args = Map::new();
    while let Some(rest) = text.trim_start().strip_prefix('<') {
        let (name, value) = rest.split_once('>')?;
        let (value, rest) = value.split_once(&format!("</{name}>"))?;
        let value = value.strip_prefix('\n').unwrap_or(value);
        args.insert(name.to_owned(), value.strip_suffix('\n').unwrap_or(value).into());
        text = rest;
    }
    text.trim().is_empty().then_some(args)
}

/// A call of another agent's tool that only reports completion becomes the answer.
pub fn with_answer(items: Vec<Item>, tools: &[&str]) -> Vec<Item> {
    let is_answer = |name: &str| tool_names::meant(name, tools).is_none() && tool_names::is_answer(name);
    let others = |item: &Item| matches!(item, Item::ToolCall(call) if !is_answer(&call.name));
    if items.iter().any(others) {
        return items;
    }
    let is_said = |item: &Item| matches!(item, Item::Assistant { text, .. } if !text.trim().is_empty());
    let mut said = items.iter().any(is_said);
    let as_text = |item| match item {
        Item::ToolCall(call) => {
            let answer = answer_in(&call.args).or_else(|| (!said).then(|| "Done.".to_owned()))?;
            said = true;
            Some(Item::assistant(answer))
        }
        item => Some(item),
    };
    items.into_iter().filter_map(as_text).collect()
}

fn answer_in(args: &str) -> Option<String> {
    const TEXTS: [&str; 9] =
        ["result", "message", "answer", "summary", "output", "text", "final_answer", "response", "content"];
    let args = json_repair::object(args)?;
    let texts = TEXTS.iter().filter_map(|key| args[*key].as_str());
    texts.map(str::to_owned).find(|text| !text.trim().is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOOLS: [&str; 3] = ["Bash", "Read", "MultiEdit"];

    fn bash(command: &str) -> TextCall {
        TextCall { tool: "Bash".to_owned(), args: json!({ "command": command }).to_string() }
    }

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
            "{\"name\": \"run_shell_command\", \"arguments\": {\"command\": \"ls -a\"}}",
            "{\"tool_calls\": [{\"type\": \"function\", \"function\": {\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}}]}",
            "Action: Bash\nAction Input: {\"command\": \"ls -a\"}\nObservation:",
            "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls -a\",}}\n</tool_call>\nI will report the result.",
            "<tool_call>{'name': 'Bash', 'arguments': {'command': 'ls -a'}}</tool_call>",
            "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}\n</tool_call>\n<tool_response>\na.py\n</tool_response>\nThere is only a.py.",
            "<tools>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}\n</tools>",
            "<function_call>{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}</function_call>",
            "<tool>{'name': 'Bash', 'arguments': {'command': 'ls -a'}}</tool>",
            "```xml\n<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}\n</tool_call>\n```",
            "functools[{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls -a\"}}]",
            "{\"tool\": \"Bash\", \"tool_input\": {\"command\": \"ls -a\"}}",
            "<execute_command>\n<command>ls -a</command>\n</execute_command>",
        ] {
            let (said, calls) = read(text, &TOOLS).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(calls, [bash("ls -a")], "{text}");
            assert_eq!(said, "", "{text}");
        }
        for call in [
            "\n<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"a\"}}</tool_call>",
            "\n<json>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"a\"}}\n</json>",
            "\n\nBash(command=\"a\")",
        ] {
            assert_eq!(
                read(&format!("I look.{call}"), &TOOLS),
                Some(("I look.".to_owned(), vec![bash("a")])),
                "{call}"
            );
        }
        let template = "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"grep '<tool_response>' a\"}}</tool_call>";
        assert_eq!(read(template, &TOOLS).unwrap().1, [bash("grep '<tool_response>' a")]);
        let hermes = "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"a\"}}\n</tool_call>\nThen:\n<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"b\"}}\n</tool_call>";
        assert_eq!(read(hermes, &TOOLS).unwrap().1, [bash("a"), bash("b")]);
        let mistral = "[TOOL_CALLS][{\"name\": \"Bash\", \"arguments\": {\"command\": \"a\"}}, {\"name\": \"Bash\", \"arguments\": {\"command\": \"b\"}}]";
        assert_eq!(read(mistral, &TOOLS).unwrap().1, [bash("a"), bash("b")]);
        let both = "<invoke name=\"Read\"><parameter name=\"path\">a</parameter></invoke><invoke name=\"Bash\"><parameter name=\"command\">b</parameter></invoke>";
        assert_eq!(read(both, &TOOLS).unwrap().1.len(), 2);
    }

    #[test]
    fn broken_and_unknown_calls_are_calls() {
        for (text, tool, args) in [
            (
                "<tool_call>{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls}}</tool_call>",
                "Bash",
                "{\"command\": \"ls}}",
            ),
            ("<tool_call>{\"name\": \"frobnicate\", \"arguments\": {}}</tool_call>", "frobnicate", "{}"),
            (
                "<invoke name=\"Frobnicate\"><parameter name=\"a\">b</parameter></invoke>",
                "Frobnicate",
                "{\"a\":\"b\"}",
            ),
        ] {
            let (_, calls) = read(text, &TOOLS).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((&*calls[0].tool, &*calls[0].args), (tool, args), "{text}");
        }
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
            "Hermes calls have this format:\n<tool_call>{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}</tool_call>",
            "First:\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call>\nThe server reads it and answers.",
            "Qwen3 puts calls into <tool_call> tags.\n\nTo=Bash is no address.",
            "Send the mail to=ops@example.com with {\"a\": 1}",
            "Done.\n\nAction: Fixed the parser.\n\n```rust\nfn a() {}\n```",
            "I ran Bash and read a file.",
            "The format is:\n```xml\n<tool_call>{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}</tool_call>\n```",
            "For example:\n\nBash(command=\"ls\")",
            "Then run\n\nbash(command=\"ls\")",
            "The page has <section><p>text</p></section>.",
            "Cline writes `<read_file><path>a</path></read_file>`.",
            "",
        ] {
            assert_eq!(read(text, &TOOLS), None, "{text}");
        }
    }
}
