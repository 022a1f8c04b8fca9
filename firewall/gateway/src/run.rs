//! From a configuration to a running gateway, and back to an end without a cut message.

#[cfg(feature = "plain-proxy")]
pub(crate) mod plain;
mod start;
mod threads;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use semgate_policies::Floors;
use semgate_statement::Follower;
use tokio::sync::{mpsc, watch};

use crate::config::Config;
use crate::fault::RunFault;
use crate::follow::{self, Memory};
use crate::listen::BoundRoute;

/// Where a running gateway answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The routes, in the order of the configuration.
    pub routes: Vec<BoundRoute>,
    /// The admin address.
    pub admin: SocketAddr,
}

/// What a start would begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Contexts in the followers' memory.
    pub contexts: usize,
    /// Why the policies would not be live at once: they do not fit the contexts that are known so far. Empty if they would.
    pub policies_waiting: Vec<String>,
    /// Those of them that no other context will mend: a policy is wrong about contexts that are known. A gateway starts with it, and nothing passes.
    pub policies_wrong: Vec<String>,
    /// What would be live of the policies and do nothing, or less than it seems to, as a running gateway warns of it.
    pub policies_idle: Vec<String>,
    /// What is wrong with the shadow policies, or would be beside the contexts that are known so far; it stops nothing.
    pub shadow_faults: Vec<String>,
    /// Members that `[audit_values]` names and of which nothing could be kept, beside the contexts that are known; none while the policies
    /// wait for them.
    pub unkept: Vec<String>,
    /// Floors of the configuration that name no line which any context has: a line may come later, so they stop nothing.
    pub floors: Vec<String>,
    /// Log keys of the configuration that no trust list which is remembered names or named, each with its authority: they have no say, and
    /// stop nothing.
    pub unlisted_log_keys: Vec<(String, String)>,
    /// Files with secrets that others on the machine can read or write: the operator may have a reason, so they stop nothing.
    pub open_secrets: Vec<PathBuf>,
}

/// Looks at everything that a start needs (keys, roots, followers' memory, policies, and that they go together); binds nothing and writes nothing.
///
/// # Errors
/// What would stop the start.
pub fn check(config: &Config) -> Result<Checked, RunFault> {
    let parts = start::Parts::load(config, Memory::Look)?;
    let contexts = parts.contexts();
    let shadow_faults = follow::shadow_faults(config, &parts.documents(), &parts.floors(config));
    let follow::First { policies, state, wrong: policies_wrong, .. } = parts.policies;
    // while nothing is known nobody can tell what there will be
    let current = state.report().current && contexts > 0;
    let floors = if current { state.floors_of_nothing(&policies) } else { Vec::new() };
    let unkept = if state.report().current { state.unkept(&policies) } else { Vec::new() };
    let idle = policies.warnings().iter().map(ToString::to_string);
    let policies_idle = if state.report().current { idle.collect() } else { Vec::new() };
    let unlisted = parts.followers.iter().map(Follower::view).flat_map(|view| {
        let keys = view.unlisted_log_keys().to_vec();
        keys.into_iter().map(move |key| (view.authority().to_owned(), key))
    });
    let unlisted_log_keys = unlisted.collect();
    let _ = start::generation(config, &parts.followers, Arc::new(policies))?;
    let policies_waiting = state.report().faults;
    Ok(Checked {
        contexts,
        policies_waiting,
        policies_wrong,
        policies_idle,
        shadow_faults,
        unkept,
        floors,
        unlisted_log_keys,
        open_secrets: crate::materials::open_secrets(config),
    })
}

/// What a gateway of this configuration remembers of its authorities' floors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The lowest version of each line of which messages come to be judged: the highest of the operator's floor and its authority's.
    pub floors: Floors,
    /// Authorities of which nothing is remembered: their floors are not known.
    pub unheard: Vec<String>,
}

/// Reads the floors out of the followers' memory, and verifies them; writes nothing.
///
/// # Errors
/// Roots, log key or lines of an authority cannot be used, or its memory cannot be read.
pub fn remembered(config: &Config) -> Result<Remembered, RunFault> {
    let open = |authority| follow::open(config, authority, Memory::Look);
    let followers = config.authorities.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let views: Vec<_> = followers.iter().map(Follower::view).collect();
    let unheard = views.iter().filter(|view| view.size() == 0).map(|view| view.authority().to_owned());
    let unheard = unheard.collect();
    let floors = follow::floors(config, &views);
    Ok(Remembered { floors, unheard })
}

/// Runs until `shutdown` resolves, then drains: no new connection, messages in flight end within the drain limit. `ready`
/// is called once, when all addresses are bound; whether a fresh generation is live is what `/readyz` says.
///
/// SIGHUP, while it runs, reopens the audit file, reads keys and certificates again, and reloads the policies.
///
/// # Errors
/// Why it does not start, or which of its threads ended; other failures refuse messages instead of ending it.
pub async fn run<R, S>(config: Config, ready: R, shutdown: S) -> Result<(), RunFault>
where
    R: FnOnce(Bound),
    S: Future<Output = ()>,
{
    let (stop, stopping) = watch::channel(false);
    let (ended, mut died) = mpsc::channel(1);
    let config = Arc::new(config);
    let (bound, running) = {
        let config = Arc::clone(&config);
        let start = move || threads::start(&config, &stopping, &ended);
        tokio::task::spawn_blocking(start).await.map_err(|why| RunFault::system("start", why))??
    };
    ready(bound);
    let outcome = tokio::select! {
        () = shutdown => Ok(()),
        Some(name) = died.recv() => Err(RunFault::System { why: format!("the thread `{name}` ended by itself") }),
    };
    let _ = stop.send(true);
    let joined = tokio::task::spawn_blocking(move || running.join()).await;
    outcome.and(joined.map_err(|why| RunFault::system("end", why)))
}
