//! What a run has done, as far as its end depends on it: changes, checks, repeats. Rebuilt from the session log.

pub mod claims;
pub mod earlier;
pub mod named_paths;
pub mod work_log;
