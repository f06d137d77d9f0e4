//! Which definitions are active: the user's, and trusted ones of plugins and the project.

use std::path::Path;

use super::own_files::OwnFiles;
use super::trust::{Definition, Trust};
use super::{plugin, project_file};
use crate::config::paths::Paths;
use crate::text::and_list;

/// All usable files, and notices about the others.
pub fn load(paths: &Paths, workspace: &Path, trust: bool) -> (OwnFiles, Vec<String>) {
    let mut own = OwnFiles::of_user(&paths.config);
    let mut notices = Vec::new();
    for plugin in plugin::installed(&paths.plugins()) {
        if plugin.is_trusted() {
            own.add_plugin(plugin.files, plugin.root);
        } else {
            let name = &plugin.record.name;
            notices.push(format!(
                "This version of the plugin {name} isn't trusted, so it is not active. Add it again with `mycode plugin add`."
            ));
        }
    }
    let mut project = OwnFiles::of_project(workspace);
    let known = Trust::read(&paths.project(workspace));
    let untrusted: Vec<Definition> =
        project.definitions(workspace).into_iter().filter(|one| !trust && !known.holds(one)).collect();
    project.retain(workspace, |one| !untrusted.contains(one));
    if !untrusted.is_empty() {
        notices.push(format!(
            "This project defines {} ({}). Ignored until you trust this version with `mycode trust`.",
            kinds(&untrusted),
            names(&untrusted, &known)
        ));
    }
    (own.with(project), notices)
}

pub fn unused(own: &OwnFiles, workspace: &Path, state: &Path, kind: &str) -> Option<String> {
    let used = own.definitions(workspace);
    let mut unused = OwnFiles::of_project(workspace).definitions(workspace);
    unused.retain(|one| one.kind == kind && !used.contains(one));
    let names = names(&unused, &Trust::read(state));
    (!unused.is_empty())
        .then(|| format!("Untrusted {kind} aren't used: {names}. `mycode trust` trusts the current version."))
}

/// The kinds, such as `skills and hooks`.
pub fn kinds(all: &[Definition]) -> String {
    let mut kinds: Vec<&str> = all.iter().map(|one| one.kind).collect();
    kinds.dedup();
    and_list(&kinds)
}

/// The files; those trusted before in another version are marked.
pub fn names(all: &[Definition], known: &Trust) -> String {
    let name = |one: &Definition| {
        let changed = if known.has_changed(one) { ", changed since you trusted it" } else { "" };
        format!("{}{changed}", one.name)
    };
    let separator = if all.iter().any(|one| known.has_changed(one)) { "; " } else { ", " };
    let mut names: Vec<String> = all.iter().map(name).collect();
    names.dedup();
    names.join(separator)
}

pub fn differences(all: &[Definition], known: &Trust) -> String {
    let difference = |one: &Definition| {
        let changed = known.difference(one);
        if changed.is_empty() { changed } else { format!("{} ({}):\n{changed}", one.name, one.kind) }
    };
    all.iter().map(difference).collect()
}

/// For the user: which files of the project aren't trusted, and what changed in those trusted before.
pub fn told(workspace: &Path, state: &Path) -> String {
    let known = Trust::read(state);
    let mut open = OwnFiles::of_project(workspace).definitions(workspace);
    open.extend(project_file::wishes(workspace).ok().flatten().map(|(settings, _)| settings));
    open.retain(|one| !known.holds(one));
    if open.is_empty() {
        return "Nothing here needs your trust.".to_owned();
    }
    format!(
        "Not trusted as they are now: {}.\n{}`mycode trust` trusts them; they apply from the next session on.",
        names(&open, &known),
        differences(&open, &known)
    )
}
