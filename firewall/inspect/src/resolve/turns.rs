//! Whose move it is: the proposal that a message may answer.

use super::is_handshake;
use crate::{
    Code, Direction, Refusal, Sent,
    generation::Named,
    inspection::{Inspection, Turn},
    turn::{self, Answer, Answers, Between, OutOfTurn, Side, Step, turn},
};
use semgate_protocol::{Instance, Message, Turns, Vocabulary};
use std::sync::Arc;

/// Returns true if a message can make a proposal, or answer one. Content of a format alone cannot: the format has an order of
/// its own, in which an agent also closes what it opened.
pub(crate) fn has_turns(case: &Inspection<'_>, message: &Message<'_>, named: &Named) -> bool {
    let operation = case.answers.map_or(message.operation, Sent::operation);
    let in_thread = case.protocol().traits().turns == Turns::Threads;
    // between two agents, handshake steps are bound to each other by signatures
    let of = |wanted: fn(&Instance<'_>) -> bool| message.instances.iter().any(wanted);
    let own_order =
        of(|one| matches!(one.of, Vocabulary::Format(_))) && !of(|one| one.of == Vocabulary::Context);
    case.protocol().converses(operation) && !own_order && (in_thread || !is_handshake(case, message, named))
}

/// The sender's side of a proposal.
pub(crate) fn side(case: &Inspection<'_>) -> Side {
    let speaks_as = if case.answers.is_some() { Side::Agent } else { Side::Caller };
    match case.protocol().traits().turns {
        Turns::Pairs => turn::side(case.sender.id(), case.receiver, speaks_as),
        Turns::Threads => speaks_as,
    }
}

/// The proposal that a message answers (F0-08).
///
/// A reply first answers its request's proposal. Otherwise it is the open proposal of the conversation.
/// Bindings without conversations use the one that [`Pairs`](turn::Pairs) finds between the two agents.
///
/// # Errors
/// `out_of_turn`.
pub(super) fn takes_turn(
    case: &Inspection<'_>,
    message: &Message<'_>,
    named: &Named,
) -> Result<Option<Answers>, Refusal> {
    let again = matches!(case.turn, Turn::Again | Turn::EventAgain);
    if again || !turn::answers(message.performative) || !has_turns(case, message, named) {
        return Ok(None);
    }
    let made = case.answers.and_then(|sent| sent.step.as_deref()).and_then(Step::makes);
    let by = side(case);
    let answered = match case.protocol().traits().turns {
        Turns::Pairs => {
            let answer = Answer::of(message, by);
            let line = named.urn().line().as_str();
            let between = Between { by: case.receiver, to: case.sender.id(), line };
            let to_group = case.direction == Direction::Request && case.route.options.group.is_some();
            let proposals = if to_group && answer.names_one() {
                Err(OutOfTurn::ToGroup)
            } else {
                case.state.owners.pairs().answered(between, &answer, made)
            };
            proposals.map(|proposals| Some(Answers { proposals, message: Some(answer.message()) }))
        }
        Turns::Threads => {
            let scope = case.route.scope();
            let open = |own| case.state.owners.proposal(&scope, own);
            let open = [open(message.threads.own), case.answers.and_then(|sent| open(sent.own()))];
            let candidates = made.map(Arc::clone).into_iter().chain(open.into_iter().flatten());
            turn(candidates, message.performative, by).map(|proposal| proposal.map(Answers::from))
        }
    };
    answered.map_err(|why| out_of_turn(message, why))
}

/// The refusal of an answer without exactly one open proposal of the other side.
pub(crate) fn out_of_turn(message: &Message<'_>, why: OutOfTurn) -> Refusal {
    let says = message.performative.as_str();
    let (reason, hint) = match why {
        OutOfTurn::Several => (
            format!("{says} answers one proposal, but the other agent has several open here"),
            "name the proposal: the `message_id` of the answer is `re-` and the `message_id` of the proposal",
        ),
        OutOfTurn::Unknown => (
            format!("{says} names a proposal, but the other agent has none of that name here"),
            "`re-` names a proposal of the receiver in this line of contexts; a proposal that is \
             forgotten, as after a restart, must be made again",
        ),
        OutOfTurn::SameName => (
            format!("{says} names a proposal, but the other agent has several open under that name"),
            "reject the name, which rejects all of them, and ask for a proposal with a unique `message_id`",
        ),
        OutOfTurn::ToGroup => (
            format!("{says} names a proposal, but is sent to a group"),
            "send it to the member that made the proposal, over the route of that member",
        ),
        OutOfTurn::Repeated => (
            format!("this {says} was sent before and already answered a proposal"),
            "send it once; give another answer its own `message_id`",
        ),
        OutOfTurn::NotOpen => (
            format!("{says} answers a proposal, but the other side has none open here"),
            match message.binding.protocol().traits().turns {
                Turns::Pairs => {
                    "propose first: each proposal of the other agent in this line of contexts takes one answer"
                }
                Turns::Threads => "propose first, or name the task or conversation of the proposal",
            },
        ),
    };
    Refusal::new(Code::OutOfTurn, reason).with_hint(hint)
}
