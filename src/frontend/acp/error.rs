//! The protocol's errors, each with a sentence for the user.

use agent_client_protocol_schema::v1::{Error, ErrorCode};

pub fn error(code: ErrorCode, why: impl Into<String>) -> Error {
    Error::new(code.into(), why)
}

pub fn invalid_request(why: impl Into<String>) -> Error {
    error(ErrorCode::InvalidRequest, why)
}

pub fn invalid_params(why: impl Into<String>) -> Error {
    error(ErrorCode::InvalidParams, why)
}

pub fn failed(why: impl Into<String>) -> Error {
    error(ErrorCode::InternalError, why)
}

pub fn not_found(why: impl Into<String>) -> Error {
    error(ErrorCode::ResourceNotFound, why)
}
