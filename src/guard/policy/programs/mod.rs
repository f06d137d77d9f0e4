//! What programs do: a table of rows, and the interpreter that assesses a call by its row.

pub mod arguments;
pub mod assess;
pub mod assessment;
pub mod effects;
pub mod git;
pub mod interpret;
pub mod sed_awk;
pub mod table;
