//! The statements of an authority's root, verified before a draft: the head, every statement under the keys before it, and its place in the
//! log. Also the chains whose issuing certificates a first list would name.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use semgate_certs::{Chain, Roots, Thumbprint, Usage, verify_chain};
use semgate_contexts::Prefix;
use semgate_statement::head::HeadFault;
use semgate_statement::{
    Answer, FollowFault, Follower, FollowerConfig, KeyList, Lines, LogVerifier, RootAct, RootEntry,
    Statement, Step, Trust, View,
};
use tokio::sync::watch;

use crate::authority_client::AuthorityClient;
use crate::fault::{Doing, Fault};
use crate::log::{log_verifier, unlisted};
use crate::system::{now, read_roots};

/// The longest accepted lifetime of a head: a day, as for followers.
const LONGEST_HEAD: u64 = 86_400;

/// The local trust in an authority, and its served trust list.
pub(crate) struct LocalTrust<'a> {
    /// The unverified trust list.
    pub(crate) trust: &'a Trust,
    /// Configured log keys; without any, those of the first trust list count, which the roots must have signed.
    pub(crate) keys: &'a [String],
    /// Number of root keys that spoke for the root before the first trust list.
    pub(crate) threshold: u64,
}

/// Follows the authority once, under the local roots and one log key. Returns its log and the root's statements in order; nothing if no
/// log key is known.
///
/// # Errors
/// The served files are not valid, or too old.
pub(crate) async fn root_statements(
    reach: &AuthorityClient,
    local: &LocalTrust<'_>,
) -> Result<Option<(LogVerifier, Vec<RootEntry>)>, Fault> {
    let nothing = Lines::parse::<&str>(&[]).doing("lines")?;
    let followed = follow_once(reach, local, nothing).await?;
    Ok(followed.map(|(log, follower)| (log, follower.root_statements().to_vec())))
}

/// Follows the authority once, with the published contexts of these lines; nothing if no log key is known.
///
/// # Errors
/// As [`root_statements`].
pub(crate) async fn follow_once(
    reach: &AuthorityClient,
    local: &LocalTrust<'_>,
    lines: Lines,
) -> Result<Option<(LogVerifier, Follower)>, Fault> {
    let listed = lists(local.trust.root())?.into_iter().next().map(|list| list.log);
    let given = (!local.keys.is_empty()).then(|| local.keys.to_vec());
    let Some(candidates) = given.clone().or_else(|| listed.clone()) else { return Ok(None) };
    let verifiers = candidates.iter().map(|key| log_verifier(key));
    let log = LogVerifier::any_of(verifiers.collect::<Result<Vec<_>, Fault>>()?).ok_or_else(|| {
        Fault::new("the log keys are of several logs").hint("name a key of this authority's log")
    })?;
    let mut config =
        FollowerConfig::new(local.trust.authority(), log.name(), read_roots(&reach.roots)?, log.clone());
    config.lines = lines;
    config.root_threshold = local.threshold;
    config.max_status_age = LONGEST_HEAD;
    let follower = follow(reach, Follower::without_memory(config)).await?;
    // unknown keys count only because the roots signed the list that names them
    let signed = lists(follower.root_statements())?.into_iter().next().map(|list| list.log);
    if given.is_none() && signed != listed {
        return Err(evidence("the first trust list is not the one that was served before"));
    }
    Ok(Some((log, follower)))
}

async fn follow(reach: &AuthorityClient, mut follower: Follower) -> Result<Follower, Fault> {
    while let Step::Get(request) = follower.next(now()) {
        let reply = reach.get(&request.path).await?;
        let answer = Answer { status: reply.status, etag: None, body: reply.body.to_vec() };
        follower.answer(&request.path, answer, now()).map_err(|fault| refused(&fault))?;
    }
    let view = follower.view();
    if now() >= view.next_update() {
        return Err(evidence("no fresh head was accepted"));
    }
    if let Some(key) = view.unlisted_log_keys().first() {
        return Err(unlisted(key));
    }
    Ok(follower)
}

/// Follows on, and shows each view that is verified. A failure keeps the last one, which is stale by its own time; it is reported on standard
/// error when it changes. Ends only if nobody takes views any more.
pub(crate) async fn keep_following(
    reach: &AuthorityClient,
    mut follower: Follower,
    views: watch::Sender<Arc<View>>,
) {
    let mut trouble = String::new();
    while !views.is_closed() {
        let request = match follower.next(now()) {
            Step::Get(request) => request,
            Step::Idle { until } => {
                tokio::time::sleep(Duration::from_secs(until.saturating_sub(now()).max(1))).await;
                continue;
            }
        };
        let outcome = match reach.get(&request.path).await {
            Ok(reply) => {
                let answer = Answer { status: reply.status, etag: None, body: reply.body.to_vec() };
                follower.answer(&request.path, answer, now())
            }
            Err(_) => follower.unreachable(&request.path, now()),
        };
        let fault = outcome.err().map(|fault| fault.to_string()).unwrap_or_default();
        if fault != trouble && !fault.is_empty() {
            tell!("the authority cannot be followed, and the last good view stays: {fault}");
        }
        trouble = fault;
        views.send_replace(follower.view());
    }
}

/// The fault for the caller; an old or missing file is no evidence against anybody.
fn refused(fault: &FollowFault) -> Fault {
    match fault {
        FollowFault::Head(HeadFault::Expired) => {
            Fault::new("the served files belong to an expired head, so nothing was done")
                .hint("update the mirror, or ask the authority itself")
        }
        FollowFault::Unreachable | FollowFault::HttpStatus { .. } => {
            Fault::new(format_args!("the authority could not be followed, so nothing was done: {fault}"))
                .hint("check that this is the address of an authority or of a complete mirror, and ask again")
        }
        fault => evidence(fault),
    }
}

fn evidence(what: impl std::fmt::Display) -> Fault {
    Fault::new(format_args!("the answers of the authority are not valid: {what}"))
        .hint("check that roots and log key belong to this authority; if so, keep its answers as evidence; nothing was done")
}

/// The trust lists among statements of the root.
///
/// # Errors
/// A statement cannot be read.
pub(super) fn lists(entries: &[RootEntry]) -> Result<Vec<KeyList>, Fault> {
    let mut lists = Vec::new();
    for entry in entries {
        let entry = entry.entry(&Prefix::default()).doing("trust document")?;
        if let Statement::Root(statement) = entry.unverified()
            && let RootAct::Keys(keys) = &statement.act
        {
            lists.push(keys.clone());
        }
    }
    Ok(lists)
}

/// The issuing certificates of all signers below the roots; reports and omits the others.
pub(super) fn issuing(trust: &Trust, roots: &Roots) -> Vec<Thumbprint> {
    let mut issuing = BTreeSet::new();
    for (leaf, chain) in trust.chains() {
        let [_, .., above] = chain.certificates() else { continue };
        match vouched(chain, roots) {
            Some(()) => drop(issuing.insert(Thumbprint::of(above))),
            None => tell!("left out: the roots do not vouch for the chain of {leaf}"),
        }
    }
    issuing.into_iter().collect()
}

/// Checks that a chain ends at the roots, for any role, at the start of its leaf.
fn vouched(chain: &Chain, roots: &Roots) -> Option<()> {
    let (at, _) = chain.leaf_validity(roots.limits())?;
    let roles = [Usage::Context, Usage::Status, Usage::Feed, Usage::Log];
    roles.into_iter().find_map(|usage| verify_chain(chain, roots, usage, at).ok()).map(drop)
}

/// Prints on standard error what signers must compare, by a way other than this authority.
pub(super) fn compare(list: &KeyList) {
    tell!("compare these with their holders before anybody signs:");
    list.roots.iter().for_each(|der| tell!("  root     {}", Thumbprint::of(der)));
    list.issuing.iter().for_each(|one| tell!("  issuing  {one}"));
    list.log.iter().for_each(|key| tell!("  log      {key}"));
}
