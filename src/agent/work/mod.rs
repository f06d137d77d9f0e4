//! What a run has done, as far as it matters for its end: changes, checks, repeats. Rebuilt from the session log.

pub mod claims;
pub mod earlier;
pub mod named_paths;
pub mod work_log;
