//! Queries the undo journal off the async threads.

use base::process::task;
use context::session::journal::recorder::Journal;
use tools::cx::ToolCx;

/// Returns the default without a journal.
pub async fn ask<T: Default + Send + 'static>(
    cx: &ToolCx,
    ask: impl FnOnce(&Journal) -> T + Send + 'static,
) -> T {
    let Some(journal) = cx.journal.clone() else { return T::default() };
    task::blocking(move || ask(&journal)).await.unwrap_or_default()
}
