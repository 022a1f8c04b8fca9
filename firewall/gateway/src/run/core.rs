//! One serving thread: its routes, their listeners, and its end.

use super::served::{Change, Opened, ServedRoutes};
use super::start;
use crate::config::{CardChoice, Config, GroupOptions, Listen, RouteConfig, Upstream};
use crate::control::metrics::{Metrics, RouteMetrics};
use crate::fault::RunFault;
use crate::local::card::{Card, KeysNow, Says};
use crate::local::identity_card::Identity as PinnedIdentity;
use crate::pipeline::admit::HANDSHAKE_PATH;
use crate::pipeline::admit::rules::RouteRules;
use crate::pipeline::authorize::{Authorization, Elsewhere};
use crate::pipeline::decision::Decisions;
use crate::pipeline::identify::Identity;
use crate::server::account::NoAccount;
use crate::server::account::turns::Turns;
use crate::server::dictionaries;
use crate::server::executor::OnThisCore;
use crate::server::listen::{Entrance, Face, Listener, SignedEntrance};
use crate::server::materials::{Materials, OfRoutes, RouteKey};
use crate::server::quic::{self, Endpoints};
use crate::server::route_files::RouteFiles;
use crate::server::shared::Shared;
use crate::server::sockets::ListeningSocket;
use crate::server::worker::{Course, Group, Handshakes, RouteWorker, SignedRoute};
use crate::upstream::address::Address;
use crate::upstream::egress::Egress;
use crate::upstream::{AgentOpener, Bounds, Connector, Pool, RouteMaterials, Speak};
use arc_swap::ArcSwap;
use semgate_inspect::{GroupScope, Peer, Route};
use semgate_protocol::Binding;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, watch};

/// Kept connections to one agent on one core: more hardly help a single-threaded runtime.
const UPSTREAM_IDLE: usize = 64;

/// One route on one core, before it is served.
pub(super) struct Seat {
    at: usize,
    url: String,
    route: Arc<Route>,
    extension: String,
    metrics: RouteMetrics,
    elsewhere: Elsewhere,
    bound: Option<ListeningSocket>,
    /// The push lane, and the agent's address of it.
    egress: Option<(ListeningSocket, String)>,
}

impl Seat {
    pub(super) fn of(core: &Core, at: usize, route: &RouteConfig, url: &str, metrics: &Metrics) -> Self {
        Self {
            at,
            url: url.to_owned(),
            route: start::route(route, &core.files_of(route), url),
            extension: core.shared.inspector.generation().extension().to_owned(),
            metrics: metrics.route(&route.name),
            elsewhere: Elsewhere::default(),
            bound: None,
            egress: None,
        }
    }

    /// The same route for the core of these listeners.
    pub(super) fn with(&self, bound: ListeningSocket, egress: Option<(ListeningSocket, String)>) -> Self {
        Self { bound: Some(bound), egress, ..self.again() }
    }

    fn again(&self) -> Self {
        Self {
            at: self.at,
            url: self.url.clone(),
            route: Arc::clone(&self.route),
            extension: self.extension.clone(),
            metrics: self.metrics.clone(),
            elsewhere: self.elsewhere.clone(),
            bound: None,
            egress: None,
        }
    }
}

/// Values shared by the routes of one core.
#[derive(Clone)]
struct Local {
    decisions: Rc<Decisions>,
    turns: Rc<Turns>,
    endpoints: Rc<Endpoints>,
}

/// Parts of one route on one core.
#[derive(Clone)]
struct Served {
    local: Local,
    course: Course,
}

/// One serving thread, under one configuration.
#[derive(Clone)]
pub(super) struct Core {
    pub(super) config: Arc<Config>,
    pub(super) shared: Arc<Shared>,
    pub(super) materials: Arc<ArcSwap<Materials>>,
    /// Contents of the files that the routes hold.
    pub(super) files: Arc<OfRoutes<RouteFiles>>,
}

impl Core {
    /// Serves until `stop`, then drains. Takes changes of its routes meanwhile.
    pub(super) async fn run(
        mut self,
        seats: Vec<Seat>,
        mut changes: mpsc::Receiver<Change>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), RunFault> {
        let local =
            Local { decisions: Rc::new(Decisions::new()), turns: Turns::new(), endpoints: Rc::default() };
        let mut turns = tokio::task::spawn_local(Rc::clone(&local.turns).run());
        let mut routes = ServedRoutes::begin(self.open(seats, &local)?);
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                // serving has stopped, so the thread ends, and the gateway with it
                _ = &mut turns => return Err(RunFault::System { why: "the turn queue of a core ended".to_owned() }),
                Some(change) = changes.recv() => {
                    let Change { core, seats, kept, ready, go } = change;
                    let opened = core.open(seats, &local);
                    let (opened, answer) = match opened {
                        Ok(opened) => (opened, Ok(())),
                        Err(why) => (Vec::new(), Err(why)),
                    };
                    let is_good = answer.is_ok();
                    // without a word, another core could not change
                    if ready.send(answer).is_ok() && is_good && go.await.is_ok() {
                        routes.change(opened, &kept, self.config.limits.drain_timeout);
                        self = core;
                    }
                }
            }
        }
        routes.end(self.config.limits.drain_timeout).await;
        Ok(())
    }

    /// The listeners of these routes, not listening yet.
    fn open(&self, seats: Vec<Seat>, local: &Local) -> Result<Vec<Opened>, RunFault> {
        let each = self.config.limits.connections.div_ceil(self.config.workers.max(1));
        let open = |mut seat: Seat| {
            let (phase, course) = Course::begin();
            let (bound, (egress, url)) = (seat.bound.take(), seat.egress.take().unzip());
            let (at, name) = (seat.at, seat.route.name.clone());
            let mut opened = Opened::new(name, phase, each);
            let listener =
                self.listener(seat, url, Served { local: local.clone(), course }, opened.slots())?;
            if let Some(bound) = egress {
                let lane = self.of_agent(at, &listener, opened.slots())?;
                opened.listeners.push((lane, bound));
            }
            opened.listeners.extend(bound.map(|bound| (listener, bound)));
            Ok(opened)
        };
        seats.into_iter().map(open).collect()
    }

    /// Listener of a route's push lane, next to that for callers.
    fn of_agent(&self, at: usize, beside: &Listener, slots: Arc<Semaphore>) -> Result<Listener, RunFault> {
        let config = self.config.routes.get(at);
        let plain = config.and_then(|route| route.a2a.push.as_ref()).is_some_and(|push| push.plain);
        let entrance = if plain {
            let id = &beside.worker.route.receiver;
            Entrance::Plain(Rc::new(self.configured(id, "receiver")?))
        } else {
            Entrance::Tls(Arc::clone(&self.materials))
        };
        Ok(Listener { face: Face::Agent, worker: Rc::clone(&beside.worker), entrance, slots })
    }

    /// The only sender of a plain listener.
    fn configured(&self, id: &str, what: &str) -> Result<Identity, RunFault> {
        let account = self.shared.accounts.of(&id.into(), self.shared.now());
        let account =
            account.map_err(|NoAccount| RunFault::System { why: "there are too few accounts".to_owned() })?;
        Identity::configured(account).map_err(|why| RunFault::system(what, why))
    }

    fn listener(
        &self,
        seat: Seat,
        egress_url: Option<String>,
        served: Served,
        slots: Arc<Semaphore>,
    ) -> Result<Listener, RunFault> {
        let fault = || RunFault::System { why: "a route is missing".to_owned() };
        let config = self.config.routes.get(seat.at).ok_or_else(fault)?;
        let entrance = match &config.plain_sender {
            Some(id) => Entrance::Plain(Rc::new(self.configured(id, "plain sender")?)),
            None if config.takes_certificates() => Entrance::Tls(Arc::clone(&self.materials)),
            None => Entrance::Signed(Rc::new(self.signed_entrance(config, &served.local)?)),
        };
        let group = match &config.group {
            Some(choice) => Some(self.group(choice, &seat, &served)?),
            None => None,
        };
        let egress = match (&config.a2a.push, egress_url) {
            (Some(push), Some(url)) => Some(Egress::new(push, &url)?),
            _ => None,
        };
        let worker = RouteWorker { group, egress, ..self.worker(seat, config, served)? };
        Ok(Listener { face: Face::Callers, worker: Rc::new(worker), entrance, slots })
    }

    /// Admission to a listener of signed messages.
    fn signed_entrance(&self, config: &RouteConfig, local: &Local) -> Result<SignedEntrance, RunFault> {
        let tls = quic::listener_tls()?;
        Ok(SignedEntrance {
            quic: quic::listening(&tls, &config.iac, &self.config.limits)?,
            tls: (!matches!(config.listen, Listen::Unix(_))).then_some(tls),
            endpoints: Rc::clone(&local.endpoints),
            materials: Arc::clone(&self.materials),
            route: config.into(),
        })
    }

    /// Parts of a route for signed messages; none in other bindings.
    fn signed(&self, config: &RouteConfig) -> Result<Option<Rc<SignedRoute>>, RunFault> {
        if !config.binding.protocol().traits().signs_messages {
            return Ok(None);
        }
        Ok(Some(Rc::new(SignedRoute {
            agent: AgentOpener::new(config, &self.config.limits)?,
            frame_bytes: config.iac.frame_bytes,
            file_bytes: config.iac.file_bytes,
            dictionaries: dictionaries::load(&config.iac.dictionaries)?,
        })))
    }

    /// One route on this core.
    fn worker(&self, seat: Seat, config: &RouteConfig, served: Served) -> Result<RouteWorker, RunFault> {
        let Served { local, course } = served;
        let limits = &self.config.limits;
        let speak = if config.agent.upstream_http2 { Speak::Http2 } else { Speak::Http1 };
        let materials = RouteMaterials { all: Arc::clone(&self.materials), route: config.into() };
        let core = OnThisCore::InTurns(Rc::clone(&local.turns), config.receiver.as_str().into());
        let connector = Connector::live(&config.upstream, materials, speak, core, limits.connect_timeout);
        let below = format!("{}{HANDSHAKE_PATH}", config.upstream.path.trim_end_matches('/'));
        let below = Upstream { path: below, ..config.upstream.clone() };
        let agent = Address::new(&below, speak, Binding::L8, &seat.extension)?;
        let prefix = self.config.prefix.clone();
        let handshakes = Handshakes::new(Arc::clone(&self.materials), config.into(), prefix, agent);
        Ok(RouteWorker {
            shared: Arc::clone(&self.shared),
            rules: RouteRules::new(config, &seat.extension),
            address: Address::new(&config.upstream, speak, config.binding, &seat.extension)?,
            pool: Pool::new(connector, Bounds::keeping(UPSTREAM_IDLE, limits)),
            card: self.card(config, &seat, &local)?,
            identity: self.files_of(config).card.map(|card| PinnedIdentity::new(card, seat.url.clone())),
            authorization: Authorization::of(
                config,
                &self.shared.inside,
                &seat.url,
                seat.elsewhere.clone(),
                limits,
            ),
            decisions: local.decisions,
            turns: local.turns,
            metrics: seat.metrics,
            mcp: config.mcp.clone(),
            replier: Peer::configured(&config.receiver),
            handshakes,
            card_route: start::card_route(&seat.route),
            egress: None,
            signed: self.signed(config)?,
            route: seat.route,
            group: None,
            listings: Default::default(),
            course,
        })
    }

    /// Routes to the members of a group. Their messages are addressed to the group and have its contexts.
    fn group(&self, choice: &GroupOptions, seat: &Seat, served: &Served) -> Result<Group, RunFault> {
        let mut members = Vec::new();
        for name in &choice.members {
            let route = self.config.routes.iter().enumerate().find(|(_, route)| route.name == *name);
            let fault = || RunFault::System { why: "a route of a group is missing".to_owned() };
            let (at, config) = route.ok_or_else(fault)?;
            let mut route = Route::clone(&start::route(config, &self.files_of(config), &seat.url));
            route.options.group =
                Some(GroupScope { name: choice.name.clone(), contexts: seat.route.contexts.clone() });
            let member = Seat { at, route: Arc::new(route), bound: None, ..seat.again() };
            members.push(Rc::new(self.worker(member, config, served.clone())?));
        }
        Ok(Group { name: choice.name.clone(), members, replies: choice.replies, time: choice.time })
    }
}

impl Core {
    /// Contents of a route's files.
    fn files_of(&self, route: &RouteConfig) -> RouteFiles {
        self.files.get(&route.into()).cloned().unwrap_or_default()
    }

    /// Card of a route: its source and treatment.
    fn card(&self, route: &RouteConfig, seat: &Seat, local: &Local) -> Result<Card, RunFault> {
        let limits = &self.config.limits;
        let from = match &route.a2a.card_from {
            Some(place) => {
                let core = OnThisCore::InTurns(Rc::clone(&local.turns), route.receiver.as_str().into());
                let materials = RouteMaterials { all: Arc::clone(&self.materials), route: route.into() };
                let connector = Connector::live(place, materials, Speak::Http1, core, limits.connect_timeout);
                let pool = Pool::new(connector, Bounds::keeping(1, limits));
                Some((pool, Address::new(place, Speak::Http1, route.binding, &seat.extension)?))
            }
            None => None,
        };
        let keys = match route.a2a.card {
            CardChoice::Rebuilt => None,
            CardChoice::Untouched => {
                let (materials, key) = (Arc::clone(&self.materials), RouteKey::from(route));
                let now = move || materials.load().card_keys.get(&key).cloned();
                Some(Box::new(now) as KeysNow)
            }
        };
        let says = Says::new(route, &self.shared.inside, seat.url.clone(), seat.extension.clone());
        Ok(Card::new(says, from, keys))
    }
}
