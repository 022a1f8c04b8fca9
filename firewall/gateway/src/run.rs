//! Start of a gateway from its configuration, and its end without a broken message.

mod core;
mod layout;
mod online;
mod people;
mod rehearsal;
mod reload;
mod served;
mod start;
mod threads;
mod unserved;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use semgate_contexts::ContextUrn;
use semgate_policies::Floors;
use semgate_statement::{Follower, View};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::clock::unix_now;
use crate::config::{Config, RouteConfig};
use crate::control::follow::{self, Memory, Recognisers};
use crate::fault::RunFault;
use crate::server::listen::BoundRoute;
use crate::server::own_certificates::OwnCertificate;
use crate::server::sockets::ListeningSocket;

pub use online::{Asked, check_online};

/// Addresses of a running gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Routes in configuration order.
    pub routes: Vec<BoundRoute>,
    /// Admin address.
    pub admin: SocketAddr,
    /// Address of the probes.
    pub probe: Option<SocketAddr>,
    /// Address for people.
    pub people: Option<SocketAddr>,
}

/// Result of a start's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Number of contexts in the followers' memory.
    pub contexts: usize,
    /// Reasons why the policies would not be live at once with the known contexts. Empty if they would.
    pub policies_waiting: Vec<String>,
    /// Those faults that no other context will mend: a policy is wrong about known contexts. A gateway starts with them, and
    /// nothing passes.
    pub policies_wrong: Vec<String>,
    /// Live policies without effect, or with less than they seem to have. A running gateway warns of them.
    pub policies_idle: Vec<String>,
    /// Faults of the shadow policies, also with the known contexts. They stop nothing.
    pub shadow_faults: Vec<String>,
    /// Members of `[audit_values]` that do not exist in the known contexts. Empty while the policies wait for contexts.
    pub unkept: Vec<String>,
    /// URNs of protocol contexts that a route needs and no authority serves. Operations of these protocols are refused.
    pub unserved: Vec<String>,
    /// Configured floors for lines without any context. They stop nothing, since a line may come later.
    pub floors: Vec<String>,
    /// Configured log keys, with their authorities, that no remembered trust list names or named. They do not count, and stop
    /// nothing.
    pub unlisted_log_keys: Vec<(String, String)>,
    /// Secret files that other users can read or write. They stop nothing, since the operator may have a reason.
    pub open_secrets: Vec<PathBuf>,
    /// Routes that do not list their own default contexts. Messages that name no context are refused there.
    pub default_contexts: Vec<String>,
    /// Contexts in the followers' memory.
    pub known: Vec<ContextUrn>,
    /// Number of policies that would be live at once.
    pub policies: usize,
    /// The gateway's own certificates, issuing certificates included.
    pub certificates: Vec<OwnEnd>,
}

/// The end of one of the gateway's own certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnEnd {
    /// Its file.
    pub file: PathBuf,
    /// Its subject.
    pub subject: String,
    /// Whole days left.
    pub days_left: u64,
    /// True in the last third of its life.
    pub soon: bool,
}

/// Checks everything that a start needs: state directory, audit file, keys, certificates, roots, followers' memory, policies,
/// and their consistency. Binds no port, and leaves nothing that it writes.
///
/// # Errors
/// The fault that would stop the start.
pub fn check(config: &Config) -> Result<Checked, RunFault> {
    rehearsal::rehearse(config)?;
    let parts = start::Parts::load(config, Memory::Look)?;
    let known: Vec<ContextUrn> = parts.documents().iter().map(|context| context.urn().clone()).collect();
    let contexts = parts.contexts();
    let certificates = own_ends(&parts.materials.own);
    let shadow_faults = follow::shadow_faults(config, &parts.documents(), &parts.floors(config));
    let follow::First { policies, state, wrong: policies_wrong, .. } = parts.policies;
    // without any context, nobody knows the future ones
    let current = state.report().current && contexts > 0;
    let floors = if current { state.floors_of_nothing(&policies) } else { Vec::new() };
    let unkept = if state.report().current { state.unkept(&policies) } else { Vec::new() };
    let idle = policies.warnings().iter().map(ToString::to_string);
    let policies_idle = if state.report().current { idle.collect() } else { Vec::new() };
    let live = if state.report().live.is_some() { policies.ids().count() } else { 0 };
    let unlisted = parts.followers.iter().map(Follower::view).flat_map(|view| {
        let keys = view.unlisted_log_keys().to_vec();
        keys.into_iter().map(move |key| (view.authority().to_owned(), key))
    });
    let unlisted_log_keys = unlisted.collect();
    let generation = start::generation(config, &parts.followers, Arc::new(policies))?;
    let policies_waiting = state.report().faults;
    Ok(Checked {
        contexts,
        policies_waiting,
        policies_wrong,
        policies_idle,
        shadow_faults,
        unkept,
        unserved: unserved::protocols(config, &parts.followers, &generation),
        floors,
        unlisted_log_keys,
        open_secrets: crate::server::materials::open_secrets(config),
        default_contexts: default_contexts(config),
        known,
        policies: live,
        certificates,
    })
}

/// Faults of routes whose default context is not among their contexts.
fn default_contexts(config: &Config) -> Vec<String> {
    let fault = |route: &RouteConfig| {
        start::route(route, &Default::default(), "")
            .check()
            .err()
            .map(|why| format!("route `{}`: {why}", route.name))
    };
    config.routes.iter().filter_map(fault).collect()
}

fn own_ends(own: &[OwnCertificate]) -> Vec<OwnEnd> {
    let now = unix_now();
    let all = own.iter().flat_map(|own| own.chain.iter().map(move |one| (own, one)));
    all.map(|(own, one)| OwnEnd {
        file: own.file.clone(),
        subject: one.subject.clone(),
        days_left: one.days_left(now),
        soon: one.ends_soon(now),
    })
    .collect()
}

/// Knowledge of a configuration's authorities, from memory.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// The verified view of each authority, as the first generation of a start has it.
    pub views: Vec<Arc<View>>,
    /// The lowest accepted version of each line: the higher of the operator's floor and its authority's.
    pub floors: Floors,
    /// Authorities without memory, whose contexts and floors are unknown.
    pub unheard: Vec<String>,
}

/// Reads and verifies the followers' memory; writes nothing.
///
/// # Errors
/// Unusable roots, log key or lines of an authority, or unreadable memory.
pub fn remembered(config: &Config) -> Result<Remembered, RunFault> {
    let open = |authority| follow::open(config, authority, Memory::Look);
    let followers = config.authorities.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let views: Vec<_> = followers.iter().map(Follower::view).collect();
    let unheard = views.iter().filter(|view| view.size() == 0).map(|view| view.authority().to_owned());
    let unheard = unheard.collect();
    let floors = follow::floors(config, &views);
    Ok(Remembered { views: Recognisers::of(config).judge(&views), floors, unheard })
}

/// Runs until `shutdown` resolves. An address of the configuration continues the socket of `inherited` that is bound to it.
/// Then drains: accepts no new connections, and lets messages in flight end within the drain
/// limit. Calls `ready` once, when all addresses are bound. `/readyz` reports when a fresh generation is live.
///
/// SIGHUP reopens the audit file, and reloads the configuration, keys, certificates and policies.
///
/// # Errors
/// The fault that stopped the start, or the thread that ended. Other failures refuse messages instead.
pub async fn run<R, S>(
    config: Config,
    inherited: Vec<ListeningSocket>,
    ready: R,
    shutdown: S,
) -> Result<(), RunFault>
where
    R: FnOnce(Bound),
    S: Future<Output = ()>,
{
    let (stop, stopping) = watch::channel(false);
    let (ended, mut died) = mpsc::channel(1);
    let config = Arc::new(config);
    let hangups = signal(SignalKind::hangup()).map_err(|why| RunFault::system("signals", why))?;
    let outside = threads::Outside { inherited, hangups };
    let (bound, running) = {
        let config = Arc::clone(&config);
        let start = move || threads::start(&config, outside, &stopping, &ended);
        tokio::task::spawn_blocking(start).await.map_err(|why| RunFault::system("start", why))??
    };
    ready(bound);
    let outcome = tokio::select! {
        () = shutdown => Ok(()),
        Some(name) = died.recv() => Err(RunFault::System { why: format!("the thread `{name}` ended unexpectedly") }),
    };
    let _ = stop.send(true);
    let joined = tokio::task::spawn_blocking(move || running.join()).await;
    outcome.and(joined.map_err(|why| RunFault::system("end", why)))
}
