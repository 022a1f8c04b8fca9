//! Start, serve, end; and the jobs that need no server.

mod descriptors;
mod open;
mod status;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use axum::Router;
use sd_notify::NotifyState;
use semgate_contexts::compare::CancelToken;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, oneshot, watch};

pub(crate) use open::{open, open_pinned_checkpoint};
pub use status::{HeadTimes, RoleStatus, Status, status};
pub(crate) use status::{roles, status_of};

use crate::account::{Accounts, Refusals};
use crate::audit::Audit;
use crate::clock::{Clock, now};
use crate::config::Config;
use crate::http::{
    App, Cache, Listening, Tls, TlsFiles, admin, at_start, ending, probe, renew_tls, router, serve,
};
use crate::index::{Index, Reason};
use crate::keys::{self, Signers};
use crate::metrics::Metrics;
use crate::proposals::Proposals;
use crate::publish::MAX_DELTAS_AT_ONCE;
use crate::rules::Rules;
use crate::store::Layout;
use crate::submit::{self, Job, Message, Recorder, Sequencer, Submit, index_of};
use crate::{Limits, RunFault, disk};

/// The bound addresses of an authority (ports of 0 replaced).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The public address (HTTPS).
    pub listen: SocketAddr,
    /// The admin address.
    pub admin: SocketAddr,
    /// The address of the probes.
    pub probe: Option<SocketAddr>,
}

/// The result of `rebuild_index`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rebuilt {
    /// Entries of the log.
    pub size: u64,
    /// Contexts in the index.
    pub contexts: u64,
    /// Published contexts whose document file is missing or damaged.
    pub missing_documents: u64,
}

/// Findings from opening the state directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenReport {
    /// `ready`, or `rebuilt: <why>`.
    pub index: String,
    pub missing_certificates: u64,
}

/// Checks the files of a start that an operator replaces: roots, log key, and the certificate of the public address. Binds no port
/// and writes nothing. Returns the certificates that end soon, one line each.
///
/// # Errors
/// The fault that would stop the start.
pub fn check(config: &Config) -> Result<Vec<String>, RunFault> {
    let _ = keys::configured(config)?;
    let _ = TlsFiles::open(config)?;
    Ok(ending(config, now()))
}

/// Runs until `shutdown` resolves, then ends gracefully. An address of the configuration continues the socket of `inherited` that is
/// bound to it. `ready` is called once, when both addresses answer.
///
/// Every fault of configuration, keys, log and documents shows before a port is bound.
///
/// # Errors
/// The authority could not start, or had to stop.
pub async fn run(
    config: Config,
    inherited: Vec<std::net::TcpListener>,
    ready: impl FnOnce(Bound),
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunFault> {
    let prepared = away(move || prepare(config)).await??;
    let Prepared { app, sequencer, jobs, recorder, tls, tls_files, submit, lock, first } = prepared;
    descriptors::raise_limit(app.config.limits.connections);
    let Listeners { public: public_listener, admin: admin_listener, probe: probe_listener, bound } =
        Listeners::bind(&app.config, inherited).await?;
    let (stop, stopping) = watch::channel(false);
    let app = Arc::new(App { stopping: stopping.clone(), ..app });
    let comparing = app.comparing.clone();
    let mut ended = start_sequencer(sequencer, jobs, recorder)?;
    at_start::publish_missing(&app, first).await;
    let renewing = renew_tls(Arc::clone(&tls), tls_files, Arc::clone(&app.metrics), stopping.clone());
    tokio::spawn(renewing);
    let serving = tokio::spawn(serve(public_listener, everyones(&app, Arc::clone(&tls)), stopping.clone()));
    if let Some(listener) = probe_listener {
        let listening = operators(&app, probe(Arc::clone(&app)), None);
        tokio::spawn(serve(listener, listening, stopping.clone()));
    }
    // before readiness: a hangup without a handler ends a process
    let hangup =
        signal(SignalKind::hangup()).map_err(|e| RunFault::Stopped(format!("cannot handle signals: {e}")))?;
    let hangups = tokio::spawn(on_hangup(Arc::clone(&app), hangup));
    let tls = Some(tls).filter(|_| !app.config.admin.ids.is_empty());
    let listening = operators(&app, admin(Arc::clone(&app), bound.admin), tls);
    let admin = tokio::spawn(serve(admin_listener, listening, stopping));
    let name = &app.config.authority;
    tracing::info!("authority `{name}` listens on https://{}, admin {}", bound.listen, bound.admin);
    ready(bound);
    let early = tokio::select! {
        () = shutdown => None,
        result = &mut ended => Some(result),
    };
    // Connections first, so that submissions under way are still answered; then the log; the lock last. Running comparisons are dropped:
    // their callers are told to come again.
    let _ = stop.send(true);
    comparing.cancel();
    hangups.abort();
    let _ = serving.await;
    let cut = admin.abort_handle();
    if tokio::time::timeout(Duration::from_secs(1), admin).await.is_err() {
        cut.abort();
    }
    let result = match early {
        Some(result) => result,
        None => {
            away(move || submit.stop()).await?;
            ended.await
        }
    };
    drop(lock);
    result.unwrap_or_else(|_| Err(RunFault::Stopped("the thread of the log ended unexpectedly".to_owned())))
}

/// Starts the one thread that writes, and the one before it that records intentions. Returns the result of the writer; the other ends with
/// it.
fn start_sequencer(
    sequencer: Sequencer,
    jobs: Receiver<Message<Job>>,
    recorder: Recorder,
) -> Result<oneshot::Receiver<Result<(), RunFault>>, RunFault> {
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let none = |e| RunFault::Stopped(format!("cannot start a thread for the log: {e}"));
    let (to, from) = oneshot::channel();
    let (next, queue) = submit::recorded_queue();
    thread("recorder").spawn(move || recorder.run(&jobs, &next)).map_err(none)?;
    let run = move || {
        let _ = to.send(sequencer.run(&queue));
    };
    thread("sequencer").spawn(run).map_err(none)?;
    Ok(from)
}

/// On SIGHUP: reads the policies again, all of them or none, and opens the audit log again by its name.
async fn on_hangup(app: Arc<App>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        let now = NotifyState::monotonic_usec_now().unwrap_or(NotifyState::MonotonicUsec(0));
        // without a service manager there is nobody to tell
        let _ = sd_notify::notify(&[NotifyState::Reloading, now]);
        let work = Arc::clone(&app);
        let done = tokio::task::spawn_blocking(move || {
            work.audit.reopen();
            work.rules.reload();
        });
        let _ = done.await;
        let _ = sd_notify::notify(&[NotifyState::Ready]);
    }
}

/// Connections to the operator's pages open at once. They have accounts of their own: strangers at the public address take none of
/// them.
const OPERATORS_CONNECTIONS: usize = 256;

/// The public address.
fn everyones(app: &Arc<App>, tls: Arc<Tls>) -> Listening {
    Listening {
        tls: Some(tls),
        router: router(Arc::clone(app)),
        limits: app.config.limits.clone(),
        accounts: Arc::clone(&app.accounts),
        metrics: Arc::clone(&app.metrics),
    }
}

/// An address with the operator's pages.
fn operators(app: &App, router: Router, tls: Option<Arc<Tls>>) -> Listening {
    let limits = Limits { connections: OPERATORS_CONNECTIONS, ..app.config.limits.clone() };
    let (accounts, metrics) = (Accounts::new(&limits), Arc::clone(&app.metrics));
    Listening { tls, router, limits, accounts, metrics }
}

struct Prepared {
    app: App,
    sequencer: Sequencer,
    jobs: Receiver<Message<Job>>,
    recorder: Recorder,
    tls: Arc<Tls>,
    tls_files: TlsFiles,
    submit: Submit,
    lock: disk::Lock,
    first: Vec<at_start::Document>,
}

/// Everything before a port is bound.
fn prepare(config: Config) -> Result<Prepared, RunFault> {
    let layout = Layout::new(&config.state);
    let first = at_start::read(&config.publish_at_start)?;
    disk::make_dir(&layout.state)?;
    let lock = disk::Lock::take(&layout.state)?;
    layout.prepare()?;
    let (tls_files, shown) = TlsFiles::open(&config)?;
    let tls = Arc::new(Tls::new(shown));
    let metrics = Arc::new(Metrics::new());
    let clock = Arc::new(Clock::begin(&config.limits, &layout.state));
    let (submit, jobs) = submit::queue(&config.limits);
    let reserve = Arc::new(reserve(&config, &layout));
    let opened = reserve.lend(|| open::open(&config, &layout))?;
    keys::warn_of_root_keys(&config, &opened.anchors);
    let keys = Arc::new(keys::Keys::load(&config, &layout, opened.anchors.clone(), clock.now())?);
    let signers = Signers::load(&config, &layout, Arc::clone(&keys))?;
    let audit = Arc::new(Audit::open(&config.audit)?);
    let (sequencer, report) = open::sequencer(
        &config,
        &layout,
        opened,
        Arc::clone(&keys),
        open::Shared {
            metrics: Arc::clone(&metrics),
            clock: Arc::clone(&clock),
            reserve: Arc::clone(&reserve),
        },
    )?;
    let recorder = Recorder::new(Arc::clone(&audit), sequencer.documents.clone(), &config.limits);
    let (_, stopping) = watch::channel(false);
    let app = App {
        document_limits: semgate_contexts::DocumentLimits::default(),
        documents: sequencer.documents.clone(),
        index: Arc::clone(&sequencer.index),
        submit: submit.clone(),
        public: sequencer.public.subscribe(),
        stopping,
        followed: AtomicU64::new(0),
        cache: Cache::new(config.limits.cache_bytes),
        checks: Arc::new(Semaphore::new(config.limits.checks)),
        comparisons: Arc::new(Semaphore::new(config.limits.comparisons)),
        comparing: CancelToken::with_clock(Instant::now),
        tokens: Arc::new(Semaphore::new(config.limits.token_signings)),
        deltas: Arc::new(Semaphore::new(MAX_DELTAS_AT_ONCE)),
        listings: Arc::new(Semaphore::new(1)),
        prompts: Arc::new(Semaphore::new(1)),
        metrics,
        clock,
        log_key: sequencer.log.verifier().to_string(),
        open_report: report,
        rules: Arc::new(Rules::load(&config)?),
        proposals: Proposals::open(&layout, &config.limits, &config.prefix, Arc::clone(&reserve))?,
        audit,
        refusals: Refusals::new(config.limits.refusal_records),
        accounts: Accounts::new(&config.limits),
        reserve,
        compiled: Arc::clone(&sequencer.compiled),
        tls: Arc::clone(&tls),
        signers,
        keys,
        layout,
        config,
    };
    Ok(Prepared { app, sequencer, jobs, recorder, tls, tls_files, submit, lock, first })
}

/// Reserves room on every volume that a revocation writes to.
fn reserve(config: &Config, layout: &Layout) -> disk::Reserve {
    let mut paths = vec![layout.state.as_path(), config.audit.as_path()];
    paths.extend(config.last_checkpoint.as_deref());
    disk::Reserve::open(&paths, config.limits.reserve_bytes as u64)
}

/// The state that requests are answered from, without a listener.
#[cfg(test)]
pub(crate) fn prepared(config: Config) -> Result<Arc<App>, RunFault> {
    Ok(Arc::new(prepare(config)?.app))
}

/// The bound addresses.
struct Listeners {
    public: TcpListener,
    admin: TcpListener,
    probe: Option<TcpListener>,
    bound: Bound,
}

impl Listeners {
    async fn bind(config: &Config, mut inherited: Vec<std::net::TcpListener>) -> Result<Self, RunFault> {
        let public = bind(config.listen, &mut inherited).await?;
        let admin = bind(config.admin.listen, &mut inherited).await?;
        let probe = match &config.probe {
            Some(probe) => Some(bind(probe.listen, &mut inherited).await?),
            None => None,
        };
        if let Some(left) = inherited.first() {
            let what = "was passed to this process, and no setting names it";
            return Err(RunFault::Stopped(format!("the socket `{:?}` {what}", left.local_addr())));
        }
        let bound = Bound {
            listen: address(&public)?,
            admin: address(&admin)?,
            probe: probe.as_ref().map(address).transpose()?,
        };
        Ok(Self { public, admin, probe, bound })
    }
}

/// Binds the address, or takes the inherited socket.
async fn bind(
    address: SocketAddr,
    inherited: &mut Vec<std::net::TcpListener>,
) -> Result<TcpListener, RunFault> {
    let fault = |source| RunFault::Bind { address, source };
    let at = inherited.iter().position(|socket| socket.local_addr().is_ok_and(|bound| bound == address));
    match at.map(|at| inherited.swap_remove(at)) {
        Some(socket) => {
            socket.set_nonblocking(true).map_err(fault)?;
            TcpListener::from_std(socket).map_err(fault)
        }
        None => TcpListener::bind(address).await.map_err(fault),
    }
}

fn address(listener: &TcpListener) -> Result<SocketAddr, RunFault> {
    listener.local_addr().map_err(|e| RunFault::Stopped(format!("cannot read the bound address: {e}")))
}

async fn away<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RunFault> {
    tokio::task::spawn_blocking(work).await.map_err(|e| RunFault::Stopped(e.to_string()))
}

/// Deletes and rebuilds the index from log and documents, offline.
///
/// # Errors
/// The state directory is locked by a running authority, or the log is damaged.
pub fn rebuild_index(config: &Config) -> Result<Rebuilt, RunFault> {
    let layout = Layout::new(&config.state);
    if !layout.state.is_dir() {
        return Err(RunFault::Damaged { path: layout.state, what: "there is no state directory".to_owned() });
    }
    let _lock = disk::Lock::take(&layout.state)?;
    layout.prepare()?;
    let opened = open::open(config, &layout)?;
    let listed = opened.ledger.replay().listing().contexts;
    let position = opened.position();
    let index = Index::rebuild(&layout.index, &config.prefix, position, &listed)?;
    index.flush().map_err(|e| RunFault::damaged(&layout.index, e))?;
    tracing::warn!("the index was {}; rebuilt from the log: {} contexts", Reason::Asked, listed.len());
    Ok(Rebuilt {
        size: position.size,
        contexts: listed.len() as u64,
        missing_documents: opened.documents.missing(),
    })
}

/// The number of contexts in the index, for display.
pub(crate) fn indexed(app: &App) -> Option<u64> {
    index_of(&app.index).all().ok().map(|all| all.len() as u64)
}
