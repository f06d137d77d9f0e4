//! Thinking that a server without a reasoning parser leaves at the start of the content: `<think>…</think>`.
//! Templates of Qwen3, GLM-4.7 and DeepSeek R1 put the opening tag into the prompt, so only the closing
//! one arrives (vllm#13125, mlx-lm#877, LocalAI#11790; read November 2026).

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// How much leading whitespace to accept, in bytes.
const MAX_LEAD: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Only whitespace so far, or part of a tag.
    #[default]
    Beginning,
    Thinking,
    Answer,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Split {
    pub thinking: String,
    pub answer: String,
}

#[derive(Debug, Default)]
pub struct ThinkingSplitter {
    place: Place,
    held: String,
    thought: bool,
}

impl ThinkingSplitter {
    pub fn push(&mut self, piece: &str) -> Split {
        let mut split = Split::default();
        self.held.push_str(piece);
        loop {
            match self.place {
                Place::Beginning => {
                    let text = self.held.trim_start();
                    if let Some(rest) = text.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.thought = true;
                        self.place = Place::Thinking;
                    } else if OPEN.starts_with(text) && self.held.len() < MAX_LEAD {
                        return split;
                    } else {
                        if self.thought {
                            self.held = text.to_owned();
                        }
                        self.place = Place::Answer;
                    }
                }
                Place::Thinking => {
                    let Some(end) = self.held.find(CLOSE) else {
                        let rest = self.held.split_off(self.held.len() - begun(&self.held, CLOSE));
                        split.thinking.push_str(&std::mem::replace(&mut self.held, rest));
                        return split;
                    };
                    split.thinking.push_str(&self.held[..end]);
                    self.held.drain(..end + CLOSE.len());
                    self.place = Place::Beginning;
                }
                Place::Answer => {
                    split.answer.push_str(&std::mem::take(&mut self.held));
                    return split;
                }
            }
        }
    }

    /// Undecided text at the end becomes what it looks like, and unclosed thinking stays thinking.
    pub fn finish(&mut self) -> Split {
        let rest = std::mem::take(&mut self.held);
        match self.place {
            Place::Thinking => Split { thinking: rest, ..Split::default() },
            // Whitespace between two blocks of thinking doesn't count.
            _ if self.thought && rest.trim().is_empty() => Split::default(),
            _ => Split { answer: rest, ..Split::default() },
        }
    }
}

/// How many bytes of `tag` the text already ends with.
fn begun(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|&length| text.ends_with(&tag[..length])).unwrap_or(0)
}

/// Returns `None` if the closing tag is only mentioned: quoted, in code, inside a sentence, or after an opening one.
pub fn split_unopened(text: &str) -> Option<(&str, &str)> {
    let (thinking, answer) = text.split_once(CLOSE)?;
    let in_code = |part: &str, mark: &str| part.matches(mark).count() % 2 == 1;
    let last_line = thinking.rsplit('\n').next().unwrap_or_default();
    let spoken_of = thinking.ends_with([' ', '\t', '`', '"', '\'', '“', '‘', '(', '/'])
        || thinking.contains(OPEN)
        || in_code(thinking, "```")
        || in_code(last_line, "`");
    (!spoken_of).then(|| (thinking, answer.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut splitter = ThinkingSplitter::default();
        let mut whole = Split::default();
        for part in pieces.iter().map(|piece| splitter.push(piece)).collect::<Vec<_>>() {
            whole.thinking.push_str(&part.thinking);
            whole.answer.push_str(&part.answer);
        }
        let rest = splitter.finish();
        (whole.thinking + &rest.thinking, whole.answer + &rest.answer)
    }

    #[test]
    fn at_the_beginning_only() {
        for (text, thinking, answer) in [
            ("<think>a</think>b", "a", "b"),
            ("\n<think>\na\n</think>\n\n b", "\na\n", "b"),
            ("<think></think>\n<think>c</think>d", "c", "d"),
            ("<think>a < b </thin", "a < b </thin", ""),
            ("<think>a</think>\n", "a", ""),
            (" b <think>c</think>", "", " b <think>c</think>"),
            ("`<think>`", "", "`<think>`"),
            ("<thin air>", "", "<thin air>"),
            ("<thi", "", "<thi"),
            ("\n \n", "", "\n \n"),
            ("ä<think>", "", "ä<think>"),
            ("<think>日本</think>日", "日本", "日"),
        ] {
            let expected = (thinking.to_owned(), answer.to_owned());
            assert_eq!(split(&[text]), expected, "{text}");
            let letters: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(split(&letters.iter().map(String::as_str).collect::<Vec<_>>()), expected, "{text}");
        }
    }

    #[test]
    fn without_the_opening_tag() {
        for (text, expected) in [
            ("I count.</think>Ten.", Some(("I count.", "Ten."))),
            ("I count\n</think>\n\nTen.", Some(("I count\n", "Ten."))),
            ("</think>Ten.", Some(("", "Ten."))),
            ("The tag `</think>` ends it.", None),
            ("Write </think> behind it.", None),
            ("It is `a</think>`.", None),
            ("<think> and then\n</think>", None),
            ("```\na\n</think>\nb\n```", None),
            ("\"</think>\"", None),
            ("Ten.", None),
        ] {
            assert_eq!(split_unopened(text), expected, "{text}");
        }
    }
}
