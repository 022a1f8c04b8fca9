//! The thread of approvals: it owns the journal, and serves the address for people.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, watch};

use super::threads::thread;
use crate::approvals::channels::{self, doors::Doors};
use crate::approvals::channels::{Channels, Courier, errands, listener};
use crate::approvals::listener::{People, router};
use crate::approvals::{Approvals, enrol, humans, recorder};
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
    let follow = humans::follow(desk.clone(), Arc::clone(&config));
    let (errand, work) = errands();
    let doors = Doors::open(desk.clone(), Arc::clone(&config), errand.clone())?;
    let sending = Channels::open(&config)?;
    let people = People { desk: desk.clone(), config: Arc::clone(&config) };
    let pages = router(&people).merge(enrol::router(&people)).merge(channels::router(&doors));
    let served = AdminListener::new(socket, Callers::People { materials }, |_| pages)?;
    let address = served.address();
    let url = config.url.clone().unwrap_or_else(|| format!("https://{address}"));
    let thread = thread("semgate-people".to_owned(), ended, move |local, runtime| {
        local.block_on(runtime, async move {
            let courier = Courier::new(desk, sending, config, &url, work);
            served.spawn()?;
            tokio::task::spawn_local(follow);
            tokio::select! {
                _ = end.wait_for(|end| *end) => {}
                () = scribe.run(vec![recorder(audit), listener(errand)]) => {}
                () = courier.run() => {}
            }
            Ok(())
        })
    })?;
    Ok((address, thread))
}
