//! Tests start the unoptimized program thousands of times. At a fixed address half of a start falls away, the relocations.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=src/build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
