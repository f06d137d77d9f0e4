//! The only integration test binary (fast link); one file a subject.
