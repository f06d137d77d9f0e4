//! Model servers. Each dialect's folder turns a `Request` into bytes, and bytes into `StreamEvent`s.

pub mod answer_format;
pub mod anthropic;
pub mod call_ids;
pub mod chat;
pub mod learned;
pub mod login;
pub mod openai;
pub mod registry;
pub mod responses;
pub mod scripted;
pub mod search;
pub mod text_tools;
pub mod unconfigured;
pub mod window;
pub mod wire;
