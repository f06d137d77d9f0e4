//! What a user is asked and told before the screen opens: trust, the vendor where the keys of several are set, and the
//! welcome of the first start.

use std::fs;

use super::ask::answer;
use super::{ask_trust, open};
use crate::cli::args::ModelArgs;
use crate::cli::report::{self, Failure, OrFail as _};
use base::config::files::load::Loaded;
use base::config::paths::Paths;
use base::config::provider::vendors::VENDORS;
use base::config::settings::Permission;
use base::folder::update::update;
use provider::window::probe::{self, LOCAL_SERVERS};

/// The first model that the server lists, if none is set.
pub async fn listed_model(args: &ModelArgs) -> Result<Option<String>, Failure> {
    let opened = open::any_model(args)?;
    match opened.loaded.provider.filter(|settings| &*settings.model == open::NONE_SET) {
        Some(settings) => Ok(probe::models(&settings).await.into_iter().next().map(|(name, _)| name)),
        None => Ok(None),
    }
}

pub fn before_start(args: &ModelArgs) -> Result<(), Failure> {
    if !args.trust {
        ask_trust::ask_trust(&open::workspace(args.folder.as_deref())?)?;
    }
    ask_vendor(args)
}

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
    report::say(&welcome_text(loaded, |name| std::env::var_os(name).is_some_and(|value| !value.is_empty())))
}

fn welcome_text(loaded: &Loaded, is_set: impl Fn(&str) -> bool) -> String {
    let known = VENDORS.iter().flat_map(|vendor| &vendor.keys).map(String::as_str);
    let keys: Vec<&str> = known.filter(|name| is_set(name)).collect();
    let keys = if keys.is_empty() { "none set".to_owned() } else { keys.join(", ") };
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
         \x20 read-only     reads files; changes nothing\n\
         \x20 ask           asks before each change and command\n\
         \x20 accept-edits  edits files; asks before each command\n\
         \x20 auto          works in this folder without asking, sandboxed\n\
         \x20 full          never asks, no sandbox\n\n\
         New project? /init writes a rules file. No key? `mycode demo` shows a session.\n\n",
        keys,
        loaded.work.permission.into_str()
    )
}

/// Asks once which vendor to use if several keys are set and nothing says it; the answer is kept in the user's own file.
fn ask_vendor(args: &ModelArgs) -> Result<(), Failure> {
    let opened = open::open(args, Permission::Ask)?;
    let names = opened.loaded.undecided();
    let names: Vec<String> = names.iter().map(|(vendor, made)| vendor.full_name(&made.model)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let rows: String = names.iter().zip(1..).map(|(name, number)| format!("  [{number}] {name}\n")).collect();
    let file = opened.paths.user_config();
    report::print(&format!(
        "Several vendors' keys are set. Which model should mycode use?\n{rows}1 by default; {} keeps the answer, and --model \
         chooses another: ",
        file.display()
    ))?;
    let number = answer()?.parse::<usize>().unwrap_or(1);
    let Some(model) = names.get(number.saturating_sub(1)) else { return Ok(()) };
    let kept = update(&file, |before| {
        let before = String::from_utf8_lossy(before.unwrap_or_default()).into_owned();
        Ok(Some(format!("model = \"{model}\"\n{before}").into_bytes()))
    });
    kept.or_task(format!("{} can't be written", file.display()), "use --model")
}
