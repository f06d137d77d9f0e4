//! Reads the answer to a question asked before the screen opens.

use std::io::{self, BufRead, Write};

use crate::cli::report::Failure;

const MAX_BYTES: u64 = 1024;

pub fn answer() -> Result<String, Failure> {
    io::stdout().flush()?;
    let mut answer = Vec::new();
    io::Read::take(io::stdin().lock(), MAX_BYTES).read_until(b'\n', &mut answer)?;
    Ok(String::from_utf8_lossy(&answer).trim().to_lowercase())
}
