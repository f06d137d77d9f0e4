//! Context engineering: what of the session is sent to the model, in which form, and the account of it.
//! Works on `model` results; knows no tool, no provider dialect and no front end.

pub mod budget;
pub mod builder;
pub mod catalog;
pub mod compress;
pub mod history;
pub mod law;
pub mod layer;
pub mod layers;
pub mod ledger;
pub mod logbook;
pub mod mention;
pub mod parts;
pub mod prefix;
pub mod replay;
pub mod story;
