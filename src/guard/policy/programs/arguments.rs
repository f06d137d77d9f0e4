//! Splits a call's arguments like its program does: options with values according to a row, and words.
//! What can't be told apart counts as both.

use super::table::{ArgRole, OptionRule, ProgramAction, Row};
use crate::shell::interpret::call::Arg;

#[derive(Debug, Default)]
pub struct Arguments<'a> {
    pub words: Vec<&'a Arg>,
    pub actions: Vec<(ProgramAction, String)>,
    pub values: Vec<(ArgRole, Arg)>,
    /// Options as written, without those whose value doesn't matter.
    pub options: Vec<&'a Arg>,
    /// An option replaces what is otherwise the first word.
    pub has_first_word: bool,
    /// An unknown option may take a word as its value.
    pub has_unknown: bool,
}

impl<'a> Arguments<'a> {
    /// `base` is the program's main row, whose options apply as well.
    pub fn read(row: &Row, base: Option<&Row>, args: &'a [Arg]) -> Self {
        let base = base.filter(|base| !std::ptr::eq(*base, row));
        let mut reader = Reader {
            rules: row.options.iter().chain(base.into_iter().flat_map(|base| &base.options)).collect(),
            exact: row.has("exact") || base.unwrap_or(row).is_exact(),
            args,
            at: 0,
            found: Self::default(),
        };
        let ends = row.has("first") || base.is_some_and(|base| base.has("first")) && !row.has("own-options");
        let mut options = true;
        while let Some(arg) = args.get(reader.at) {
            reader.at += 1;
            let text = arg.text.as_str();
            if options && text == "--" {
                options = row.has("nodashes");
            } else if options && (text.len() > 1 && text.starts_with('-') || reader.is_named(text)) {
                reader.option(arg);
            } else if reader.at == 1
                && row.has("letters")
                && text.bytes().all(|byte| byte.is_ascii_alphabetic())
            {
                reader.bundle(arg, 0);
            } else {
                reader.found.words.push(arg);
            }
            // The rest are arguments of the executed code.
            let before_code = row.sub_words().max(1);
            options &= !ends || reader.found.words.len() < before_code && !reader.found.has_first_word;
        }
        reader.found
    }

    pub fn has(&self, wanted: ProgramAction) -> bool {
        self.actions.iter().any(|(action, _)| *action == wanted)
    }
}

struct Reader<'a, 'r> {
    rules: Vec<&'r OptionRule>,
    exact: bool,
    args: &'a [Arg],
    at: usize,
    found: Arguments<'a>,
}

impl<'a, 'r> Reader<'a, 'r> {
    fn rule(&self, name: &str) -> Option<&'r OptionRule> {
        let is = |known: &&str| {
            *known == name
                || known
                    .strip_prefix('*')
                    .is_some_and(|end| !end.is_empty() && name.ends_with(end) && name.starts_with('-'))
        };
        self.rules.iter().find(|rule| rule.names.iter().any(is)).copied()
    }

    /// `+word` and `name=value`, if the row has such options.
    fn is_named(&self, text: &str) -> bool {
        text.starts_with('+') && self.rule("+").is_some()
            || text.find('=').is_some_and(|at| self.rule(&text[..=at]).is_some())
    }

    fn option(&mut self, arg: &'a Arg) {
        let text = arg.text.as_str();
        let before = self.found.values.len();
        let (name, value_at) = match text.find('=') {
            Some(at) if !text.starts_with('-') => (&text[..=at], Some(at + 1)),
            Some(at) if at > 2 || self.exact => (&text[..at], Some(at + 1)),
            _ => (text, None),
        };
        let name = if name.starts_with('+') { "+" } else { name };
        if let Some(rule) = self.rule(name).or_else(|| self.rule(text)) {
            self.apply(rule, name, value_at.map(|at| cut(arg, at)));
        } else if name.starts_with("--") {
            // GNU programs accept abbreviated long options.
            let rules: Vec<&OptionRule> = self
                .rules
                .iter()
                .filter(|rule| name.len() > 2 && rule.names.iter().any(|known| known.starts_with(name)))
                .filter(|rule| rule.actions.iter().all(|action| !loosens(*action)))
                .copied()
                .collect();
            if rules.is_empty() || self.exact {
                self.unknown(text);
            } else {
                let start = self.at;
                for rule in rules {
                    self.at = start;
                    self.apply(rule, name, value_at.map(|at| cut(arg, at)));
                }
            }
        } else if self.exact {
            self.unknown(text);
        } else {
            self.bundle(arg, 1);
        }
        let is_value = self.found.values.len() > before;
        if !is_value || self.found.values[before..].iter().any(|(role, _)| *role != ArgRole::Skip) {
            self.found.options.push(arg);
        }
    }

    fn unknown(&mut self, name: &str) {
        self.found.has_unknown = true;
        if let Some(rule) = self.rules.iter().find(|rule| rule.names.contains(&"*")) {
            self.apply(rule, name, None);
        }
    }

    /// A bundle such as `-xzf`: the text after a letter that takes a value is its value.
    fn bundle(&mut self, arg: &'a Arg, from: usize) {
        for (at, c) in arg.text.char_indices().skip(from) {
            let name = format!("-{c}");
            let Some(rule) = self.rule(&name) else {
                if !c.is_ascii_digit() {
                    self.unknown(&arg.text);
                }
                continue;
            };
            let takes_rest = rule
                .actions
                .iter()
                .any(|action| matches!(action, ProgramAction::Value(_) | ProgramAction::All(_)));
            // In a bundle without a dash, values are separate words.
            if takes_rest && from > 0 {
                let end = at + c.len_utf8();
                let rest = (end < arg.text.len()).then(|| cut(arg, end));
                self.apply(rule, &name, rest);
                return;
            }
            if !takes_rest {
                self.apply(rule, &name, None);
            }
        }
    }

    fn apply(&mut self, rule: &OptionRule, name: &str, mut joined: Option<Arg>) {
        self.found.has_first_word |= rule.is_first_word;
        for action in &rule.actions {
            match action {
                ProgramAction::Value(role) => {
                    let value = joined.take().or_else(|| {
                        self.at += 1;
                        self.args.get(self.at - 1).cloned()
                    });
                    self.found.values.extend(value.map(|value| (*role, value)));
                }
                ProgramAction::Sub => self.found.words.extend(self.args.get(self.at - 1)),
                // The suffix of a backup can be a path.
                ProgramAction::All(ArgRole::Write)
                    if joined.as_ref().is_some_and(|rest| rest.text.contains(['/', '*'])) =>
                {
                    self.found.values.extend(joined.take().map(|rest| (ArgRole::Write, rest)));
                    self.found.actions.push((*action, name.to_owned()));
                }
                action => self.found.actions.push((*action, name.to_owned())),
            }
        }
    }
}

fn loosens(action: ProgramAction) -> bool {
    use ProgramAction::{Inspect, Look, Many, Offline, Ok};
    matches!(action, Ok | Look | Inspect | Many | Offline)
}

pub fn cut(arg: &Arg, at: usize) -> Arg {
    Arg {
        text: arg.text[at..].to_owned(),
        open_at: arg.open_at.map(|open| open.saturating_sub(at)),
        glob_at: arg.glob_at.map(|glob| glob.saturating_sub(at)),
    }
}
