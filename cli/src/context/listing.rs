//! `semgate context list`: published versions with their status and its reason, and the floors of their lines. Unverified, as every
//! listing.

use std::collections::{BTreeMap, BTreeSet};

use semgate_contexts::{ContextUrn, Prefix};
use semgate_statement::tiles::decode_bundle;
use semgate_statement::{Entry, FloorsDocument, Statement, Status, TilePath};
use serde_json::{Value, json};

use super::{overrides, paged_listing, remote};
use crate::authority_client::{AuthorityClient, answer};
use crate::fault::{Doing, Fault};
use crate::terminal::heading;

/// Bundles of the log that are searched for reasons, newest first: the last 16,384 statements.
const BUNDLES: u64 = 64;

/// A status as people call it.
pub const fn word(status: Status) -> &'static str {
    match status {
        Status::Valid => "published",
        Status::Invalid => "revoked",
        Status::Suspended => "suspended",
        Status::Deprecated => "deprecated",
    }
}

/// Reasons of the newest acts on versions and lines, as the log states them.
#[derive(Default)]
pub struct Reasons(BTreeMap<String, String>);

impl Reasons {
    /// Searches the log for the newest act on each of these URNs and lines. Reasons are only remarks, so those that cannot be read are
    /// missing.
    pub async fn read(reach: &AuthorityClient, mut wanted: BTreeSet<String>) -> Self {
        let mut reasons = Self::default();
        let Ok(checkpoint) = reach.get("/checkpoint").await else { return reasons };
        let text = String::from_utf8_lossy(&checkpoint.body).into_owned();
        let Some(size) = text.lines().nth(1).and_then(|size| size.parse::<u64>().ok()) else {
            return reasons;
        };
        let (mut next, mut bundles) = (size, 0);
        while let Some(path) = next.checked_sub(1).and_then(|last| TilePath::entries_holding(last, size)) {
            if wanted.is_empty() || bundles >= BUNDLES {
                break;
            }
            let Ok(reply) = reach.get(&path.to_string()).await else { break };
            let Ok(entries) = decode_bundle(&reply.body, path.width()) else { break };
            entries.iter().rev().for_each(|entry| reasons.add(entry, &mut wanted));
            next = next.saturating_sub(u64::from(path.width()));
            bundles += 1;
        }
        reasons
    }

    fn add(&mut self, entry: &[u8], wanted: &mut BTreeSet<String>) {
        let Ok(entry) = Entry::read(entry, &Prefix::default()) else { return };
        let (subject, reason) = match entry.unverified() {
            Statement::Change { urn, reason, .. } => (urn.as_str().to_owned(), reason),
            Statement::Floor { line, reason, .. } => (line.to_string(), reason),
            _ => return,
        };
        if wanted.remove(&subject) {
            self.0.insert(subject, reason.clone());
        }
    }

    /// The reason of the newest act on a URN or a line.
    pub fn of(&self, subject: &str) -> Option<&str> {
        self.0.get(subject).map(String::as_str)
    }
}

/// The floors of an authority, by line.
///
/// # Errors
/// The authority is unreachable, or its answer is malformed.
pub async fn floors(reach: &AuthorityClient) -> Result<BTreeMap<String, String>, Fault> {
    let reply = reach.get("/v1/floors").await?;
    answer(&reply)?;
    let floors = FloorsDocument::read(&reply.body).doing("the authority's answer")?.floors;
    Ok(floors.iter().map(|(line, version)| (line.to_string(), version.to_string())).collect())
}

/// The standing of one published version.
pub struct VersionStanding {
    pub status: Status,
    /// The reason of its newest change of status.
    pub reason: Option<String>,
    /// The floor above it.
    pub floor: Option<String>,
}

impl VersionStanding {
    /// Asks the authority.
    ///
    /// # Errors
    /// The authority is unreachable, or its answer is malformed. `None` stands for a version that is not listed.
    pub async fn of(reach: &AuthorityClient, urn: &ContextUrn) -> Result<Option<Self>, Fault> {
        let listed = remote::listing(reach).await?.contexts;
        let Some(status) = listed.iter().find(|one| one.urn == *urn).map(|one| one.status) else {
            return Ok(None);
        };
        let floor = floors(reach).await?.remove(urn.line().as_str());
        let above = |floor: &String| floor.parse().is_ok_and(|floor| urn.version() < floor);
        let wanted = match status {
            Status::Valid => BTreeSet::new(),
            _ => BTreeSet::from([urn.as_str().to_owned()]),
        };
        let reason = Reasons::read(reach, wanted).await.of(urn.as_str()).map(str::to_owned);
        Ok(Some(Self { status, reason, floor: floor.filter(above) }))
    }

    /// A warning where messages under the version do not pass.
    pub fn warning(&self, urn: &ContextUrn) -> Option<String> {
        let reason = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        match (self.status, &self.floor) {
            (Status::Invalid | Status::Suspended, _) => {
                Some(format!("`{urn}` is {}, and no gateway lets it pass{reason}", word(self.status)))
            }
            (_, Some(floor)) => Some(format!(
                "`{urn}` is below the floor {floor} of `{}`, and no gateway lets it pass",
                urn.line()
            )),
            (Status::Deprecated, None) => Some(format!("`{urn}` is deprecated: use a newer version{reason}")),
            (Status::Valid, None) => None,
        }
    }
}

/// Lists the publications.
pub async fn list(reach: &AuthorityClient, json: bool) -> Result<u8, Fault> {
    let reply = reach.get("/v1/contexts").await?;
    let mut listed = if reply.status == paged_listing::GONE {
        let bytes = paged_listing::listing(reach).await?.to_bytes().doing("the listing")?;
        serde_json::from_slice(&bytes).doing("the listing")?
    } else {
        answer(&reply)?
    };
    let floors = floors(reach).await?;
    let contexts = listed.get("contexts").and_then(Value::as_array).cloned().unwrap_or_default();
    let changed = contexts.iter().filter(|one| text(one, "status") != Status::Valid.as_str());
    let wanted = changed.map(|one| text(one, "urn").to_owned()).chain(floors.keys().cloned());
    let reasons = Reasons::read(reach, wanted.collect()).await;
    if json {
        for one in listed.get_mut("contexts").and_then(Value::as_array_mut).into_iter().flatten() {
            let reason = reasons.of(text(one, "urn")).map(|reason| json!(reason));
            if let (Some(reason), Some(members)) = (reason, one.as_object_mut()) {
                members.insert("reason".to_owned(), reason);
            }
        }
        let floors =
            floors.iter().map(|(line, min)| (line.clone(), json!({"min": min, "reason": reasons.of(line)})));
        let floors = floors.collect::<serde_json::Map<String, Value>>();
        if let Some(members) = listed.as_object_mut() {
            members.insert("floors".to_owned(), floors.into());
        }
        out!("{listed}");
        return Ok(0);
    }
    heading(&format!("{:>6}  {:<10}  context and digest", "entry", "status"));
    show(&contexts, &reasons, &overrides::listed(reach).await);
    for (line, min) in &floors {
        let reason = reasons.of(line).map(|reason| format!(": {reason}")).unwrap_or_default();
        out!("{:>6}  {:<10}  {line} {min}{reason}", "", "floor");
    }
    Ok(0)
}

fn show(contexts: &[Value], reasons: &Reasons, overrides: &[Value]) {
    for context in contexts {
        let text = |name: &str| text(context, name);
        let index = context.get("index").and_then(Value::as_u64).unwrap_or_default();
        let status = Status::parse(text("status")).map_or("unknown", word);
        out!("{index:>6}  {status:<10}  {}  {}", text("urn"), text("digest"));
        if let Some(reason) = reasons.of(text("urn")) {
            out!("{:>8}{reason}", "");
        }
        if let Some(one) = overrides::of(overrides, text("urn"), text("digest")) {
            out!("{:>8}{}", "", overrides::line(one));
        }
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
