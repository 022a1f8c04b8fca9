//! Threads: one for each serving core, one that follows authorities and answers the operator, and one that writes the audit
//! log.

use super::{Bound, people, start};
use crate::approvals::Approvals;
use crate::config::{Config, ProbeConfig, TracesConfig};
use crate::control::admin::Admin;
use crate::control::admin_listener::{AdminListener, Callers};
use crate::control::follow::{First, Follow, FollowerStates, Memory, ReloadState, ScanFiles, TakeConfig};
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
use crate::server::materials::Materials;
use crate::server::sockets::{ListeningSocket, Sockets};
use arc_swap::ArcSwap;
use semgate_inspect::TextScanner;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::signal::unix::Signal;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::LocalSet;

use super::core::Core;
use super::layout::Layout;
use super::reload::Reloader;

/// Waiting audit records: about a second of full load. A full queue refuses messages.
const AUDIT_QUEUE: usize = 8192;

/// The threads of a gateway.
pub(super) struct Running {
    workers: Vec<JoinHandle<()>>,
    follower: JoinHandle<()>,
    people: Option<JoinHandle<()>>,
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
        self.people.into_iter().for_each(|people| drop(people.join()));
        drop(self.keeper);
        drop(self.minimums);
        self.audit.finish();
    }
}

/// Parts that a gateway gets from the process around it.
pub(super) struct Outside {
    /// Bound sockets.
    pub(super) inherited: Vec<ListeningSocket>,
    /// SIGHUP, handled from before the start is reported.
    pub(super) hangups: Signal,
}

/// Binds every address, then starts every thread. If one cannot start, `stopping` ends the earlier ones.
pub(super) fn start(
    config: &Arc<Config>,
    outside: Outside,
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
    let states = PolicyStates { live: Arc::new(state), shadow, counts: Arc::default(), scan: Arc::default() };
    let mut scan = parts.scan;
    scan.iter_mut().try_for_each(ScanFiles::remember)?;
    let exemplars = config.traces.as_ref().map(|_| Arc::new(Exemplars::new(BUCKETS)));
    let spans = config.traces.as_ref().zip(exemplars.clone());
    let (spans, finished) = spans.map(|(traces, exemplars)| spans_of(traces, exemplars)).unzip();
    let (audit, writer) = Audit::open(AuditFile::of(config, spans), AUDIT_QUEUE)?;
    let issuers = Arc::clone(&parts.materials.issuers);
    let generation = start::generation(config, &parts.followers, Arc::clone(&policies))?;
    let generation = if waiting { generation.standing_in() } else { generation };
    let scanner = scan.as_ref().map_or_else(TextScanner::shipped, ScanFiles::scanner);
    states.scan.runs(&scanner, scan.as_ref().and_then(ScanFiles::version));
    let generation = generation.with_scanner(scanner);
    let approvals = Approvals::open(config)?;
    let around = start::Around { audit, issuers, scans: Arc::clone(&states.scan.counts) };
    let shared = start::shared(config, generation, around, approvals.as_ref())?;
    let metrics = Metrics::new(states.clone(), exemplars)?;
    let files = Arc::clone(&parts.materials.files);
    let materials = Arc::new(ArcSwap::from_pointee(parts.materials));

    let core = Core {
        config: Arc::clone(config),
        shared: Arc::clone(&shared),
        materials: Arc::clone(&materials),
        files,
    };
    let mut sockets = Sockets::new(config.workers, outside.inherited);
    let Layout { routes, cores, .. } = Layout::bind(&core, &metrics, &mut sockets, &[])?;
    let shown = Arc::new(ArcSwap::from_pointee(routes.clone()));
    let names = config.authorities.iter().map(|authority| authority.name.clone());
    let follower_states = Arc::new(FollowerStates::new(names));
    let reloads = Arc::new(ReloadState::default());
    let (health, questions) = Health::of((0..cores.len()).map(|core| format!("semgate-{core}")));
    let admin = Admin {
        health,
        follower_states: Arc::clone(&follower_states),
        shared: Arc::clone(&shared),
        metrics: metrics.clone(),
        policies: states.clone(),
        routes: Arc::clone(&shown),
        reloads: Arc::clone(&reloads),
        materials: Arc::clone(&materials),
    };
    let operator = operator(config, &admin, &materials, sockets.one(config.admin.listen)?)?;
    let probe = probe(config, &admin, &mut sockets)?;
    let (end, ending) = watch::channel(false);
    let socket = approvals.as_ref().map(|all| sockets.one(all.config.listen)).transpose()?;
    let people = approvals.zip(socket).map(|(approvals, socket)| {
        let (audit, materials) = (shared.audit.clone(), Arc::clone(&materials));
        people::start(people::Parts { approvals, audit, materials, socket }, ended, ending.clone())
    });
    let people = people.transpose()?;
    sockets.all_taken()?;
    let (people_at, people) = people.unzip();
    let bound = Bound {
        routes,
        admin: operator.address(),
        probe: probe.as_ref().map(AdminListener::address),
        people: people_at,
    };
    let follow = Follow {
        config: Arc::clone(config),
        shared: Arc::clone(&shared),
        metrics: metrics.clone(),
        reloads,
        hangups: outside.hangups,
        states,
        followers: parts.followers,
        policies,
        begun,
        scan,
        follower_states,
        materials: Arc::clone(&materials),
        lists: parts.lists,
    };
    let agents = config.routes.iter().map(|route| (route.name.clone(), route.receiver.clone())).collect();
    let minimums = MinimumsKeeper::start(&shared.sessions, &config.state)?;
    keep_tools(shared.inspector.tools(), &config.state, &agents)?;
    let keeper = Keeper::start(&shared, &config.state, &config.prefix, &agents)?;
    let (mut workers, mut changes) = (Vec::new(), Vec::new());
    for ((number, seats), questions) in cores.into_iter().enumerate().zip(questions) {
        let (core, stop) = (core.clone(), stopping.clone());
        let (change, changed) = mpsc::channel(1);
        changes.push(change);
        workers.push(thread(format!("semgate-{number}"), ended, move |local, runtime| {
            local.spawn_local(questions.answer());
            local.block_on(runtime, core.run(seats, changed, stop))
        })?);
    }
    let reloader = Reloader { core, stores: parts.stores, metrics, sockets, cores: changes, routes: shown };
    let take = taker(reloader, stopping.clone());
    let listeners = std::iter::once(operator).chain(probe).collect();
    let follower = thread("semgate-follow".to_owned(), ended, move |local, runtime| {
        let background = Background { follow, listeners, finished };
        local.block_on(runtime, background.run(take, ending))
    })?;
    Ok((bound, Running { workers, follower, people, end, audit: writer, keeper, minimums, _held: held }))
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

/// Passes configurations to the reloader, in the thread that follows. Its sockets close once the gateway drains.
fn taker(reloader: Reloader, mut stopping: watch::Receiver<bool>) -> impl FnOnce() -> TakeConfig {
    move || {
        let reloader = Rc::new(Mutex::new(reloader));
        let draining = Rc::clone(&reloader);
        tokio::task::spawn_local(async move {
            let _ = stopping.wait_for(|stop| *stop).await;
            draining.lock().await.close();
        });
        Box::new(move |config| {
            let reloader = Rc::clone(&reloader);
            Box::pin(async move { reloader.lock().await.take(config).await })
        })
    }
}

/// Maker of spans, and its end at the exporter.
fn spans_of(traces: &TracesConfig, exemplars: Arc<Exemplars>) -> (Spans, Finished) {
    let (collector, finished) = Collector::new(exemplars);
    (Spans { sample: traces.sample, collector }, finished)
}

/// The operator's address.
fn operator(
    config: &Config,
    admin: &Admin,
    materials: &Arc<ArcSwap<Materials>>,
    socket: std::net::TcpListener,
) -> Result<AdminListener, RunFault> {
    let ids = config.admin.ids.clone();
    if ids.is_empty() {
        let router = |address| admin.router(Names::of_admin(address, &config.routes));
        return AdminListener::new(socket, Callers::Everyone, router);
    }
    let callers = Callers::Certified { materials: Arc::clone(materials), ids };
    AdminListener::new(socket, callers, |_| admin.router(Names::of_certified_admin()))
}

/// Binds the address of the probes, if there is one.
fn probe(config: &Config, admin: &Admin, sockets: &mut Sockets) -> Result<Option<AdminListener>, RunFault> {
    let serve = |probe: &ProbeConfig| {
        AdminListener::new(sockets.one(probe.listen)?, Callers::Everyone, |_| admin.probe())
    };
    config.probe.as_ref().map(serve).transpose()
}

/// Work of the thread that follows authorities, answers the operator and exports spans.
struct Background {
    follow: Follow,
    listeners: Vec<AdminListener>,
    /// Spans, if they are exported.
    finished: Option<Finished>,
}

impl Background {
    /// Runs until the end.
    async fn run(
        self,
        take: impl FnOnce() -> TakeConfig,
        mut end: watch::Receiver<bool>,
    ) -> Result<(), RunFault> {
        let Self { follow, listeners, finished } = self;
        let (config, metrics) = (Arc::clone(&follow.config), follow.metrics.clone());
        let exporter = config.traces.as_ref().zip(finished);
        let exporter = exporter.map(|(traces, finished)| Exporter::new(&config, traces, finished, &metrics));
        let mut exporter = exporter.transpose()?;
        let shared = Arc::clone(&follow.shared);
        follow.spawn(take())?;
        let counting = Arc::clone(&shared);
        tokio::task::spawn_local(async move { record_counts(&counting).await });
        for listener in listeners {
            listener.spawn()?;
        }
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
