//! The lists of places and variables in `places.txt`.

use base::format::lists;

pub fn list(name: &str) -> impl Iterator<Item = &'static str> {
    lists::list(include_str!("places.txt"), name)
}
