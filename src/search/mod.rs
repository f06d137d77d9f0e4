//! Looking through the workspace: walking, content search, name patterns, fuzzy ranking. Knows no tool and no model.

pub mod bm25;
pub mod fuzzy;
pub mod glob;
pub mod grep;
pub mod walk;
