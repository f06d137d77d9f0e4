//! Tasks in nine languages on a shop whose code is English. The tasks were not seen by those who wrote the tables of terms.

use std::collections::BTreeMap;
use std::fs;

use evidence::rank::locate::Project;
use evidence::terms::translate;

use super::locate::unpack_files;

const SHOP: &str = include_str!("../../fixtures/languages/shop.txt");
const TASKS: &str = include_str!("../../fixtures/languages/tasks.tsv");

#[test]
fn tasks_in_other_languages_find_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("shop");
    fs::create_dir(&root).unwrap();
    unpack_files(SHOP, &root);
    let project = Project::open(&root, &dir.path().join("state")).unwrap();
    let mut found: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for line in TASKS.lines() {
        let [language, path, task] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let files = project.locate(task, 5).unwrap();
        let (hits, missed) = found.entry(language).or_default();
        match files.iter().any(|(file, _)| file.path == path) {
            true => *hits += 1,
            false => missed.push(task),
        }
        assert_eq!(translate::note(task).is_none(), language == "en", "{task}");
    }
    assert_eq!(found.len(), 9);
    for (language, (hits, missed)) in found {
        assert!(hits >= 17, "{language}: {hits} of 20\n{}", missed.join("\n"));
    }
}

#[test]
fn words_of_the_shop_that_were_missing() {
    for (task, word) in [("Счёт создаётся дважды", "invoice"), ("電子報寄給了已退訂的訂閱者", "newsletter")]
    {
        let note = translate::note(task).unwrap_or_default();
        assert!(note.contains(word), "{task}: {note}");
    }
}
