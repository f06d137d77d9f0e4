//! What front ends list: the stored sessions, the models, what holds here. Nothing of it needs the conversation, so all of
//! it can be asked for while a turn runs.

pub mod models;
pub mod sessions;
pub mod status;
