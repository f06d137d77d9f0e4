//! `ToolResultCompressor`: the history form of an observation. Navigation results become summaries, content
//! keeps fragments, changes keep what changed. Status, error and the id for Recall always stay. Pure; the
//! caller refuses a form that isn't smaller.

use super::cut;
use super::filters::error_lines;
use base::model::envelope::{Envelope, Status};
use base::model::item::{ItemId, ToolResult};
use base::text;

const NAMES: usize = 10;
const MATCHES: usize = 5;
const READ_LINES: usize = 500;
const DIFF_LINES: usize = 10;
const OUTPUT_HEAD: usize = 5;
const OUTPUT_TAIL: usize = 20;
const ERROR_LINES: usize = 15;
/// A result of an unknown tool stays complete up to this size, in bytes.
const SMALL: usize = 600;

type Compress = fn(&Envelope) -> Option<String>;

/// One line per tool. An unlisted tool keeps small data and a digest of the rest.
const TABLE: &[(&str, Compress)] = &[
    ("LS", |e| Some(first_lines(&e.body, NAMES, &total(e, "entry")))),
    ("Glob", |e| Some(first_lines(&e.body, NAMES, &total(e, "file")))),
    ("Grep", |e| Some(first_lines(&e.body, MATCHES, &total(e, "match")))),
    ("Read", read),
    ("Edit", change),
    ("MultiEdit", change),
    ("Write", change),
    ("Bash", bash),
    ("TodoWrite", |_| None),
    ("AskUser", |_| None),
    ("Skill", |_| None),
    ("Recall", |e| Some(first_lines(&e.body, NAMES, ""))),
];

pub fn compress(id: ItemId, result: &ToolResult) -> Option<String> {
    let envelope = &result.envelope;
    let compress =
        TABLE.iter().find(|(name, _)| *name == &*result.tool).map_or(other as Compress, |(_, f)| *f);
    let mut short = compress(envelope)?;
    if let Some(error) = &envelope.error {
        short = format!("error {}: {}\n{short}", error.code.as_str(), text::elide(&error.message, 400));
    }
    if let Some(path) = envelope.data.full_output_path() {
        short.push_str(&format!("\n[whole output: {path}]"));
    }
    short.push_str(&format!("\n[shortened; Recall {{\"id\":{}}} gives the original]", id.0));
    (short.len() < envelope.wire().len()).then_some(short)
}

pub fn pointer(id: ItemId, result: &ToolResult) -> String {
    let subject = result.envelope.data.subject().map(|subject| format!(" {}", text::one_line(subject, 80)));
    let subject = subject.unwrap_or_default();
    let status = match result.envelope.status {
        Status::Success => "ok",
        Status::Partial => "partial",
        Status::Error => "failed",
    };
    format!("[{}{subject}: {status}; result left out, Recall {{\"id\":{}}} gives it]", result.tool, id.0)
}

fn total(envelope: &Envelope, noun: &str) -> String {
    envelope.data.total().map_or_else(String::new, |count| {
        format!("{} in all", text::plural(usize::try_from(count).unwrap_or(usize::MAX), noun))
    })
}

fn first_lines(body: &str, count: usize, total: &str) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let mut short = lines.iter().take(count).copied().collect::<Vec<_>>().join("\n");
    if lines.len() > count {
        short.push_str(&format!("\n… {} more", text::plural(lines.len() - count, "line")));
    }
    if !total.is_empty() {
        short.push_str(&format!(" ({total})"));
    }
    short
}

/// Keeps up to 500 lines, so most reads stay complete here; the working set handles superseded ones.
fn read(envelope: &Envelope) -> Option<String> {
    let lines = envelope.body.lines().count();
    if lines <= READ_LINES {
        return None;
    }
    Some(first_lines(&envelope.body, READ_LINES, &total(envelope, "line")))
}

fn change(envelope: &Envelope) -> Option<String> {
    if envelope.body.is_empty() {
        return None;
    }
    Some(format!("{}\n{}", envelope.text, first_lines(&envelope.body, DIFF_LINES, "")))
}

fn bash(envelope: &Envelope) -> Option<String> {
    let lines: Vec<&str> = envelope.body.lines().collect();
    if lines.len() <= OUTPUT_HEAD + OUTPUT_TAIL + 2 && envelope.body.len() < 4_000 {
        return None;
    }
    let tail_from = lines.len().saturating_sub(OUTPUT_TAIL).max(OUTPUT_HEAD.min(lines.len()));
    let cut = |line: &&str| text::elide(line, 300);
    let mut kept: Vec<String> = lines.iter().take(OUTPUT_HEAD).map(cut).collect();
    let middle = &lines[OUTPUT_HEAD.min(lines.len())..tail_from];
    let errors: Vec<String> =
        middle.iter().filter(|line| error_lines::may_be_error(line)).take(ERROR_LINES).map(cut).collect();
    kept.push(format!(
        "… {} left out{}",
        text::plural(middle.len() - errors.len(), "line"),
        if errors.is_empty() { "" } else { ", among them these:" }
    ));
    kept.extend(errors);
    kept.extend(lines[tail_from..].iter().map(cut));
    let mut short = kept.join("\n");
    if !envelope.text.is_empty() {
        short.push_str(&format!("\n[{}]", envelope.text));
    }
    Some(short)
}

fn other(envelope: &Envelope) -> Option<String> {
    let wire = envelope.wire();
    if wire.len() <= SMALL {
        return None;
    }
    let (head, tail, left_out) = cut::head_and_tail(&wire, SMALL);
    Some(format!("{head}\n… {} left out\n{tail}", text::human_bytes(left_out as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(tool: &str, envelope: Envelope) -> ToolResult {
        ToolResult::new("c", tool, envelope)
    }

    fn lines(count: usize, line: &str) -> String {
        (0..count).map(|n| format!("{line} {n}\n")).collect()
    }

    #[test]
    fn navigation_becomes_a_summary() {
        let envelope = Envelope::success("")
            .with("total_entries", 40)
            .with_body("entries", lines(40, "file with a name"));
        let short = compress(ItemId(7), &result("LS", envelope)).unwrap_or_default();
        insta::assert_snapshot!(short, @r#"
        file with a name 0
        file with a name 1
        file with a name 2
        file with a name 3
        file with a name 4
        file with a name 5
        file with a name 6
        file with a name 7
        file with a name 8
        file with a name 9
        … 30 lines more (40 entries in all)
        [shortened; Recall {"id":7} gives the original]
        "#);
    }

    #[test]
    fn a_command_keeps_its_errors_and_its_end() {
        let body = format!("{}src/a.rs:3: error: boom\n{}", lines(50, "compiling"), lines(50, "linking"));
        let envelope = Envelope::success("exit code 1").partial().with_body("stdout", body);
        let short = compress(ItemId(8), &result("Bash", envelope)).unwrap_or_default();
        assert!(short.contains("src/a.rs:3: error: boom"), "{short}");
        assert!(short.contains("linking 49\n[exit code 1]"), "{short}");
        assert!(!short.contains("compiling 20"), "{short}");
    }

    #[test]
    fn small_results_stay_as_they_are() {
        let envelope = Envelope::success("").with_body("stdout", "ok\n");
        assert_eq!(compress(ItemId(1), &result("Bash", envelope)), None);
    }
}
