//! A program at a fixed address needs no relocations: 1.5 MB of it, and 2 ms of a run, which starts the program twice.
//! Random addresses make memory errors harder to exploit, which safe Rust doesn't have; the cryptography is in assembly.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=src/build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
