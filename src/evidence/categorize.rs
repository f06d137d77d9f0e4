//! Which ranked files will probably change and which are only worth reading, by path and score.

use crate::text::kind::FilePurpose;

pub const MAX_MODIFY: usize = 10;
pub const MAX_REFERENCE: usize = 15;
/// Files below this share of the best score are only to read.
const MODIFY_SHARE: f32 = 0.45;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FileCategory {
    Modify,
    Reference,
}

/// `files` are (path, kind, score), best first; one role per file.
pub fn roles(files: &[(&str, FilePurpose, f32)]) -> Vec<FileCategory> {
    let best = files.first().map_or(0.0, |(_, _, score)| *score);
    let mut modify = 0;
    files
        .iter()
        .enumerate()
        .map(|(place, (path, kind, score))| {
            // The best match always counts as a change; helpers need nearly the best score.
            let share = if is_helper(path) { 0.7 } else { MODIFY_SHARE };
            let changes = matches!(kind, FilePurpose::Source) && *score >= share * best || place == 0;
            if changes && modify < MAX_MODIFY {
                modify += 1;
                FileCategory::Modify
            } else {
                FileCategory::Reference
            }
        })
        .collect()
}

/// Models, settings and helpers are read more often than changed.
fn is_helper(path: &str) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    ["util", "utils", "helper", "helpers", "config", "settings", "constants", "types", "conftest"]
        .contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_of_sources_and_tests() {
        let files = [
            ("src/basket.rs", FilePurpose::Source, 4.0),
            ("src/utils.rs", FilePurpose::Source, 2.2),
            ("src/price.rs", FilePurpose::Source, 2.1),
            ("tests/basket.rs", FilePurpose::Test, 2.0),
            ("src/far.rs", FilePurpose::Source, 0.5),
        ];
        use FileCategory::{Modify, Reference};
        assert_eq!(roles(&files), [Modify, Reference, Modify, Reference, Reference]);
        let many: Vec<_> = (0..30).map(|_| ("a.rs", FilePurpose::Source, 1.0)).collect();
        assert_eq!(roles(&many).iter().filter(|role| **role == Modify).count(), MAX_MODIFY);
        assert!(roles(&[]).is_empty());
    }
}
