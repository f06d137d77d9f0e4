//! Whether a `sed` or `awk` script certainly only reads and prints.

use std::sync::LazyLock;

use regex::Regex;

/// Characters accepted as delimiters of `s` and `y`.
const MARKS: [char; 15] = ['/', '|', ',', '#', '@', ':', '!', '_', '%', '~', '+', ';', '=', '^', '&'];

/// Matches command by command. `s` must end with its flags, because others could run or write its result.
static SED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let mut commands = vec![
        r"[ \t\n;{},!$~+0-9pdDPnNgGhHx=lqQzF]".to_owned(),
        // Labels end with the command, text and comments with the line.
        r"[:btT][^;\n}]*".to_owned(),
        r"[aic#](?:[^\\\n]|\\.)*(?:\n|\\?\z)".to_owned(),
    ];
    for mark in MARKS.map(|mark| regex::escape(&mark.to_string())) {
        // GNU sed and others disagree about delimiters inside brackets.
        let part = format!(r"(?:[^\\\[{mark}]|\\.|\[(?:[^\]\\{mark}]|\\.)*\])*{mark}");
        let end = r"[ \t]*(?:[;\n}]|\z)";
        commands.push(format!(r"s{mark}{part}{part}[gpiImM0-9]*{end}|y{mark}{part}{part}{end}"));
        commands.push(format!(r"{}{mark}{part}[IM]*", if mark == "/" { "" } else { r"\\" }));
    }
    Regex::new(&format!(r"(?s)\A(?:{})*\z", commands.join("|"))).ok()
});

/// Whether a `sed` script only edits text: it runs no commands, and reads and writes no files.
pub fn sed_looks(script: &str) -> bool {
    SED.as_ref().is_some_and(|sed| sed.is_match(script))
}

/// Whether an `awk` program only prints: no commands, files or libraries.
pub fn awk_looks(program: &str) -> bool {
    let mut chars = program.chars().peekable();
    let mut word = String::new();
    let mut before = ' ';
    // The program without its strings and patterns.
    let mut bare = String::new();
    while let Some(c) = chars.next() {
        bare.push(c);
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            before = c;
            continue;
        }
        if matches!(word.as_str(), "system" | "getline" | "fflush" | "close") {
            return false;
        }
        word.clear();
        match c {
            '"' if !quoted(&mut chars, '"') => return false,
            // A pattern starts only where no value has just ended.
            '/' if !(before.is_ascii_alphanumeric()
                || matches!(before, ')' | ']' | '_' | '$')
                || quoted(&mut chars, '/')) =>
            {
                return false;
            }
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '|' if chars.next_if_eq(&'|').is_none() => return false,
            '@' => return false,
            // Inside a condition it is a comparison; elsewhere it writes a file.
            '>' if chars.next_if_eq(&'=').is_some() => {
                bare.pop();
            }
            '>' if !compares(&mut chars.clone()) => return false,
            _ => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    !matches!(word.as_str(), "system" | "getline")
        // `print > 1` writes a file named `1`.
        && !writes(&bare)
}

/// Skips to the next `end` without a backslash; `false` if there is none.
fn quoted(chars: &mut impl Iterator<Item = char>, end: char) -> bool {
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            _ if c == end => return true,
            _ => {}
        }
    }
    false
}

/// Whether a number, field or variable follows, as in a comparison.
fn compares(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    while rest.next_if(|c| *c == ' ').is_some() {}
    rest.peek().is_some_and(|c| c.is_ascii_digit() || matches!(c, '$' | 'a'..='z' | 'A'..='Z'))
}

/// Whether a statement with a print has a `>` outside parentheses.
fn writes(program: &str) -> bool {
    program.split(['{', '}', ';', '\n']).any(|statement| {
        let statement = statement.trim_start();
        let Some(at) = statement.find("print") else { return false };
        let mut depth = 0_i32;
        statement[at..].chars().any(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == '>' && depth <= 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_scripts() {
        for script in [
            "1,20p",
            "$p",
            "/x/d",
            "s/a/b/g",
            "s|/a|/b|",
            "/^a/,/^b/p",
            "s/a/b/;s/c/d/g",
            "10q",
            "/x/{p;d}",
            "y/a/b/",
            "s/rm -rf/w x/",
            "$!N;P;D",
            "\\,a,p",
            "/x/I p",
            "s/[^a\\]b]/x/;p",
            "2,5{s/a/b/gi ;p}",
            "a added text",
            "",
        ] {
            assert!(sed_looks(script), "{script}");
        }
        for script in [
            "1e id",
            "s/a/b/e",
            "s/a/b/w f",
            "w f",
            "r /etc/shadow",
            "R f",
            "e",
            "s/a/b/gw f",
            "/x/w f",
            "s/[/]/x/e/",
            "s/a/b/ie id",
            "s/a/b/mw f",
            "s|a|b|e",
            "s/a/b/g;s/c/d/e",
            "\\,a,w f",
        ] {
            assert!(!sed_looks(script), "{script}");
        }
    }

    #[test]
    fn awk_programs() {
        for program in [
            "{print $1}",
            "NR>5",
            "$3 > 10 {print $1}",
            "/a|b/ {print}",
            "BEGIN{FS=\",\"} {s+=$2} END{print s}",
            "{print \"a > b | c\"}",
            "length($0) > 100",
            "{ if ($1 > 2) print $2 }",
            "!seen[$0]++",
            "$1 >= 2",
        ] {
            assert!(awk_looks(program), "{program}");
        }
        for program in [
            "{system(\"x\")}",
            "{print > \"f\"}",
            "{print | \"sh\"}",
            "BEGIN{\"id\" | getline x}",
            "{print >> \"f\"}",
            "@include \"x\"",
            "BEGIN { while ((getline l < \"/etc/shadow\") > 0) print l }",
            "{print $1 > $2}",
            "{print > FILENAME}",
            "{printf \"x\" > f}",
            "{print \"x\" |& \"sh\"}",
        ] {
            assert!(!awk_looks(program), "{program}");
        }
    }
}
