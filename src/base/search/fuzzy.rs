//! Finds the existing path or name nearest to a wrong one. Only makes suggestions.

use std::path::Path;

use super::walk::Walk;
use crate::folder::exact;

const REPAIR_ENTRIES: usize = 20_000;
const REPAIR_FLOOR: f64 = 10.0;

/// How similar `candidate` is to the path `wanted` (both relative, `/`-separated): equal except for case or a
/// missing prefix 100, same file name 50, one name contains the other 30, small edit distance up to 20.
/// Common parent folders break ties.
pub fn likeness(wanted: &str, candidate: &str) -> f64 {
    let (wanted, candidate) = (wanted.to_lowercase(), candidate.to_lowercase());
    let name = |path: &str| path.rsplit('/').next().unwrap_or("").to_owned();
    let (wanted_name, name) = (name(&wanted), name(&candidate));
    let ends_with =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    let score = if wanted == candidate {
        100.0
    } else if wanted.contains('/') && ends_with(&candidate, &wanted)
        || candidate.contains('/') && ends_with(&wanted, &candidate)
    {
        90.0
    } else if wanted_name == name {
        50.0
    } else {
        let stem = |name: &str| name.split('.').next().unwrap_or("").to_owned();
        let (a, b) = (stem(&wanted_name), stem(&name));
        let alike = strsim::normalized_damerau_levenshtein(&wanted_name, &name);
        if a.len() >= 3 && b.len() >= 3 && (name.contains(&a) || wanted_name.contains(&b)) {
            30.0 * (0.5 + alike / 2.0)
        } else if alike > 0.6 {
            20.0 * alike
        } else {
            return 0.0;
        }
    };
    score + strsim::normalized_levenshtein(&wanted, &candidate) * 5.0
}

/// Paths nearest to `wanted` below `root` (which must contain no link), best first; folders end in `/`.
pub fn nearest(root: &Path, wanted: &str, limit: usize) -> Vec<(String, f64)> {
    let wanted = wanted.trim_start_matches("./").trim_matches('/');
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut best: Vec<(String, f64)> = Walk::new(root)
        .hidden_if_named(wanted)
        .sorted()
        .take(REPAIR_ENTRIES)
        .filter_map(|entry| {
            let mut path = entry.path().strip_prefix(root).ok()?.to_string_lossy().into_owned();
            let score = likeness(wanted, &path);
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                path.push('/');
            }
            (score >= REPAIR_FLOOR).then_some((path, score))
        })
        .collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    // Ignores what was seen through a folder that was just replaced by a link.
    best.into_iter().filter(|(path, _)| exact::look(&root.join(path)).is_ok()).take(limit).collect()
}

pub fn nearest_name<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    names
        .into_iter()
        .map(|name| {
            // A plugin's command may be requested without the plugin's name.
            let name_alone = name.rsplit(':').next().unwrap_or(name);
            let likeness = |name: &str| strsim::jaro_winkler(&wanted, &name.to_lowercase());
            (likeness(name).max(likeness(name_alone)), name)
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score > 0.8)
        .map(|(_, name)| name)
}

/// `plug:greet` for `greet`, if it is the only match. Codex uses `prompts:greet`.
pub fn whole_name<'a>(wanted: &str, mut names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let wanted = wanted.strip_prefix("prompts:").unwrap_or(wanted);
    let ends_so = |name: &&str| name.rsplit_once(':').is_some_and(|(_, alone)| alone == wanted);
    let mut ending = names.clone().filter(ends_so);
    let only = ending.next().filter(|_| ending.next().is_none());
    names.find(|name| *name == wanted).or(only)
}

/// The name with the fewest typos; on a tie, the one closest in length.
pub fn mistyped<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &&str| {
        let edits = strsim::damerau_levenshtein(wanted, name);
        (edits, name.len().abs_diff(wanted.len()))
    };
    names.min_by_key(distance).filter(|name| strsim::normalized_damerau_levenshtein(wanted, name) > 0.5)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nearest_paths() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("src/app")).unwrap();
        for name in ["src/app/main.rs", "src/lib.rs", "README.md", "src/app/config_loader.py"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let best = |wanted: &str| nearest(dir.path(), wanted, 3).first().map(|(path, _)| path.clone());
        assert_eq!(best("src/main.rs").as_deref(), Some("src/app/main.rs"));
        assert_eq!(best("app/main.rs").as_deref(), Some("src/app/main.rs"));
        assert_eq!(best("readme.md").as_deref(), Some("README.md"));
        assert_eq!(best("src/config.py").as_deref(), Some("src/app/config_loader.py"));
        assert_eq!(best("src/lbi.rs").as_deref(), Some("src/lib.rs"));
        assert_eq!(best("zebra/quux.txt"), None);
        assert_eq!(nearest_name("grpe", ["Read", "Grep", "Glob"]), Some("Grep"));
        assert_eq!(nearest_name("greet", ["plug:greet", "grep"]), Some("plug:greet"));
        assert_eq!(nearest_name("frobnicate", ["Read", "Grep"]), None);
        let names = ["a:greet", "greet", "b:fix", "c:fix", "c:do"].into_iter();
        let whole = |wanted: &str| whole_name(wanted, names.clone());
        assert_eq!(
            [whole("greet"), whole("fix"), whole("do"), whole("c:fix")],
            [Some("greet"), None, Some("c:do"), Some("c:fix")]
        );
        let meant = |wanted: &str| mistyped(wanted, ["mode", "model", "max-cost", "add-dir"].into_iter());
        assert_eq!([meant("modle"), meant("mdoe"), meant("frobnicate")], [Some("model"), Some("mode"), None]);
    }
}
