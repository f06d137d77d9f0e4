//! Options the way programs read them: bundled letters, glued values, long names shortened.

use crate::shell::interpret::call::Arg;

/// Whether `arg` is the option `wanted`, also shortened, joined with a value or, for one letter, inside a bundle.
pub fn is(arg: &str, wanted: &str) -> bool {
    if wanted.len() > 2 {
        let name = arg.split('=').next().unwrap_or(arg);
        // GNU programs accept long options shortened to a single letter.
        return name == wanted || (name.len() > 2 && name.starts_with("--") && wanted.starts_with(name));
    }
    match wanted.strip_prefix('-') {
        Some(letter) => {
            arg.starts_with('-') && !arg.starts_with("--") && arg.len() > 1 && arg[1..].contains(letter)
        }
        None => arg.starts_with(wanted),
    }
}

pub fn has(args: &[Arg], wanted: &[&str]) -> bool {
    args.iter()
        .take_while(|arg| arg.text != "--")
        .any(|arg| wanted.iter().any(|option| is(&arg.text, option)))
}

/// The value of an option, glued or as the next word.
pub fn value<'a>(args: &'a [Arg], short: &str, long: &str) -> Option<Arg> {
    let cut = |arg: &'a Arg, at: usize| Arg {
        text: arg.text[at..].to_owned(),
        open_at: arg.open_at.map(|open| open.saturating_sub(at)),
        glob_at: arg.glob_at.map(|glob| glob.saturating_sub(at)),
    };
    for (at, arg) in args.iter().enumerate() {
        let text = arg.text.as_str();
        if !long.is_empty() && text.starts_with("--") {
            let (name, joined) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            if name == long || (name.len() > 3 && long.starts_with(name)) {
                return match joined {
                    Some(_) => Some(cut(arg, name.len() + 1)),
                    None => args.get(at + 1).cloned(),
                };
            }
        } else if !short.is_empty() && text.starts_with('-') && !text.starts_with("--") {
            let letter = short.trim_start_matches('-');
            if let Some(found) = text.find(letter).filter(|found| *found > 0) {
                let end = found + letter.len();
                return if end < text.len() { Some(cut(arg, end)) } else { args.get(at + 1).cloned() };
            }
        }
    }
    None
}

/// Words that are no options; behind `--` every word is one. `valued` are options whose value is the next word.
pub fn operands<'a>(args: &'a [Arg], valued: &[&str]) -> Vec<&'a Arg> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut options = true;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        if options && text == "--" {
            options = false;
        } else if options && text.starts_with('-') && text.len() > 1 {
            let takes_next = valued.iter().any(|option| {
                text == *option
                    || (option.len() == 2 && !text.starts_with("--") && text.ends_with(&option[1..]))
            });
            at += usize::from(takes_next);
        } else {
            found.push(arg);
        }
        at += 1;
    }
    found
}
