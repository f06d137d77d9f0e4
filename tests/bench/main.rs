//! Measures what the product promises: whole processes first (start, memory, tokens of a task), then the hot functions.
//! Prints figures and ratios; asserts nothing, because a shared machine's clock proves nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

#[path = "../it/support/mod.rs"]
mod support;

mod hot;
mod locate;
mod processes;
mod screen;

fn main() {
    // `cargo test` runs benches with --test to see that they work; the processes are only worth it for real.
    if !std::env::args().any(|arg| arg == "--test") {
        processes::print();
    }
    divan::main();
}
