//! Truncates output that is too large for the window; the full text goes to a spill file that the model can page through.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use base::config::settings::TINY_WINDOW_TOKENS;
use base::folder::quota::Quota;
use base::text::{human_bytes, plural};
use base::{clock, file};

pub const MAX_LINES: usize = 2_000;
/// Bytes of a result shown to the model, including the mark.
pub const MAX_BYTES: usize = 50 * 1024;
const PAGE_LINES: usize = 500;
const MARK_BYTES: usize = 512;
const BYTES_PER_TOKEN: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The start (lists, file content).
    Head,
    /// Both ends, more of the end (in command output, errors come last).
    HeadTail,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub lines: usize,
    pub bytes: usize,
    /// Lines of a file that are read if the call gives no limit.
    pub page_lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: MAX_LINES, bytes: MAX_BYTES, page_lines: PAGE_LINES }
    }
}

impl Limits {
    /// An observation takes at most about an eighth of the window.
    pub fn for_window(window_tokens: u64) -> Self {
        Self::of_bytes(window_tokens * 4 / 10)
    }

    /// The `calls` that are left of a reply share half of the free room, but none gets more than a quarter of the window.
    pub fn for_reply(window_tokens: u64, free_tokens: u64, calls: u64) -> Self {
        if window_tokens <= TINY_WINDOW_TOKENS {
            return Self::for_window(window_tokens);
        }
        let calls = calls.max(1);
        let share = (free_tokens / 2 / calls).min(window_tokens / 4) * BYTES_PER_TOKEN;
        let least = window_tokens * 4 / 10 * 4 / calls.max(4);
        let is_roomy = free_tokens > window_tokens / 2;
        let page_lines = if is_roomy { MAX_LINES } else { PAGE_LINES };
        Self { page_lines, ..Self::of_bytes(share.max(least)) }
    }

    fn of_bytes(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(MAX_BYTES).clamp(4 * MARK_BYTES, MAX_BYTES);
        Self { lines: (MAX_LINES * bytes / MAX_BYTES).max(100), bytes, page_lines: PAGE_LINES }
    }

    /// Rows of a listing: `asked`, or else `usual`, which is lower in a small window.
    pub fn rows(self, asked: Option<usize>, usual: usize, most: usize) -> usize {
        asked.filter(|&asked| asked > 0).unwrap_or(usual.min(self.lines / 2)).min(most)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncated {
    pub body: String,
    pub cut: bool,
    pub full_output_path: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    next: AtomicU64,
}

impl Spill {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, next: AtomicU64::new(0) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn reserve(&self, kind: &str) -> io::Result<PathBuf> {
        // Private, because output may contain secrets.
        file::create_private_folder(&self.folder)?;
        let (millis, number) = (clock::now_ms(), self.next.fetch_add(1, Ordering::Relaxed));
        Ok(self.folder.join(format!("{kind}-{millis}-{}-{number}.txt", std::process::id())))
    }

    pub fn store(&self, kind: &str, text: &[u8]) -> io::Result<PathBuf> {
        let path = self.reserve(kind)?;
        let mut file = file::create_private(&path)?;
        if let Err(error) = file.write_all(text) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(path)
    }

    /// Cuts `body` to `limits` and stores the full text if something is removed. Idempotent.
    pub fn truncate(&self, body: String, keep: Keep, limits: Limits) -> Truncated {
        if fits(&body, limits) {
            return Truncated { body, cut: false, full_output_path: None };
        }
        let path = self.store("output", body.as_bytes()).ok();
        let body = cut(&body, None, keep, path.as_deref(), limits);
        Truncated { body, cut: true, full_output_path: path }
    }

    /// Removes files older than 7 days, then the oldest above 500 MiB. Slow: walks the folder.
    pub fn clean(&self) {
        self.clean_to(Quota::STATE, SystemTime::now());
    }

    fn clean_to(&self, quota: Quota, now: SystemTime) {
        quota.clean(&self.folder, 2, now, |_| true);
    }
}

/// The end of a text whose middle isn't in memory.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    pub tail: &'a str,
    pub total_bytes: u64,
    pub total_lines: u64,
}

fn feeds(text: &str) -> u64 {
    text.bytes().filter(|&b| b == b'\n').count() as u64
}

/// A text slightly above the limits also fits: what the cut saves wouldn't be worth its mark.
pub fn fits(text: &str, limits: Limits) -> bool {
    text.len() <= limits.bytes + limits.bytes / 10 && feeds(text) <= (limits.lines + limits.lines / 10) as u64
}

/// `head` is the full text or, with `ends`, its start. Keeps complete lines if possible.
pub fn cut(head: &str, ends: Option<Ends>, keep: Keep, path: Option<&Path>, limits: Limits) -> String {
    let room = limits.bytes.saturating_sub(MARK_BYTES);
    // The mark takes up to three lines.
    let lines = limits.lines.saturating_sub(3);
    let (head_room, head_lines) = match keep {
        Keep::Head => (room, lines),
        Keep::HeadTail => (room * 2 / 5, lines * 2 / 5),
    };
    let front = first_part(head, head_room, head_lines);
    let (tail_text, total_bytes, total_lines) = match ends {
        Some(ends) => (ends.tail, ends.total_bytes, ends.total_lines),
        None => (&head[front.len()..], head.len() as u64, feeds(head)),
    };
    let back = match keep {
        Keep::Head => "",
        Keep::HeadTail => last_part(tail_text, room - head_room, lines - head_lines),
    };
    let left_bytes = total_bytes.saturating_sub((front.len() + back.len()) as u64);
    let left_lines = total_lines.saturating_sub(feeds(front) + feeds(back));
    let what = match usize::try_from(left_lines).unwrap_or(usize::MAX) {
        0 => human_bytes(left_bytes),
        count => format!("{} ({})", plural(count, "line"), human_bytes(left_bytes)),
    };
    let place = match path {
        Some(path) => format!("; the full text is in {}", shorten_path(path)),
        None => "; it could not be stored".to_owned(),
    };
    let mut body = String::with_capacity(front.len() + back.len() + MARK_BYTES);
    body.push_str(front);
    if !front.is_empty() && !front.ends_with('\n') {
        body.push('\n');
    }
    body.push_str(&format!("[… {what} left out{place} …]\n"));
    body.push_str(back);
    body
}

/// Such a long path would use up the room for the text.
fn shorten_path(path: &Path) -> String {
    let shown = path.to_string_lossy();
    if shown.len() < MARK_BYTES - 160 { shown.into_owned() } else { "data.full_output_path".to_owned() }
}

/// As many complete lines as fit, or part of the first line if it alone is too long.
fn first_part(text: &str, room: usize, lines: usize) -> &str {
    let window = &text[..text.floor_char_boundary(room)];
    let end = match window.match_indices('\n').nth(lines.saturating_sub(1)) {
        Some((index, _)) => index + 1,
        None if window.len() == text.len() => text.len(),
        None => at_line_end(window.rfind('\n').map(|index| index + 1), window.len()),
    };
    &text[..end]
}

fn last_part(text: &str, room: usize, lines: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(room));
    let window = &text[start..];
    // A final line feed ends the last line and doesn't start another.
    let body = window.strip_suffix('\n').unwrap_or(window);
    let from = match body.rmatch_indices('\n').nth(lines.saturating_sub(1)) {
        Some((index, _)) => index + 1,
        None if start == 0 => 0,
        None => window.len() - at_line_end(body.find('\n').map(|at| window.len() - at - 1), window.len()),
    };
    &window[from..]
}

/// Cuts at a line end, unless that loses more than half of the room.
fn at_line_end(length: Option<usize>, room: usize) -> usize {
    length.filter(|&length| length * 2 >= room).unwrap_or(room)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    fn spill() -> (tempfile::TempDir, Spill) {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(dir.path().join("tool-output"));
        (dir, spill)
    }

    #[test]
    fn small_texts() {
        let (_dir, spill) = spill();
        let cut = spill.truncate("a\nb\n".to_owned(), Keep::HeadTail, Limits::default());
        assert_eq!((cut.body.as_str(), cut.cut, cut.full_output_path), ("a\nb\n", false, None));
        assert!(!spill.folder().exists());
    }

    #[test]
    fn a_text_slightly_above_the_limits_stays_whole() {
        let (_dir, spill) = spill();
        let limits = Limits::for_window(8_192);
        let line = "a line of the length that lines of code usually have\n";
        let cut = |bytes: usize| spill.truncate(line.repeat(bytes / line.len()), Keep::HeadTail, limits).cut;
        assert!(!cut(limits.bytes + 300), "the mark of a cut has about 200 bytes");
        assert!(cut(limits.bytes + 1_500));
    }

    #[test]
    fn many_lines() {
        let (_dir, spill) = spill();
        let text: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
        let cut = spill.truncate(text.clone(), Keep::HeadTail, Limits::default());
        assert!(cut.body.starts_with("line 1\n") && cut.body.ends_with("line 5000\n"));
        assert!(
            cut.body.contains("[… 3003 lines (") && fits(&cut.body, Limits::default()),
            "{}",
            cut.body.len()
        );
        let path = cut.full_output_path.unwrap();
        assert!(path.starts_with(spill.folder()) && cut.body.contains(path.to_str().unwrap()));
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        let head = spill.truncate(text, Keep::Head, Limits::default());
        assert!(head.body.starts_with("line 1\n") && head.body.trim_end().ends_with("…]"));
    }

    #[test]
    fn endless_line() {
        let (_dir, spill) = spill();
        let cut =
            spill.truncate(format!("START{}END", "é".repeat(100_000)), Keep::HeadTail, Limits::default());
        assert!(cut.body.starts_with("START") && cut.body.ends_with("END"));
        assert!(cut.body.len() > MAX_BYTES - 2 * MARK_BYTES && fits(&cut.body, Limits::default()));
    }

    #[test]
    fn spill_quota() {
        let (_dir, spill) = spill();
        let paths: Vec<PathBuf> = (0..4).map(|_| spill.store("x", &[b'x'; 10]).unwrap()).collect();
        let now = SystemTime::now();
        for (days, path) in [(9, &paths[0]), (3, &paths[1]), (2, &paths[2]), (1, &paths[3])] {
            let time = now - Duration::from_secs(days * 24 * 3600);
            fs::OpenOptions::new().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
        spill.clean_to(Quota { bytes: 25, ..Quota::STATE }, now);
        let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(left, [false, false, true, true]);
    }

    proptest! {
        #[test]
        fn cut_text_is_within_limits_and_keeps_both_ends(
            text in proptest::collection::vec("[a-z日é ]{0,80}\n?", 0..120).prop_map(|parts| parts.concat()),
            lines in 8_usize..40,
            bytes in 700_usize..1400,
        ) {
            let limits = Limits { lines, bytes, ..Limits::default() };
            if !fits(&text, limits) {
                let body = cut(&text, None, Keep::HeadTail, Some(Path::new("/spill/x")), limits);
                prop_assert!(fits(&body, limits), "{} bytes", body.len());
                let (front, rest) = body.split_once("[… ").unwrap();
                let back = rest.split_once("…]\n").unwrap().1;
                prop_assert!(text.starts_with(front) || text.starts_with(front.trim_end_matches('\n')));
                prop_assert!(text.ends_with(back) && !back.is_empty() && !front.is_empty());
                let only_head = cut(&text, None, Keep::Head, None, limits);
                prop_assert!(fits(&only_head, limits));
            }
        }
    }
}
