//! Replies without a call that are visibly not an end: a call written as text, an announced step, a question that nobody
//! answers. The phrases are English; in other languages only the colon and the call count.

use super::text_calls;
use base::pattern::Pattern;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A call of this tool, written as text.
    CallAsText(String),
    Announced,
    Question,
}

impl Ending {
    pub fn words(&self) -> String {
        match self {
            Self::CallAsText(tool) => {
                format!("Your reply contains a {tool} call written as plain text, so nothing ran. Use the tool itself.")
            }
            Self::Announced => {
                "You announced a step but made no call. Make the call now, or say that you're done.".to_owned()
            }
            Self::Question => "No one can answer questions in this run. Make the choice a careful developer would make, say \
                               what you assumed, and continue."
                .to_owned(),
        }
    }

    pub fn short(&self) -> String {
        match self {
            Self::CallAsText(tool) => format!("reminded: the reply has a {tool} call as text"),
            Self::Announced => "reminded: the reply announced a step and took none".to_owned(),
            Self::Question => "reminded: nobody can answer a question in this run".to_owned(),
        }
    }
}

/// What the ending of a reply is, if it is none. `changed`: the turn has changed something.
pub fn of(text: &str, tools: &[&str], headless: bool, changed: bool) -> Option<Ending> {
    if let Some(tool) = text_calls::attempted(text, tools) {
        return Some(Ending::CallAsText(tool));
    }
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default().trim();
    if ends_with_colon(last) || (headless && is_announced(last)) {
        return Some(Ending::Announced);
    }
    (headless && !changed && is_question(last)).then_some(Ending::Question)
}

const STEP_CHARS: usize = 300;

fn ends_with_colon(last: &str) -> bool {
    let is_short = last.chars().count() <= STEP_CHARS;
    is_short && last.ends_with([':', '：']) && !last.starts_with(['#', '|'])
}

fn is_announced(last: &str) -> bool {
    static STEP: Pattern = Pattern::new(concat!(
        r"(?i)\b(I('|’)ll|I will|I('|’)m going to|I am going to|let me|let('|’)s|next,? I('|’)?(ll| will)|now I('|’)?(ll| will| need to)?|",
        r"I need to|I should now) (now |then |next |also |first |just |quickly |go ahead and )?",
        r"(run|read|edit|look|check|fix|create|add|update|write|implement|search|find|start|try|apply|test|verify|examine|",
        r"explore|inspect|open|make|continue|proceed|install|build|view|modify|use|see|do|begin|review|investigate)\b"
    ));
    static NO_STEP: Pattern = Pattern::new(
        r"(?i)\?|let me know|if you|would you|feel free|happy to|once you|when you|unless|please|I('|’)ll (leave|stop|wait|be)|\bdone\b|in the future|later\b",
    );
    last.chars().count() <= STEP_CHARS && STEP.is_match(last) && !NO_STEP.is_match(last) && !is_report(last)
}

/// A list of what was done is no step.
fn is_report(last: &str) -> bool {
    last.lines().count() > 1 && last.lines().all(|line| line.trim_start().starts_with(['-', '*', '•']))
}

fn is_question(last: &str) -> bool {
    static ASKS: Pattern = Pattern::new(
        r"(?i)\b(should I|shall I|do you want|would you like|which (one|of|option|approach|file|version)?|can you (confirm|clarify|tell|provide)|could you|may I|what would you|how would you like|is (that|this) (ok|okay|right|fine))\b",
    );
    let line = last.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.ends_with(['?', '？']) && ASKS.is_match(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 3] = ["Bash", "Read", "MultiEdit"];

    fn headless(text: &str) -> Option<Ending> {
        of(text, &TOOLS, true, false)
    }

    #[test]
    fn calls_as_text() {
        for text in [
            "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
            "I'll look.\n<function=Bash>\n<parameter=command>ls</parameter>\n</function>",
            "[TOOL_CALLS][{\"name\": \"Bash\", \"arguments\": {}}]",
            "[TOOL_CALLS]Bash[ARGS]{\"command\": \"ls\"}",
            "<invoke name=\"Bash\">",
            "<|python_tag|>{\"name\": \"Bash\", \"parameters\": {}}",
            "```json\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n```",
            "<|channel|>commentary to=functions.Bash <|message|>{}",
            "<tool_call>multi_edit\n<arg_key>",
        ] {
            assert!(matches!(headless(text), Some(Ending::CallAsText(_))), "{text}");
        }
        for text in [
            "The model writes `<tool_call>` and then Bash.",
            "Example:\n```xml\n<tool_call>{\"name\": \"Bash\"}</tool_call>\n```\nThat is Hermes.",
            "I ran Bash and read the file.",
        ] {
            assert_eq!(headless(text), None, "{text}");
        }
    }

    #[test]
    fn announced_steps_and_questions() {
        for text in [
            "I'll now edit the file.",
            "Found it.\n\nLet me run the tests",
            "Next, I will fix the parser.",
            "现在修改文件：",
        ] {
            assert_eq!(headless(text), Some(Ending::Announced), "{text}");
        }
        for text in ["Should I delete the old file?", "Two ways exist.\n\nWhich one do you want?"] {
            assert_eq!(headless(text), Some(Ending::Question), "{text}");
            assert_eq!(of(text, &TOOLS, true, true), None);
            assert_eq!(of(text, &TOOLS, false, false), None);
        }
        for text in [
            "Fixed. Let me know if you want more.",
            "Done: src/a.rs:3 now checks the length.",
            "I fixed the parser and ran the tests.",
            "Would you like me to also update the docs?",
        ] {
            assert!(!matches!(headless(text), Some(Ending::Announced)), "{text}");
        }
    }
}
