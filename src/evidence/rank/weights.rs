//! How much each signal counts: the one table.
//!
//! How the numbers were chosen: set by hand in the order of what such signals are known to be worth, then moved by a
//! list-wise logistic fit (softmax over the best files of a task) that pulls back towards the hand-set values, on about
//! 700 tasks of 40 projects: real issues, descriptions of distribution patches, and messages of change logs with the older
//! ones as history (C, C++, Python, Go, JavaScript, Java, Rust). A second set of 439 tasks of 40 projects (73 real
//! issues; change logs of C and C++ projects that name each change's files; release notes of Python, JavaScript and Rust
//! packages with the differences between releases as history) gained nothing from a refit cross-validated by project, so
//! only what it showed to mislead was changed: recency and likeness to titles count less, busy files more against. What
//! such tasks cannot show (files that a user names, frames of stack traces) has a lower bound. The past keeps a high
//! weight although release notes speak against it: real commits name their files, notes were only matched to them. No
//! number is for one project.

use super::signal::{COUNT, Signal};

/// Weight of a signal's value (as a share of the best file's) and of its place among the files.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    pub signal: Signal,
    pub value: f32,
    pub place: f32,
    /// A value that counts whole even when no file has more.
    pub whole: f32,
}

const fn weight(signal: Signal, value: f32, place: f32) -> Weight {
    Weight { signal, value, place, whole: 0.0 }
}

const fn sparse(signal: Signal, value: f32, place: f32, whole: f32) -> Weight {
    Weight { signal, value, place, whole }
}

/// All weights, one row a signal, in the order of the signals.
pub const WEIGHTS: [Weight; COUNT] = [
    weight(Signal::Body, 0.62, 0.00),
    weight(Signal::Title, 0.57, 0.12),
    weight(Signal::Piece, 1.18, 0.00),
    weight(Signal::TitlePiece, 0.50, 0.24),
    weight(Signal::Coverage, 0.50, 0.00),
    weight(Signal::SymbolParts, 0.26, 0.30),
    sparse(Signal::SymbolNames, 0.62, 0.10, 5.0),
    weight(Signal::Path, 0.60, 0.00),
    weight(Signal::TitlePath, 0.60, 0.00),
    sparse(Signal::Stem, 0.18, 0.00, 6.0),
    sparse(Signal::Mention, 0.90, 0.00, 1.0),
    sparse(Signal::Dotted, 0.30, 0.00, 10.0),
    sparse(Signal::Frame, 1.00, 0.00, 1.0),
    sparse(Signal::Quoted, 0.58, 0.14, 6.0),
    sparse(Signal::Phrase, 0.15, 0.12, 10.0),
    weight(Signal::Imports, 0.26, 0.00),
    weight(Signal::Together, 0.26, 0.00),
    sparse(Signal::Past, 0.80, 0.35, 1.0),
    sparse(Signal::PastTitle, 0.15, 0.00, 1.0),
    weight(Signal::Folder, 0.34, 0.00),
    sparse(Signal::Twin, 0.15, 0.10, 1.0),
    sparse(Signal::Recent, 0.15, 0.00, 1.0),
    sparse(Signal::Busy, 0.00, -0.25, 5.0),
    sparse(Signal::Size, 0.46, -0.50, 9.0),
    sparse(Signal::Test, -3.60, 0.00, 1.0),
    sparse(Signal::Document, -3.40, -0.10, 1.0),
    sparse(Signal::Example, -1.00, 0.00, 1.0),
    sparse(Signal::Settings, -1.00, -0.10, 1.0),
    sparse(Signal::Foreign, -2.40, 0.00, 1.0),
    sparse(Signal::Entrance, 0.10, -0.10, 1.0),
    sparse(Signal::Pair, 0.25, 0.00, 1.0),
];
