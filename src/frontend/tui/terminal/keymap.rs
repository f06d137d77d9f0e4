//! Maps keys to actions: the table, overridden by the user's `[keys]`. Set once at startup.

use std::collections::HashMap;
use std::sync::OnceLock;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::key_name;
use super::key_table::{Action, EditCommand, KeyPlace, PLACES, ROWS};
use base::config::keys::KeyBinding;
use base::sanitize;
use base::search::fuzzy;

const HELP_KEYS: usize = 2;

static KEYMAP: OnceLock<Keymap> = OnceLock::new();

fn keymap() -> &'static Keymap {
    KEYMAP.get_or_init(|| Keymap::new(&[]).0)
}

/// Call before the first lookup; returns a message for each unusable line.
pub fn configure(bindings: &[KeyBinding]) -> Vec<String> {
    let (keymap, problems) = Keymap::new(bindings);
    let _ = KEYMAP.set(keymap);
    problems
}

pub fn action(place: KeyPlace, key: KeyEvent) -> Option<Action> {
    keymap().action(place, key)
}

pub fn edit(key: KeyEvent) -> Option<EditCommand> {
    match action(KeyPlace::Composer, key) {
        Some(Action::Edit(command)) => Some(command),
        Some(_) => None,
        None => plain_char(key).map(EditCommand::Insert),
    }
}

pub fn help() -> Vec<(String, String)> {
    let rows = ROWS.iter().zip(&keymap().names);
    let rows = rows.filter(|(row, names)| !row.help.is_empty() && !names.is_empty());
    let first = |names: &[String]| names[..names.len().min(HELP_KEYS)].join(", ");
    rows.map(|(row, names)| (first(names), row.help.to_owned())).collect()
}

pub fn actions() -> Vec<(String, String)> {
    let keys = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    ROWS.iter().zip(&keymap().names).map(|(row, names)| (row.name.to_owned(), keys(names))).collect()
}

/// Such as `Ctrl-R`; empty if the action has no key.
pub fn name(action: Action) -> String {
    let index = ROWS.iter().position(|row| row.action == action);
    index.and_then(|index| keymap().names[index].first().cloned()).unwrap_or_default()
}

pub fn plain_char(key: KeyEvent) -> Option<char> {
    key.code.as_char().filter(|_| !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT))
}

type Spot = (KeyPlace, KeyCode, KeyModifiers);

struct Keymap {
    rows: HashMap<Spot, usize>,
    names: Vec<Vec<String>>,
}

impl Keymap {
    fn new(bindings: &[KeyBinding]) -> (Self, Vec<String>) {
        let mut map = Self { rows: HashMap::new(), names: vec![Vec::new(); ROWS.len()] };
        let mut problems = Vec::new();
        let mut own: Vec<Option<&KeyBinding>> = vec![None; ROWS.len()];
        for binding in bindings {
            match ROWS.iter().position(|row| row.name == binding.action) {
                Some(index) => own[index] = Some(binding),
                None => problems.push(unknown_action(binding)),
            }
        }
        // The user's bindings first, so that they win over the defaults.
        for (index, binding) in own.iter().enumerate().filter_map(|(index, own)| Some((index, (*own)?))) {
            for name in &binding.keys {
                if let Err(problem) = map.bind(index, name) {
                    problems.push(format!("line {}: {problem}", binding.line));
                }
            }
        }
        for (index, row) in ROWS.iter().enumerate().filter(|(index, _)| own[*index].is_none()) {
            // The user may have bound one of several keys to something else.
            let bound = row.keys.split(' ').filter(|name| map.bind(index, name).is_ok()).count();
            if bound == 0 {
                let (name, keys) = (row.name, row.keys);
                problems.push(format!(
                    "`{name}` has no key, as {keys} does something else now. Give it another, or set it to \"none\"."
                ));
            }
        }
        (map, problems)
    }

    fn action(&self, place: KeyPlace, key: KeyEvent) -> Option<Action> {
        let bare = key.modifiers - KeyModifiers::SHIFT;
        let found = |modifiers| self.rows.get(&(place, key.code, modifiers));
        // An unbound Shift combination falls back to the plain key.
        found(key.modifiers).or_else(|| found(bare)).map(|index| ROWS[*index].action)
    }

    fn bind(&mut self, index: usize, name: &str) -> Result<(), String> {
        let row = &ROWS[index];
        let place = row.action.place();
        let shown = sanitize::reveal(name);
        let key = key_name::parse(name).ok_or_else(|| {
            format!("'{shown}' is not a key. Keys are written like ctrl-r, alt-left, shift-tab or f5.")
        })?;
        if !matches!(place, KeyPlace::List | KeyPlace::Pager) && plain_char(key).is_some() {
            return Err(format!("'{shown}' is typed as text; `{}` needs a key with Ctrl or Alt.", row.name));
        }
        if let Some(other) = self.holder(place, key) {
            let (other, name) = (ROWS[other].name, row.name);
            return Err(format!("'{shown}' is the key of `{other}` already; `{name}` needs another."));
        }
        self.rows.insert((place, key.code, key.modifiers), index);
        self.names[index].push(key_name::show(key));
        Ok(())
    }

    /// The row that has this key in `at`, or in a place that overlaps it.
    fn holder(&self, at: KeyPlace, key: KeyEvent) -> Option<usize> {
        let meets =
            |place: KeyPlace| place == at || place == KeyPlace::Everywhere || at == KeyPlace::Everywhere;
        let places = PLACES.into_iter().filter(|place| meets(*place));
        let mut found = places.filter_map(|place| self.rows.get(&(place, key.code, key.modifiers)));
        found.next().copied()
    }
}

fn unknown_action(binding: &KeyBinding) -> String {
    let meant = fuzzy::nearest_name(&binding.action, ROWS.iter().map(|row| row.name));
    let meant = meant.map_or_else(String::new, |name| format!(" Did you mean `{name}`?"));
    let (line, action) = (binding.line, sanitize::reveal(&binding.action));
    format!("line {line}: '{action}' is not an action for a key.{meant} `/help keys` lists them.")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn binding(action: &str, keys: &[&str], line: usize) -> KeyBinding {
        KeyBinding { action: action.to_owned(), keys: keys.iter().map(ToString::to_string).collect(), line }
    }

    fn does(map: &Keymap, place: KeyPlace, name: &str) -> Option<Action> {
        map.action(place, key_name::parse(name).unwrap())
    }

    #[test]
    fn table_has_no_clash() {
        let (map, problems) = Keymap::new(&[]);
        assert_eq!(problems, Vec::<String>::new());
        let lines = include_str!("keys.txt").lines().filter(|line| line.contains('|'));
        assert_eq!(lines.count(), ROWS.len(), "every row is understood");
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(map.names[index].len(), row.keys.split(' ').count(), "{}", row.name);
            assert_eq!(ROWS.iter().filter(|other| other.name == row.name).count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn own_keys_win() {
        let own = [binding("undo", &["ctrl-h", "f2"], 4), binding("redraw", &[], 5)];
        let (map, problems) = Keymap::new(&own);
        assert_eq!(problems, Vec::<String>::new(), "another key does the same still");
        assert_eq!(does(&map, KeyPlace::Composer, "ctrl-h"), Some(Action::Edit(EditCommand::Undo)));
        assert_eq!(does(&map, KeyPlace::Composer, "ctrl-_"), None);
        assert_eq!(does(&map, KeyPlace::Everywhere, "ctrl-l"), None);
    }

    #[test]
    fn lines_that_cannot_be_used() {
        let own = [
            binding("unod", &["f2"], 2),
            binding("undo", &["ctrl-wow"], 3),
            binding("quit", &["ctrl-t"], 4),
            binding("cancel", &["ctrl-t"], 5),
            binding("send", &["x"], 6),
        ];
        let (map, problems) = Keymap::new(&own);
        let all = problems.join("\n");
        for part in [
            "line 2: 'unod' is not an action for a key. Did you mean `undo`?",
            "line 3: 'ctrl-wow' is not a key.",
            "line 4: 'ctrl-t' is the key of `cancel` already",
            "line 6: 'x' is typed as text",
            "`transcript` has no key, as ctrl-t does something else now",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert_eq!(does(&map, KeyPlace::Composer, "ctrl-t"), Some(Action::Cancel));
    }
}
