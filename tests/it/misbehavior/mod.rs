//! Models that misbehave in one way each, and what follows: requests, words, end, files, processes.

mod recorded;
mod rows;
pub mod run;
mod sentences;
mod single;
mod slips;
mod table;
