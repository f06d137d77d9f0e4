//! The project's own `config.toml`: what it may set, trusted or not.

use std::path::Path;

use super::json_files;
use super::trust::{Definition, Trust};
use crate::config::error::ConfigError;
use crate::config::files::raw::{ProjectConfig, Raw};
use crate::config::files::source;
use crate::config::paths::{self, Paths};
use crate::config::permission_rules::{self, PermissionLists, RuleSource};
use crate::path::{self, leads_out};
use crate::repository;

/// What the file sets, with notices for the user.
pub fn read(workspace: &Path, paths: &Paths, trust: bool) -> Result<(Raw, Vec<String>), ConfigError> {
    let place = paths::project_config(workspace);
    let mut notices = Vec::new();
    let Some(text) = text(workspace)? else {
        if leads_out(&place, workspace) {
            notices.push(format!("Ignored {}: it is a symlink out of the project.", place.display()));
        }
        return Ok((Raw::default(), notices));
    };
    let trusted = trust || Trust::read(&paths.project(workspace)).holds(&definition(workspace, &text));
    let ProjectConfig { mut raw, personal, unknown, held } = match Raw::parse_project(&text, trusted) {
        Ok(file) => file,
        // A mistake in an untrusted file must not stop anything.
        Err(what) if !trusted => {
            let why = what.lines().next().unwrap_or_default();
            let place = place.display();
            notices.push(format!("Ignored {place}: it is not a valid configuration: {why}"));
            let held = Raw::forbidding(&text);
            notices.extend(held.is_some().then(|| format!("The deny and ask rules of {place} still apply.")));
            return Ok((held.unwrap_or_default(), notices));
        }
        Err(what) => return Err(source::unparsable(&place, &what)),
    };
    let place = place.display();
    if !unknown.is_empty() {
        let keys = unknown.join(", ");
        notices.push(format!("{place} sets {keys}, which this version doesn't know. Ignored."));
    }
    if !held.is_empty() {
        let keys = held.join(", ");
        notices.push(format!(
            "{place} sets {keys}, which this version doesn't know. It counts as permissions.deny."
        ));
    }
    if !personal.is_empty() {
        let keys = personal.join(", ");
        notices.push(if trusted {
            format!("{place} is trusted and sets {keys}. `mycode trust --revoke` revokes the trust.")
        } else {
            format!("{place} sets {keys}. Ignored until you trust it with `mycode trust`.")
        });
    }
    let own = [
        ("[keys]", raw.keys.is_some()),
        ("web_private_hosts", raw.web_private_hosts.take().is_some()),
        ("api_key_command", raw.api_key_command.take().is_some()),
        ("keep_services", raw.keep_services.take().is_some()),
        ("nudges", raw.nudges.take().is_some()),
    ];
    for (name, given) in own {
        if trusted && given {
            let own = paths.user_config();
            notices.push(format!("{place}: {name} only works in your own config file, {}.", own.display()));
        }
    }
    Ok((raw, notices))
}

/// What the folders of the repository around the workspace deny or ask about, with their own paths.
pub fn rules_around(workspace: &Path) -> Vec<RuleSource> {
    let Some(root) = repository::root(workspace) else { return Vec::new() };
    let around = workspace.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    let mut found = Vec::new();
    for folder in around {
        let own = forbidden(folder).map(|lists| {
            let place = paths::project_config(folder).display().to_string();
            RuleSource { place, lists, ..RuleSource::default() }
        });
        let of_claude = json_files::settings(folder);
        let others = permission_rules::foreign(of_claude, json_files::of_others(folder), workspace, &[]);
        let all = own.into_iter().chain(others);
        found.extend(all.map(|source| RuleSource {
            folder: Some(folder.to_owned()),
            foreign: true,
            ..source
        }));
    }
    found
}

/// What the file denies or asks about, whether it is valid or not.
fn forbidden(folder: &Path) -> Option<PermissionLists> {
    Raw::forbidding(&text(folder).ok()??)?.permissions
}

/// What the file would set if trusted, and what to trust for that; `None` without a file.
pub fn wishes(workspace: &Path) -> Result<Option<(Definition, Vec<String>)>, ConfigError> {
    let place = paths::project_config(workspace);
    let Some(text) = text(workspace)? else { return Ok(None) };
    let file = Raw::parse_project(&text, false).map_err(|what| source::unparsable(&place, &what))?;
    Ok(Some((definition(workspace, &text), file.personal)))
}

fn definition(workspace: &Path, text: &str) -> Definition {
    Definition { kind: "settings", name: place(workspace), text: text.to_owned() }
}

pub fn place(workspace: &Path) -> String {
    path::display(workspace, &paths::project_config(workspace))
}

/// `None` if a link leads outside the project, because even an error message would reveal the text.
fn text(workspace: &Path) -> Result<Option<String>, ConfigError> {
    let path = paths::project_config(workspace);
    if leads_out(&path, workspace) { Ok(None) } else { source::text(&path) }
}
