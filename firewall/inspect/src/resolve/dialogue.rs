//! Signatures of messages, and sessions that messages open: what a session allows, and what a delegation may cost.

use crate::{Code, Direction, Refusal, inspection::Inspection};
use semgate_protocol::{Bounds, Message, PayloadMode, SessionStep, SessionTerms, Submission, Usage};

/// Returns true for an address of the route, by which a client names the receiver.
pub(super) fn is_address(case: &Inspection<'_>, named: &str) -> bool {
    case.route.options.dialogue.addresses.iter().any(|address| address == named)
}

/// Checks the signature of a message under the secret of its sender. It is a second check: the connection tells who the
/// sender is.
///
/// # Errors
/// `sender_mismatch` for a wrong signature, and for a missing one that the route needs.
pub(super) fn signed(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let Some(seal) = &message.dialogue.seal else { return Ok(()) };
    let rules = &case.route.options.dialogue;
    let secret = rules.secret(case.sender.id());
    let everybody = rules.require_signature == Some(true) && case.direction == Direction::Request;
    let required = everybody || secret.is_some() && rules.require_signature != Some(false);
    let refusal = |reason: &str, hint: &str| Err(Refusal::new(Code::SenderMismatch, reason).with_hint(hint));
    match (secret, seal.mark) {
        (Some(secret), Some(_)) if seal.fits(secret) => Ok(()),
        (Some(_), Some(_)) => refusal(
            "the signature of the message is not valid",
            "sign with the secret that the operator holds",
        ),
        (_, None) if required => refusal("the message is not signed", "sign every message, the first too"),
        (None, Some(_)) if required => {
            refusal("the signature cannot be verified", "give the operator the secret of this agent")
        }
        _ => Ok(()),
    }
}

/// Checks the step of a message in its session.
///
/// # Errors
/// `not_found` for a session or task that is not open, or is another agent's. `sender_mismatch` for a foreign trust domain.
/// `malformed` for another payload mode than that of the session. `policy_denied` for domains that do not trust each
/// other, a poorer mode than the route takes, and a broken bound of a delegation. `concept_undefined` for a skill that
/// the card does not list.
pub(super) fn holds(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    match &message.dialogue.step {
        SessionStep::Outside => Ok(()),
        SessionStep::Propose(terms) => proposes(case, terms),
        SessionStep::Accept { mode, .. } => accepts(case, *mode),
        SessionStep::Submit(submission) => submits(case, submission),
        SessionStep::Follow => {
            open(case)?;
            let live = case.live.filter(|live| live.task.is_some());
            let together = live.is_some_and(|live| {
                let of_task = live.task.as_ref().map(|task| &task.dialogue.id);
                of_task == live.dialogue.as_ref().map(|dialogue| &dialogue.id)
            });
            if together { Ok(()) } else { Err(not_open()) }
        }
        SessionStep::Speak | SessionStep::Close => open(case).map(drop),
        SessionStep::Result(usage) => results(case, *usage),
    }
}

type Open<'c> = &'c std::sync::Arc<crate::dialogues::Dialogue>;

/// The open session of a message. The rules of the route in force hold, whatever they were when it opened.
fn open<'c>(case: &Inspection<'c>) -> Result<Open<'c>, Refusal> {
    let rules = &case.route.options.dialogue;
    let longest_ms = rules.session_seconds.saturating_mul(1_000);
    let dialogue = case.live.and_then(|live| live.dialogue.as_ref());
    let dialogue =
        dialogue.filter(|one| one.idle_ms(case.now.monotonic_ms) < longest_ms).ok_or_else(not_open)?;
    if rules.trust_each_other(case.sender.id(), case.receiver) { Ok(dialogue) } else { Err(strangers()) }
}

/// The refusal of agents whose trust domains do not trust each other.
fn strangers() -> Refusal {
    denied(
        "the trust domains of the two agents do not trust each other",
        "ask the operator, who configures the trust domains",
    )
}

/// The refusal of a session or task that is unknown, over, or another agent's. All get the same text.
fn not_open() -> Refusal {
    Refusal::new(Code::NotFound, "there is no such open session or task").with_hint("open a new session")
}

fn denied(reason: &str, hint: &str) -> Refusal {
    Refusal::new(Code::PolicyDenied, reason).with_hint(hint)
}

fn proposes(case: &Inspection<'_>, terms: &SessionTerms<'_>) -> Result<(), Refusal> {
    let rules = &case.route.options.dialogue;
    let (sender, receiver) = (case.sender.id(), case.receiver);
    let other =
        |agent: &str, named: Option<&str>| named.is_some_and(|named| rules.domain(agent) != Some(named));
    if other(sender, terms.trust_domain) {
        let reason = "the trust domain in the proposal is not that of the sender";
        return Err(Refusal::new(Code::SenderMismatch, reason).with_hint("name your own trust domain"));
    }
    if other(receiver, terms.required_domain) || !rules.trust_each_other(sender, receiver) {
        return Err(strangers());
    }
    let (scope, now_ms) = (case.route.scope(), case.now.monotonic_ms);
    if terms.session.is_some_and(|id| case.state.dialogues.is_open(&scope, id, now_ms)) {
        let reason = "the id in the proposal cannot be used";
        return Err(Refusal::new(Code::NotFound, reason).with_hint("propose a session under a new id"));
    }
    match terms.modes.iter().max() {
        Some(richest) if *richest < rules.min_payload_mode => Err(too_poor(rules.min_payload_mode)),
        _ => Ok(()),
    }
}

fn too_poor(least: PayloadMode) -> Refusal {
    let least = least.as_str();
    denied("the payload mode is poorer than the route takes", &format!("agree on `{least}` or a richer mode"))
}

fn accepts(case: &Inspection<'_>, mode: PayloadMode) -> Result<(), Refusal> {
    let rules = &case.route.options.dialogue;
    if mode < rules.min_payload_mode {
        return Err(too_poor(rules.min_payload_mode));
    }
    let proposed = case.answers.and_then(|sent| sent.proposed.as_ref());
    let on_card = rules.payload_modes.as_ref().is_none_or(|modes| modes.contains(&mode));
    // every agent falls back to text
    let fits = |modes: &[PayloadMode]| modes.is_empty() || modes.contains(&mode) || mode == PayloadMode::Text;
    if on_card && proposed.is_some_and(|proposed| fits(&proposed.modes)) {
        return Ok(());
    }
    Err(Refusal::new(Code::Malformed, "the accepted payload mode was not proposed, or is not on the card")
        .with_hint("accept a mode that both sides name"))
}

/// Refuses a message whose mode is not that of its session.
fn in_mode<'c>(case: &Inspection<'c>, mode: PayloadMode) -> Result<Open<'c>, Refusal> {
    let dialogue = open(case)?;
    if mode < case.route.options.dialogue.min_payload_mode {
        return Err(too_poor(case.route.options.dialogue.min_payload_mode));
    }
    if mode == dialogue.mode {
        return Ok(dialogue);
    }
    Err(Refusal::new(Code::Malformed, "the payload mode is not the one that the session agreed on")
        .with_hint("use the mode of the session, or open another one"))
}

fn submits(case: &Inspection<'_>, submission: &Submission<'_>) -> Result<(), Refusal> {
    let rules = &case.route.options.dialogue;
    let dialogue = in_mode(case, submission.mode)?;
    if rules.skills.as_ref().is_some_and(|skills| !skills.iter().any(|skill| skill == submission.skill)) {
        let reason = "the card of the receiver does not list this skill";
        return Err(Refusal::new(Code::ConceptUndefined, reason)
            .with_hint("read the card, and name one of its skills"));
    }
    let bounds = submission.bounds.unwrap_or_default();
    in_time(case, bounds)?;
    if let (Some(most), Some(depth)) = (rules.delegation_depth, bounds.depth)
        && depth > most
    {
        return Err(denied(
            "the contract allows more delegations than the route",
            &format!("allow at most {most} in `max_delegation_depth`"),
        ));
    }
    let spent = |bound: Option<u64>, used: u64| bound.is_some_and(|bound| used >= bound);
    let tokens = least(rules.session_tokens, bounds.tokens);
    if spent(tokens, dialogue.tokens()) || spent(bounds.micro_usd, dialogue.micro_usd()) {
        return Err(exhausted());
    }
    Ok(())
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

fn exhausted() -> Refusal {
    denied("the budget of the session is spent", "open another session, or agree on a larger budget")
}

fn in_time(case: &Inspection<'_>, bounds: Bounds) -> Result<(), Refusal> {
    let now_ms = case.now.unix.saturating_mul(1_000);
    if bounds.deadline_ms.is_some_and(|deadline| now_ms > deadline) {
        return Err(denied(
            "the deadline of the contract has passed",
            "set a later deadline, or do without the result",
        ));
    }
    Ok(())
}

/// Holds a result to the contract of its task, whatever that says about failures.
fn results(case: &Inspection<'_>, usage: Usage) -> Result<(), Refusal> {
    let dialogue = in_mode(case, usage.mode)?;
    let task = case.live.and_then(|live| live.task.as_ref()).ok_or_else(not_open)?;
    let bounds = task.bounds;
    task.report(usage);
    in_time(case, bounds)?;
    let depth = least(case.route.options.dialogue.delegation_depth, bounds.depth);
    if depth.is_some_and(|depth| usage.depth > depth) {
        return Err(denied(
            "the task was delegated more often than allowed",
            "see its contract, and the route",
        ));
    }
    let over = |bound: Option<u64>, reported: Option<u64>, used: u64| {
        bound.is_some_and(|bound| reported.is_none() || used > bound)
    };
    let tokens = least(case.route.options.dialogue.session_tokens, bounds.tokens);
    if over(tokens, usage.tokens, dialogue.tokens())
        || over(bounds.micro_usd, usage.micro_usd, dialogue.micro_usd())
    {
        return Err(denied(
            "the result exceeds the budget of its task, or reports no use against it",
            "agree on a larger budget",
        ));
    }
    Ok(())
}
