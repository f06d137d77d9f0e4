//! How much each signal counts: the one table.

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
    weight(Signal::Body, 1.0, 0.5),
    weight(Signal::Title, 0.5, 0.3),
    weight(Signal::Piece, 1.2, 0.5),
    weight(Signal::TitlePiece, 0.5, 0.2),
    weight(Signal::Coverage, 0.5, 0.0),
    weight(Signal::SymbolParts, 0.5, 0.2),
    sparse(Signal::SymbolNames, 0.9, 0.3, 5.0),
    weight(Signal::Path, 0.7, 0.3),
    weight(Signal::TitlePath, 0.4, 0.2),
    sparse(Signal::Stem, 0.7, 0.2, 6.0),
    sparse(Signal::Mention, 1.0, 0.0, 1.0),
    sparse(Signal::Dotted, 0.6, 0.2, 10.0),
    sparse(Signal::Frame, 1.0, 0.0, 1.0),
    sparse(Signal::Quoted, 0.6, 0.2, 6.0),
    sparse(Signal::Phrase, 0.6, 0.2, 10.0),
    weight(Signal::Imports, 0.3, 0.1),
    weight(Signal::Together, 0.4, 0.2),
    sparse(Signal::Past, 1.2, 0.5, 1.0),
    sparse(Signal::PastTitle, 0.6, 0.2, 1.0),
    weight(Signal::Folder, 0.2, 0.1),
    sparse(Signal::Twin, 0.4, 0.1, 1.0),
    sparse(Signal::Recent, 0.1, 0.0, 1.0),
    sparse(Signal::Busy, -0.1, 0.0, 5.0),
    sparse(Signal::Size, -0.1, 0.0, 9.0),
    sparse(Signal::Test, -2.0, 0.0, 1.0),
    sparse(Signal::Document, -2.0, 0.0, 1.0),
    sparse(Signal::Example, -1.2, 0.0, 1.0),
    sparse(Signal::Settings, -1.2, 0.0, 1.0),
    sparse(Signal::Foreign, -3.0, 0.0, 1.0),
    sparse(Signal::Entrance, -0.1, 0.0, 1.0),
];
