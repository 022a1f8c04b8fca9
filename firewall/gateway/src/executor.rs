//! Where what hyper starts by itself runs.

use std::future::Future;

/// Runs what hyper starts for a stream on the core of its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnThisCore;

impl<F: Future + 'static> hyper::rt::Executor<F> for OnThisCore {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move { drop(future.await) });
    }
}
