//! The environment in which programs ask nothing, page nothing and draw no progress. `CI` and `NO_COLOR` are left
//! alone: test suites behave differently under them.

use std::ffi::OsString;

/// For everything we start: a pager or an editor would wait for a user who isn't there.
const ALWAYS: &str = "\
    PAGER=cat GIT_PAGER=cat MANPAGER=cat GH_PAGER=cat SYSTEMD_PAGER= LESS=-FRX EDITOR=true VISUAL=true \
    GIT_EDITOR=true GIT_TERMINAL_PROMPT=0 GCM_INTERACTIVE=never TERM=dumb";

/// For the model's commands, unless the user has set the variable.
const UNLESS_SET: &str = "\
    DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l PIP_NO_INPUT=1 PIP_PROGRESS_BAR=off \
    PIP_DISABLE_PIP_VERSION_CHECK=1 UV_NO_PROGRESS=1 TQDM_DISABLE=1 HF_HUB_DISABLE_PROGRESS_BARS=1 \
    npm_config_yes=true npm_config_progress=false npm_config_fund=false npm_config_audit=false \
    CARGO_TERM_PROGRESS_WHEN=never PYTHONUNBUFFERED=1 COMPOSER_NO_INTERACTION=1 \
    HOMEBREW_NO_AUTO_UPDATE=1 DOTNET_NOLOGO=1 NEXT_TELEMETRY_DISABLED=1";

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
    list.split(' ').filter_map(|variable| variable.split_once('='))
}
