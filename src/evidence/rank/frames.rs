//! Parses stack traces of many languages, innermost frame first.

use base::pattern::Pattern;

const MAX_FRAMES: usize = 60;

static PYTHON_FRAME: Pattern = Pattern::new(r#"File "([^"\n]+)", line [0-9]+"#);
static PLACE: Pattern = Pattern::new(
    r"([A-Za-z0-9_./\\@+~\u{C0}-\u{52F}-]*[A-Za-z0-9_\u{C0}-\u{52F}-]\.(?:pyi?|pyx|rs|go|[mc]?[jt]sx?|vue|java|kt|scala|cs|rb|php|swift|cc|cpp|cxx|hpp|hh|[ch])):[0-9]+",
);

/// The files of the frames, each once.
pub fn find(text: &str) -> Vec<String> {
    let paths = |pattern: &'static Pattern| -> Vec<String> {
        pattern.captures_iter(text).map(|found| found[1].replace('\\', "/")).collect()
    };
    let (mut found, mut others) = (paths(&PYTHON_FRAME), paths(&PLACE));
    // Python puts the innermost frame last, all others first.
    let python = |path: &&String| path.ends_with(".py");
    if others.iter().filter(python).count() * 2 > others.len() {
        others.reverse();
    }
    found.reverse();
    found.extend(others);
    let mut unique: Vec<String> = Vec::new();
    for path in found {
        if !unique.contains(&path) && unique.len() < MAX_FRAMES {
            unique.push(path);
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
        assert_eq!(find(text), ["/go/src/app/stop.go", "/go/src/app/main.go", "Row.java"]);
    }
}
