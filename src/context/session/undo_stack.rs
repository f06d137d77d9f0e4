//! What remains of a session after rewinds and revivals, for anything attached to items.

use base::model::item::ItemId;

/// Things that came with items, oldest first, without those that were removed.
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
    pub fn push(&mut self, id: ItemId, thing: T) {
        self.all.push((id, thing));
    }

    pub fn rewind(&mut self, to: ItemId) {
        let gone = self.take_back(to);
        self.voided.push((to, gone));
    }

    /// Restores the state from before rewind (or revival) number `rewind`, counted from 0.
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

    pub fn all(&self) -> &[(ItemId, T)] {
        &self.all
    }

    fn take_back(&mut self, to: ItemId) -> Vec<(ItemId, T)> {
        self.all.extract_if(.., |(id, _)| *id >= to).collect()
    }
}
