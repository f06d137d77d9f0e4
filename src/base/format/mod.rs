//! Formats of other programs' files: text encodings, front matter, pictures, paths in JSON.

pub mod diff_cut;
pub mod diff_lines;
pub mod encoding;
pub mod frontmatter;
pub mod json_repair;
pub mod lists;
pub mod path_text;
pub mod picture;
pub mod settings_file;
