//! The welcome of the first start without a configuration: what was found, what the permission levels mean,
//! and what to do next. Shown once, above the screen.

use std::fs;

use crate::cli::args::ModelArgs;
use crate::cli::report::{self, Failure};
use base::config::load::Loaded;
use base::config::paths::Paths;
use base::config::vendors::VENDORS;
use provider::window::probe::LOCAL_SERVERS;

/// Shows it on the first start if neither a file nor a flag chooses a model.
pub fn welcome(args: &ModelArgs, loaded: &Loaded) -> Result<(), Failure> {
    let paths = Paths::from_env();
    let shown = paths.state.join("welcomed");
    let chosen = args.provider.is_some() || args.base_url.is_some() || args.model.is_some();
    if chosen || shown.exists() || paths.user_config().exists() {
        return Ok(());
    }
    // If this fails, it is shown again.
    let _ = fs::create_dir_all(&paths.state).and_then(|()| fs::write(&shown, ""));
    report::say(&text(loaded, |name| std::env::var_os(name).is_some_and(|value| !value.is_empty())))
}

fn text(loaded: &Loaded, is_set: impl Fn(&str) -> bool) -> String {
    let known = VENDORS.iter().enumerate().flat_map(|(place, vendor)| {
        vendor.keys.iter().enumerate().map(move |(number, name)| (name.as_str(), place < 2 && number == 0))
    });
    let shown = known.filter(|(name, always)| *always || is_set(name));
    let keys: Vec<String> = shown
        .map(|(name, _)| format!("{name} {}", if is_set(name) { "is set" } else { "is not set" }))
        .collect();
    let mut servers = LOCAL_SERVERS.map(|(name, _)| name).to_vec();
    servers.dedup();
    let model = match &loaded.provider {
        Some(settings) => format!("{} at {}", settings.model, settings.base_url),
        None => "none yet".to_owned(),
    };
    let local = match &loaded.provider {
        Some(settings) if settings.api_key.is_none() => format!("found at {}", settings.base_url),
        Some(_) => "skipped: an API key is set".to_owned(),
        None => format!("none running (tried {})", servers.join(", ")),
    };
    format!(
        "Welcome to mycode.\n  Keys           {}\n  Local servers  {local}\n  Model          {model}\n\n\
         Permission level: {} (/permission to change)\n\
         \x20 read-only  looks, and changes nothing\n\
         \x20 ask        asks before each change and command\n\
         \x20 auto       works in this folder without asking, sandboxed\n\
         \x20 full       never asks, no sandbox\n\n\
         New project? /init writes a rules file. No key? `mycode demo` shows a session.\n\n",
        keys.join(", "),
        loaded.work.permission.into_str()
    )
}
