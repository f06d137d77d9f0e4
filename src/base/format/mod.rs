//! What stands in files of others, byte for byte: encodings of text, front matter, pictures, paths in JSON.

pub mod encoding;
pub mod frontmatter;
pub mod path_text;
pub mod picture;
