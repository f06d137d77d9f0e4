//! What an operating system knows of files and processes, beyond what the standard library says: `system` finds it out.

#[derive(Clone, Copy, Debug)]
pub struct FileFacts {
    pub mode: u32,
    /// Names with the same one are the same file.
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
    /// When it began, in a unit of the system's: numbers are reused.
    pub start: u64,
    pub zombie: bool,
}
