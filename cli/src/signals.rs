//! The end signals of a server.

use tokio::signal::unix::{SignalKind, signal};

/// Resolves at SIGTERM or SIGINT; never, if no handler can be installed.
pub async fn end() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
