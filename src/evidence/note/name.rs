//! Safe ids, file names and project paths. Ids are never turned into paths.

use std::path::{Component, Path};

use base::path;

/// Letters and digits that can't be confused with each other.
const ID_LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz";
const ID_SIGNS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
const ID_LENGTH: usize = 6;
const MAX_ID_CHARS: usize = 100;
/// With id and `.md`, this stays far below the usual limit of 255 bytes.
const MAX_SLUG_BYTES: usize = 96;

pub fn new_id() -> String {
    let pick = |signs: &[u8]| char::from(signs[fastrand::usize(..signs.len())]);
    std::iter::once(pick(ID_LETTERS)).chain((1..ID_LENGTH).map(|_| pick(ID_SIGNS))).collect()
}

/// Whether an id from a file is usable: one word that can't be mistaken for a path.
pub fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= MAX_ID_CHARS
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !text.starts_with(['.', '-'])
}

/// The id of a file without one: its name, made safe.
pub fn id_of_file(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if is_id(stem) { stem.to_owned() } else { slug(stem) }
}

/// A readable part of a file name: letters and digits of any script, joined by `-`.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if slug.len() + c.len_utf8() > MAX_SLUG_BYTES {
            break;
        }
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "note".to_owned() } else { slug.to_owned() }
}

/// A project file as named by a note: relative, with `/`; it need not exist.
pub fn project_path(root: &Path, text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.contains(['\0', '\n']) {
        return Err("a file name is empty or contains a control character".to_owned());
    }
    let typed = Path::new(text);
    let absolute = path::normalize(&root.join(typed));
    match absolute.strip_prefix(root) {
        Ok(inside)
            if !inside.as_os_str().is_empty()
                && !typed.components().any(|part| part == Component::ParentDir) =>
        {
            Ok(inside.to_string_lossy().into_owned())
        }
        _ => Err(format!("'{text}' is not a file of this project; name it relative to the project's folder")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_and_ids() {
        assert_eq!(slug("Login: fails (again)!"), "login-fails-again");
        assert_eq!(slug("数据库 连接"), "数据库-连接");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("🎉"), "note");
        assert!(slug(&"界".repeat(500)).len() <= MAX_SLUG_BYTES);
        assert!(is_id(&new_id()));
        for bad in ["", "../x", "a/b", ".hidden", "a b", "-rf", "a\0"] {
            assert!(!is_id(bad), "{bad:?}");
        }
        assert_eq!(id_of_file("archive/My note.md"), "my-note");
    }

    #[test]
    fn project_paths() {
        let root = Path::new("/w/app");
        assert_eq!(project_path(root, "./src/a.rs").as_deref(), Ok("src/a.rs"));
        assert_eq!(project_path(root, "/w/app/src/a.rs").as_deref(), Ok("src/a.rs"));
        for bad in ["../x", "src/../../x", "../app/src", "/etc/passwd", "", ".", "/w/application/x"] {
            assert!(project_path(root, bad).is_err(), "{bad:?}");
        }
    }
}
