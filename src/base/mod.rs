//! Ground floor: text, time, secrets, files and processes. Knows nothing of agents, models or tools.

pub mod clock;
pub mod sanitize;
pub mod secret;
pub mod text;
