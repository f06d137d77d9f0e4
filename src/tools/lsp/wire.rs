//! Message framing (Language Server Protocol 3.17, "Base Protocol"). Anything else, such as a line printed by
//! mistake, is skipped; unlimited output is an error.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

const MESSAGE_BYTES: usize = 32 * 1024 * 1024;
const HEADER_BYTES: usize = 64 * 1024;

pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub async fn read(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Value>> {
    let (mut length, mut skipped) = (None, 0);
    loop {
        let mut line = Vec::new();
        let read = (&mut *from).take(HEADER_BYTES as u64).read_until(b'\n', &mut line).await?;
        skipped += read;
        if read == 0 {
            return Ok(None);
        }
        if skipped > HEADER_BYTES {
            return Err(garbage("prints something that isn't a message"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        match (line.split_once(':'), length) {
            (Some((name, value)), _) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse::<usize>().ok();
            }
            (_, Some(_)) if line.is_empty() => break,
            _ => {}
        }
    }
    let length = length.unwrap_or(0);
    if length > MESSAGE_BYTES {
        return Err(garbage("sent a message that is too large"));
    }
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length {
        return Ok(None);
    }
    serde_json::from_slice(&body).map(Some).map_err(|_| garbage("sent a message that isn't JSON"))
}

fn garbage(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn all(bytes: &[u8]) -> Result<Vec<Value>, String> {
        let mut from = bytes;
        let mut found = Vec::new();
        loop {
            match read(&mut from).await {
                Ok(Some(message)) => found.push(message),
                Ok(None) => return Ok(found),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    #[tokio::test]
    async fn framed_and_read() {
        let (one, two) = (json!({"id": 1}), json!({"text": "ä\n\r\n"}));
        let mut bytes = frame(&one);
        bytes.extend(b"warning: printed by mistake\n\n");
        bytes.extend(frame(&two));
        assert_eq!(all(&bytes).await.unwrap(), [one.clone(), two]);
        let typed = b"content-length: 8\nContent-Type: x\n\n{\"id\":1}";
        assert_eq!(all(typed).await.unwrap(), [one]);
        assert_eq!(all(b"Content-Length: 20\r\n\r\n{").await.unwrap(), [] as [Value; 0]);
    }

    #[tokio::test]
    async fn garbage_is_an_error() {
        assert!(all(&vec![b'x'; 2 * HEADER_BYTES]).await.unwrap_err().contains("isn't a message"));
        assert!(all(b"Content-Length: 99999999999\r\n\r\n").await.unwrap_err().contains("too large"));
        assert!(all(b"Content-Length: 3\r\n\r\n{,}").await.unwrap_err().contains("isn't JSON"));
        let endless = "a: b\r\n".repeat(HEADER_BYTES);
        assert!(all(endless.as_bytes()).await.is_err());
    }
}
