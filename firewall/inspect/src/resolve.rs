//! Second stage: sender, receiver, and the standing of the named context.

mod dialogue;
mod locks;
mod parties;
mod turns;
mod vocabularies;

use crate::{
    Code, Facts, Notice, Refusal, Sent,
    generation::{Generation, Named, Source},
    group,
    inspection::Inspection,
    negotiated_terms::InSession,
    once,
    owners::About,
    ownership::belongs,
    parse::{Parsed, Target},
    shadow::beside_line,
    standing::{counts, revoked, stale, suspended, unknown, unrecognised},
    turn::Answers,
};
pub(crate) use locks::is_step;
use locks::{is_handshake, lock, needs_lock, two_models};
use semgate_contexts::{ContextUrn, Digest};
use semgate_protocol::Message;
use semgate_statement::Standing;
use std::sync::Arc;
use turns::takes_turn;
pub(crate) use turns::{has_turns, out_of_turn, side};
use vocabularies::{control, format, protocol};

/// A message from the verified peer to the route's receiver, under a usable context. Only this stage builds
/// one.
#[derive(Debug)]
pub struct Resolved<'c, 'j> {
    parsed: Parsed<'c, 'j>,
    named: &'c Named,
    control: Option<&'c Named>,
    protocol: Option<&'c Named>,
    format: Option<&'c Named>,
    about: Arc<About>,
    answers: Option<Answers>,
    notice: Option<Notice>,
    fresh_until: u64,
    session: Option<InSession>,
}

/// Resolves sender, receiver and context. Returns the first fault in the order of `docs/reference/refusals.md`.
///
/// # Errors
/// `sender_mismatch`, `receiver_mismatch`, `replayed`, `context_missing`, `policy_denied` (no policy lets the sender use the line),
/// `context_unknown`, `context_untrusted`, `context_revoked`, `context_suspended`, `context_below_floor`, `status_stale`,
/// `lock_mismatch`, `not_found`, `out_of_turn`.
pub(crate) fn resolve<'c, 'j>(parsed: Parsed<'c, 'j>) -> Result<Resolved<'c, 'j>, Refusal> {
    match settle(&parsed) {
        Ok(settled) => {
            let Settled { named, control, protocol, format, about, answers, notice, fresh_until, session } =
                settled;
            Ok(Resolved {
                parsed,
                named,
                control,
                protocol,
                format,
                about,
                answers,
                notice,
                fresh_until,
                session,
            })
        }
        Err(refusal) => {
            let shadow = match parsed.target() {
                Target::Missing => None,
                Target::Known(named) => beside_line(parsed.case(), named.urn(), &refusal),
                Target::Unknown(urn) | Target::Foreign(urn) => beside_line(parsed.case(), urn, &refusal),
            };
            let facts = Facts { shadow, ..parsed.facts() };
            Err(refusal.with_facts(facts))
        }
    }
}

struct Settled<'c> {
    named: &'c Named,
    control: Option<&'c Named>,
    protocol: Option<&'c Named>,
    format: Option<&'c Named>,
    about: Arc<About>,
    answers: Option<Answers>,
    notice: Option<Notice>,
    fresh_until: u64,
    session: Option<InSession>,
}

fn settle<'c>(parsed: &Parsed<'c, '_>) -> Result<Settled<'c>, Refusal> {
    let case = parsed.case();
    authentic(case, parsed.message())?;
    once::fresh(case, parsed.message())?;
    dialogue::holds(case, parsed.message())?;
    let urn = match parsed.target() {
        Target::Missing => {
            let location = case.protocol().traits().claim_hint;
            let hint = format!("name the context{location} by its urn, such as `urn:contexts:payment:v1.1`");
            return Err(Refusal::new(Code::ContextMissing, "the message names no context").with_hint(hint));
        }
        Target::Known(named) => named.urn(),
        Target::Unknown(urn) | Target::Foreign(urn) => urn,
    };
    // first, so that every urn of a line gets the same answer, known or not
    case.generation.policies().may_use_line(case.sender.id(), urn.line()).map_err(|_| no_policy(urn))?;
    group::joins(case, urn)?;
    let (named, source, notice) = stands(case, parsed.target(), parsed.digests())?;
    if case.about.is_some_and(|about| about.digest != *named.context().digest()) {
        return Err(other_digest());
    }
    let (control, control_until) = control(case, parsed.message(), named)?;
    let (protocol, protocol_until) = protocol(case, parsed.message(), named)?;
    let (format, format_until) = format(case, parsed.message(), named)?;
    needs_lock(case, parsed.message(), named)?;
    let session = lock(case, parsed.message(), named)?;
    let about = belongs(case, parsed.message(), named)?;
    let answers = takes_turn(case, parsed.message(), named)?;
    let lock_until = session.map_or(u64::MAX, |session| session.until.saturating_sub(1));
    let fresh_until = [control_until, protocol_until, format_until, lock_until]
        .into_iter()
        .fold(source.fresh_until(), u64::min);
    // a reply belongs to its request's session, even if it does not repeat the lock
    let asked = case.answers.and_then(|sent| sent.session);
    let session = match session {
        Some(own) => Some(own.also_of(asked).ok_or_else(two_models)?),
        None => asked,
    };
    Ok(Settled { named, control, protocol, format, about, answers, notice, fresh_until, session })
}

/// Checks that a message comes from the verified peer, by the names in it and by its signature.
///
/// # Errors
/// `sender_mismatch`, `receiver_mismatch`.
pub(crate) fn authentic(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    parties(case, message)?;
    dialogue::signed(case, message)
}

/// Checks that the ids in the message equal the verified ones, their aliases, or their names in this binding, byte for byte.
fn parties(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let is = |named: &str, id: &str| parties::is_named(case, id, message.binding.as_str(), named);
    if message.sender_id.is_some_and(|named| !is(named, case.sender.id())) {
        return Err(Refusal::new(Code::SenderMismatch, "the sender in the message is not the verified peer")
            .with_hint("name your own verified id, or its alias")
            .with_detail(format!("the verified peer is `{}`", case.sender.id())));
    }
    if let Some(heard) = group::addressed(case, message) {
        return heard;
    }
    let by_address = |named: &str| message.dialogue.to_address && dialogue::is_address(case, named);
    if message.receiver_id.is_some_and(|named| !is(named, case.receiver) && !by_address(named)) {
        return Err(Refusal::new(
            Code::ReceiverMismatch,
            "the receiver in the message is not the receiver of this route",
        )
        .with_hint("name the id of the agent at this address, or its alias")
        .with_detail(format!("the receiver is `{}`", case.receiver)));
    }
    parties::of_content(case, message)
}

pub(crate) fn no_policy(urn: &ContextUrn) -> Refusal {
    Refusal::new(Code::PolicyDenied, "no policy lets this sender use contexts of this line")
        .with_hint("ask the operator and quote the decision id")
        .with_detail(format!("no policy can permit anything in line `{}`", urn.line()))
}

/// Checks that the request's context is still usable, as for any reply. Used for acknowledgements, lists and
/// open streams. Line access is not checked, since the replier uses no concept.
///
/// # Errors
/// As a reply under that context: `context_unknown` to `status_stale` in the order of [`resolve`].
pub(crate) fn still_stands(case: &Inspection<'_>, sent: &Sent) -> Result<(), Refusal> {
    let target = match case.generation.named(sent.about.urn.as_str()) {
        Some(named) => Target::Known(named),
        None => Target::Unknown(sent.about.urn.clone()),
    };
    stands(case, &target, &[sent.about.digest]).map(drop)
}

type Stands<'c> = (&'c Named, &'c Source, Option<Notice>);

/// The document of the context, if its digest matches and it is usable now.
fn stands<'c>(case: &Inspection<'c>, target: &Target<'c>, digests: &[Digest]) -> Result<Stands<'c>, Refusal> {
    let (named, source) = find(case, target, digests)?;
    if digests.iter().any(|digest| digest != named.context().digest()) {
        return Err(other_digest());
    }
    let standing = source.view().standing(named.urn(), case.now.unix);
    let notice = counts(case, named, standing)?;
    Ok((named, source, notice))
}

/// The document, with the authority's view of it.
fn find<'c>(
    case: &Inspection<'c>,
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
    // every receiver understands its own binding's protocol, and the formats of its route
    let admitted = |format| case.route.options.formats.contains(&format);
    let own = case.generation.binding_of(urn) == Some(case.call.binding)
        || case.generation.format_of(urn).is_some_and(admitted);
    if !own && case.route.understands(urn).is_err() {
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

/// The refusal of a URN without a verified document: unpublished, failed verification, or not fetched yet.
fn undocumented(case: &Inspection<'_>, source: &Source, urn: &ContextUrn, digests: &[Digest]) -> Refusal {
    let Some(loaded) = source.loaded(urn) else {
        // without any status of the authority, its publications are unknown
        let never_heard = source.view().next_update() == 0;
        return match source.view().standing(urn, case.now.unix) {
            Standing::Unrecognised(why) => unrecognised(why),
            Standing::Stale => stale(),
            _ if never_heard => stale(),
            _ => unpublished(case.generation, urn),
        };
    };
    if digests.iter().any(|digest| *digest != loaded.digest) {
        return other_digest();
    }
    if let Some(fault) = loaded.fault.as_ref().filter(|_| loaded.left_out) {
        return Refusal::new(Code::ContextUntrusted, "the context's document is not loaded here")
            .with_hint("use another version, or ask the operator, with the decision id")
            .with_detail(format!("the document of `{urn}` is {fault}"));
    }
    if let Some(fault) = &loaded.fault {
        return Refusal::new(Code::ContextUntrusted, "the context's document could not be verified")
            .with_hint("use another version, or ask the operator what is wrong with this one")
            .with_detail(format!("the document of `{urn}` failed: {fault}"));
    }
    match source.view().standing(urn, case.now.unix) {
        Standing::Revoked => revoked(),
        Standing::Suspended => suspended(),
        Standing::Unrecognised(why) => unrecognised(why),
        _ => Refusal::new(Code::ContextUntrusted, "the context's document is not verified yet")
            .with_hint("try again in a moment")
            .with_detail(format!("the document of `{urn}` is still being fetched")),
    }
}

/// Advice where a context of the house is missing.
const ASK: &str = "ask the operator: it is shipped with the gateway";

/// The refusal of a URN without a publication. For a context of the house the operator learns the remedy.
fn unpublished(generation: &Generation, urn: &ContextUrn) -> Refusal {
    let ships = generation.is_house(urn) || generation.extension() == urn.as_str();
    if !ships {
        return unknown("the context is not published", "");
    }
    unknown("the context of the protocol is not published", ASK).with_detail(unserved(urn))
}

fn unserved(urn: &ContextUrn) -> String {
    format!(
        "no authority serves `{urn}`, which the protocol needs: its authority publishes it with `publish_at_start`"
    )
}

fn other_digest() -> Refusal {
    Refusal::new(Code::ContextUntrusted, "the digest is not the one that the authority published")
        .with_hint("fetch the signed context from its authority and name its digest, or leave the digest out")
}

impl<'c, 'j> Resolved<'c, 'j> {
    pub(crate) fn case(&self) -> &'c Inspection<'c> {
        self.parsed.case()
    }

    pub(crate) fn message(&self) -> &Message<'j> {
        self.parsed.message()
    }

    pub(crate) fn named(&self) -> &'c Named {
        self.named
    }

    /// The protocol's vocabulary, if the message uses it.
    pub(crate) fn protocol(&self) -> Option<&'c Named> {
        self.protocol
    }

    /// The vocabulary of a format, if the message holds content of one.
    pub(crate) fn format(&self) -> Option<&'c Named> {
        self.format
    }

    /// Context of the answers: the named one, or that of the task in question.
    pub(crate) fn about(&self) -> &Arc<About> {
        &self.about
    }

    /// The proposal that the message answers, not taken yet.
    pub(crate) fn answers(&self) -> Option<&Answers> {
        self.answers.as_ref()
    }

    /// The control vocabulary, if the message uses it under another context.
    pub(crate) fn control(&self) -> Option<&'c Named> {
        self.control
    }

    /// The session of the message, from its lock.
    pub(crate) fn session(&self) -> Option<InSession> {
        self.session
    }

    pub(crate) fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// The last second at which the underlying status is fresh.
    pub(crate) fn fresh_until(&self) -> u64 {
        self.fresh_until
    }

    /// Facts known about the message.
    pub fn facts(&self) -> Facts {
        Facts { digest: Some(*self.named.context().digest()), ..self.parsed.facts() }
    }
}
