//! Looking through the workspace: walking, content search, name patterns, fuzzy ranking, terms and their weight. Knows
//! no tool and no model.

pub mod bm25;
pub mod fuzzy;
pub mod glob;
pub mod grep;
pub mod walk;
pub mod words;
