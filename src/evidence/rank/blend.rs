//! Values of very different scales into one score: each as a share of the best file's value and as a place, weighed
//! by the table.

use super::fields::Columns;
use super::signal::{ALL, COUNT, Values};
use super::weights::WEIGHTS;

/// A place this far down is worth half of the first.
const HALF_PLACE: f32 = 4.0;
/// Places further down are worth nothing.
const LAST_PLACE: usize = 60;

/// The columns as shares and places.
pub struct Blended {
    /// By signal, by file: 0–1.
    shares: Vec<Vec<f32>>,
    places: Vec<Vec<f32>>,
}

/// Makes the columns comparable.
pub fn blend(columns: &Columns) -> Blended {
    let mut shares = Vec::with_capacity(COUNT);
    let mut places = Vec::with_capacity(COUNT);
    for (column, weight) in columns.by_signal.iter().zip(&WEIGHTS) {
        // A weak best is no whole share: a file name that thirty files have must not count like a unique one.
        let best = column.iter().copied().fold(weight.whole, f32::max);
        shares.push(if best > 0.0 {
            column.iter().map(|value| value / best).collect()
        } else {
            column.clone()
        });
        places.push(place(column));
    }
    Blended { shares, places }
}

fn place(column: &[f32]) -> Vec<f32> {
    let mut worth = vec![0.0; column.len()];
    let mut order: Vec<usize> = (0..column.len()).filter(|file| column[*file] > 0.0).collect();
    let better = |a: &usize, b: &usize| column[*b].total_cmp(&column[*a]).then(a.cmp(b));
    if order.len() > LAST_PLACE {
        order.select_nth_unstable_by(LAST_PLACE, better);
        order.truncate(LAST_PLACE);
    }
    order.sort_by(better);
    let mut rank = 0;
    for (at, file) in order.iter().enumerate() {
        // Equals share the better place.
        if at == 0 || column[order[at - 1]] > column[*file] {
            rank = at;
        }
        worth[*file] = HALF_PLACE / (HALF_PLACE + rank as f32);
    }
    worth
}

impl Blended {
    /// A file's score.
    pub fn score(&self, file: usize) -> f32 {
        WEIGHTS
            .iter()
            .zip(self.shares.iter().zip(&self.places))
            .map(|(weight, (shares, places))| weight.value * shares[file] + weight.place * places[file])
            .sum()
    }

    /// What each signal adds to a file's score.
    pub fn parts(&self, file: usize) -> Values {
        let mut parts = [0.0; COUNT];
        for (number, weight) in WEIGHTS.iter().enumerate() {
            parts[number] =
                weight.value * self.shares[number][file] + weight.place * self.places[number][file];
        }
        parts
    }

    /// The share and the place's worth of one signal.
    pub fn raw(&self, number: usize, file: usize) -> (f32, f32) {
        (self.shares[number][file], self.places[number][file])
    }
}

/// The word for people of the signal with this number.
pub fn word(number: usize) -> &'static str {
    ALL.get(number).map_or("", |(_, word)| word)
}
