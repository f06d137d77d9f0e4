//! What of a session still stands when parts of it were taken back and revived: the same rule that the history
//! follows, for whatever else hangs on items.

use base::model::item::ItemId;

/// Things that came with items, oldest first, without those that were taken back.
#[derive(Clone, Debug)]
pub struct UndoStack<T> {
    all: Vec<(ItemId, T)>,
    voided: Vec<(ItemId, Vec<(ItemId, T)>)>,
}

impl<T> Default for UndoStack<T> {
    fn default() -> Self {
        Self { all: Vec::new(), voided: Vec::new() }
    }
}

impl<T: Clone> UndoStack<T> {
    /// What came with an item.
    pub fn push(&mut self, id: ItemId, thing: T) {
        self.all.push((id, thing));
    }

    /// Everything from `to` on is void.
    pub fn rewind(&mut self, to: ItemId) {
        let gone = self.take_back(to);
        self.voided.push((to, gone));
    }

    /// What stood before the rewind (or revival) number `rewind`, counted from 0, stands again, and nothing else.
    pub fn revive(&mut self, rewind: u32) {
        let first = (rewind as usize).min(self.voided.len());
        let Some(to) = self.voided[first..].iter().map(|(to, _)| *to).min() else { return };
        let gone = self.all.iter().filter(|(id, _)| *id >= to).cloned().collect();
        for index in (first..self.voided.len()).rev() {
            let (to, things) = self.voided[index].clone();
            self.take_back(to);
            self.all.extend(things);
        }
        self.voided.push((to, gone));
    }

    /// What stands, oldest first.
    pub fn all(&self) -> &[(ItemId, T)] {
        &self.all
    }

    fn take_back(&mut self, to: ItemId) -> Vec<(ItemId, T)> {
        self.all.extract_if(.., |(id, _)| *id >= to).collect()
    }
}
