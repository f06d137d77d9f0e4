//! What was cut from a text field, to be put back elsewhere: Ctrl-Y brings the last piece, Alt-Y the one before it.

/// Pieces that are kept.
const LIMIT: usize = 30;

/// The pieces, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillRing {
    pieces: Vec<String>,
    /// Steps back from the last one, while they are gone through.
    back: usize,
}

/// On which side of what was cut before the new piece stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    Behind,
}

impl KillRing {
    /// Keeps a piece; cuts in a row are one piece.
    pub fn keep(&mut self, piece: &str, side: Side, in_a_row: bool) {
        self.back = 0;
        match self.pieces.last_mut().filter(|_| in_a_row) {
            Some(last) if side == Side::Before => last.insert_str(0, piece),
            Some(last) => last.push_str(piece),
            None => {
                if self.pieces.len() == LIMIT {
                    self.pieces.remove(0);
                }
                self.pieces.push(piece.to_owned());
            }
        }
    }

    /// The piece that was cut last.
    pub fn last(&mut self) -> Option<&str> {
        self.back = 0;
        self.pieces.last().map(String::as_str)
    }

    /// The piece before the one given last; behind the oldest the newest again.
    pub fn older(&mut self) -> Option<&str> {
        let count = self.pieces.len();
        self.back = (self.back + 1).checked_rem(count)?;
        self.pieces.get(count - 1 - self.back).map(String::as_str)
    }
}
