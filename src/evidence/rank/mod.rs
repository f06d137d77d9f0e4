//! From a task text to ranked files: what the text asks for, what each file has of it, and how that is weighed. Knows the
//! index and the past, no tool and no request.

pub mod chance;
pub mod companions;
pub mod fields;
pub mod frames;
pub mod gather;
pub mod issue_form;
pub mod links;
pub mod locate;
pub mod mentions;
pub mod names;
pub mod query;
pub mod signals;
pub mod verbatim;
