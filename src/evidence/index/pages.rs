//! A file whose every page carries a checksum, so that any part of it can be read alone and damage is noticed
//! before it is believed. Written once, never changed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::codec::Damaged;
use crate::base::file;

/// Small enough that a short read stays cheap.
const PAGE_BYTES: usize = 16 * 1024;
const MAGIC: &[u8; 8] = b"mycode\x00E";
/// Magic, payload length, checksum of the checksums.
const TAIL_BYTES: usize = 8 + 8 + 4;

/// Writes a file from front to back.
pub struct PageWriter {
    file: BufWriter<File>,
    page: crc32fast::Hasher,
    in_page: usize,
    sums: Vec<u8>,
    written: u64,
}

impl PageWriter {
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::with_capacity(1 << 18, File::create(path)?),
            page: crc32fast::Hasher::new(),
            in_page: 0,
            sums: Vec::new(),
            written: 0,
        })
    }

    /// Bytes written so far: where the next ones will stand.
    pub fn position(&self) -> u64 {
        self.written
    }

    /// # Errors
    /// As the disk says.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PAGE_BYTES - self.in_page));
            self.page.update(now);
            self.in_page += now.len();
            if self.in_page == PAGE_BYTES {
                self.end_page();
            }
            bytes = later;
        }
        Ok(())
    }

    fn end_page(&mut self) {
        let page = std::mem::take(&mut self.page);
        self.sums.extend_from_slice(&page.finalize().to_le_bytes());
        self.in_page = 0;
    }

    /// Ends the file; returns its size in bytes.
    ///
    /// # Errors
    /// As the disk says.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.in_page > 0 {
            self.end_page();
        }
        self.file.write_all(&self.sums)?;
        let mut tail = Vec::with_capacity(TAIL_BYTES);
        tail.extend_from_slice(MAGIC);
        tail.extend_from_slice(&self.written.to_le_bytes());
        let mut sum = crc32fast::Hasher::new();
        sum.update(&self.sums);
        sum.update(&tail);
        tail.extend_from_slice(&sum.finalize().to_le_bytes());
        self.file.write_all(&tail)?;
        self.file.flush()?;
        Ok(self.written + self.sums.len() as u64 + TAIL_BYTES as u64)
    }
}

/// Reads parts of such a file.
#[derive(Debug)]
pub struct PageReader {
    file: File,
    sums: Vec<u32>,
    length: u64,
}

impl PageReader {
    /// # Errors
    /// [`Damaged`] when it is no such file, or a shorter one.
    pub fn open(path: &Path) -> Result<Self, Damaged> {
        let (file, _) = file::open(path).map_err(|_| Damaged)?;
        let size = file.metadata().map_err(|_| Damaged)?.len();
        let mut tail = [0; TAIL_BYTES];
        let tail_at = size.checked_sub(TAIL_BYTES as u64).ok_or(Damaged)?;
        file.read_exact_at(&mut tail, tail_at).map_err(|_| Damaged)?;
        let length = u64::from_le_bytes(tail[8..16].try_into().map_err(|_| Damaged)?);
        let sums_bytes = tail_at.checked_sub(length).ok_or(Damaged)?;
        if &tail[..8] != MAGIC || sums_bytes != length.div_ceil(PAGE_BYTES as u64) * 4 {
            return Err(Damaged);
        }
        let mut sums = vec![0; usize::try_from(sums_bytes).map_err(|_| Damaged)?];
        file.read_exact_at(&mut sums, length).map_err(|_| Damaged)?;
        let mut sum = crc32fast::Hasher::new();
        sum.update(&sums);
        sum.update(&tail[..16]);
        if sum.finalize().to_le_bytes() != tail[16..] {
            return Err(Damaged);
        }
        let sums = sums.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        Ok(Self { file, sums: sums.collect(), length })
    }

    /// Bytes of the payload.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The bytes from `start`, `count` of them.
    ///
    /// # Errors
    /// [`Damaged`] when they lie outside or a page of them is not what was written.
    pub fn read(&self, start: u64, count: u64) -> Result<Vec<u8>, Damaged> {
        let end = start.checked_add(count).filter(|end| *end <= self.length).ok_or(Damaged)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let page = PAGE_BYTES as u64;
        let (first, last) = (start / page, (end - 1) / page);
        let from = first * page;
        let to = ((last + 1) * page).min(self.length);
        let mut bytes = vec![0; usize::try_from(to - from).map_err(|_| Damaged)?];
        self.file.read_exact_at(&mut bytes, from).map_err(|_| Damaged)?;
        for (number, content) in (first..=last).zip(bytes.chunks(PAGE_BYTES)) {
            let sum = usize::try_from(number).ok().and_then(|number| self.sums.get(number));
            if sum != Some(&crc32fast::hash(content)) {
                return Err(Damaged);
            }
        }
        // A copy of the right size: many small parts are kept for long.
        bytes.get((start - from) as usize..(end - from) as usize).map(<[u8]>::to_vec).ok_or(Damaged)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pages");
        let bytes: Vec<u8> = (0..40_000_u32).map(|n| (n * 7) as u8).collect();
        let mut writer = PageWriter::create(&path).unwrap();
        writer.write(&bytes[..10]).unwrap();
        writer.write(&bytes[10..]).unwrap();
        assert_eq!(writer.position(), 40_000);
        writer.finish().unwrap();
        let reader = PageReader::open(&path).unwrap();
        assert_eq!(reader.read(0, 40_000).unwrap(), bytes);
        assert_eq!(reader.read(16_380, 10).unwrap(), bytes[16_380..16_390]);
        assert_eq!(reader.read(39_999, 2), Err(Damaged));
        let mut file = std::fs::read(&path).unwrap();
        file[20_000] ^= 1;
        std::fs::write(&path, &file).unwrap();
        let reader = PageReader::open(&path).unwrap();
        assert_eq!(reader.read(0, 10).unwrap(), bytes[..10]);
        assert_eq!(reader.read(16_390, 10), Err(Damaged));
        std::fs::write(&path, &file[..39_000]).unwrap();
        assert!(PageReader::open(&path).is_err());
    }
}
