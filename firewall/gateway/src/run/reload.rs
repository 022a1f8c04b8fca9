//! Another configuration for a running gateway: everything or nothing.
//!
//! New routes are built beside the old ones on every core. Only if each core can serve them, all change.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use super::core::Core;
use super::layout::{self, Layout};
use super::served::Change;
use crate::config::{Config, RouteConfig};
use crate::control::crls::Stores;
use crate::control::metrics::Metrics;
use crate::fault::RunFault;
use crate::server::listen::BoundRoute;
use crate::server::materials::Materials;
use crate::server::shared::Shared;
use crate::server::sockets::Sockets;

/// The running configuration, and the means to replace it.
pub(super) struct Reloader {
    pub(super) core: Core,
    pub(super) stores: Stores,
    pub(super) metrics: Metrics,
    pub(super) sockets: Sockets,
    /// The serving threads.
    pub(super) cores: Vec<mpsc::Sender<Change>>,
    /// The bound routes, which the operator's pages show.
    pub(super) routes: Arc<ArcSwap<Vec<BoundRoute>>>,
}

impl Reloader {
    /// Takes a configuration, and reads its keys and certificates again.
    ///
    /// # Errors
    /// The fault of a file, an address or a route. Everything stays as it was then.
    pub(super) async fn take(&mut self, fresh: Arc<Config>) -> Result<(), RunFault> {
        let materials = self.core.materials.load().reload(&fresh, &self.stores)?;
        if *fresh != *self.core.config || materials.files != self.core.files {
            let next = self.next(Arc::clone(&fresh), &materials);
            let prepared = self.prepare(&next).await;
            if prepared.is_err() {
                self.sockets.keep_only(layout::listeners(&self.core.config));
            }
            let (routes, go) = prepared?;
            self.renew(materials);
            next.shared.accounts.rebound(&fresh.limits);
            next.shared.inside.replace(&fresh.routes);
            for core in go {
                let _ = core.send(());
            }
            self.core = next;
            self.sockets.keep_only(layout::listeners(&fresh));
            self.routes.store(Arc::new(routes));
            return Ok(());
        }
        self.renew(materials);
        Ok(())
    }

    /// Closes all sockets here, so that nobody waits in the queue of a listener that drains.
    pub(super) fn close(&mut self) {
        self.sockets.keep_only([]);
    }

    fn renew(&self, materials: Materials) {
        self.core.shared.issuers.store(Arc::clone(&materials.issuers));
        self.core.materials.store(Arc::new(materials));
    }

    /// The cores' parts under another configuration.
    fn next(&self, config: Arc<Config>, fresh: &Materials) -> Core {
        let shared = Shared { limits: config.limits.clone(), ..Shared::clone(&self.core.shared) };
        let (materials, files) = (Arc::clone(&self.core.materials), Arc::clone(&fresh.files));
        Core { config, shared: Arc::new(shared), materials, files }
    }

    /// Binds new addresses and builds the new routes on every core. Returns all routes, and the word for each core.
    async fn prepare(
        &mut self,
        next: &Core,
    ) -> Result<(Vec<BoundRoute>, Vec<oneshot::Sender<()>>), RunFault> {
        let bound = self.routes.load_full();
        let kept: Vec<BoundRoute> =
            bound.iter().filter(|route| is_untouched(&self.core, next, &route.name)).cloned().collect();
        let layout = Layout::bind(next, &self.metrics, &mut self.sockets, &kept)?;
        let ended = |_| RunFault::system("reload", "a serving thread ended");
        let mut answers = Vec::new();
        let mut words = Vec::new();
        for (core, seats) in self.cores.iter().zip(layout.cores) {
            let (ready, answer) = oneshot::channel();
            let (word, go) = oneshot::channel();
            let change = Change { core: next.clone(), seats, kept: layout.kept.clone(), ready, go };
            core.send(change).await.map_err(|_| RunFault::system("reload", "a serving thread ended"))?;
            answers.push(answer);
            words.push(word);
        }
        for answer in answers {
            answer.await.map_err(ended)??;
        }
        Ok((layout.routes, words))
    }
}

/// Returns true if a route, its files, the members of its group and the limits are the same under both configurations.
fn is_untouched(old: &Core, new: &Core, name: &str) -> bool {
    let of = |core: &Core, name: &str| -> Option<RouteConfig> {
        core.config.routes.iter().find(|route| route.name == name).cloned()
    };
    let files = |core: &Core| of(core, name).and_then(|route| core.files.get(&(&route).into()).cloned());
    let same = |name: &str| of(old, name) == of(new, name);
    let members = of(new, name).and_then(|route| route.group).map(|group| group.members).unwrap_or_default();
    let limits = old.config.limits == new.config.limits;
    limits && same(name) && files(old) == files(new) && members.iter().all(|member| same(member))
}
