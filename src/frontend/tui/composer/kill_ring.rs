//! The kill ring: Ctrl-Y inserts the last piece, Alt-Y the one before it.

const LIMIT: usize = 30;

/// Oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillRing {
    pieces: Vec<String>,
    /// Steps back from the last piece while cycling.
    back: usize,
}

impl KillRing {
    /// Adds a piece; cuts in a row are merged, with `before` in front of the last.
    pub fn keep(&mut self, piece: &str, before: bool, in_a_row: bool) {
        self.back = 0;
        match self.pieces.last_mut().filter(|_| in_a_row) {
            Some(last) if before => last.insert_str(0, piece),
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

    pub fn older(&mut self) -> Option<&str> {
        let count = self.pieces.len();
        self.back = (self.back + 1).checked_rem(count)?;
        self.pieces.get(count - 1 - self.back).map(String::as_str)
    }
}
