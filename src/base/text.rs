//! Formats and shortens text for display.

use percent_encoding::percent_decode_str;

/// `text` cut to `max_chars` characters, ending with `…` if cut.
pub fn elide(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some(_) if max_chars == 0 => String::new(),
        Some(_) => {
            let end = text.char_indices().nth(max_chars - 1).map_or(text.len(), |(index, _)| index);
            format!("{}…", &text[..end])
        }
    }
}

/// `text` on one line: runs of whitespace and control characters become one space, then [`elide`]d.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max_chars * 4));
    let mut pending_space = false;
    for (count, c) in text.chars().enumerate() {
        if c.is_whitespace() || c.is_control() {
            pending_space = !line.is_empty();
        } else {
            if pending_space {
                line.push(' ');
                pending_space = false;
            }
            line.push(c);
        }
        if count > max_chars * 2 + 64 && line.len() > max_chars * 4 {
            break;
        }
    }
    elide(&line, max_chars)
}

/// [`one_line`] for a path, or a title that ends with one: folders in the middle go, so that the file's name stays.
pub fn short_path(text: &str, max_chars: usize) -> String {
    let line = one_line(text, usize::from(u16::MAX));
    let name = line.rfind('/').map(|at| &line[at..]).filter(|_| line.chars().count() > max_chars);
    let room = name.and_then(|name| max_chars.checked_sub(name.chars().count() + 1));
    let Some((name, room)) = name.zip(room) else { return elide(&line, max_chars) };
    let front = line.char_indices().nth(room).map_or("", |(at, _)| &line[..at]);
    let whole = front.rfind(['/', ' ']).map_or(0, |at| at + 1);
    format!("{}…{name}", &front[..whole])
}

/// `a`, `a and b`, `a, b and c`.
pub fn and_list(all: &[&str]) -> String {
    match all {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else if let Some(stem) = noun.strip_suffix('y') {
        format!("{count} {stem}ies")
    } else if noun.ends_with("ch") || noun.ends_with('s') {
        format!("{count} {noun}es")
    } else {
        format!("{count} {noun}s")
    }
}

/// For users: `512 B`, `12.3 KiB`, `4.0 MiB`.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// For users: `$0.0123`, `$1.23`.
pub fn dollars(cost: f64) -> String {
    if cost < 0.1 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

/// For users: `950`, `12.3k`, `1.2M`.
pub fn human_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{:.1}k", tokens as f64 / 1e3),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

pub fn unescaped(address: &str) -> String {
    percent_decode_str(address).decode_utf8_lossy().into_owned()
}

pub fn uuid() -> String {
    let bits = fastrand::u128(..) & !(0xf000_c000 << 48) | 0x4000_8000 << 48;
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elide_counts_characters_not_bytes() {
        assert_eq!(elide("héllo", 5), "héllo");
        assert_eq!(elide("héllo wörld", 4), "hél…");
        assert_eq!(elide("abc", 0), "");
    }

    #[test]
    fn a_short_path_keeps_the_name() {
        let path = "services/auth/src/main/java/Token.java";
        assert_eq!(short_path(path, 38), path);
        assert_eq!(short_path(path, 37), "services/auth/src/main/…/Token.java");
        assert_eq!(short_path("Write services/auth/Token.java", 20), "Write …/Token.java");
        assert_eq!(short_path("Write services/auth/Token.java", 8), "Write s…");
        assert_eq!(short_path("no folder here", 9), "no folde…");
    }

    #[test]
    fn one_line_folds_white_space() {
        assert_eq!(one_line("  a\n\tb \r\n c", 20), "a b c");
        assert_eq!(one_line("", 20), "");
    }

    #[test]
    fn nouns_are_counted() {
        assert_eq!(plural(1, "match"), "1 match");
        assert_eq!(plural(2, "match"), "2 matches");
        assert_eq!(plural(3, "entry"), "3 entries");
    }
}
