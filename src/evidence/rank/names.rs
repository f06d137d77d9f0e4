//! Finds files by how a text refers to them: the end of a path, a file name.

use rustc_hash::FxHashMap;

use crate::index::store::Index;

pub struct Names {
    pub paths: Vec<String>,
    pub by_name: FxHashMap<String, Vec<u32>>,
    pub by_stem: FxHashMap<String, Vec<u32>>,
    by_folder: FxHashMap<String, Vec<u32>>,
}

/// Names of files that represent their folder.
pub const ENTRANCES: &[&str] = &["__init__", "mod", "index", "lib", "main", "package-info", "doc"];

pub fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.find('.') {
        Some(0) | None => name,
        Some(dot) => &name[..dot],
    }
}

pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Names {
    pub fn new(index: &Index) -> Self {
        let mut names = Self {
            paths: Vec::with_capacity(index.files().len()),
            by_name: FxHashMap::default(),
            by_stem: FxHashMap::default(),
            by_folder: FxHashMap::default(),
        };
        for (number, doc) in index.files() {
            let path = doc.name().to_lowercase();
            let file = path.rsplit('/').next().unwrap_or(&path);
            push(&mut names.by_name, file, number);
            push(&mut names.by_stem, stem_of(&path), number);
            push(&mut names.by_folder, folder_of(&path), number);
            names.paths.push(path);
        }
        names
    }

    /// Files whose path ends like `mention` (best matches only), and the number of matching parts.
    pub fn ending_like(&self, mention: &str) -> (Vec<u32>, usize) {
        let mention = mention.to_lowercase();
        let wanted: Vec<&str> =
            mention.split('/').filter(|part| !part.is_empty() && *part != "." && *part != "..").collect();
        let Some(files) = wanted.last().and_then(|name| self.by_name.get(*name)) else {
            return (Vec::new(), 0);
        };
        let fit = |file: u32| {
            let path = &self.paths[file as usize];
            path.rsplit('/').zip(wanted.iter().rev()).take_while(|(a, b)| a == *b).count()
        };
        let mut best = (Vec::new(), 0);
        for &file in files {
            let parts = fit(file);
            if parts > best.1 {
                best = (vec![file], parts);
            } else if parts == best.1 {
                best.0.push(file);
            }
        }
        best
    }

    /// The file named by `path`, in full or by a unique ending.
    pub fn named(&self, path: &str) -> Option<usize> {
        let wanted = path.trim_start_matches("./").to_lowercase();
        let (found, parts) = self.ending_like(&wanted);
        let whole = found.iter().find(|file| self.paths[**file as usize] == wanted);
        let only = found.first().filter(|_| found.len() == 1 && parts == wanted.split('/').count());
        whole.or(only).map(|file| *file as usize)
    }

    /// Files directly in this folder (lower-case).
    pub fn in_folder(&self, folder: &str) -> &[u32] {
        self.by_folder.get(folder).map_or(&[], Vec::as_slice)
    }
}

fn push(map: &mut FxHashMap<String, Vec<u32>>, key: &str, number: usize) {
    match map.get_mut(key) {
        Some(list) => list.push(number as u32),
        None => {
            map.insert(key.to_owned(), vec![number as u32]);
        }
    }
}
