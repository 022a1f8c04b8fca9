//! The thread of approvals: it owns the journal, and serves the address for people.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, watch};

use super::threads::thread;
use crate::approvals::listener::{People, router};
use crate::approvals::{Approvals, recorder};
use crate::control::admin_listener::{AdminListener, Callers};
use crate::fault::RunFault;
use crate::pipeline::record::Audit;
use crate::server::materials::Materials;

/// Parts that the thread gets from a start.
pub(super) struct Parts {
    pub(super) approvals: Approvals,
    pub(super) audit: Audit,
    pub(super) materials: Arc<ArcSwap<Materials>>,
    pub(super) socket: std::net::TcpListener,
}

/// Starts the thread, which runs until `end`. Returns the bound address for people.
///
/// # Errors
/// The thread or its runtime cannot start.
pub(super) fn start(
    parts: Parts,
    ended: &mpsc::Sender<String>,
    mut end: watch::Receiver<bool>,
) -> Result<(SocketAddr, JoinHandle<()>), RunFault> {
    let Parts { approvals, audit, materials, socket } = parts;
    let Approvals { desk, scribe, config } = approvals;
    let pages = router(&People { desk, config });
    let listener = AdminListener::new(socket, Callers::People { materials }, |_| pages)?;
    let address = listener.address();
    let thread = thread("semgate-people".to_owned(), ended, move |local, runtime| {
        local.block_on(runtime, async move {
            listener.spawn()?;
            tokio::select! {
                _ = end.wait_for(|end| *end) => {}
                () = scribe.run(vec![recorder(audit)]) => {}
            }
            Ok(())
        })
    })?;
    Ok((address, thread))
}
