//! Work on many things in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The results in the order of `all`, computed by at most `most` threads.
pub fn map<T: Sync, R: Send>(all: &[T], most: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let take = || next.fetch_add(1, Ordering::Relaxed);
        let taken = std::iter::repeat_with(take).map_while(|at| Some((at, work(all.get(at)?))));
        taken.collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(most);
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Vec<(usize, R)>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
