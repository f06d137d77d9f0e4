//! Tasks with boxed closures and futures: with types of their own, each call would add fifty functions of tokio to the build.

use std::future::Future;

use futures_util::{FutureExt as _, TryFutureExt as _};
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

#[derive(Debug, Error)]
#[error("it crashed, which is a bug in mycode")]
pub struct Crashed;

/// Starts `work` at once on a thread that may block.
pub fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> impl Future<Output = Result<R, Crashed>> + Send + Unpin + 'static {
    let (done, result) = oneshot::channel();
    detached(move || done.send(work()));
    result.map_err(|_| Crashed)
}

/// Like [`blocking`], if nobody waits for the result.
pub fn detached<R>(work: impl FnOnce() -> R + Send + 'static) {
    let work: Box<dyn FnOnce() + Send> = Box::new(move || drop(work()));
    drop(tokio::task::spawn_blocking(work));
}

pub fn spawn<R: Send + 'static>(work: impl Future<Output = R> + Send + 'static) -> JoinHandle<R> {
    tokio::spawn(work.boxed())
}
