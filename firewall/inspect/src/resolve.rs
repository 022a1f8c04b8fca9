//! Second stage: who speaks to whom, and whether the context that they name counts.

use crate::{
    Code, Direction, Facts, Notice, Refusal,
    case::Case,
    generation::{Named, Source},
    parse::{Parsed, Target},
};
use bytes::Bytes;
use semgate_contexts::{ContextUrn, Digest};
use semgate_message::Message;
use semgate_negotiation::{Floors, LockQuestion};
use semgate_statement::Standing;

/// A message whose sender is the peer, whose receiver is the route's, and whose context counts now. Only this stage builds one.
#[derive(Debug)]
pub struct Resolved<'c, 'j> {
    parsed: Parsed<'c, 'j>,
    named: &'c Named,
    control: Option<&'c Named>,
    notice: Option<Notice>,
    fresh_until: u64,
}

/// Resolves parties and context; the first fault in the order of WIRE "Refusals" answers.
///
/// # Errors
/// `sender_mismatch`, `receiver_mismatch`, `context_missing`, `policy_denied` (no policy lets the sender use the line),
/// `context_unknown`, `context_untrusted`, `context_revoked`, `context_suspended`, `context_below_floor`, `status_stale`,
/// `lock_mismatch`.
pub(crate) fn resolve<'c, 'j>(parsed: Parsed<'c, 'j>) -> Result<Resolved<'c, 'j>, Refusal> {
    match settle(&parsed) {
        Ok(Settled { named, control, notice, fresh_until }) => {
            Ok(Resolved { parsed, named, control, notice, fresh_until })
        }
        Err(refusal) => {
            let facts = parsed.facts();
            Err(refusal.with_facts(facts))
        }
    }
}

struct Settled<'c> {
    named: &'c Named,
    control: Option<&'c Named>,
    notice: Option<Notice>,
    fresh_until: u64,
}

fn settle<'c>(parsed: &Parsed<'c, '_>) -> Result<Settled<'c>, Refusal> {
    let case = parsed.case();
    parties(case, parsed.message())?;
    let urn = match parsed.target() {
        Target::Missing => {
            return Err(Refusal::new(Code::ContextMissing, "the message names no context")
                .with_hint("name the context by its urn, such as `urn:contexts:payment:v1.1`"));
        }
        Target::Known(named) => named.urn(),
        Target::Unknown(urn) | Target::Foreign(urn) => urn,
    };
    // before anything is said about the context: the same answer for every urn of a line, known or not (DESIGN §2.8)
    case.generation.policies().may_use_line(case.sender.id(), urn.line()).map_err(|_| no_policy(urn))?;
    let (named, source) = find(case, parsed.target(), parsed.digests())?;
    if parsed.digests().iter().any(|digest| digest != named.context().digest()) {
        return Err(other_digest());
    }
    let standing = source.view().standing(urn, case.now.unix);
    let notice = counts(case, named, standing)?;
    let (control, control_until) = control(case, parsed.message(), named)?;
    lock(case, parsed.message(), named)?;
    let fresh_until = source.fresh_until().min(control_until);
    Ok(Settled { named, control, notice, fresh_until })
}

/// DESIGN §2.3: an id in the message is the verified one, or its one alias, byte for byte.
fn parties(case: &Case<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let is = |named: &str, id: &str| {
        named == id
            || case.generation.policies().agent(id).is_some_and(|agent| agent.alias.as_deref() == Some(named))
    };
    if message.sender_id.is_some_and(|named| !is(named, case.sender.id())) {
        return Err(Refusal::new(Code::SenderMismatch, "the sender in the message is not the verified peer")
            .with_hint("name the id of your own certificate, or its alias")
            .with_detail(format!("the verified peer is `{}`", case.sender.id())));
    }
    if message.receiver_id.is_some_and(|named| !is(named, case.receiver)) {
        return Err(Refusal::new(
            Code::ReceiverMismatch,
            "the receiver in the message is not the one of this route",
        )
        .with_hint("name the id of the agent that this address leads to, or its alias")
        .with_detail(format!("the receiver is `{}`", case.receiver)));
    }
    Ok(())
}

fn no_policy(urn: &ContextUrn) -> Refusal {
    Refusal::new(Code::PolicyDenied, "no policy lets this sender use contexts of this line")
        .with_hint("ask the operator; the decision id finds the full record")
        .with_detail(format!("no policy could permit anything of line `{}`", urn.line()))
}

/// The document and the source that vouches for it.
fn find<'c>(
    case: &Case<'c>,
    target: &Target<'c>,
    digests: &[Digest],
) -> Result<(&'c Named, &'c Source), Refusal> {
    let (named, urn) = match target {
        Target::Known(named) => (Some(*named), named.urn()),
        Target::Unknown(urn) => (None, urn),
        Target::Foreign(urn) => {
            return Err(Refusal::new(
                Code::ContextUnknown,
                "the reply names another context than its request",
            )
            .with_hint("answer under the context of the request")
            .with_detail(format!("the reply names `{urn}`")));
        }
        Target::Missing => return Err(unknown("the message names no context", "")),
    };
    if case.route.understands(urn).is_err() {
        let scopes: Vec<_> = case.route.contexts.iter().map(ToString::to_string).collect();
        let hint = format!("the receiver understands {}", scopes.join(", "));
        return Err(unknown("the receiver does not understand this context", &hint));
    }
    let Some(source) = case.generation.source_of(urn.line()) else {
        return Err(unknown("no authority is configured for this line", ""));
    };
    match named {
        Some(named) => Ok((named, source)),
        None => Err(undocumented(case, source, urn, digests)),
    }
}

fn unknown(reason: &str, hint: &str) -> Refusal {
    let hint = if hint.is_empty() {
        "check line and version, or ask the authority which contexts it publishes"
    } else {
        hint
    };
    Refusal::new(Code::ContextUnknown, reason).with_hint(hint)
}

/// No verified document of this URN is at hand: it was never published, or its document failed verification or is still
/// being fetched.
fn undocumented(case: &Case<'_>, source: &Source, urn: &ContextUrn, digests: &[Digest]) -> Refusal {
    let Some(loaded) = source.loaded(urn) else {
        // nothing was ever heard of the authority, or what was remembered is damaged: what it has published cannot be known
        let never_heard = source.view().next_update() == 0;
        return if never_heard || source.view().standing(urn, case.now.unix) == Standing::Stale {
            stale()
        } else {
            unknown("the context is not published", "")
        };
    };
    if digests.iter().any(|digest| *digest != loaded.digest) {
        return other_digest();
    }
    if let Some(fault) = &loaded.fault {
        return Refusal::new(Code::ContextUntrusted, "the context's document could not be verified")
            .with_hint("use another version; the operator's record says what is wrong with this one")
            .with_detail(format!("the document of `{urn}` failed: {fault}"));
    }
    match source.view().standing(urn, case.now.unix) {
        Standing::Revoked => revoked(),
        Standing::Suspended => suspended(),
        _ => Refusal::new(Code::ContextUntrusted, "the context's document is not verified yet")
            .with_hint("try again in a moment")
            .with_detail(format!("the document of `{urn}` is still being fetched")),
    }
}

fn stale() -> Refusal {
    Refusal::new(Code::StatusStale, "the authority's status is too old to rely on")
        .with_hint("try again later: the gateway asks the authority again by itself")
        .with_detail("no fresh head was verified since the last one ran out")
}

fn other_digest() -> Refusal {
    Refusal::new(Code::ContextUntrusted, "the digest is not the one that the authority published")
        .with_hint("fetch the signed context from its authority and name its digest, or leave the digest out")
}

fn revoked() -> Refusal {
    Refusal::new(Code::ContextRevoked, "the authority revoked this context")
        .with_hint("use another version; a revoked one never comes back")
}

fn suspended() -> Refusal {
    Refusal::new(Code::ContextSuspended, "the authority suspended this context for now")
        .with_hint("try again later, or use another version")
}

/// DESIGN §2.5, in the order of WIRE: revoked, suspended, below a floor, stale.
fn counts(case: &Case<'_>, named: &Named, standing: Standing) -> Result<Option<Notice>, Refusal> {
    match standing {
        Standing::Revoked => return Err(revoked()),
        Standing::Suspended => return Err(suspended()),
        Standing::NotCovered | Standing::UnknownAuthority => {
            return Err(unknown("the context is not published", ""));
        }
        Standing::Valid | Standing::Deprecated | Standing::Stale => {}
    }
    let urn = named.urn();
    let floors = Floors {
        authority: named.floor(),
        operator: case.generation.operator_floor(urn.line()),
        peers: case.sessions.minimums.floors(case.sender.id(), case.receiver, urn.line()),
    };
    floors.admit(urn.version()).map_err(|below| {
        Refusal::new(
            Code::ContextBelowFloor,
            format!("this version is below the lowest allowed, {}", below.floor),
        )
        .with_hint(format!("use {} {} or newer", urn.line(), below.floor))
        .with_detail(below.to_string())
    })?;
    match standing {
        Standing::Stale => Err(stale()),
        Standing::Deprecated => {
            let newest = case.generation.newest(urn.line()).filter(|newest| *newest > urn.version());
            Ok(Some(Notice::Deprecated { newest }))
        }
        _ => Ok(None),
    }
}

/// Concepts of the control vocabulary may be used under any context; they are judged by its own document, which must count
/// itself.
fn control<'c>(
    case: &Case<'c>,
    message: &Message<'_>,
    named: &'c Named,
) -> Result<(Option<&'c Named>, u64), Refusal> {
    let Some(control) = case.generation.control().filter(|control| control.urn() != named.urn()) else {
        return Ok((None, u64::MAX));
    };
    if !message.instances.iter().any(|instance| control.context().term(instance.name).is_some()) {
        return Ok((None, u64::MAX));
    }
    let Some(source) = case.generation.source_of(control.urn().line()) else {
        return Err(unknown("no authority is configured for the control vocabulary", ""));
    };
    case.generation
        .policies()
        .may_use_line(case.sender.id(), control.urn().line())
        .map_err(|_| no_policy(control.urn()))?;
    let standing = source.view().standing(control.urn(), case.now.unix);
    counts(case, control, standing).map_err(|refusal| {
        refusal.with_detail(format!("of `{}`, whose concepts the message uses", control.urn()))
    })?;
    Ok((Some(control), source.fresh_until()))
}

fn lock(case: &Case<'_>, message: &Message<'_>, named: &Named) -> Result<(), Refusal> {
    // whoever opened the handshake is the sender of requests and the receiver of replies
    let (initiator, responder) = match case.direction {
        Direction::Request => (case.sender.id(), case.receiver),
        Direction::Reply => (case.receiver, case.sender.id()),
    };
    let authority = case.generation.source_of(named.urn().line()).map(|source| source.view().authority());
    for lock in message.claims.iter().filter_map(|claim| claim.lock) {
        let question = LockQuestion {
            lock,
            initiator,
            responder,
            route: &case.route.name,
            authority: authority.unwrap_or_default(),
            urn: named.urn(),
            digest: named.context().digest(),
            now: case.now.unix,
        };
        case.sessions.locks.held(&question).map_err(|fault| {
            Refusal::new(
                Code::LockMismatch,
                "the lock does not hold between these two agents for this context",
            )
            .with_hint("leave the lock out, or negotiate a new one")
            .with_detail(fault.to_string())
        })?;
    }
    Ok(())
}

impl<'c, 'j> Resolved<'c, 'j> {
    pub(crate) fn case(&self) -> &'c Case<'c> {
        self.parsed.case()
    }

    pub(crate) fn message(&self) -> &Message<'j> {
        self.parsed.message()
    }

    pub(crate) fn bytes(&self) -> &'j Bytes {
        self.parsed.bytes()
    }

    pub(crate) fn named(&self) -> &'c Named {
        self.named
    }

    /// The control vocabulary, if the message uses it under another context.
    pub(crate) fn control(&self) -> Option<&'c Named> {
        self.control
    }

    pub(crate) fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// The second after which the status that this rests on is stale.
    pub(crate) fn fresh_until(&self) -> u64 {
        self.fresh_until
    }

    /// What is known of the message.
    pub fn facts(&self) -> Facts {
        Facts { digest: Some(*self.named.context().digest()), ..self.parsed.facts() }
    }
}
