//! Folds adjacent lines that are equal, or differ only in numbers that count up, into the first and last with
//! a count. Measurements (a loss, a duration) stay: they are what was asked for. Pure.

use super::error_lines;

/// Minimum run of similar lines that is folded.
const FROM: usize = 4;

pub fn fold(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let shapes: Vec<(String, Vec<Number>)> = lines.iter().map(|line| shape(line)).collect();
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut folded = false;
    let mut at = 0;
    while at < lines.len() {
        let mut end = at + 1;
        // Text without letters (a table of numbers) may be exactly what was asked for.
        let foldable = shapes[at].0.bytes().any(|b| b.is_ascii_alphabetic());
        // In errors, digits are places: only identical lines are folded.
        let places = foldable && error_lines::is_error(lines[at]);
        while foldable
            && end < lines.len()
            && (lines[end] == lines[at] || !places && counts_up(&shapes[end - 1], &shapes[end]))
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

/// A run of digits, and whether it is part of a decimal number.
type Number<'a> = (&'a str, bool);

/// A line with each run of digits replaced by `0`, and these runs.
fn shape(line: &str) -> (String, Vec<Number<'_>>) {
    let line = line.trim_end();
    let mut shape = String::with_capacity(line.len());
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(from) = line[at..].find(|c: char| c.is_ascii_digit()).map(|from| at + from) {
        let end = line[from..].find(|c: char| !c.is_ascii_digit()).map_or(line.len(), |len| from + len);
        let digit_beyond =
            |rest: Option<&str>| rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let before =
            line[..from].strip_suffix('.').is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
        shape.push_str(&line[at..from]);
        shape.push('0');
        numbers.push((&line[from..end], before || digit_beyond(line[end..].strip_prefix('.'))));
        at = end;
    }
    shape.push_str(&line[at..]);
    (shape, numbers)
}

/// Whether a line differs from the previous one only in larger integers.
fn counts_up(before: &(String, Vec<Number>), now: &(String, Vec<Number>)) -> bool {
    let value =
        |digits: &str| (digits.trim_start_matches('0').len(), digits.trim_start_matches('0').to_owned());
    before.0 == now.0
        && before
            .1
            .iter()
            .zip(&now.1)
            .all(|((old, _), (new, measured))| old == new || !measured && value(old) < value(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_digits_fold() {
        let text =
            "begin\nstep 1 of 90\nstep 2 of 90\nstep 3 of 90\nstep 4 of 90\nstep 15 of 90\nend\nx\nx\nx\nx";
        insta::assert_snapshot!(fold(text).unwrap_or_default(), @r"
        begin
        step 1 of 90
        [… 3 lines like these …]
        step 15 of 90
        end
        x
        [the same line 4 times]
        ");
        let losses: String = (0..40).map(|n| format!("epoch {n} loss 0.{}\n", 9344 - n * 7)).collect();
        assert_eq!(fold(&losses), None, "measurements stay");
        assert_eq!(fold(&losses.replace("0.", "")), None, "so does what falls");
        assert_eq!(fold("1\n2\n3\n4\n5\n6"), None);
        assert_eq!(fold("a\nb\na\nb"), None);
    }
}
