//! Rules files named in other agents' settings (November 2026): geminicli.com/docs/reference/configuration,
//! developers.openai.com/codex/config-reference, opencode.ai/docs/rules. A project's settings can't name files outside of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;

use super::{imports, scoped_rule};
use base::config::trusted::json_files;
use base::search::glob;
use base::search::walk::Walk;

const NAMES: [&str; 3] = ["/context/fileName", "/contextFileName", "/project_doc_fallback_filenames"];
const MAX_FILES: usize = 50;

pub fn names(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let named = json_files::of_others(folder).flat_map(|(one, _)| NAMES.map(|name| texts(one.pointer(name))));
    named.flatten().filter(|name| !name.contains(['/', '\\'])).map(|name| folder.join(name))
}

pub fn instructions(folder: &Path) -> BTreeSet<PathBuf> {
    let named = json_files::of_others(folder).flat_map(|(one, _)| texts(one.get("instructions")));
    let files = named.flat_map(|pattern| {
        let (base, rest) = glob::split_base(&pattern);
        let walk = Walk::new(&folder.join(base)).hidden_if_named(rest);
        glob::matcher(rest, false).map_or(vec![], |one| glob::search(&walk, &one, MAX_FILES, || false).files)
    });
    let inside = |path: &PathBuf| path.canonicalize().is_ok_and(|real| imports::may_import(&real, folder));
    files.filter(|path| inside(path) && !scoped_rule::is_rule(path)).take(MAX_FILES).collect()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let one = value.and_then(|value| Some(vec![value.as_str()?.to_owned()]));
    one.or_else(|| Vec::deserialize(value?).ok()).unwrap_or_default()
}
