//! Folds neighboring lines that are the same, or differ only in digits, into the first and last of them with a count.
//! Pure; the text between stays as it is.

use super::error_lines;

/// Lines of one kind in a row from which on they are folded.
const FROM: usize = 4;

/// `text` with its repetitions folded, or `None` when there are none.
pub fn fold(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let shapes: Vec<String> = lines.iter().map(|line| shape(line)).collect();
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut folded = false;
    let mut at = 0;
    while at < lines.len() {
        let mut end = at + 1;
        // Text without letters (a table of numbers) may be the very thing that was asked for.
        let foldable = shapes[at].bytes().any(|b| b.is_ascii_alphabetic());
        // Of errors the digits are places: only those that say the very same are folded.
        let places = foldable && error_lines::is_error(lines[at]);
        while foldable
            && end < lines.len()
            && if places { lines[end] == lines[at] } else { shapes[end] == shapes[at] }
        {
            end += 1;
        }
        if end - at < FROM {
            out.extend(lines[at..end].iter().map(|line| (*line).to_owned()));
        } else {
            folded = true;
            out.push(lines[at].to_owned());
            if lines[at] == lines[end - 1] {
                out.push(format!("[the same line {} times]", end - at));
            } else {
                out.push(format!("[… {} lines like these …]", end - at - 2));
                out.push(lines[end - 1].to_owned());
            }
        }
        at = end;
    }
    folded.then(|| out.join("\n"))
}

/// A line with each run of digits as one `0`.
fn shape(line: &str) -> String {
    let mut shape = String::with_capacity(line.len());
    let mut in_digits = false;
    for c in line.trim_end().chars() {
        let digit = c.is_ascii_digit();
        if !digit {
            shape.push(c);
        } else if !in_digits {
            shape.push('0');
        }
        in_digits = digit;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_digits_fold() {
        let text =
            "begin\nstep 1 of 90\nstep 2 of 90\nstep 13 of 90\nstep 4 of 90\nstep 5 of 90\nend\nx\nx\nx\nx";
        insta::assert_snapshot!(fold(text).unwrap_or_default(), @r"
        begin
        step 1 of 90
        [… 3 lines like these …]
        step 5 of 90
        end
        x
        [the same line 4 times]
        ");
        assert_eq!(fold("1\n2\n3\n4\n5\n6"), None);
        assert_eq!(fold("a\nb\na\nb"), None);
    }
}
