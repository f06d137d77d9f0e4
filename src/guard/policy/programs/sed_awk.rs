//! Whether a `sed` or `awk` script only reads and prints; if that isn't certain, it does more.

/// Whether a `sed` script only edits text: it runs no commands, and reads and writes no files.
pub fn sed_looks(script: &str) -> bool {
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | ',' | '!' | '$' | '~' | '+' | '0'..='9' => {}
            'p' | 'd' | 'D' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l' | 'q' | 'Q' | 'z'
            | 'F' => {}
            '/' => {
                if !delimited(&mut chars, '/', 1) {
                    return false;
                }
                while chars.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            '\\' => {
                let Some(delimiter) = chars.next() else { return false };
                if !delimited(&mut chars, delimiter, 1) {
                    return false;
                }
            }
            's' | 'y' => {
                let Some(delimiter) = chars.next() else { return false };
                if delimiter == '\n' || delimiter == '\\' || !delimited(&mut chars, delimiter, 2) {
                    return false;
                }
                // `e` runs the result, `w` writes it to a file.
                while let Some(flag) = chars.next_if(|c| c.is_ascii_alphanumeric()) {
                    if !matches!(flag, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') {
                        return false;
                    }
                }
            }
            // Labels end with the command, text and comments with the line.
            ':' | 'b' | 't' | 'T' => while chars.next_if(|c| !matches!(c, ';' | '\n' | '}')).is_some() {},
            'a' | 'i' | 'c' | '#' => {
                let mut escaped = false;
                for c in chars.by_ref() {
                    if c == '\n' && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                }
            }
            _ => return false,
        }
    }
    true
}

/// Skips `count` parts that end with the delimiter; false if the script ends first.
fn delimited(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, delimiter: char, count: usize) -> bool {
    for _ in 0..count {
        let mut in_class = false;
        loop {
            match chars.next() {
                None => return false,
                Some('\\') => {
                    if chars.next().is_none() {
                        return false;
                    }
                }
                // GNU sed and others disagree about a delimiter inside brackets.
                Some('[') => in_class = true,
                Some(']') => in_class = false,
                Some(c) if c == delimiter => {
                    if in_class {
                        return false;
                    }
                    break;
                }
                Some(_) => {}
            }
        }
    }
    true
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
            // A pattern starts where a value can't end.
            '/' if !(before.is_ascii_alphanumeric()
                || matches!(before, ')' | ']' | '_' | '$')
                || quoted(&mut chars, '/')) =>
            {
                return false;
            }
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '|' if chars.next_if_eq(&'|').is_none() => return false,
            '@' => return false,
            // A comparison only inside a condition; elsewhere it writes a file.
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
        // `print > 1` writes a file of that name.
        && !writes(&bare)
}

/// Skips to the next `end` that no backslash precedes; false if there is none.
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

/// A number, field or variable follows, as in a comparison.
fn compares(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    while rest.next_if(|c| *c == ' ').is_some() {}
    rest.peek().is_some_and(|c| c.is_ascii_digit() || matches!(c, '$' | 'a'..='z' | 'A'..='Z'))
}

/// A `>` outside parentheses in the same statement as a print.
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
