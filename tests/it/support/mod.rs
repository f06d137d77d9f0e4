<<<<<<< HEAD
//! What tests share: a fake model server that speaks both dialects, checks every request, and misbehaves on demand; a
//! hermetic place to start the real binary in; and an exact token count.

pub mod agent;
pub mod answer;
pub mod check;
pub mod server;
pub mod tokens;
pub mod workplace;
=======
//! Fakes shared by the integration tests.

pub mod fake_engine;
>>>>>>> tui
