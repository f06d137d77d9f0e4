//! Parses stack traces of many languages, innermost frame first.

use base::pattern::Pattern;

const MAX_FRAMES: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub path: String,
    pub function: Option<String>,
    pub line: u32,
}

static PYTHON_FRAME: Pattern = Pattern::new(r#"File "([^"\n]+)", line ([0-9]+)(?:, in ([A-Za-z0-9_.<>]+))?"#);
static PLACE: Pattern = Pattern::new(
    r"([A-Za-z0-9_./\\@+~\u{C0}-\u{52F}-]*[A-Za-z0-9_\u{C0}-\u{52F}-]\.(?:pyi?|pyx|rs|go|[mc]?[jt]sx?|vue|java|kt|scala|cs|rb|php|swift|cc|cpp|cxx|hpp|hh|[ch])):([0-9]+)",
);

pub fn matches<'t>(pattern: &'static Pattern, text: &'t str) -> impl Iterator<Item = regex::Captures<'t>> {
    pattern.captures_iter(text)
}

pub fn find(text: &str) -> Vec<Frame> {
    let mut found: Vec<Frame> = Vec::new();
    for capture in matches(&PYTHON_FRAME, text) {
        found.push(Frame {
            path: capture[1].replace('\\', "/"),
            function: capture.get(3).map(|name| name.as_str().to_owned()),
            line: capture[2].parse().unwrap_or(0),
        });
    }
    let mut others: Vec<Frame> = Vec::new();
    for capture in matches(&PLACE, text) {
        let path = capture[1].replace('\\', "/");
        others.push(Frame { path, function: None, line: capture[2].parse().unwrap_or(0) });
    }
    // Python puts the innermost frame last, all others first.
    let python = |frame: &&Frame| frame.path.ends_with(".py");
    if others.iter().filter(python).count() * 2 > others.len() {
        others.reverse();
    }
    found.reverse();
    found.extend(others);
    let mut unique: Vec<Frame> = Vec::new();
    for frame in found {
        if !unique.contains(&frame) && unique.len() < MAX_FRAMES {
            unique.push(frame);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_order() {
        let text = "panic\ngoroutine 1:\nmain.stop()\n\t/go/src/app/stop.go:12 +0x1\nmain.main()\n\t/go/src/app/main.go:7\n  at Row.total (Row.java:31)";
        let paths: Vec<String> = find(text).into_iter().map(|frame| frame.path).collect();
        assert_eq!(paths, ["/go/src/app/stop.go", "/go/src/app/main.go", "Row.java"]);
    }
}
