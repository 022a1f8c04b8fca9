//! Threads: one for each serving core, one that follows authorities and answers the operator, and one that writes the audit
//! log.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use semgate_inspect::{GroupScope, Peer, Route};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::LocalSet;

use super::{Bound, start};
use crate::account::NoAccount;
use crate::account::turns::Turns;
use crate::address::Address;
use crate::admin::Admin;
use crate::admit::HANDSHAKE_PATH;
use crate::admit::door::Door;
use crate::admit::host::Names;
use crate::authorize::{Authorization, Elsewhere};
use crate::card::{Card, KeysNow, Says};
use crate::config::{CardChoice, Config, GroupOptions, Listen, Protocol, RouteConfig, Upstream};
use crate::decision::Decisions;
use crate::egress::Egress;
use crate::executor::OnThisCore;
use crate::fault::RunFault;
use crate::follow::{First, Follow, FollowerStates, Memory, PolicyState, PolicyStates};
use crate::health::Health;
use crate::identify::Identity;
use crate::keep::{Keeper, MinimumsKeeper, keep_tools};
use crate::lane::{Group, Handshakes, Lane, Shared};
use crate::listen::{self, BoundRoute, Entrance, Face, Listener};
use crate::materials::Materials;
use crate::measure::{Metrics, RouteMetrics};
use crate::record::repeated::{record_counts, record_last};
use crate::record::{Audit, AuditWriter};
use crate::upstream::{Bounds, Connector, Pool, Speak};

/// Waiting audit records: about a second of full load. A full queue refuses messages.
const AUDIT_QUEUE: usize = 8192;
/// Kept connections to one agent on one core: more hardly help a single-threaded runtime.
const UPSTREAM_IDLE: usize = 64;

/// The threads of a gateway.
pub(super) struct Running {
    workers: Vec<JoinHandle<()>>,
    follower: JoinHandle<()>,
    /// Ends the follower, which outlives the drain so that revocations count to the last message.
    end: watch::Sender<bool>,
    audit: AuditWriter,
    keeper: Keeper,
    minimums: MinimumsKeeper,
    /// Lock on the state directory, until the last thread has ended.
    _held: std::fs::File,
}

impl Running {
    /// Waits for the drain, then for the last audit record.
    pub(super) fn join(self) {
        for worker in self.workers {
            let _ = worker.join();
        }
        let _ = self.end.send(true);
        let _ = self.follower.join();
        drop(self.keeper);
        drop(self.minimums);
        self.audit.finish();
    }
}

/// Binds every address, then starts every thread. If one cannot start, `stopping` ends the earlier ones.
pub(super) fn start(
    config: &Arc<Config>,
    stopping: &watch::Receiver<bool>,
    ended: &mpsc::Sender<String>,
) -> Result<(Bound, Running), RunFault> {
    let held = start::hold(config)?;
    let parts = start::Parts::load(config, Memory::Keep)?;
    for path in crate::materials::open_secrets(config) {
        tracing::warn!("`{}` can be read by others than its owner", path.display());
    }
    let mut first = parts.policies;
    first.remember()?;
    let begun = first.begun();
    let First { policies, state, .. } = first;
    let waiting = state.report().live.is_none();
    let policies = Arc::new(policies);
    let shadow = config.shadow.as_ref().map(|_| Arc::new(PolicyState::default()));
    let states = PolicyStates { live: Arc::new(state), shadow, counts: Arc::default() };
    let (audit, writer) = Audit::open(config.audit.clone(), config.audit_fsync, AUDIT_QUEUE)?;
    let issuers = Arc::clone(&parts.materials.issuers);
    let shared = start::shared(config, &parts.followers, (Arc::clone(&policies), waiting), (audit, issuers))?;
    let metrics = Metrics::new(states.clone())?;
    let materials = Arc::new(ArcSwap::from_pointee(parts.materials));

    let mut routes = Vec::new();
    let mut cores: Vec<Vec<Seat>> = (0..config.workers).map(|_| Vec::new()).collect();
    for (at, route) in config.routes.iter().enumerate() {
        let (bound, taken) = listen::bind(&route.listen, config.workers)?;
        let url = url(route, &taken);
        let seat = Seat::of(at, route, &url, &shared, &metrics);
        let (mut lanes, lane_url) = egress(route, config.workers)?;
        for (core, bound) in cores.iter_mut().zip(bound) {
            let egress = lanes.pop().map(|bound| (bound, lane_url.clone()));
            core.push(Seat { egress, ..seat.with(bound) });
        }
        routes.push(BoundRoute { name: route.name.clone(), listen: taken, url });
    }
    let (admin_socket, admin_address) = bind_admin(config.admin)?;

    let names = config.authorities.iter().map(|authority| authority.name.clone());
    let follower_states = Arc::new(FollowerStates::new(names));
    let (health, questions) = Health::of((0..cores.len()).map(|core| format!("semgate-{core}")));
    let admin = Admin {
        health,
        follower_states: Arc::clone(&follower_states),
        shared: Arc::clone(&shared),
        metrics: metrics.clone(),
        policies: states.clone(),
        routes: routes.clone().into(),
    };
    let follow = Follow {
        config: Arc::clone(config),
        shared: Arc::clone(&shared),
        metrics,
        materials: Arc::clone(&materials),
        states,
        followers: parts.followers,
        policies,
        begun,
        follower_states,
        lists: parts.lists,
        stores: parts.stores,
    };
    let agents = config.routes.iter().map(|route| (route.name.clone(), route.receiver.clone())).collect();
    let minimums = MinimumsKeeper::start(&shared.sessions, &config.state)?;
    keep_tools(shared.inspector.tools(), &config.state, &agents)?;
    let keeper = Keeper::start(&shared, &config.state, &config.prefix, &agents)?;
    let mut workers = Vec::new();
    for ((number, seats), questions) in cores.into_iter().enumerate().zip(questions) {
        let core = Core {
            config: Arc::clone(config),
            shared: Arc::clone(&shared),
            materials: Arc::clone(&materials),
        };
        let stop = stopping.clone();
        workers.push(thread(format!("semgate-{number}"), ended, move |local, runtime| {
            local.spawn_local(questions.answer());
            local.block_on(runtime, core.run(seats, stop))
        })?);
    }
    let (end, ending) = watch::channel(false);
    let names = Names::of_admin(admin_address, &config.routes);
    let follower = thread("semgate-follow".to_owned(), ended, move |local, runtime| {
        local.block_on(runtime, background(follow, (admin, names), admin_socket, ending))
    })?;
    Ok((
        Bound { routes, admin: admin_address },
        Running { workers, follower, end, audit: writer, keeper, minimums, _held: held },
    ))
}

/// Starts a thread with its own single-threaded runtime. Any end of it is reported.
pub(super) fn thread(
    name: String,
    ended: &mpsc::Sender<String>,
    body: impl FnOnce(&LocalSet, &tokio::runtime::Runtime) -> Result<(), RunFault> + Send + 'static,
) -> Result<JoinHandle<()>, RunFault> {
    struct Tell(mpsc::Sender<String>, String);
    impl Drop for Tell {
        fn drop(&mut self) {
            let _ = self.0.try_send(std::mem::take(&mut self.1));
        }
    }
    let tell = Tell(ended.clone(), name.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| RunFault::system("runtime", why))?;
    std::thread::Builder::new()
        .name(name.clone())
        .spawn(move || {
            let _tell = tell;
            let local = LocalSet::new();
            if let Err(why) = body(&local, &runtime) {
                tracing::error!(thread = name, %why, "a thread ended");
            }
            // connections and followers end here, before their runtime
            drop(local);
            runtime.shutdown_background();
        })
        .map_err(|why| RunFault::system("thread", why))
}

fn bind_admin(address: SocketAddr) -> Result<(std::net::TcpListener, SocketAddr), RunFault> {
    let fault = |why: std::io::Error| RunFault::Bind { address: address.to_string(), why: why.to_string() };
    let socket = std::net::TcpListener::bind(address).map_err(fault)?;
    socket.set_nonblocking(true).map_err(fault)?;
    let taken = socket.local_addr().map_err(fault)?;
    Ok((socket, taken))
}

/// Listeners of a route's egress lane, and the agent's address of it. Empty without a lane.
fn egress(route: &RouteConfig, workers: usize) -> Result<(Vec<listen::Bound>, String), RunFault> {
    let Some(push) = &route.a2a.push else { return Ok((Vec::new(), String::new())) };
    let (bound, taken) = listen::bind(&push.listen, workers)?;
    let url = push.url.clone().unwrap_or_else(|| {
        let scheme = if push.plain { "http" } else { "https" };
        format!("{scheme}://{taken}")
    });
    tracing::info!(route = route.name, url, "the egress lane listens");
    Ok((bound, url))
}

fn url(route: &RouteConfig, taken: &Listen) -> String {
    match (&route.public_url, taken) {
        (Some(url), _) => url.clone(),
        (None, Listen::Unix(_)) => taken.to_string(),
        (None, Listen::Tcp(address)) => {
            let scheme = if route.plain_sender.is_some() { "http" } else { "https" };
            format!("{scheme}://{address}")
        }
    }
}

/// One route on one core, before it is served.
pub(super) struct Seat {
    at: usize,
    url: String,
    route: Arc<Route>,
    extension: String,
    metrics: RouteMetrics,
    elsewhere: Elsewhere,
    bound: Option<listen::Bound>,
    /// Listener of the egress lane, and the agent's address of it.
    egress: Option<(listen::Bound, String)>,
}

impl Seat {
    pub(super) fn of(at: usize, route: &RouteConfig, url: &str, shared: &Shared, metrics: &Metrics) -> Self {
        Self {
            at,
            url: url.to_owned(),
            route: start::route(route),
            extension: shared.inspector.generation().extension().to_owned(),
            metrics: metrics.route(&route.name),
            elsewhere: Elsewhere::default(),
            bound: None,
            egress: None,
        }
    }

    /// The same route for the core of this listener.
    pub(super) fn with(&self, bound: listen::Bound) -> Self {
        Self { bound: Some(bound), ..self.again() }
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
}

/// One serving thread.
pub(super) struct Core {
    pub(super) config: Arc<Config>,
    pub(super) shared: Arc<Shared>,
    pub(super) materials: Arc<ArcSwap<Materials>>,
}

impl Core {
    pub(super) async fn run(self, seats: Vec<Seat>, mut stop: watch::Receiver<bool>) -> Result<(), RunFault> {
        let local = Local { decisions: Rc::new(Decisions::new()), turns: Turns::new() };
        let turns = tokio::task::spawn_local(Rc::clone(&local.turns).run());
        let each = self.config.limits.connections.div_ceil(self.config.workers.max(1));
        let each = u32::try_from(each.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        let mut slots = Vec::new();
        for mut seat in seats {
            let bound = seat.bound.take();
            let places = Arc::new(Semaphore::new(each as usize));
            slots.push(Arc::clone(&places));
            let (egress, url) = seat.egress.take().unzip();
            let at = seat.at;
            let listener = self.listener(seat, url, local.clone(), places, stop.clone())?;
            if let Some(bound) = egress {
                let places = Arc::new(Semaphore::new(each as usize));
                slots.push(Arc::clone(&places));
                listen_on(self.of_agent(at, &listener, places)?, Some(bound));
            }
            listen_on(listener, bound);
        }
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            // serving has stopped, so the thread ends, and the gateway with it
            _ = turns => return Err(RunFault::System { why: "the turns of a core ended".to_owned() }),
        }
        self.shared.draining.store(true, Ordering::Relaxed);
        // all slots of a listener are free once its last connection has ended
        let drained = async {
            for places in &slots {
                let _ = places.acquire_many(each).await;
            }
        };
        if tokio::time::timeout(self.config.limits.drain_timeout, drained).await.is_err() {
            tracing::warn!("connections were cut at the end of the drain limit");
        }
        Ok(())
    }

    /// Listener of a route's egress lane, next to that for callers.
    fn of_agent(&self, at: usize, beside: &Listener, slots: Arc<Semaphore>) -> Result<Listener, RunFault> {
        let config = self.config.routes.get(at);
        let plain = config.and_then(|route| route.a2a.push.as_ref()).is_some_and(|push| push.plain);
        let entrance = if plain {
            let id = &beside.lane.route.receiver;
            Entrance::Plain(Rc::new(self.configured(id, "receiver")?))
        } else {
            Entrance::Tls(Arc::clone(&self.materials))
        };
        Ok(Listener {
            face: Face::Agent,
            lane: Rc::clone(&beside.lane),
            entrance,
            slots,
            stop: beside.stop.clone(),
        })
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
        local: Local,
        slots: Arc<Semaphore>,
        stop: watch::Receiver<bool>,
    ) -> Result<Listener, RunFault> {
        let fault = || RunFault::System { why: "a route is missing".to_owned() };
        let config = self.config.routes.get(seat.at).ok_or_else(fault)?;
        let entrance = match &config.plain_sender {
            Some(id) => Entrance::Plain(Rc::new(self.configured(id, "plain sender")?)),
            None => Entrance::Tls(Arc::clone(&self.materials)),
        };
        let group = match &config.group {
            Some(choice) => Some(self.group(choice, &seat, &local)?),
            None => None,
        };
        let egress = match (&config.a2a.push, egress_url) {
            (Some(push), Some(url)) => Some(Egress::new(push, &url)?),
            _ => None,
        };
        let lane = Lane { group, egress, ..self.lane(seat, config, local)? };
        Ok(Listener { face: Face::Callers, lane: Rc::new(lane), entrance, slots, stop })
    }

    /// One route on this core.
    fn lane(&self, seat: Seat, config: &RouteConfig, local: Local) -> Result<Lane, RunFault> {
        let limits = &self.config.limits;
        let speak = if config.agent.upstream_http2 { Speak::Http2 } else { Speak::Http1 };
        let materials = Arc::clone(&self.materials);
        let core = OnThisCore::InTurns(Rc::clone(&local.turns), config.receiver.as_str().into());
        let connector =
            Connector::live(&config.upstream, materials, seat.at, (speak, core), limits.connect_timeout);
        let below = format!("{}{HANDSHAKE_PATH}", config.upstream.path.trim_end_matches('/'));
        let below = Upstream { path: below, ..config.upstream.clone() };
        let behind = Address::new(&below, speak, Protocol::L8, &seat.extension)?;
        let prefix = self.config.prefix.clone();
        let handshakes = Handshakes::new(Arc::clone(&self.materials), seat.at, prefix, behind);
        Ok(Lane {
            shared: Arc::clone(&self.shared),
            door: Door::new(config, &seat.extension),
            address: Address::new(&config.upstream, speak, config.protocol, &seat.extension)?,
            pool: Pool::new(connector, Bounds::keeping(UPSTREAM_IDLE, limits)),
            card: self.card(config, &seat, &local)?,
            authorization: Authorization::of(
                (config, &self.config.routes),
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
            route: seat.route,
            group: None,
            listings: Default::default(),
        })
    }

    /// Routes to the members of a group. Their messages are addressed to the group and have its contexts.
    fn group(&self, choice: &GroupOptions, seat: &Seat, local: &Local) -> Result<Group, RunFault> {
        let mut members = Vec::new();
        for name in &choice.members {
            let found = self.config.routes.iter().enumerate().find(|(_, route)| route.name == *name);
            let fault = || RunFault::System { why: "a route of a group is missing".to_owned() };
            let (at, config) = found.ok_or_else(fault)?;
            let mut route = Route::clone(&start::route(config));
            route.options.group =
                Some(GroupScope { name: choice.name.clone(), contexts: seat.route.contexts.clone() });
            let member = Seat { at, route: Arc::new(route), bound: None, ..seat.again() };
            members.push(Rc::new(self.lane(member, config, local.clone())?));
        }
        Ok(Group { name: choice.name.clone(), members, replies: choice.replies, time: choice.time })
    }
}

impl Core {
    /// Card of a route: its source and treatment.
    fn card(&self, route: &RouteConfig, seat: &Seat, local: &Local) -> Result<Card, RunFault> {
        let limits = &self.config.limits;
        let from = match &route.a2a.card_from {
            Some(place) => {
                let core = OnThisCore::InTurns(Rc::clone(&local.turns), route.receiver.as_str().into());
                let (materials, speak) = (Arc::clone(&self.materials), (Speak::Http1, core));
                let connector = Connector::live(place, materials, seat.at, speak, limits.connect_timeout);
                let pool = Pool::new(connector, Bounds::keeping(1, limits));
                Some((pool, Address::new(place, Speak::Http1, route.protocol, &seat.extension)?))
            }
            None => None,
        };
        let keys = match route.a2a.card {
            CardChoice::Rebuilt => None,
            CardChoice::Untouched => {
                let (materials, at) = (Arc::clone(&self.materials), seat.at);
                let now = move || materials.load().card_keys.get(at).cloned().flatten();
                Some(Box::new(now) as KeysNow)
            }
        };
        let says = Says::new(route, &self.config.routes, seat.url.clone(), seat.extension.clone());
        Ok(Card::new(says, from, keys))
    }
}

/// Accepts connections in a task of its own.
fn listen_on(listener: Listener, bound: Option<listen::Bound>) {
    let listener = Rc::new(listener);
    tokio::task::spawn_local(async move {
        if let Some(bound) = bound
            && let Err(why) = listener.run(bound).await
        {
            tracing::error!(%why, "a listener ended");
        }
    });
}

/// Runs the thread that follows authorities and answers the operator.
async fn background(
    follow: Follow,
    (admin, names): (Admin, Names),
    socket: std::net::TcpListener,
    mut end: watch::Receiver<bool>,
) -> Result<(), RunFault> {
    let shared = Arc::clone(&follow.shared);
    follow.spawn()?;
    let counting = Arc::clone(&shared);
    tokio::task::spawn_local(async move { record_counts(&counting).await });
    let listener = tokio::net::TcpListener::from_std(socket).map_err(|why| RunFault::system("admin", why))?;
    let serve = axum::serve(listener, admin.router(names));
    tokio::task::spawn_local(async move {
        if let Err(why) = serve.await {
            tracing::error!(%why, "the admin address ended");
        }
    });
    let _ = end.wait_for(|end| *end).await;
    record_last(&shared);
    Ok(())
}
