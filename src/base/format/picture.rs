//! Prepares a picture for a model: decoded within limits, scaled to what models look at, small enough for a
//! log. Doesn't trust the size that a file claims. Blocks.

use std::fs::File;
use std::io::{Cursor, Seek as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use thiserror::Error;

use crate::file::{self, FileError};

/// Longer side in pixels; Claude and GPT scale down larger ones (platform.claude.com/docs vision, Nov 2026).
const MAX_SIDE: u32 = 1_568;
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;
const MAX_DECODED_BYTES: u64 = 256 * 1024 * 1024;
const MAX_DECODED_SIDE: u32 = 20_000;
/// Larger drawings are sent as JPEG.
const MAX_PNG_BYTES: usize = 512 * 1024;
/// A JPEG is kept below this size if possible.
const MAX_JPEG_BYTES: usize = 700 * 1024;

#[derive(Debug, Error)]
pub enum PictureError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("it can't be decoded: {0}")]
    Damaged(#[from] image::ImageError),
    #[error("it has too many pixels ({0}×{1})")]
    TooLarge(u32, u32),
}

pub struct Picture {
    pub media_type: &'static str,
    pub width: u32,
    pub height: u32,
    pub data: String,
}

pub fn is_picture(head: &[u8]) -> bool {
    format(head).is_some()
}

fn format(head: &[u8]) -> Option<ImageFormat> {
    let known = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];
    image::guess_format(head).ok().filter(|format| known.contains(format))
}

/// For an animation, the first frame.
pub fn load(mut file: File) -> Result<Picture, PictureError> {
    let meta = file.rewind().and_then(|()| file.metadata()).map_err(FileError::from)?;
    from_bytes(file::read_all(file, &meta, MAX_FILE_BYTES)?)
}

pub fn from_bytes(bytes: Vec<u8>) -> Result<Picture, PictureError> {
    let mut reader = ImageReader::new(Cursor::new(&bytes)).with_guessed_format().map_err(FileError::from)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODED_SIDE);
    limits.max_image_height = Some(MAX_DECODED_SIDE);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let source = reader.format();
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if width > MAX_DECODED_SIDE || height > MAX_DECODED_SIDE || decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(PictureError::TooLarge(width, height));
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    let fits = picture.width().max(picture.height()) <= MAX_SIDE;
    if !fits {
        picture = picture.resize(MAX_SIDE, MAX_SIDE, image::imageops::FilterType::CatmullRom);
    }
    let (width, height) = (picture.width(), picture.height());
    let made = |media_type, bytes: &[u8]| Picture { media_type, width, height, data: STANDARD.encode(bytes) };
    if source == Some(ImageFormat::Png) && fits && bytes.len() <= MAX_PNG_BYTES {
        return Ok(made("image/png", &bytes));
    }
    if source != Some(ImageFormat::Jpeg) {
        let mut png = Vec::new();
        picture.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
        if png.len() <= MAX_PNG_BYTES {
            return Ok(made("image/png", &png));
        }
    }
    // Re-encoding also removes metadata such as the location.
    let plain = DynamicImage::ImageRgb8(picture.into_rgb8());
    let mut jpeg = Vec::new();
    for quality in [85, 70, 50] {
        jpeg.clear();
        plain.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality))?;
        if jpeg.len() <= MAX_JPEG_BYTES {
            break;
        }
    }
    Ok(made("image/jpeg", &jpeg))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        // Noise does not compress.
        let noise = image::RgbImage::from_fn(width, height, |x, y| {
            let value = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)).to_le_bytes();
            image::Rgb([value[0], value[1], value[2]])
        });
        let mut bytes = Vec::new();
        noise.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    #[test]
    fn small_drawings_stay_as_they_are() {
        let png = encoded(40, 30, ImageFormat::Png);
        let picture = from_bytes(png.clone()).unwrap();
        assert_eq!((picture.media_type, picture.width, picture.height), ("image/png", 40, 30));
        assert_eq!(STANDARD.decode(picture.data).unwrap(), png);
    }

    #[test]
    fn everything_else_is_brought_to_size() {
        for (format, width, height) in
            [(ImageFormat::Png, 1_700, 600), (ImageFormat::Jpeg, 100, 1_700), (ImageFormat::Gif, 300, 300)]
        {
            let picture = from_bytes(encoded(width, height, format)).unwrap();
            assert!(picture.width.max(picture.height) <= MAX_SIDE, "{format:?}");
            assert!(picture.data.len() <= 1024 * 1024, "{format:?}: {}", picture.data.len());
            let bytes = STANDARD.decode(&picture.data).unwrap();
            let again = from_bytes(bytes).unwrap();
            assert_eq!((again.width, again.height), (picture.width, picture.height));
        }
    }

    #[test]
    fn bombs_and_damage() {
        // A header that claims 60,000 × 60,000 pixels.
        let mut bomb = encoded(4, 4, ImageFormat::Png);
        bomb[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
        bomb[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
        let crc = crc32fast::hash(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&crc.to_be_bytes());
        assert!(from_bytes(bomb).is_err());
        let mut cut = encoded(400, 400, ImageFormat::Png);
        cut.truncate(60);
        assert!(from_bytes(cut).is_err());
        assert!(from_bytes(b"\x89PNG\r\n\x1a\n".to_vec()).is_err());
        assert!(!is_picture(b"RIFF....WAVE") && !is_picture(b"BM") && is_picture(b"GIF89a"));
    }
}
