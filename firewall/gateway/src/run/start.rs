//! Parts of a start, loaded before anything is served.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use semgate_certs::token::TokenIssuers;
use semgate_contexts::{Context, json};
use semgate_inspect::{Generation, InspectLimits, Inspector, Route, RouteOptions, ScanCounts, TextParts};
use semgate_negotiation::Sessions;
use semgate_policies::{Floors, Policies};
use semgate_protocol::{ContentFormat, a2a::Version};
use semgate_statement::Follower;

use crate::approvals::Approvals;
use crate::clock::unix_now;
use crate::config::{Config, HandshakeChoice, Limits, Part, RouteConfig};
use crate::control::crls::{Lists, Stores};
use crate::control::follow::{self, First, Memory, Recognisers, ScanFiles};
use crate::fault::RunFault;
use crate::pipeline::record::Audit;
use crate::server::account::Accounts;
use crate::server::materials::Materials;
use crate::server::route_files::RouteFiles;
use crate::server::shared::Shared;
use crate::upstream::egress::Egress;
use crate::upstream::internal_addresses::InternalAddresses;

/// Everything that is read before a port is bound.
pub(super) struct Parts {
    pub(super) materials: Materials,
    pub(super) followers: Vec<Follower>,
    pub(super) policies: First,
    /// Revocation lists by trust domain, and the stores for verification.
    pub(super) lists: BTreeMap<String, Lists>,
    pub(super) stores: Stores,
    /// Signed model and baselines of text scores.
    pub(super) scan: Option<ScanFiles>,
}

/// Parts of the shared state that are opened before it.
pub(super) struct Around {
    pub(super) audit: Audit,
    pub(super) issuers: Arc<TokenIssuers>,
    /// Counts of scored texts.
    pub(super) scans: Arc<ScanCounts>,
}

/// Creates the state directory (mode 0700) and opens its lock file.
///
/// # Errors
/// The directory cannot be created, or is not writable.
pub(super) fn open_state(config: &Config) -> Result<File, RunFault> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&config.state)
        .map_err(|why| state_fault(config, &why))?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.open(config.state.join("lock")).map_err(|why| state_fault(config, &why))
}

/// Opens the state directory and locks it for this process, since two followers with one memory would undo each other's work.
///
/// # Errors
/// As [`open_state`], or another gateway has locked it.
pub(super) fn hold(config: &Config) -> Result<File, RunFault> {
    let lock = open_state(config)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(state_fault(config, &"another gateway uses it")),
        Err(TryLockError::Error(why)) => Err(state_fault(config, &why)),
    }
}

fn state_fault(config: &Config, why: &dyn std::fmt::Display) -> RunFault {
    RunFault::File { path: config.state.clone(), what: "state directory", why: why.to_string() }
}

impl Parts {
    /// Loads everything. `memory` decides if missing memory of the followers is created.
    pub(super) fn load(config: &Config, memory: Memory) -> Result<Self, RunFault> {
        let (stores, lists) = Stores::open(config);
        let materials = Materials::load(config, &stores)?;
        let open = |authority| follow::open(config, authority, memory);
        let followers: Vec<Follower> = config.authorities.iter().map(open).collect::<Result<_, _>>()?;
        let _ = crate::server::materials::lock_keys(config)?;
        crate::control::traces::check(config)?;
        for authority in &config.authorities {
            let _ = crate::server::materials::authority(config, authority)?;
        }
        if let Some(approvals) = &config.approvals {
            crate::approvals::humans::load(approvals)?;
            crate::approvals::channels::check(approvals)?;
        }
        for route in &config.routes {
            if let Some(push) = &route.a2a.push {
                let _ = Egress::new(push, "")?;
            }
        }
        let views: Vec<_> = followers.iter().map(Follower::view).collect();
        let policies = follow::first(config, &follow::documents(&views), follow::floors(config, &views))?;
        let scan = ScanFiles::first(config)?;
        Ok(Self { materials, followers, policies, lists, stores, scan })
    }

    /// Documents in the followers' memory.
    pub(super) fn documents(&self) -> Vec<Arc<Context>> {
        follow::documents(&self.followers.iter().map(Follower::view).collect::<Vec<_>>())
    }

    /// Floors of the configuration, and those in the followers' memory.
    pub(super) fn floors(&self, config: &Config) -> Floors {
        follow::floors(config, &self.followers.iter().map(Follower::view).collect::<Vec<_>>())
    }

    /// Number of contexts in the followers' memory.
    pub(super) fn contexts(&self) -> usize {
        self.followers.iter().map(|follower| follower.view().contexts().count()).sum()
    }
}

/// The inspector's limits from the gateway's.
fn inspect_limits(limits: &Limits) -> InspectLimits {
    let json = json::Limits { max_bytes: limits.body_bytes.max(limits.reply_bytes), ..limits.json() };
    InspectLimits {
        json,
        scan_characters: limits.scan_characters,
        subscriptions_of_one: limits.subscriptions,
        tool_list_ms: (limits.tool_list_seconds > 0).then(|| u64::from(limits.tool_list_seconds) * 1_000),
        ..InspectLimits::default()
    }
}

/// The first generation.
///
/// # Errors
/// The authorities are inconsistent. This is the last fault that can stop a start before a port is bound.
pub(super) fn generation(
    config: &Config,
    followers: &[Follower],
    policies: Arc<Policies>,
) -> Result<Generation, RunFault> {
    let views: Vec<_> = followers.iter().map(Follower::view).collect();
    let views = Recognisers::of(config).judge(&views);
    let floors = config.floors.iter().cloned().collect();
    Generation::new(views, policies, floors, config.prefix.clone())
        .map_err(|why| RunFault::system("configuration", why))
}

/// State shared by all cores, with the first generation.
pub(super) fn shared(
    config: &Config,
    generation: Generation,
    around: Around,
    approvals: Option<&Approvals>,
) -> Result<Arc<Shared>, RunFault> {
    let sessions = Arc::new(Sessions::new(crate::server::materials::lock_keys(config)?));
    let Around { audit, issuers, scans } = around;
    let mut inspector = Inspector::new(inspect_limits(&config.limits), generation)
        .with_scan_counts(scans)
        .with_signed_since(unix_now());
    if let Some(keep) = config.kept() {
        inspector = inspector.with_kept(keep);
    }
    Ok(Arc::new(Shared {
        inspector: Arc::new(inspector.with_sessions(Arc::clone(&sessions))),
        sessions,
        limits: config.limits.clone(),
        audit,
        accounts: Arc::new(Accounts::new(&config.limits)),
        started: Instant::now(),
        inside: InternalAddresses::of_routes(&config.routes),
        issuers: Arc::new(ArcSwap::new(issuers)),
        approvals: approvals.map(|all| (all.desk.clone(), Arc::clone(&all.config))),
    }))
}

/// A route in the inspector's form, with the contents of its files, and its address for callers.
pub(super) fn route(route: &RouteConfig, files: &RouteFiles, url: &str) -> Arc<Route> {
    let (admit, owned) = (|part| route.agent.admit.contains(&part), &route.owned);
    Arc::new(Route {
        name: route.name.clone(),
        binding: route.binding,
        receiver: route.receiver.clone(),
        upstream: route.upstream.to_string(),
        contexts: route.contexts.clone(),
        text_parts: TextParts {
            text: admit(Part::Text),
            raw: admit(Part::File),
            url: admit(Part::File),
            data: admit(Part::Data),
        },
        tenant: None,
        options: RouteOptions {
            versions: route.a2a.versions.clone(),
            default_contexts: route.default_contexts.clone(),
            require_lock: route.agent.require_lock,
            passes_handshakes: admit(Part::Handshake),
            keeps_callers_apart: owned.keeps_callers_apart,
            answer_from_code_lists: route.speech.answer_from_code_lists,
            group: None,
            untyped: route.speech.untyped.clone(),
            embeddings: route.agent.handshake.iter().flat_map(HandshakeChoice::models).collect(),
            undefined: route.speech.undefined,
            unnamed_tools: route.mcp.unnamed_tools,
            null_arguments: route.mcp.null_arguments,
            meta: owned.meta.clone(),
            dialogue: files.rules(route, url),
            formats: route.a2a.sstp.then_some(ContentFormat::Sstp).into_iter().collect(),
        },
    })
}

/// The same route for card requests, which name no version.
pub(super) fn card_route(route: &Arc<Route>) -> Arc<Route> {
    let mut route = Route::clone(route);
    route.options.versions = vec![Version::V10];
    Arc::new(route)
}

#[cfg(test)]
mod tests;
