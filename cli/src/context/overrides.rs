//! `semgate context override`: a named person permits a version that breaks, or is not proven, beside the published ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use semgate_contexts::{ContextUrn, Digest, DocumentLimits, Prefix, canonical, json as strict};
use semgate_statement::permission::is_persons_name;
use semgate_statement::{Permission, SignedPermission, Stapled, Status};
use serde_json::{Value, json};

use super::remote;
use crate::authority_client::{AuthorityArgs, AuthorityClient, answer, done};
use crate::client::Reply;
use crate::fault::{Doing, Fault};
use crate::names;
use crate::system::{read_bytes, ring_random};

/// Permit a version that breaks, or is not proven: signed with your client certificate, logged, public
#[derive(Debug, Args)]
pub struct Override {
    /// The only document that may be published by it
    file: PathBuf,
    /// Reason, public
    #[arg(long)]
    reason: String,
    /// Name of the person who permits it
    #[arg(long)]
    name: String,
    #[command(flatten)]
    at: AuthorityArgs,
}

impl Override {
    /// Signs a permission and submits it.
    ///
    /// # Errors
    /// The file is no document, there is nothing to permit it beside, or the authority refuses.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        done(&log(&self.at, &self.file, &self.reason, &self.name).await?, json)
    }
}

/// Signs a permission for the document of a file beside all versions of its major that count, and has it logged.
///
/// # Errors
/// As [`Override::run`].
pub async fn log(at: &AuthorityArgs, file: &Path, reason: &str, name: &str) -> Result<Reply, Fault> {
    names::reason("--reason", reason)?;
    names::reason("--name", name)?;
    if !is_persons_name(name) {
        return Err(Fault::new("an override names a person").hint("at most 128 bytes of name").status(2));
    }
    let (urn, digest) = named(file)?;
    let reach = at.reach()?;
    let permission = Permission {
        authority: authority(&reach).await?,
        siblings: siblings(&reach, &urn).await?,
        name: name.to_owned(),
        reason: reason.to_owned(),
        urn,
        digest,
    };
    if permission.siblings.is_empty() {
        return Err(Fault::new("no other version of this major counts, so it needs no override")
            .hint("publish it without an override"));
    }
    let identity = at.identity()?;
    let signed = SignedPermission::sign(&permission, &identity, &Prefix::default(), &ring_random())
        .doing("signing")?;
    reach.post("/v1/overrides", "application/jose+json", signed.as_str().as_bytes().to_vec()).await
}

/// Adds to a fault of publishing that the permission is logged already, and stays.
pub fn waits(fault: Fault, entry: &Value) -> Fault {
    let index = entry.get("index").and_then(Value::as_u64).map(|index| format!(" as entry {index}"));
    fault.but(format_args!(
        "the permission is logged{} permanently, and waits: a publisher of the line can publish this file without `--override`",
        index.unwrap_or_default()
    ))
}

/// Returns true if the authority has published the document of a file already, so that no permission is needed.
///
/// # Errors
/// The file is no document, or the authority is unreachable.
pub async fn is_published(reach: &AuthorityClient, file: &Path) -> Result<bool, Fault> {
    let (urn, digest) = named(file)?;
    let listed = remote::listing(reach).await?.contexts;
    Ok(listed.iter().any(|one| one.urn == urn && one.digest == digest))
}

/// Name and digest of the document of a file, bare or signed; the authority checks if it is valid.
fn named(file: &Path) -> Result<(ContextUrn, Digest), Fault> {
    read_named(&read_bytes(file)?).hinted(
        format_args!("`{}`", file.display()),
        "`semgate context check` shows what is wrong with a document",
    )
}

fn read_named(bytes: &[u8]) -> Result<(ContextUrn, Digest), String> {
    let signed = Stapled::read(bytes).ok().and_then(|stapled| names::payload(&stapled.signed));
    let limits = DocumentLimits::default();
    let limits = strict::Limits {
        max_bytes: bytes.len().max(1),
        max_depth: limits.max_depth,
        max_nodes: limits.max_nodes,
        max_string_bytes: limits.max_payload_bytes,
        ..strict::Limits::default()
    };
    let canonical =
        canonical::canonicalise(signed.as_deref().unwrap_or(bytes), &limits).map_err(|e| e.to_string())?;
    let document: Value = serde_json::from_slice(&canonical).map_err(|e| e.to_string())?;
    let urn = document.get("context").and_then(Value::as_str).ok_or("it names no context")?;
    let urn = ContextUrn::parse(urn, &Prefix::default()).map_err(|e| e.to_string())?;
    Ok((urn, Digest::of(&canonical)))
}

async fn authority(reach: &AuthorityClient) -> Result<String, Fault> {
    let floors = answer(&reach.get("/v1/floors").await?)?;
    let name = floors.get("authority").and_then(Value::as_str);
    name.map(str::to_owned)
        .ok_or_else(|| Fault::new("the authority's answer: it does not name the authority"))
}

/// The versions of the major that count, as the authority lists them; the permission does not cover any that it omits.
async fn siblings(reach: &AuthorityClient, urn: &ContextUrn) -> Result<BTreeMap<ContextUrn, Digest>, Fault> {
    let counts = remote::listing(reach).await?.contexts.into_iter().filter(|one| {
        let same = one.urn.line() == urn.line() && one.urn.version().major == urn.version().major;
        same && one.urn != *urn && one.status != Status::Invalid
    });
    Ok(counts.map(|one| (one.urn, one.digest)).collect())
}

/// The overrides as the authority lists them; empty without an answer, because they are only shown.
pub async fn listed(reach: &AuthorityClient) -> Vec<Value> {
    let Ok(reply) = reach.get("/v1/overrides").await else { return Vec::new() };
    let listed: Value = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
    listed.get("overrides").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The override for a published document, if any.
pub fn of<'a>(listed: &'a [Value], urn: &str, digest: &str) -> Option<&'a Value> {
    let is = |one: &Value, name: &str, text: &str| one.get(name).and_then(Value::as_str) == Some(text);
    listed.iter().find(|one| is(one, "urn", urn) && is(one, "digest", digest))
}

/// An override as a line: signer, name, reason.
pub fn line(one: &Value) -> String {
    let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
    let index = one.get("index").and_then(Value::as_u64).unwrap_or_default();
    format!("overridden by {} ({}) in entry {index}: {}", text("name"), text("by"), text("reason"))
}

/// An override as shown beside a comparison.
pub fn shown(one: &Value) -> Value {
    let keep = |name: &str| one.get(name).cloned().unwrap_or(Value::Null);
    json!({"index": keep("index"), "by": keep("by"), "name": keep("name"), "reason": keep("reason")})
}
