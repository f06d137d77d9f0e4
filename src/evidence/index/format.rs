//! Encodes and decodes index data with every bound checked: damage must cause an error, not a wrong answer.

use std::io;

/// The index must be dropped and rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index is damaged")]
pub struct Damaged;

impl From<Damaged> for io::Error {
    fn from(damaged: Damaged) -> Self {
        Self::new(io::ErrorKind::InvalidData, damaged)
    }
}

/// Appends `value` as a varint: seven bits per byte, lowest first.
pub fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what the functions above wrote; [`Damaged`] if bytes are missing or a number doesn't fit.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn number(&mut self) -> Result<u64, Damaged> {
        let mut value = 0_u64;
        for (at, &byte) in self.rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        Err(Damaged)
    }

    pub fn small(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| Damaged)
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Damaged)?;
        self.rest = rest;
        Ok(head)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let length = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        self.take(length)
    }
}

/// Where a word occurs: increasing ids, each with a count. Small counts share the id's byte.
#[derive(Clone, Debug, Default)]
pub struct Postings {
    pub bytes: Vec<u8>,
    pub count: u32,
    next: u32,
}

/// Counts up to this share the id's number.
const INLINE_TIMES: u64 = 3;

impl Postings {
    pub fn push(&mut self, id: u32, times: u32) {
        let gap = u64::from(id - self.next);
        let times = u64::from(times.max(1));
        if times <= INLINE_TIMES {
            put_number(&mut self.bytes, gap << 2 | (times - 1));
        } else {
            put_number(&mut self.bytes, gap << 2 | INLINE_TIMES);
            put_number(&mut self.bytes, times);
        }
        self.next = id + 1;
        self.count += 1;
    }
}

/// [`Damaged`] unless there are exactly `count` entries with ids below `limit`.
pub fn postings(bytes: &[u8], count: u32, limit: u32, mut each: impl FnMut(u32, u32)) -> Result<(), Damaged> {
    let mut cursor = Cursor::new(bytes);
    let mut next = 0_u64;
    for _ in 0..count {
        let head = cursor.number()?;
        let id = next + (head >> 2);
        let times = if head & 3 == INLINE_TIMES { cursor.small()? } else { (head & 3) as u32 + 1 };
        if id >= u64::from(limit) {
            return Err(Damaged);
        }
        each(id as u32, times);
        next = id + 1;
    }
    if cursor.is_empty() { Ok(()) } else { Err(Damaged) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_read_back() {
        let mut list = Postings::default();
        let occurrences = [(0, 1), (1, 3), (7, 4), (300, 1_000), (301, 2), (70_000, 1)];
        for (id, times) in occurrences {
            list.push(id, times);
        }
        let mut seen = Vec::new();
        postings(&list.bytes, list.count, 70_001, |id, times| seen.push((id, times))).unwrap();
        assert_eq!(seen, occurrences);
        assert_eq!(postings(&list.bytes, list.count, 70_000, |_, _| {}), Err(Damaged));
        assert_eq!(postings(&list.bytes, list.count - 1, 70_001, |_, _| {}), Err(Damaged));
        assert_eq!(postings(&list.bytes[1..], list.count, 70_001, |_, _| {}), Err(Damaged));
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, b"abc");
        put_number(&mut bytes, u64::MAX);
        let mut cursor = Cursor::new(&bytes);
        assert_eq!((cursor.bytes(), cursor.number()), (Ok(&b"abc"[..]), Ok(u64::MAX)));
        assert_eq!(cursor.number(), Err(Damaged));
        assert_eq!(Cursor::new(&[0xff; 12]).number(), Err(Damaged));
        assert_eq!(Cursor::new(&[9, 1]).bytes(), Err(Damaged));
    }
}
