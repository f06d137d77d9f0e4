//! Paths in JSON, for `#[serde(with = "path_text")]`: a string if valid UTF-8, otherwise a list of bytes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::system::os;

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => path.as_os_str().as_encoded_bytes().serialize(serializer),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match TextOrBytes::deserialize(deserializer)? {
        TextOrBytes::Text(text) => text.into(),
        TextOrBytes::Bytes(bytes) => os::path_of(bytes),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder(#[serde(with = "super")] PathBuf);

    #[test]
    fn paths_of_any_bytes_survive() {
        let all: Vec<u8> = (1..=255).collect();
        for bytes in [&b"a/b"[..], b"caf\xe9", "日本".as_bytes(), &all] {
            let holder = Holder(os::path_of(bytes.to_vec()));
            let json = serde_json::to_string(&holder).unwrap();
            assert_eq!(serde_json::from_str::<Holder>(&json).unwrap(), holder, "{json}");
        }
    }
}
