//! A2H as an implementation of [`Protocol`].

use super::PeopleOperation;
use crate::{
    Asked, Base, Binding, Call, Form, GatewayAnswer, HttpTraits, Instance, Message, MessageFault, Pointer,
    Protocol, Reading, Reply, ReplyKind, ReplyTo, RequestBytes, StreamRules, Traits, Turns, Vocabulary, a2a,
    mcp,
    member::{Read, object, unknown},
    removal::{Walk, a2h_message},
};
use semgate_contexts::{
    Performative, Version,
    json::{Json, Object},
};

/// A2H in every dialect.
#[derive(Debug)]
pub(crate) struct A2h;

/// The concepts of answers.
const ANSWERS: [&str; 4] = ["human_list", "interaction_opened", "interaction_state", "discovery"];

impl Protocol for A2h {
    fn traits(&self) -> &'static Traits {
        &Traits {
            params_path: "",
            request_bytes: RequestBytes::Part,
            turns: Turns::Threads,
            stream: StreamRules::Messages,
            calls_tools: false,
            names_context_in_replies: false,
            answered_here: true,
            signs_messages: false,
            answers_freely: false,
            claim_hint: "",
            version_hint: "send `a2h_version` 1.0",
            form_hint: "send exactly the members that docs/spec/a2h-binding.md lists, and nothing else",
            http: HttpTraits::PLAIN,
        }
    }

    fn vocabulary(&self) -> Option<(&'static str, Version)> {
        Some(("a2h", Version::new(1, 0)))
    }

    fn request<'j>(
        &self,
        json: &'j Json<'j>,
        call: &Call,
        _question: Option<mcp::Operation>,
        _reading: &Reading<'_>,
    ) -> Read<Message<'j>> {
        let Form::A2h(operation, _) = call.form else {
            return Err(MessageFault::malformed("", "is no request of A2H"));
        };
        let object = object(json, "")?;
        let performative = match operation {
            PeopleOperation::Interact => speech_act(object),
            other => other.performative(),
        };
        let mut message = Message::new(Binding::A2h, performative);
        let text = |name: &str| object.get(name).and_then(Json::as_str);
        message.sender_id = text("agent");
        message.message_id = text("message_id").unwrap_or_default();
        message.instances.push(instance(operation.concept(), object, "", performative));
        Ok(message)
    }

    fn reply<'j>(&self, json: &'j Json<'j>, _: &ReplyTo<'j>, _: &Reading<'_>) -> Read<Reply<'j>> {
        let mut members = object(json, "")?.iter();
        let (Some((name, value)), None) = (members.next(), members.next()) else {
            return Err(MessageFault::malformed("", "is not one answer"));
        };
        if !ANSWERS.contains(&name) {
            return unknown("", name);
        }
        let object = object(value, "/answer")?;
        let performative = answer_act(object);
        let mut message = Message::new(Binding::A2h, performative);
        message.instances.push(instance(name, object, "/answer", performative));
        Ok(Reply::Message(Box::new(message)))
    }

    fn remove<'j>(&self, walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
        a2h_message(walk, json);
    }

    fn reply_kind(&self, status: u16, is_empty: bool, _: Option<a2a::Operation>) -> Option<ReplyKind> {
        match (status, is_empty) {
            (200 | 201, false) => Some(ReplyKind::Message),
            (200 | 201, true) => Some(ReplyKind::Missing),
            _ => None,
        }
    }

    fn write(&self, _: &GatewayAnswer<'_>, _: Option<&Asked>, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn converses(&self, _: Option<a2a::Operation>) -> bool {
        false
    }

    fn waives_lock(&self, _: &Message<'_>) -> bool {
        true
    }
}

fn instance<'j>(
    name: &'j str,
    object: &'j Object<'j>,
    base: &'static str,
    performative: Performative,
) -> Instance<'j> {
    let pointer = Pointer { base: Base::Fixed(base), key: None };
    Instance { of: Vocabulary::Protocol, name, naming: "", pointer, object, performative }
}

/// The speech act of an interaction. An unknown type is a request, which its schema refuses.
fn speech_act(object: &Object<'_>) -> Performative {
    match object.get("type").and_then(Json::as_str) {
        Some("CLARIFICATION" | "SOLICITATION") => Performative::Query,
        Some("NOTIFICATION") => Performative::Inform,
        _ => Performative::Request,
    }
}

/// The speech act of an answer: a person agrees or refuses; everything else informs.
fn answer_act(object: &Object<'_>) -> Performative {
    let given = object.get("selected_option").or_else(|| object.get("data")).is_some();
    match object.get("decision").and_then(Json::as_str) {
        Some("DENIED") => Performative::Refuse,
        Some("APPROVED") if !given => Performative::Agree,
        _ => Performative::Inform,
    }
}
