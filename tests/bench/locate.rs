//! Finding files: a cold index, a warm opening and a query, on a made-up project of 1,000 files, beside plain reading of
//! the same files as the baseline.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use divan::{Bencher, black_box};
use evidence::index::store::IndexStore;
use evidence::rank::locate::Project;

const FILES: usize = 1_000;
const WORDS: [&str; 16] = [
    "basket", "voucher", "receipt", "oven", "burner", "session", "customer", "order", "price", "label",
    "drawer", "points", "week", "report", "menu", "scale",
];

/// Files of about 6 KB whose words differ from file to file.
fn project() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    for number in 0..FILES {
        let word = |step: usize| WORDS[(number * 7 + step * (number % 5 + 1)) % WORDS.len()];
        let mut text = String::new();
        for line in 0..120 {
            let _ = writeln!(
                text,
                "def {}_{}_{line}(value):\n    return {}(value + {number})",
                word(line),
                word(line + 3),
                word(line + 5)
            );
        }
        let path = root.join(format!("{}/{}_{number}.py", word(1), word(2)));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (dir, root)
}

fn read_all(root: &Path) -> usize {
    let files = walkdir::WalkDir::new(root).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files.map(|entry| fs::read(entry.path()).unwrap().len()).sum()
}

#[divan::bench(sample_count = 5)]
fn read_1000_files_baseline(bencher: Bencher) {
    let (_dir, root) = project();
    bencher.bench(|| read_all(black_box(&root)));
}

#[divan::bench(sample_count = 5)]
fn index_1000_files_cold(bencher: Bencher) {
    let (dir, root) = project();
    bencher
        .with_inputs(|| tempfile::tempdir_in(dir.path()).unwrap())
        .bench_values(|state| IndexStore::new(&root, state.path()).refreshed().unwrap().1);
}

#[divan::bench(sample_count = 20)]
fn open_and_locate_warm(bencher: Bencher) {
    let (dir, root) = project();
    let state = dir.path().join("state");
    Project::open(&root, &state).unwrap();
    bencher.bench(|| {
        let project = Project::open(&root, &state).unwrap();
        project.locate(black_box("voucher_receipt_17 ignores the session of a customer"), 10).unwrap().len()
    });
}
