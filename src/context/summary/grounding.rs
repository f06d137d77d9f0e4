//! Text that occurred in the log, normalized for looking up names: one kind of slash, string arguments, listings
//! joined with their folder. Pure.

use serde_json::Value;

use base::model::item::Item;
use base::model::observation::Observation;

/// Each text is one item, so that one can check whether two names occur together.
#[derive(Clone, Debug, Default)]
pub struct Grounding {
    texts: Vec<String>,
    /// Absolute, without a trailing slash; the log may have paths relative to it.
    workspace: Option<String>,
}

impl Grounding {
    pub fn gather<'a>(items: impl IntoIterator<Item = &'a Item>, facts: &str) -> Self {
        let mut evidence = Self { texts: vec![plain(facts)], workspace: None };
        for item in items {
            evidence.add(item);
        }
        evidence
    }

    fn add(&mut self, item: &Item) {
        let mut text = String::new();
        let mut add = |part: &str| {
            text.push_str(part);
            text.push('\n');
        };
        match item {
            Item::ToolCall(call) => {
                add(&call.name);
                match call.parsed_args() {
                    Ok(args) => strings(&args, &mut add),
                    Err(_) => add(&call.args),
                }
            }
            item => add(&item.text()),
        }
        if let Item::ToolResult(result) = item {
            result.envelope.data.to_map().values().for_each(|value| strings(value, &mut add));
            let names = listed(&result.envelope.data.observation, &result.envelope.body);
            names.iter().for_each(|name| add(name));
        }
        if let Some((_, rest)) = text.split_once("Workspace: ").filter(|_| matches!(item, Item::User(_))) {
            let folder = rest.split(". ").next().unwrap_or_default().trim_end_matches('/');
            self.workspace.get_or_insert(plain(folder).trim().to_owned());
        }
        self.texts.push(plain(&text));
    }

    /// Whether a name (in [`plain`] form) occurs as a whole, not as part of a longer one.
    pub fn has(&self, name: &str) -> bool {
        self.occurs(name)
            || self
                .workspace
                .as_deref()
                .and_then(|folder| name.strip_prefix(folder))
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|rest| !rest.is_empty() && self.occurs(rest))
    }

    fn occurs(&self, name: &str) -> bool {
        self.texts.iter().any(|text| occurs(text, name))
    }

    pub fn has_folder(&self, name: &str) -> bool {
        let name = format!("{name}/");
        let is_path = |text: &str, at: usize| {
            let free = |c: char| c.is_whitespace();
            let rest = text[at..].split(free).next().unwrap_or_default();
            let is_whole =
                !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
            is_whole && (rest == name || rest.contains('.'))
        };
        self.texts.iter().any(|text| text.match_indices(&*name).any(|(at, _)| is_path(text, at)))
    }

    pub fn together(&self, names: &[&str]) -> bool {
        self.texts.iter().any(|text| names.iter().all(|name| occurs(text, name)))
    }
}

fn strings(value: &Value, add: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => add(text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, add)),
        Value::Object(values) => values.values().for_each(|value| strings(value, add)),
        _ => {}
    }
}

/// Names in a listing, prefixed with the folder that the listing leaves out.
fn listed(observation: &Observation, body: &str) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    match observation {
        Observation::Listing(listing) => {
            folders.extend(listing.path.clone());
            names.extend(body.lines());
        }
        Observation::Command(ran) => {
            let command = ran.command.as_deref().unwrap_or_default();
            let cwd = ran.cwd.as_deref().filter(|cwd| *cwd != ".");
            let words =
                || command.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '"' | '\''));
            folders.extend(cwd.map(str::to_owned));
            let lists = words().any(|word| matches!(word, "ls" | "cd"));
            if lists {
                folders.extend(
                    words().filter(|word| word.len() > 1 && !word.starts_with('-')).map(str::to_owned),
                );
            }
            if cwd.is_some() || lists {
                names.extend(words());
                names.extend(body.lines().take(2_000));
            }
        }
        _ => {}
    }
    let mut joined = Vec::new();
    for folder in folders.iter().take(8) {
        let folder = folder.trim_end_matches('/');
        for name in &names {
            // Depending on the listing's format, the name is the first or the last word of a line.
            for name in [name.split_whitespace().next(), name.split_whitespace().last()].into_iter().flatten()
            {
                if name.len() > 1 && !name.starts_with(['/', '-']) && joined.len() < 10_000 {
                    joined.push(format!("{folder}/{name}"));
                }
            }
        }
    }
    joined
}

/// A text normalized for comparing names: one kind of slash, no quotes, line breaks, runs of blanks or `./`.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    for c in text.chars() {
        match c {
            '\\' => out.push('/'),
            '"' | '\'' | '`' | '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' => {}
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '/' if out.ends_with(" .") || out.ends_with("/.") => {
                out.pop();
            }
            '/' if out.ends_with('/') => {}
            c => out.push(c),
        }
    }
    out
}

fn occurs(text: &str, name: &str) -> bool {
    let name = name.trim();
    if name.is_empty() {
        return true;
    }
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let starts_as_word = name.starts_with(|c| word(c) || c == '.');
    let starts_at_root = name.starts_with('/');
    let ends_as_word = name.ends_with(word);
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut behind = text[at + name.len()..].chars();
        let (next, after) = (behind.next(), behind.next());
        // `data.rs` isn't evidence of `a.rs`, nor `/var/tmp/a.rs` of `/tmp/a.rs`.
        let free_before = match before {
            Some(c) if starts_at_root => !(word(c) || matches!(c, '/' | '.' | '~' | '}')),
            Some(c) if starts_as_word => !(word(c) || c == '.' && name.contains('/')),
            _ => true,
        };
        // `src/lib` doesn't match `src/lib.rs`, but it may end a sentence.
        let free_behind = match next {
            Some('.') if ends_as_word && (name.contains('/') || name.contains('.')) => {
                !after.is_some_and(word)
            }
            Some(c) if ends_as_word => !word(c),
            _ => true,
        };
        free_before && free_behind
    })
}
