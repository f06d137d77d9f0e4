//! The signals: what a file can have of a task. Names only; computing and weighing happen elsewhere.

/// One signal; each file has a value for each, 0 for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Body,
    Title,
    Piece,
    TitlePiece,
    Coverage,
    SymbolParts,
    SymbolNames,
    Path,
    TitlePath,
    Stem,
    Mention,
    Dotted,
    Frame,
    Quoted,
    Phrase,
    Imports,
    Together,
    Past,
    PastTitle,
    Folder,
    Twin,
    Recent,
    Busy,
    Size,
    Test,
    Document,
    Example,
    Settings,
    Foreign,
    Entrance,
    Pair,
}

/// How many there are.
pub const COUNT: usize = 31;

/// All signals, in the order of their numbers, with the word that users see.
pub const ALL: [(Signal, &str); COUNT] = [
    (Signal::Body, "words in the file"),
    (Signal::Title, "the title's words in the file"),
    (Signal::Piece, "words close together"),
    (Signal::TitlePiece, "the title's words close together"),
    (Signal::Coverage, "how many of the words"),
    (Signal::SymbolParts, "words in defined names"),
    (Signal::SymbolNames, "defines what is named"),
    (Signal::Path, "words in the path"),
    (Signal::TitlePath, "the title's words in the path"),
    (Signal::Stem, "named like a word of the task"),
    (Signal::Mention, "named in the task"),
    (Signal::Dotted, "a dotted name leads here"),
    (Signal::Frame, "in the stack trace"),
    (Signal::Quoted, "holds a quoted text"),
    (Signal::Phrase, "holds whole phrases"),
    (Signal::Imports, "linked by imports"),
    (Signal::Together, "changes together with"),
    (Signal::Past, "changed by similar commits"),
    (Signal::PastTitle, "changed by commits with a similar title"),
    (Signal::Folder, "in a folder with other hits"),
    (Signal::Twin, "its tests fit"),
    (Signal::Recent, "changed recently"),
    (Signal::Busy, "changes with everything"),
    (Signal::Size, "large"),
    (Signal::Test, "a test"),
    (Signal::Document, "documentation"),
    (Signal::Example, "an example"),
    (Signal::Settings, "settings or data"),
    (Signal::Foreign, "generated or not ours"),
    (Signal::Entrance, "a folder's entrance file"),
    (Signal::Pair, "the other half of a hit"),
];

/// A file's values.
pub type Values = [f32; COUNT];
