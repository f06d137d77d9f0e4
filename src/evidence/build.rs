//! Compresses the tables of terms, which are read only when a task is in their language.

use std::io::{self, Write as _};
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=terms");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    for language in ["de", "es", "fr", "ja", "ko", "pt", "ru", "zh"] {
        let file = fs::File::create(Path::new(&out).join(language))?;
        let mut encoder = ZlibEncoder::new(file, Compression::best());
        encoder.write_all(&fs::read(format!("terms/{language}.txt"))?)?;
        encoder.finish()?;
    }
    Ok(())
}
