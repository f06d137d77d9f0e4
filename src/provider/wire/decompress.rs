//! The bytes of an answer. We ask for no compression, but some servers and proxies compress anyway: gzip and
//! deflate are undone, others are refused in plain words.

use std::io::{self, Write};

use flate2::write::{GzDecoder, ZlibDecoder};
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;
use thiserror::Error;

/// Why no more bytes come.
#[derive(Debug, Error)]
pub enum BodyError {
    #[error(transparent)]
    Transport(#[from] reqwest::Error),
    #[error("its compressed data cannot be read: {0}")]
    Coding(#[from] io::Error),
    #[error("it is compressed with '{0}', which was not asked for")]
    UnknownCoding(String),
}

enum Coding {
    Plain,
    /// Told by the header; judged by the first bytes, because some servers only say so.
    Announced(String),
    Gzip(GzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

/// An answer's body, readable in portions.
pub struct Body {
    response: Response,
    coding: Coding,
}

impl Body {
    pub fn new(response: Response) -> Self {
        let named = response.headers().get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let coding = match named.map(|name| name.trim().to_ascii_lowercase()) {
            Some(name) if !name.is_empty() && name != "identity" => Coding::Announced(name),
            _ => Coding::Plain,
        };
        Self { response, coding }
    }

    /// The next portion; `None` at the end. May be empty. Can be waited for in several goes.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, BodyError> {
        let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
        if let Coding::Announced(name) = &self.coding {
            self.coding = match (name.as_str(), &chunk[..]) {
                ("gzip" | "x-gzip", [0x1f, 0x8b, ..] | [0x1f]) => Coding::Gzip(GzDecoder::new(Vec::new())),
                ("deflate", [0x78, ..]) => Coding::Deflate(ZlibDecoder::new(Vec::new())),
                (_, [b'd' | b'e' | b':' | b'{' | b'<' | b'\r' | b'\n', ..]) => Coding::Plain,
                (_, []) => return Ok(Some(Vec::new())),
                _ => return Err(BodyError::UnknownCoding(name.clone())),
            };
        }
        Ok(Some(match &mut self.coding {
            Coding::Plain | Coding::Announced(_) => chunk.to_vec(),
            Coding::Gzip(decoder) => {
                decoder.write_all(&chunk)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
            Coding::Deflate(decoder) => {
                decoder.write_all(&chunk)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
        }))
    }
}
