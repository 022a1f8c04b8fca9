//! Whose move it is: the proposal that a message may answer.

use super::is_handshake;
use crate::{
    Code, Direction, Refusal, Sent,
    generation::Named,
    inspection::{Inspection, Turn},
    turn::{self, Answer, Answers, Between, OutOfTurn, Side, Step, turn},
};
use semgate_protocol::{Message, Turns};
use std::sync::Arc;

/// Returns true if a message can make a proposal, or answer one.
pub(crate) fn has_turns(case: &Inspection<'_>, message: &Message<'_>, named: &Named) -> bool {
    let operation = case.answers.map_or(message.operation, Sent::operation);
    // handshake steps are bound to each other by signatures
    case.protocol().converses(operation) && !is_handshake(case, message, named)
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
            format!("{says} answers one proposal, and several of the other agent are open here"),
            "name it: `re-` and the `message_id` of the proposal is the `message_id` of its answer",
        ),
        OutOfTurn::Unknown => (
            format!("{says} names a proposal, and the other agent has none of that name here"),
            "`re-` names a proposal of the agent that is spoken to, under this line of contexts; one that is \
             forgotten, as after a restart, is proposed again",
        ),
        OutOfTurn::SameName => (
            format!(
                "{says} names a proposal, and different ones of the other agent are open under that name"
            ),
            "reject the name, which rejects them all, and ask for a proposal under a `message_id` of its own",
        ),
        OutOfTurn::ToGroup => (
            format!("{says} names a proposal, and is said to a group"),
            "say it to the member that made the proposal, over the route to that member",
        ),
        OutOfTurn::Repeated => (
            format!("this {says} was said before, and answered a proposal then"),
            "say it once; another answer has a `message_id` of its own",
        ),
        OutOfTurn::NotOpen => (
            format!("{says} answers a proposal, and none of the other side is open here"),
            match message.binding.protocol().traits().turns {
                Turns::Pairs => {
                    "propose first: a proposal of the other agent under this line of contexts is answered once"
                }
                Turns::Threads => {
                    "propose first, or name the task or conversation that the proposal was made in"
                }
            },
        ),
    };
    Refusal::new(Code::OutOfTurn, reason).with_hint(hint)
}
