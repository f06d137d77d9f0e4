//! Models that misbehave in one way each, and what follows: requests, words, end, files, processes.

mod rows;
pub mod run;
mod single;
mod table;
