//! What may run: accesses that a call declares, the rules, and the verdict. Knows no tool and no front end.

pub mod access;
