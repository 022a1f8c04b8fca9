//! `_meta`: a closed list of keys, one of which holds the context claim.

use super::{CLAIM, Revision, content, form};
use crate::{
    Claim, MessageFault, Reading, RpcId,
    member::{Read, at, id, object, required, string, unknown},
    model::Message,
    removal::listed_fit,
    trace::{self, TraceParent},
};
use semgate_contexts::{Performative, PerformativeSet, json::Json};

/// The owner of a `_meta`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Request,
    Notification,
    Result,
}

/// The members found in a `_meta`.
#[derive(Clone, Debug, Default)]
pub(super) struct MetaRead {
    pub progress: Option<RpcId>,
    pub subscription: Option<RpcId>,
    pub capabilities: bool,
    pub performative: Option<Performative>,
}

/// The prefix of the protocol's own keys.
const OWN: &str = "io.modelcontextprotocol/";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The version that a request's body names, read before the rest of it.
pub(super) fn version_in<'j>(params: Option<&'j Json<'_>>) -> Option<&'j str> {
    params?.as_object()?.get("_meta")?.as_object()?.get(VERSION)?.as_str()
}

/// Reads `_meta` if there is one. The claim chooses among the performatives in `allowed`.
pub(super) fn read<'j>(
    json: Option<&'j Json<'j>>,
    of: Of,
    version: Revision,
    path: &'static str,
    allowed: PerformativeSet,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<MetaRead> {
    let mut meta = MetaRead::default();
    let Some(json) = json else { return Ok(meta) };
    let members = object(json, path)?;
    listed_fit(members, path, reading.meta)?;
    for (key, value) in members.iter() {
        match (key, of) {
            // the version before has these in `initialize`, or not at all
            _ if key.starts_with(OWN) && version.has_sessions() => return unknown(path, key),
            (CLAIM, _) => meta.performative = claim(value, path, allowed, out)?,
            (trace::TRACEPARENT, Of::Request) => out.trace = trace_parent(value, path, key)?,
            (trace::TRACEPARENT | trace::TRACESTATE | trace::BAGGAGE, _) => passes(value, path, key)?,
            ("progressToken", Of::Request) => meta.progress = Some(form::token(value, path, key)?),
            // the version is settled before
            (VERSION, Of::Request) => drop(string(value, path, key)?),
            ("io.modelcontextprotocol/clientCapabilities", Of::Request) => {
                form::capabilities(value, path)?;
                meta.capabilities = true;
            }
            ("io.modelcontextprotocol/clientInfo", Of::Request) => {
                form::implementation(value, path)?;
                out.note_prose(form::prose(value).all(), value);
            }
            ("io.modelcontextprotocol/serverInfo", Of::Result) => {
                form::implementation(value, path)?;
                content::introduced(value, form::Prose::all, &at(path, key), reading, out);
            }
            ("io.modelcontextprotocol/logLevel", Of::Request) => {
                if form::word(string(value, path, key)?, 16).is_none() {
                    return Err(MessageFault::malformed(at(path, key), "is not a level"));
                }
            }
            ("io.modelcontextprotocol/subscriptionId", Of::Notification | Of::Result) => {
                meta.subscription = Some(form::token(value, path, key)?);
            }
            _ if reading.meta.lists(key) => {}
            _ => return unknown(path, key),
        }
    }
    Ok(meta)
}

/// The position in a trace. Its removal left none that does not pass.
fn trace_parent(json: &Json<'_>, path: &str, member: &str) -> Read<Option<TraceParent>> {
    passes(json, path, member)?;
    Ok(json.as_str().and_then(TraceParent::parse))
}

/// A trace key with a value that passes.
fn passes(json: &Json<'_>, path: &str, member: &str) -> Read<()> {
    if trace::fits(member, string(json, path, member)?) {
        return Ok(());
    }
    Err(MessageFault::malformed(at(path, member), "is not a trace context"))
}

/// F0-10: the table decides what a message is; the claim may choose only among what its row allows.
fn claim<'j>(
    json: &'j Json<'j>,
    path: &'static str,
    allowed: PerformativeSet,
    out: &mut Message<'j>,
) -> Read<Option<Performative>> {
    let location = path;
    let path = format!("{path}/{CLAIM}");
    let (mut urn, mut digest, mut lock, mut performative) = (None, None, None, None);
    for (key, value) in object(json, &path)?.iter() {
        match key {
            "context" => urn = Some(string(value, &path, key)?),
            "digest" => digest = Some(string(value, &path, key)?),
            "lock" => lock = Some(id(value, &path, key)?),
            "performative" => {
                let chosen = string(value, &path, key)?.parse::<Performative>().ok();
                if !chosen.is_some_and(|chosen| allowed.contains(chosen)) {
                    return Err(MessageFault::malformed(at(&path, key), "is not allowed here"));
                }
                performative = chosen;
            }
            _ => return unknown(&path, key),
        }
    }
    let urn = required(urn, &path, "context")?;
    out.claims.push(Claim { urn, digest, lock, location });
    Ok(performative)
}
