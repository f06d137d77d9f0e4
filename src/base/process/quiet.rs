//! An environment in which programs don't ask, page or draw progress. `CI` and `NO_COLOR` aren't set, because test
//! suites behave differently under them.

use std::ffi::OsString;

/// For everything we start: a pager or an editor would wait for a user who isn't there.
const ALWAYS: &str = "\
    PAGER=cat GIT_PAGER=cat MANPAGER=cat GH_PAGER=cat SYSTEMD_PAGER= LESS=-FRX EDITOR=true VISUAL=true \
    GIT_EDITOR=true GIT_TERMINAL_PROMPT=0 GCM_INTERACTIVE=never TERM=dumb";

/// For the model's commands, unless the user has set the variable.
const UNLESS_SET: &str = include_str!("quiet_unless_set.txt");

pub fn for_command(set: impl Fn(&str) -> Option<OsString>) -> Vec<(&'static str, &'static str)> {
    let missing = |name: &str| set(name).is_none();
    let mut added: Vec<_> = variables(UNLESS_SET).filter(|(name, _)| missing(name)).collect();
    let empty = |name: &&str| set(name).is_none_or(|value| value.is_empty());
    if ["LANG", "LC_ALL", "LC_CTYPE"].iter().all(empty) {
        added.push(("LC_CTYPE", "C.UTF-8"));
    }
    added
}

pub fn always() -> impl Iterator<Item = (&'static str, &'static str)> {
    variables(ALWAYS)
}

fn variables(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    list.split_whitespace().filter_map(|variable| variable.split_once('='))
}
