//! Answers that the gateway gives in place of the upstream agent.
//!
//! It answers a question from a code list (F0-28), which saves the agent an inference. It also answers a
//! listing of a conversation that is not the caller's, so the agent reveals nothing about it.

use super::{OPTIONS, PARAMETER, Parameter, QUESTION};
use crate::{
    Code, Delivered, Inspector, Kind, Now, Peer, Permit, Refusal, ReplyPermit, Sent, decide::Decided, list,
};
use bytes::Bytes;
use semgate_contexts::{Context, Ground, Performative, json::Json};
use semgate_protocol::GatewayAnswer;
use serde_json::json;
use std::fmt;

/// The member of a question that quotes what was said.
const VALUE: &str = "value";

/// Maximum number of options in one answer (`urn:contexts:snl:v1.0`). The agent chooses from a longer list.
const MOST_OPTIONS: usize = 256;

/// A question that the named context answers by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    key: Option<String>,
    parameter: String,
    options: Vec<String>,
}

/// Outcome of [`Inspector::clarify`].
#[derive(Debug)]
#[must_use = "a permit that is not spent forwards nothing"]
pub enum Clarification {
    /// The unchanged permit: the upstream agent has to answer.
    Forward(Permit),
    /// The gateway's answer. The permit is spent, and nothing may be forwarded.
    Answered {
        /// The spent request, which the answer was judged against.
        sent: Box<Sent>,
        /// Permit to return the answer.
        reply: Box<ReplyPermit>,
    },
}

/// The questions of a message that asks nothing else, with their answers.
///
/// Empty if the route does not allow such answers, or if one question lacks a single code list in the
/// context.
pub(crate) fn answerable(decided: &Decided<'_, '_>) -> Vec<Question> {
    let (case, resolved) = (decided.case(), decided.resolved());
    let message = resolved.message();
    let sends = case.protocol().converses(message.operation);
    if !case.route.options.answer_from_code_lists
        || case.answers.is_some()
        || message.performative != Performative::Query
        || !sends
    {
        return Vec::new();
    }
    let control = case.generation.control_line();
    let context = resolved.named().context();
    let answered = decided.instances().map(|(definition, instance)| {
        if definition.term.name() != QUESTION || definition.context.urn().line() != control {
            return None;
        }
        let text = |member: &str| instance.object.get(member).and_then(Json::as_str);
        let name = text(PARAMETER)?;
        let options = options(context, &Parameter::of(context, name)?, text(VALUE))?;
        Some(Question { key: instance.pointer.key.map(str::to_owned), parameter: name.to_owned(), options })
    });
    answered.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The codes of the label that the question quotes, else all codes of the list; `None` if they are too many for one answer.
fn options(context: &Context, parameter: &Parameter<'_>, value: Option<&str>) -> Option<Vec<String>> {
    let all = context.code_list(parameter.list()?)?;
    let labelled = value.and_then(|value| context.meaning(parameter, value, &[]));
    let labelled = labelled.filter(|meaning| meaning.ground == Ground::Label);
    let options = match labelled {
        Some(meaning) => meaning.codes.into_iter().map(str::to_owned).collect(),
        None => all.to_vec(),
    };
    (options.len() <= MOST_OPTIONS).then_some(options)
}

impl Inspector {
    /// Answers a permitted message in place of the upstream agent, or returns the permit unchanged.
    ///
    /// The gateway answers in two cases. The context answers every question and the route allows it, or the
    /// request lists tasks of a conversation that is not the caller's.
    ///
    /// The answer carries the id of the route's receiver and is judged like a reply of that agent: schema,
    /// status and policy apply. `message_id` is the id of the answer.
    ///
    /// # Errors
    /// `reply_refused` with its cause and `delivered: no` if the answer may not pass. The agent's own answer
    /// would not pass either, so the gateway does not ask it.
    pub fn clarify(
        &self,
        permit: Permit,
        message_id: impl fmt::Display,
        now: Now,
    ) -> Result<Clarification, Refusal> {
        let answer = match list::of_nobody(&self.state, permit.sent()) {
            Some(empty) => empty,
            None if permit.sent().questions.is_empty() => return Ok(Clarification::Forward(permit)),
            None => {
                let (generation, id) = (self.generation(), message_id.to_string());
                match write(permit.sent(), generation.extension(), &id) {
                    Some(answer) => Bytes::from(answer),
                    None => return Ok(Clarification::Forward(permit)),
                }
            }
        };
        let replier = Peer::configured(&permit.destination().receiver);
        match self.inspect_reply(permit.sent(), &replier, 200, answer, now) {
            Ok(reply) => {
                let (_, sent) = permit.spend();
                Ok(Clarification::Answered { sent: Box::new(sent), reply: Box::new(reply.by_gateway()) })
            }
            // codes that cannot be options: the agent finds other words
            Err(refusal) if refusal.cause() == Some(Code::ContentInvalid) => {
                Ok(Clarification::Forward(permit))
            }
            Err(refusal) => Err(refusal
                .with_hint("the gateway answers this itself, but its answer is refused: ask the operator")
                .with_delivered(Delivered::No)),
        }
    }
}

fn write(sent: &Sent, extension: &str, message_id: &str) -> Option<Vec<u8>> {
    let concept = |question: &Question| json!({"concept": OPTIONS, PARAMETER: question.parameter, "options": question.options});
    let conversation = sent.threads.iter().find(|(kind, _)| *kind == Kind::Conversation);
    let own = GatewayAnswer {
        message_id,
        performative: Performative::Inform,
        sender_id: &sent.route.receiver,
        receiver_id: sent.caller.id(),
        context: sent.about.urn.as_str(),
        conversation: conversation.map(|(_, id)| id.as_str()),
        concepts: sent
            .questions
            .iter()
            .map(|question| (question.key.as_deref(), concept(question)))
            .collect(),
    };
    sent.call.protocol().write(&own, sent.asked(), extension)
}
