//! Requests to an authority.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use clap::Args;
use http::Method;
use semgate_authority::first_free_version;
use semgate_contexts::{Context, ContextUrn, DocumentFault, Prefix, Version};
use semgate_statement::context::{ContextFault, STAPLED_MEDIA_TYPE};
use semgate_statement::{Listing, SignedContext, Stapled, Status, TextProofFault};
use serde_json::{Value, json};

use super::files::{described, untrusted};
use super::listing::{VersionStanding, word};
use super::located::settled;
use super::paged_listing;
use super::trusted_roots::{AuthorityKeys, TrustedRoots};
use crate::authority_client::{AuthorityArgs, AuthorityClient, answer, done, refused};
use crate::client::Reply;
use crate::fault::{Doing, Fault};
use crate::names;
use crate::system::{read_bytes, write_new};
use crate::terminal::{self, print_members as print};

/// An act on one published version.
#[derive(Debug, Args)]
pub struct LifecycleAct {
    /// The URN, or in short `payment:v1.1`
    context: String,
    /// Reason, for the log
    #[arg(long, default_value = "asked for by the operator")]
    reason: String,
    #[command(flatten)]
    at: AuthorityArgs,
}

impl LifecycleAct {
    /// Requests the act.
    pub async fn run(self, act: &str, json: bool) -> Result<u8, Fault> {
        let reach = self.at.reach()?;
        let path = format!("/v1/contexts/{}/{act}", names::full_urn(&self.context));
        let body = json!({ "reason": names::reason("--reason", &self.reason)? });
        done(&reach.post_json(&path, &body).await?, json)
    }
}

/// A revocation.
#[derive(Debug, Args)]
pub struct Revocation {
    #[command(flatten)]
    act: LifecycleAct,
    /// Do not ask on a terminal
    #[arg(long)]
    yes: bool,
}

impl Revocation {
    /// Requests the revocation, on a terminal after a confirmation.
    pub async fn run(self, json: bool) -> Result<u8, Fault> {
        if !self.yes && !json && terminal::is_attended() {
            self.confirm().await?;
        }
        self.act.run("revoke", json).await
    }

    async fn confirm(&self) -> Result<(), Fault> {
        let reach = self.act.at.reach()?;
        let urn = names::full_urn(&self.act.context);
        let parsed = ContextUrn::parse(&urn, &Prefix::default()).doing(format_args!("`{urn}`"))?;
        let listed = listing(&reach).await?.contexts;
        let others = listed.iter().filter(|one| one.urn.line() == parsed.line() && one.urn != parsed);
        let others: Vec<String> =
            others.map(|one| format!("{} ({})", one.urn.version(), word(one.status))).collect();
        let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
        tell!("revokes `{urn}` for good: every gateway then refuses its messages, replies and open streams");
        tell!("other versions of `{}`: {others}", parsed.line());
        match terminal::confirmed("type `yes` to revoke it: ")? {
            true => Ok(()),
            false => {
                Err(Fault::new("nothing was revoked").hint("`context suspend` takes it back for a while"))
            }
        }
    }
}

/// Publishes a file: as signed if it looks like a JWS, else as bare.
pub async fn publish(reach: &AuthorityClient, file: &Path, json: bool) -> Result<u8, Fault> {
    let bytes = read_bytes(file)?;
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let signed = value.get("signatures").is_some();
    if !signed {
        settled(&value)?;
    }
    let kind = if signed { "application/jose+json" } else { "application/json" };
    let reply = reach.post("/v1/contexts", kind, bytes).await?;
    let reply_json = answer(&reply)?;
    print(&reply_json, json);
    for warning in reply_json.get("warnings").and_then(Value::as_array).into_iter().flatten() {
        let text = |name: &str| warning.get(name).and_then(Value::as_str).unwrap_or_default();
        tell!(
            "warning: together with `{}`, {}: {}; policies do not see it, and a gateway whose policy reads it leaves this version out",
            text("beside"),
            text("pointer"),
            text("what")
        );
    }
    if reply.status == 200 {
        tell_status(reach, &reply_json).await;
    }
    Ok(0)
}

/// Reports if an earlier publication no longer counts; silent without a listing, because it is only a remark.
async fn tell_status(reach: &AuthorityClient, published: &Value) {
    let urn = published.get("urn").and_then(Value::as_str).unwrap_or_default();
    let Ok(listing) = listing(reach).await else { return };
    let now = match listing.contexts.iter().find(|one| one.urn.as_str() == urn).map(|one| one.status) {
        Some(Status::Invalid) => "revoked permanently: publish it under the next version",
        Some(Status::Suspended) => "suspended",
        _ => return,
    };
    tell!("`{urn}` was published before and no longer counts: it is {now}");
}

/// Fetches a signed context, verifies it, and stores it.
pub async fn fetch(
    keys: &AuthorityKeys,
    context: &str,
    out: Option<&Path>,
    proof: bool,
    json: bool,
) -> Result<u8, Fault> {
    let (held, served) = served(keys, &names::full_urn(context)).await?;
    if let Some(out) = out {
        let written =
            if proof { &served.to_bytes().doing("the authority's answer")? } else { &served.signed };
        write_new(out, written, 0o644)?;
    }
    let mut shown = described(&held);
    let urn = held.context().urn();
    match VersionStanding::of(&keys.reach, urn).await {
        Ok(Some(standing)) => {
            if let Some(warning) = standing.warning(urn) {
                tell!("warning: {warning}");
            }
            if let Some(members) = shown.as_object_mut() {
                members.insert("status".to_owned(), json!(word(standing.status)));
                let remarks = [("reason", standing.reason), ("floor", standing.floor)];
                let remarks =
                    remarks.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
                members.extend(remarks);
            }
        }
        Ok(None) => tell!("warning: `{urn}` is not in the listing of published contexts"),
        Err(why) => tell!("not checked: its status: {}", why.what()),
    }
    print(&shown, json);
    Ok(0)
}

/// A published context, verified.
pub async fn context(keys: &AuthorityKeys, urn: &str) -> Result<Arc<Context>, Fault> {
    Ok(Arc::clone(served(keys, urn).await?.0.context()))
}

async fn served(keys: &AuthorityKeys, urn: &str) -> Result<(SignedContext, Stapled), Fault> {
    let counted = keys.fetch_trusted_roots().await?;
    let reply = ask(&keys.reach, urn).await?;
    if reply.status != 200 {
        return Err(refused(&reply));
    }
    let served = read(&reply)?;
    if counted.checks_proofs() && served.proof.is_none() {
        tell!("not checked: its publication, since no proof is served here; `semgate log proof` makes one");
    }
    let others = fetch_references(&keys.reach, &counted, &served).await?;
    let held = counted.verify(&served, &|urn| find(&others, urn)).map_err(|e| untrusted(&e))?;
    if held.context().urn().as_str() != urn {
        let other = held.context().urn();
        return Err(Fault::new(format_args!("asked for `{urn}`, but received `{other}`"))
            .hint("do not use this mirror; keep what it served as evidence"));
    }
    Ok((held, served))
}

/// A signed context, with the proof of its publication if it is served.
async fn ask(reach: &AuthorityClient, urn: &str) -> Result<Reply, Fault> {
    let url = format!("{}/v1/contexts/{urn}", reach.url);
    reach.client.send(Method::GET, &url, &[("accept", STAPLED_MEDIA_TYPE)], Bytes::new()).await
}

fn read(reply: &Reply) -> Result<Stapled, Fault> {
    Stapled::read(&reply.body).doing("the authority's answer")
}

/// Contexts fetched for one: as many as one may refer to.
const MAX_REFERRED: usize = 16;

fn find(others: &[Arc<Context>], urn: &ContextUrn) -> Option<Arc<Context>> {
    others.iter().find(|context| context.urn() == urn).cloned()
}

/// The contexts to which a signed one refers, each fetched once from the same authority and verified.
async fn fetch_references(
    reach: &AuthorityClient,
    counted: &TrustedRoots,
    served: &Stapled,
) -> Result<Vec<Arc<Context>>, Fault> {
    let mut others: Vec<Arc<Context>> = Vec::new();
    // each refers to the one after it
    let mut waiting: Vec<Stapled> = Vec::new();
    loop {
        let last = waiting.last().unwrap_or(served);
        match missing(counted, last, &others) {
            Some(urn) if others.len() + waiting.len() < MAX_REFERRED => {
                let reply = ask(reach, urn.as_str()).await?;
                if reply.status != 200 {
                    return Ok(others); // what is still missing is said by whoever verifies
                }
                waiting.push(read(&reply)?);
            }
            Some(_) => return Ok(others),
            None => {
                let Some(last) = waiting.pop() else { return Ok(others) };
                let other = counted.verify(&last, &|urn| find(&others, urn)).map_err(|e| untrusted(&e))?;
                others.push(Arc::clone(other.context()));
            }
        }
    }
}

/// The first context to which a signed one refers that is not among `others`.
fn missing(counted: &TrustedRoots, served: &Stapled, others: &[Arc<Context>]) -> Option<ContextUrn> {
    match counted.verify(served, &|urn| find(others, urn)) {
        Err(TextProofFault::Context(ContextFault::Document(DocumentFault::ReferenceMissing {
            urn, ..
        }))) => Some(urn),
        _ => None,
    }
}

/// Raises a floor.
pub async fn floor(
    reach: &AuthorityClient,
    line: &str,
    version: &str,
    reason: &str,
    json: bool,
) -> Result<u8, Fault> {
    let reason = names::reason("--reason", reason)?;
    let body = json!({"line": line, "min": names::version(version), "reason": reason});
    done(&reach.post_json("/v1/floors", &body).await?, json)
}

/// The authority's listing.
///
/// # Errors
/// The authority is unreachable, or its answer is malformed.
pub async fn listing(reach: &AuthorityClient) -> Result<Listing, Fault> {
    let reply = reach.get("/v1/contexts").await?;
    if reply.status == paged_listing::GONE {
        return paged_listing::listing(reach).await;
    }
    answer(&reply)?;
    Listing::read(&reply.body, &Prefix::default()).doing("the authority's answer")
}

/// The first number from `next` on that is free on this line, or held by this exact document; none at the end of the numbers.
///
/// # Errors
/// As [`listing`].
pub async fn free(reach: &AuthorityClient, new: &Context, next: Version) -> Result<Option<Version>, Fault> {
    let listing = listing(reach).await?;
    let others = listing
        .contexts
        .iter()
        .filter(|one| one.urn.line() == new.urn().line() && one.digest != *new.digest());
    Ok(first_free_version(&others.map(|one| one.urn.version()).collect(), next))
}
