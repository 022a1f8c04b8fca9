//! Course of a route's listeners: from their start to the end of their last connection.

use tokio::sync::watch;

/// Part of the course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Connections are accepted.
    Open,
    /// No connection is accepted; messages in flight end, quiet streams and idle connections end now.
    Draining,
    /// The drain limit has passed: every connection ends now.
    Cut,
}

/// The receiving end, which every connection of the route watches.
#[derive(Clone, Debug)]
pub(crate) struct Course(watch::Receiver<Phase>);

impl Course {
    /// A course, and its control.
    pub(crate) fn begin() -> (watch::Sender<Phase>, Self) {
        let (control, course) = watch::channel(Phase::Open);
        (control, Self(course))
    }

    /// Returns true once the route drains.
    pub(crate) fn is_draining(&self) -> bool {
        *self.0.borrow() != Phase::Open
    }

    /// Waits until the route drains.
    pub(crate) async fn drains(&mut self) {
        let _ = self.0.wait_for(|phase| *phase != Phase::Open).await;
    }

    /// Waits until every connection has to end.
    pub(crate) async fn cut(&mut self) {
        let _ = self.0.wait_for(|phase| *phase == Phase::Cut).await;
    }
}
