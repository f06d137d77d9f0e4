//! Reduces test and compiler output to what went wrong and the totals: lines that report success (a passed
//! test, a compiled package, a download) are only counted. Goes by line shape, not by runner version. Pure.

use super::error_lines;

use base::pattern::Pattern;

static FINE: Pattern = Pattern::new(concat!(
    r"(?ix)^\s*(?: ",
    // cargo test, go test, pytest -v, jest, mocha, unittest -v, TAP
    r"test\ \S.*\ \.\.\.\ ok | (?:---|===)\ (?:PASS|RUN|CONT|PAUSE)\b.* | ok\ +\d+\b.* | ok\s+\S+\s+[\d.]+m?s.*",
    r" | \S+::\S.*\ PASSED\b.* | PASSED\ \S.* | (?:✓|✔|√|PASS)\s+\S.* | \w+\ \([\w.]+\)\ \.\.\.\ ok",
    r" | \S+\ \.\.\.\ ok | \.+\s*\[\s*\d+%\]",
    // compilers, package managers, downloads
    r" | (?:compiling|checking|building|downloading|downloaded|fetching|unpacking|installing|collecting|preparing|linking|generating|copying|creating|adding)\ \S.*",
    r" | requirement\ already\ satisfied.* | using\ cached\ .* | \[\s*\d+/\d+\]\s+(?:building|compiling|linking|cc|cxx)\b.*",
    r" | (?:get|hit|ign|selecting|setting\ up|processing)(?::\d+|\ ).*",
    r" )$",
));

/// Minimum number of such lines that are counted.
const FROM: usize = 5;

pub fn reduce(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let good: Vec<bool> = lines
        .iter()
        .map(|line| {
            line.len() < 400 && FINE.is_match(line) && (ends_well(line) || !error_lines::is_error(line))
        })
        .collect();
    if good.iter().filter(|good| **good).count() < FROM {
        return None;
    }
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut at = 0;
    let mut reduced = false;
    while at < lines.len() {
        let end = (at..lines.len()).find(|&index| !good[index]).unwrap_or(lines.len());
        if end - at >= FROM {
            reduced = true;
            out.push(lines[at].to_owned());
            out.push(format!("[… {} more lines that report success …]", end - at - 1));
            at = end;
        } else {
            let stop = end.max(at + 1);
            out.extend(lines[at..stop].iter().map(|line| (*line).to_owned()));
            at = stop;
        }
    }
    reduced.then(|| out.join("\n"))
}

/// Whether a line ends in success: a passed test about errors isn't an error.
fn ends_well(line: &str) -> bool {
    let last = line.trim_end().rsplit(' ').next().unwrap_or_default().to_ascii_lowercase();
    matches!(last.as_str(), "ok" | "passed" | "pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_totals_stay() {
        let passed: String = (0..20).map(|n| format!("test module::case_{n} ... ok\n")).collect();
        let text = format!(
            "running 21 tests\n{passed}test module::broken ... FAILED\n\nassertion failed: left == right\n  at src/a.rs:3\ntest result: FAILED. 20 passed; 1 failed"
        );
        insta::assert_snapshot!(reduce(&text).unwrap_or_default(), @r"
        running 21 tests
        test module::case_0 ... ok
        [… 19 more lines that report success …]
        test module::broken ... FAILED

        assertion failed: left == right
          at src/a.rs:3
        test result: FAILED. 20 passed; 1 failed
        ");
        assert_eq!(reduce("one\ntwo\nthree"), None);
    }
}
