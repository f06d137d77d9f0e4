//! Facts about files and processes that the standard library doesn't provide; filled by `system`.

#[derive(Clone, Copy, Debug)]
pub struct FileFacts {
    pub mode: u32,
    /// Equal for all names of the same file.
    pub id: (u64, u64),
    pub names: u64,
    pub owner: (u32, u32),
    pub modified_ns: i64,
    pub changed_ns: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct ProcessFacts {
    pub parent: i32,
    pub session: i32,
    /// Start time in a system-specific unit, because numbers are reused.
    pub start: u64,
    pub zombie: bool,
}
