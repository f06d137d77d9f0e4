//! How much each signal counts: the one table.

use super::signal::{COUNT, Signal};

/// Weight of a signal's value (as a share of the best file's) and of its place among the files.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    pub signal: Signal,
    pub value: f32,
    pub place: f32,
}

const fn weight(signal: Signal, value: f32, place: f32) -> Weight {
    Weight { signal, value, place }
}

/// All weights, one row a signal, in the order of the signals.
pub const WEIGHTS: [Weight; COUNT] = [
    weight(Signal::Body, 1.0, 0.5),
    weight(Signal::Title, 0.5, 0.3),
    weight(Signal::Piece, 1.2, 0.5),
    weight(Signal::TitlePiece, 0.5, 0.2),
    weight(Signal::Coverage, 0.5, 0.0),
    weight(Signal::SymbolParts, 0.5, 0.2),
    weight(Signal::SymbolNames, 0.9, 0.3),
    weight(Signal::Path, 0.7, 0.3),
    weight(Signal::TitlePath, 0.4, 0.2),
    weight(Signal::Stem, 0.7, 0.2),
    weight(Signal::Mention, 1.0, 0.0),
    weight(Signal::Dotted, 0.6, 0.2),
    weight(Signal::Frame, 1.0, 0.0),
    weight(Signal::Quoted, 0.6, 0.2),
    weight(Signal::Phrase, 0.6, 0.2),
    weight(Signal::Imports, 0.3, 0.1),
    weight(Signal::Together, 0.4, 0.2),
    weight(Signal::Past, 1.2, 0.5),
    weight(Signal::PastTitle, 0.6, 0.2),
    weight(Signal::Folder, 0.2, 0.1),
    weight(Signal::Twin, 0.4, 0.1),
    weight(Signal::Recent, 0.1, 0.0),
    weight(Signal::Busy, -0.1, 0.0),
    weight(Signal::Size, -0.1, 0.0),
    weight(Signal::Test, -2.0, 0.0),
    weight(Signal::Document, -2.0, 0.0),
    weight(Signal::Example, -1.2, 0.0),
    weight(Signal::Settings, -1.2, 0.0),
    weight(Signal::Foreign, -3.0, 0.0),
    weight(Signal::Entrance, -0.1, 0.0),
];
