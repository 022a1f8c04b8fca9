//! Routes with their sockets: what is bound, and what each core serves.

use super::core::{Core, Seat};
use crate::config::{Config, Listen, RouteConfig};
use crate::control::metrics::Metrics;
use crate::fault::RunFault;
use crate::server::listen::BoundRoute;
use crate::server::sockets::{ListeningSocket, Sockets};

/// The bound routes of one configuration.
pub(super) struct Layout {
    /// All routes, in configuration order.
    pub(super) routes: Vec<BoundRoute>,
    /// For each core, the routes that begin.
    pub(super) cores: Vec<Vec<Seat>>,
    /// Names of the routes that go on untouched.
    pub(super) kept: Vec<String>,
}

impl Layout {
    /// Binds every route of `core`'s configuration, except those of `kept`.
    ///
    /// # Errors
    /// [`RunFault::Bind`].
    pub(super) fn bind(
        core: &Core,
        metrics: &Metrics,
        sockets: &mut Sockets,
        kept: &[BoundRoute],
    ) -> Result<Self, RunFault> {
        let workers = core.config.workers;
        let mut layout =
            Self { routes: Vec::new(), cores: (0..workers).map(|_| Vec::new()).collect(), kept: Vec::new() };
        for (at, route) in core.config.routes.iter().enumerate() {
            if let Some(bound) = kept.iter().find(|bound| bound.name == route.name) {
                layout.kept.push(bound.name.clone());
                layout.routes.push(bound.clone());
                continue;
            }
            let (bound, taken) = sockets.bind(&route.name, &route.listen)?;
            let url = url(route, &taken);
            let seat = Seat::of(core, at, route, &url, metrics);
            let (mut lanes, lane_url) = egress(route, sockets)?;
            for (seats, bound) in layout.cores.iter_mut().zip(bound) {
                let egress = lanes.pop().map(|bound| (bound, lane_url.clone()));
                seats.push(seat.with(bound, egress));
            }
            layout.routes.push(BoundRoute { name: route.name.clone(), listen: taken, url });
        }
        Ok(layout)
    }
}

/// Names and addresses of all listeners of a configuration.
pub(super) fn listeners(config: &Config) -> impl Iterator<Item = (String, &Listen)> {
    config.routes.iter().flat_map(|route| {
        let push = route.a2a.push.as_ref().map(|push| (lane(route), &push.listen));
        std::iter::once((route.name.clone(), &route.listen)).chain(push)
    })
}

/// Name of a route's push lane, which no route has.
fn lane(route: &RouteConfig) -> String {
    format!("{} push", route.name)
}

/// Push lanes of a route, and the agent's address of it. Empty without one.
fn egress(route: &RouteConfig, sockets: &mut Sockets) -> Result<(Vec<ListeningSocket>, String), RunFault> {
    let Some(push) = &route.a2a.push else { return Ok((Vec::new(), String::new())) };
    let (bound, taken) = sockets.bind(&lane(route), &push.listen)?;
    let url = push.url.clone().unwrap_or_else(|| {
        let scheme = if push.plain { "http" } else { "https" };
        format!("{scheme}://{taken}")
    });
    tracing::info!(route = route.name, url, "the push lane listens");
    Ok((bound, url))
}

fn url(route: &RouteConfig, taken: &Listen) -> String {
    route.public_url.clone().unwrap_or_else(|| route.url_at(taken))
}
