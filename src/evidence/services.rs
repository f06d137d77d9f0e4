//! The parts of a project: packages and module folders with their words, cached in `project_index.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::keywords::Keyword;
use crate::index::store::Index;
use crate::rank::names::{folder_of, stem_of};
use crate::text::kind::FilePurpose;
use base::file;
use base::folder::atomic_write::{self, Expect};
use base::search::fold::stem;
use base::search::words;

const FILE: &str = "project_index.json";
const VERSION: u32 = 1;
const NAME_SCORE: u32 = 10;
const KEYWORD_SCORE: u32 = 1;
const MAX_MATCHES: usize = 5;
const MAX_SERVICES: usize = 400;
const MAX_KEYWORDS: usize = 40;
/// A folder with fewer code files needs its own manifest to be a service.
const MIN_FILES: usize = 2;

const MANIFESTS: &str = "\
    cargo.toml package.json go.mod pyproject.toml setup.py pom.xml build.gradle cmakelists.txt meson.build \
    composer.json gemspec gemfile dockerfile";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectService {
    pub name: String,
    /// Relative; empty for the project itself.
    pub path: String,
    pub files: usize,
    pub keywords: Vec<String>,
}

impl ProjectService {
    pub fn place(&self) -> &str {
        if self.path.is_empty() { &self.name } else { &self.path }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectIndex {
    version: u32,
    /// Identifies the set of files it was built from.
    stamp: u64,
    pub services: Vec<ProjectService>,
}

impl ProjectIndex {
    /// The cached one if it still matches the files, or else a new one, cached in `folder`.
    pub fn current(index: &Index, folder: &Path) -> Self {
        let stamp = stamp(index);
        let kept = file::read_own(&folder.join(FILE))
            .ok()
            .and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        if let Some(kept) = kept.filter(|kept| kept.version == VERSION && kept.stamp == stamp) {
            return kept;
        }
        let fresh = Self { version: VERSION, stamp, services: find(index) };
        if let Ok(text) = serde_json::to_vec_pretty(&fresh) {
            // If writing fails, the next run rebuilds it.
            let _ = atomic_write::write_private(&folder.join(FILE), &text, Expect::Anything);
        }
        fresh
    }

    /// The services named by a keyword, best first; keywords of their files add to the score.
    pub fn matching(&self, keywords: &[Keyword]) -> Vec<&ProjectService> {
        let mut found: Vec<(&ProjectService, u32)> = self
            .services
            .iter()
            .map(|service| {
                let name = service.name.to_lowercase();
                let stemmed = stem(&name).to_owned();
                let score = keywords.iter().map(|keyword| {
                    let path = keyword.text.split('/').any(|part| part == name);
                    if path || keyword.text == stemmed || keyword.text == name {
                        NAME_SCORE
                    } else if service.keywords.contains(&keyword.text) {
                        KEYWORD_SCORE
                    } else {
                        0
                    }
                });
                (service, score.sum())
            })
            .filter(|(_, score)| *score >= NAME_SCORE)
            .collect();
        found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.path.cmp(&b.0.path)));
        found.into_iter().take(MAX_MATCHES).map(|(service, _)| service).collect()
    }
}

fn stamp(index: &Index) -> u64 {
    let mut sum = 0_u64;
    for (_, doc) in index.files() {
        sum = sum.wrapping_add(u64::from(crc32fast::hash(&doc.path)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    sum
}

fn find(index: &Index) -> Vec<ProjectService> {
    let mut code: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut packages: BTreeSet<String> = BTreeSet::new();
    for (_, doc) in index.files() {
        let path = doc.name();
        let folder = folder_of(&path).to_owned();
        let name = path.rsplit('/').next().unwrap_or("").to_lowercase();
        if words::listed(MANIFESTS, &name) {
            packages.insert(folder.clone());
        }
        if doc.kind == FilePurpose::Source && doc.language.is_code() {
            code.entry(folder).or_default().push(stem_of(&path).to_lowercase());
        }
    }
    let mut services: Vec<ProjectService> = code
        .into_iter()
        .filter(|(folder, stems)| packages.contains(folder) || stems.len() >= MIN_FILES)
        .map(|(folder, stems)| {
            let mut keywords: BTreeSet<String> = BTreeSet::new();
            for name in &stems {
                words::each(name, |term, _| {
                    keywords.insert(term.to_owned());
                });
            }
            let name =
                folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("(root)").to_owned();
            let keywords =
                keywords.into_iter().filter(|word| word.chars().count() > 2).take(MAX_KEYWORDS).collect();
            ProjectService { name, path: folder, files: stems.len(), keywords }
        })
        .collect();
    services.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.path.cmp(&b.path)));
    services.truncate(MAX_SERVICES);
    services
}
