//! A command's redacted output: live for the user, then as much as fits for the model.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::decode::readable;
use crate::cx::ToolCx;
use crate::output::{Ends, Keep, cut};
use base::process::run::Captured;
use base::text::one_line;
use guard::redact::detector::TextSource;

const PROGRESS_EVERY: Duration = Duration::from_millis(100);
const PROGRESS_LINES: usize = 3;
#[derive(Default)]
pub struct Progress {
    recent: Vec<u8>,
    shown: Option<Instant>,
    pending: bool,
}

impl Progress {
    pub fn feed(&mut self, chunk: &[u8], cx: &ToolCx) {
        const RECENT_BYTES: usize = 2_048;
        let chunk = &chunk[chunk.len().saturating_sub(RECENT_BYTES)..];
        let surplus = (self.recent.len() + chunk.len()).saturating_sub(RECENT_BYTES);
        self.recent.drain(..surplus.min(self.recent.len()));
        self.recent.extend_from_slice(chunk);
        self.pending |= !chunk.is_empty();
        if !self.pending || self.shown.is_some_and(|shown| shown.elapsed() < PROGRESS_EVERY) {
            return;
        }
        self.pending = false;
        self.shown = Some(Instant::now());
        let text = readable(&self.recent);
        // Skip a line without its start: it could contain half a secret, which wouldn't be recognized.
        let whole = if self.recent.len() < RECENT_BYTES {
            0
        } else {
            text.find('\n').map_or(text.len(), |feed| feed + 1)
        };
        let text = cx.redactor.redact(&text[whole..], TextSource::Text);
        let lines: Vec<&str> = text.lines().collect();
        let tail = &lines[lines.len().saturating_sub(PROGRESS_LINES)..];
        (cx.progress)(tail.iter().map(|line| one_line(line, 200)).collect::<Vec<_>>().join("\n"));
    }
}

pub fn visible_output(output: &Captured, cx: &ToolCx, source: TextSource) -> (String, Option<PathBuf>) {
    let (early, late) = output.tail.as_slices();
    let tail = [early, late].concat();
    if output.is_whole() {
        let text = readable(&[&output.head[..], &tail].concat());
        // Redact before cutting, because half a secret wouldn't be recognized.
        let text = cx.redactor.redact(&text, source).into_owned();
        let cut = cx.spill.truncate(text, Keep::HeadTail, cx.observation);
        return (cut.body, cut.full_output_path);
    }
    let head = readable(whole_chars_front(&output.head));
    let tail = readable(whole_chars_back(&tail));
    let (head, tail) = (cx.redactor.redact(&head, source), cx.redactor.redact(&tail, source));
    let ends = Ends { tail: &tail, total_bytes: output.total_bytes, total_lines: output.total_lines };
    let body = cut(&head, Some(ends), Keep::HeadTail, output.spilled.as_deref(), cx.observation);
    (body, output.spilled.clone())
}

fn whole_chars_front(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

fn whole_chars_back(bytes: &[u8]) -> &[u8] {
    let torn = bytes.iter().take(3).take_while(|&&b| b & 0xC0 == 0x80).count();
    &bytes[torn..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_characters_are_left_out() {
        assert_eq!(whole_chars_front("aé".as_bytes()), "aé".as_bytes());
        assert_eq!(whole_chars_front(&"aé".as_bytes()[..2]), b"a");
        assert_eq!(whole_chars_back(&"éa".as_bytes()[1..]), b"a");
    }
}
