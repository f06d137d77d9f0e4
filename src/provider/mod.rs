//! Model servers. Each dialect is one file that turns a `Request` into bytes and bytes into `StreamEvent`s.

pub mod api;
