//! Threads: one for each serving core, one that follows authorities and answers the operator, and one that writes the audit
//! log.

use super::{Bound, start};
use crate::config::{Config, Listen, RouteConfig, TracesConfig};
use crate::control::admin::Admin;
use crate::control::follow::{First, Follow, FollowerStates, Memory};
use crate::control::health::Health;
use crate::control::metrics::{BUCKETS, Metrics};
use crate::control::persistence::{Keeper, MinimumsKeeper, keep_tools};
use crate::control::policy_state::{PolicyState, PolicyStates};
use crate::control::traces::Exporter;
use crate::fault::RunFault;
use crate::pipeline::admit::host::Names;
use crate::pipeline::record::exemplars::Exemplars;
use crate::pipeline::record::repeated::{record_counts, record_last};
use crate::pipeline::record::spans::{Collector, Finished};
use crate::pipeline::record::{Audit, AuditFile, AuditWriter, Spans};
use crate::server::listen::{self, BoundRoute};
use crate::server::shared::Shared;
use arc_swap::ArcSwap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use super::core::{Core, Seat};

/// Waiting audit records: about a second of full load. A full queue refuses messages.
const AUDIT_QUEUE: usize = 8192;

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
    for path in crate::server::materials::open_secrets(config) {
        tracing::warn!("`{}` is readable by users other than its owner", path.display());
    }
    let mut first = parts.policies;
    first.remember()?;
    let begun = first.begun();
    let First { policies, state, .. } = first;
    let waiting = state.report().live.is_none();
    let policies = Arc::new(policies);
    let shadow = config.shadow.as_ref().map(|_| Arc::new(PolicyState::default()));
    let states = PolicyStates { live: Arc::new(state), shadow, counts: Arc::default() };
    let exemplars = config.traces.as_ref().map(|_| Arc::new(Exemplars::new(BUCKETS)));
    let spans = config.traces.as_ref().zip(exemplars.clone());
    let (spans, finished) = spans.map(|(traces, exemplars)| spans_of(traces, exemplars)).unzip();
    let file = AuditFile {
        path: config.audit.clone(),
        fsync: config.audit_fsync,
        gateway: config.name.clone(),
        ocsf: config.audit_ocsf.clone(),
        spans,
    };
    let (audit, writer) = Audit::open(file, AUDIT_QUEUE)?;
    let issuers = Arc::clone(&parts.materials.issuers);
    let generation = start::generation(config, &parts.followers, Arc::clone(&policies))?;
    let generation = if waiting { generation.standing_in() } else { generation };
    let shared = start::shared(config, generation, audit, issuers)?;
    let metrics = Metrics::new(states.clone(), exemplars)?;
    let materials = Arc::new(ArcSwap::from_pointee(parts.materials));

    let (routes, cores) = bind_routes(config, &shared, &metrics)?;
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
        let background = Background { follow, admin, names, socket: admin_socket, finished };
        local.block_on(runtime, background.run(ending))
    })?;
    Ok((
        Bound { routes, admin: admin_address },
        Running { workers, follower, end, audit: writer, keeper, minimums, _held: held },
    ))
}

/// Binds the listeners of every route: their addresses, and the seats of each core.
fn bind_routes(
    config: &Config,
    shared: &Shared,
    metrics: &Metrics,
) -> Result<(Vec<BoundRoute>, Vec<Vec<Seat>>), RunFault> {
    let mut routes = Vec::new();
    let mut cores: Vec<Vec<Seat>> = (0..config.workers).map(|_| Vec::new()).collect();
    for (at, route) in config.routes.iter().enumerate() {
        let (bound, taken) = listen::bind(&route.listen, config.workers)?;
        let url = url(route, &taken);
        let seat = Seat::of(at, route, &url, shared, metrics);
        let (mut lanes, lane_url) = egress(route, config.workers)?;
        for (core, bound) in cores.iter_mut().zip(bound) {
            let egress = lanes.pop().map(|bound| (bound, lane_url.clone()));
            core.push(seat.with(bound, egress));
        }
        routes.push(BoundRoute { name: route.name.clone(), listen: taken, url });
    }
    Ok((routes, cores))
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

/// Push lanes of a route, and the agent's address of it. Empty without one.
fn egress(route: &RouteConfig, workers: usize) -> Result<(Vec<listen::Bound>, String), RunFault> {
    let Some(push) = &route.a2a.push else { return Ok((Vec::new(), String::new())) };
    let (bound, taken) = listen::bind(&push.listen, workers)?;
    let url = push.url.clone().unwrap_or_else(|| {
        let scheme = if push.plain { "http" } else { "https" };
        format!("{scheme}://{taken}")
    });
    tracing::info!(route = route.name, url, "the push lane listens");
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

/// Maker of spans, and its end at the exporter.
fn spans_of(traces: &TracesConfig, exemplars: Arc<Exemplars>) -> (Spans, Finished) {
    let (collector, finished) = Collector::new(exemplars);
    (Spans { sample: traces.sample, collector }, finished)
}

/// Work of the thread that follows authorities, answers the operator and exports spans.
struct Background {
    follow: Follow,
    admin: Admin,
    names: Names,
    socket: std::net::TcpListener,
    /// Spans, if they are exported.
    finished: Option<Finished>,
}

impl Background {
    /// Runs until the end.
    async fn run(self, mut end: watch::Receiver<bool>) -> Result<(), RunFault> {
        let Self { follow, admin, names, socket, finished } = self;
        let (config, metrics) = (Arc::clone(&follow.config), follow.metrics.clone());
        let exporter = config.traces.as_ref().zip(finished);
        let exporter = exporter.map(|(traces, finished)| Exporter::new(&config, traces, finished, &metrics));
        let mut exporter = exporter.transpose()?;
        let shared = Arc::clone(&follow.shared);
        follow.spawn()?;
        let counting = Arc::clone(&shared);
        tokio::task::spawn_local(async move { record_counts(&counting).await });
        let listener =
            tokio::net::TcpListener::from_std(socket).map_err(|why| RunFault::system("admin", why))?;
        let serve = axum::serve(listener, admin.router(names));
        tokio::task::spawn_local(async move {
            if let Err(why) = serve.await {
                tracing::error!(%why, "the admin address ended");
            }
        });
        let export = async {
            if let Some(exporter) = &mut exporter {
                exporter.run().await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = end.wait_for(|end| *end) => {}
            () = export => {}
        }
        record_last(&shared);
        if let Some(exporter) = &mut exporter {
            exporter.finish().await;
        }
        Ok(())
    }
}
