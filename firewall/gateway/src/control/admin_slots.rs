//! Bounds of the connections at an admin or probe address. An ordinary connection ends soon; a stream of verdicts lasts, so
//! streams have slots of their own and take none from probes and scrapes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections open at once: a cluster probes and scrapes with a handful.
const CONNECTIONS: usize = 64;
/// Streams open at once: a console reads one, and an operator some by hand.
const STREAMS: usize = 16;
/// Time of a whole connection. Common probes and scrapes wait at most this long.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// Time of a stream. Its reader connects again, and shows its certificate again.
pub(super) const STREAM_TIME: Duration = Duration::from_secs(3_600);

/// Slots of one address.
pub(super) struct AdminSlots {
    connections: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

/// The slot of one connection, which its request can change for the slot of a stream.
#[derive(Clone)]
pub(super) struct ConnectionSlot {
    connection: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    streams: Arc<Semaphore>,
}

impl AdminSlots {
    /// All slots, free.
    pub(super) fn new() -> Self {
        Self {
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }
    }

    /// Waits for the slot of a connection.
    pub(super) async fn connection(&self) -> Option<ConnectionSlot> {
        let permit = Arc::clone(&self.connections).acquire_owned().await.ok()?;
        let connection = Arc::new(Mutex::new(Some(permit)));
        Some(ConnectionSlot { connection, streams: Arc::clone(&self.streams) })
    }
}

impl ConnectionSlot {
    /// Changes the slot for one of a stream. Gives none if every stream's slot is taken; the connection then keeps its own.
    pub(super) fn into_stream(self) -> Option<OwnedSemaphorePermit> {
        let permit = self.streams.try_acquire_owned().ok()?;
        let _ = self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        Some(permit)
    }

    /// Returns true once the connection carries a stream.
    fn is_stream(&self) -> bool {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Runs a connection within its time: [`TIME`], or [`STREAM_TIME`] more if it carries a stream by then.
    pub(super) async fn bound(&self, connection: impl Future<Output = ()>) {
        tokio::pin!(connection);
        // the caller that is too slow learns it by the end of its connection
        if tokio::time::timeout(TIME, &mut connection).await.is_err() && self.is_stream() {
            let _ = tokio::time::timeout(STREAM_TIME, connection).await;
        }
    }
}

#[cfg(test)]
mod tests;
