//! What remains after rewinds and revivals, for anything that belongs to items.

use base::model::item::ItemId;

pub trait Undoable: Clone {
    /// Whether a rewind to before `to` removes it.
    fn goes(&self, to: ItemId) -> bool;
}

impl<T: Clone> Undoable for (ItemId, T) {
    fn goes(&self, to: ItemId) -> bool {
        self.0 >= to
    }
}

#[derive(Clone, Debug)]
pub struct UndoStack<T> {
    /// Oldest first, without what was removed.
    pub(crate) all: Vec<T>,
    voided: Vec<(ItemId, Vec<T>)>,
}

impl<T> Default for UndoStack<T> {
    fn default() -> Self {
        Self { all: Vec::new(), voided: Vec::new() }
    }
}

impl<T: Clone> UndoStack<(ItemId, T)> {
    pub fn push(&mut self, id: ItemId, thing: T) {
        self.all.push((id, thing));
    }
}

impl<T: Undoable> UndoStack<T> {
    pub fn all(&self) -> &[T] {
        &self.all
    }

    pub fn rewind(&mut self, to: ItemId) {
        let gone = self.take_back(to);
        self.voided.push((to, gone));
    }

    /// Restores the state from before rewind (or revival) number `rewind`, counted from 0. Can be revived in turn.
    pub fn revive(&mut self, rewind: u32) {
        let Some(to) = self.voided_since(rewind) else { return };
        let gone = self.all.iter().filter(|thing| thing.goes(to)).cloned().collect();
        // Newest first, because each one restores what the previous one left.
        for index in (rewind as usize..self.voided.len()).rev() {
            let (to, things) = self.voided[index].clone();
            self.take_back(to);
            self.all.extend(things);
        }
        self.voided.push((to, gone));
    }

    /// The earliest point to which this rewind and the later ones went back.
    pub fn voided_since(&self, rewind: u32) -> Option<ItemId> {
        self.voided.get(rewind as usize..)?.iter().map(|(to, _)| *to).min()
    }

    pub fn rewinds(&self) -> u32 {
        u32::try_from(self.voided.len()).unwrap_or(u32::MAX)
    }

    fn take_back(&mut self, to: ItemId) -> Vec<T> {
        self.all.extract_if(.., |thing| thing.goes(to)).collect()
    }
}
