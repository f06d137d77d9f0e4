//! Git's index, the list of files that it tracks. Unusual kinds of index aren't parsed.

use std::path::Path;

use crate::system::os;

#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    pub ctime: (u32, u32),
    pub mtime: (u32, u32),
    pub inode: u32,
    pub size: u32,
    pub oid: [u8; 20],
}

/// Parses an index file, versions 2 to 4; `None` if anything in it is unknown.
pub fn parse(bytes: &[u8], mut take: impl FnMut(&Path, Tracked)) -> Option<()> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = word(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..word(8)? {
        let start = at;
        let flags = u16::from_be_bytes(bytes.get(at + 60..at + 62)?.try_into().ok()?);
        let extended = flags & 0x4000 != 0;
        let more =
            if extended { u16::from_be_bytes(bytes.get(at + 62..at + 64)?.try_into().ok()?) } else { 0 };
        at += if extended { 64 } else { 62 };
        if version == 4 {
            let (cut, used) = offset(bytes.get(at..)?)?;
            name.truncate(name.len().checked_sub(cut)?);
            at += used;
        } else {
            name.clear();
        }
        let length = bytes.get(at..)?.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(&bytes[at..at + length]);
        at += length + 1;
        if version != 4 {
            // Entries are padded to eight bytes, with at least one NUL.
            at = start + (at - start).div_ceil(8) * 8;
        }
        let mode = word(start + 24)?;
        if mode == 0o040_000 {
            // A sparse index contains folders.
            return None;
        }
        let (staged, skipped) = (flags & 0x3000 != 0, more & 0x4000 != 0);
        if staged || skipped || mode >> 12 != 0o10 {
            continue;
        }
        let tracked = Tracked {
            ctime: (word(start)?, word(start + 4)?),
            mtime: (word(start + 8)?, word(start + 12)?),
            inode: word(start + 20)?,
            size: word(start + 36)?,
            oid: bytes.get(start + 40..start + 60)?.try_into().ok()?,
        };
        take(&os::path_of(name.clone()), tracked);
    }
    // A split index has only a part of the entries; SHA-256 names would have been misread up to here.
    let mut rest = bytes.get(at..)?;
    while rest.len() > 20 {
        let kind = rest.get(..4)?;
        if kind == b"link" || !kind.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        let size = u32::from_be_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        rest = rest.get(8 + size..)?;
    }
    (rest.len() == 20).then_some(())
}

/// Git's variable-width number: seven bits a byte, each continuation adding one.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut used = 1;
    while bytes.get(used - 1)? & 0x80 != 0 {
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(bytes.get(used)? & 0x7f);
        used += 1;
    }
    Some((value, used))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_index_bytes(version in 2_u8..5, body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let bytes = [b"DIRC\0\0\0", &[version][..], &[0, 0, 0, 2], &body].concat();
            let _ = parse(&bytes, |_, _| {});
        }
    }
}
