//! Locks: required by a route, or proved by a message.

use crate::{
    Code, Direction, Refusal, generation::Named, inspection::Inspection, negotiated_terms::InSession,
};
use semgate_negotiation::LockQuestion;
use semgate_protocol::{Instance, Message, SessionStep, Vocabulary};

/// Concepts of a handshake, which need no lock.
const HANDSHAKE: [&str; 3] = ["HELLO", "SELECT", "LOCK"];

/// Returns true for a handshake step. Steps are signed or sealed, so only their addressee can read them
/// (F0-47).
pub(crate) fn is_step(instance: &Instance<'_>) -> bool {
    instance.of == Vocabulary::Context && HANDSHAKE.contains(&instance.name)
}

/// Returns true if a message consists of handshake steps only.
pub(super) fn is_handshake(case: &Inspection<'_>, message: &Message<'_>, named: &Named) -> bool {
    named.urn().line() == case.generation.control_line() && message.instances.iter().all(is_step)
}

/// Checks the lock that a route requires in every request about a context. The handshake itself has none yet.
pub(super) fn needs_lock(case: &Inspection<'_>, message: &Message<'_>, named: &Named) -> Result<(), Refusal> {
    let handshake = is_handshake(case, message, named);
    let held = locks(case, message).next().is_some();
    let waived = handshake || held || case.protocol().waives_lock(message);
    if !case.route.options.require_lock || case.direction == Direction::Reply || waived {
        return Ok(());
    }
    Err(Refusal::new(Code::LockMismatch, "this route accepts only messages that hold a lock").with_hint(
        match case.route.options.group {
            Some(_) => "a lock binds one agent: send this to the member's own address, with its lock",
            None => "negotiate a lock with the agent at this address, and name the lock next to the context",
        },
    ))
}

/// The refusal of a message whose sessions chose different embedding models: no vector fits both.
pub(super) fn two_models() -> Refusal {
    Refusal::new(
        Code::LockMismatch,
        "the message belongs to two sessions that chose different embedding models",
    )
    .with_hint("send a message under the lock of one session, and answer under the lock of the request")
}

/// The locks of a message: its own, and that of its open session.
fn locks<'m>(case: &Inspection<'m>, message: &'m Message<'_>) -> impl Iterator<Item = &'m str> {
    let claim =
        case.live.and_then(|live| live.dialogue.as_ref()).and_then(|dialogue| dialogue.claim.as_ref());
    let submits = matches!(message.dialogue.step, SessionStep::Submit(_));
    let of_session = claim.filter(|_| submits).and_then(|claim| claim.lock.as_deref());
    message.claims.iter().filter_map(|claim| claim.lock).chain(of_session)
}

/// The session of the message; its lock end is the earliest of all locks. None without a lock.
pub(super) fn lock(
    case: &Inspection<'_>,
    message: &Message<'_>,
    named: &Named,
) -> Result<Option<InSession>, Refusal> {
    let mut session: Option<InSession> = None;
    // the initiator sends requests and receives replies
    let (initiator, responder) = match case.direction {
        Direction::Request => (case.sender.id(), case.receiver),
        Direction::Reply => (case.receiver, case.sender.id()),
    };
    let authority = case.generation.source_of(named.urn().line()).map(|source| source.view().authority());
    for lock in locks(case, message) {
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
        let held = case.state.sessions.locks.verify(&question).map_err(|fault| {
            Refusal::new(
                Code::LockMismatch,
                "the lock is not valid between these two agents for this context",
            )
            .with_hint("leave the lock out, or negotiate a new one")
            .with_detail(fault.to_string())
        })?;
        let this = InSession { id: *held.session(), until: held.expires_at(), model: held.model() };
        let (sooner, later) = match session {
            Some(earlier) if earlier.until <= this.until => (earlier, Some(this)),
            earlier => (this, earlier),
        };
        session = Some(sooner.also_of(later).ok_or_else(two_models)?);
    }
    Ok(session)
}
