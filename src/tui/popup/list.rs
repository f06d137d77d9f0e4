//! A list with one chosen row, of which a window is shown. Shared by all popups that choose.

/// The chosen index among `len` rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub index: usize,
}

impl Selection {
    /// One up, from the top to the bottom.
    pub fn up(&mut self, len: usize) {
        self.index = if self.index == 0 { len.saturating_sub(1) } else { self.index - 1 };
    }

    /// One down, from the bottom to the top.
    pub fn down(&mut self, len: usize) {
        self.index = if self.index + 1 >= len { 0 } else { self.index + 1 };
    }

    /// The rows to show when there is room for `room`.
    pub fn window(&self, len: usize, room: usize) -> std::ops::Range<usize> {
        let room = room.max(1);
        let start = (self.index + 1).saturating_sub(room).min(len.saturating_sub(room));
        start..(start + room).min(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_row_is_always_in_the_window() {
        let mut selection = Selection::default();
        selection.up(10);
        assert_eq!(selection.window(10, 4), 6..10);
        selection.down(10);
        assert_eq!(selection.window(10, 4), 0..4);
        assert_eq!(selection.window(0, 4), 0..0);
    }
}
