//! The kill ring: Ctrl-Y inserts the last piece, Alt-Y the one before it.

const LIMIT: usize = 30;

/// Oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillRing {
    pieces: Vec<String>,
    /// Steps back from the last piece while cycling.
    back: usize,
}

/// Whether the new piece was before or after the previous cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    Behind,
}

impl KillRing {
    /// Adds a piece; consecutive cuts are merged.
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

    pub fn last(&mut self) -> Option<&str> {
        self.back = 0;
        self.pieces.last().map(String::as_str)
    }

    /// The next older piece, wrapping around to the newest.
    pub fn older(&mut self) -> Option<&str> {
        let count = self.pieces.len();
        self.back = (self.back + 1).checked_rem(count)?;
        self.pieces.get(count - 1 - self.back).map(String::as_str)
    }
}
