//! Native L8 JSON: the envelope of the paper with the members of `docs/spec/native-l8.md`. One form for requests and replies.
//!
//! See `docs/spec/native-l8.md`.

use crate::{
    Asked, Base, Binding, Call, Claim, GatewayAnswer, HttpTraits, Message, MessageFault, Protocol, Reading,
    Reply, ReplyKind, ReplyTo, RequestBytes, StreamRules, Traits, Turns,
    a2a::{self, Operation},
    content, mcp,
    member::{Read, id, object, prefer_duplicate, required, string, unknown},
};
use semgate_contexts::{Performative, json::Json};

/// Protocol names that the envelope may carry: ours, and the one that the paper's example has.
pub const PROTOCOLS: [&str; 2] = ["L8/1.0", "A2A/1.0"];

const KNOWN: &[&str] = &[
    "protocol",
    "message_id",
    "performative",
    "sender_id",
    "receiver_id",
    "context",
    "digest",
    "lock",
    "session",
    "content",
    "concept_type",
    "concept",
    "task",
];

/// Native L8.
#[derive(Debug)]
pub(crate) struct L8;

impl Protocol for L8 {
    fn traits(&self) -> &'static Traits {
        &Traits {
            params_path: "",
            request_bytes: RequestBytes::Judged,
            turns: Turns::Pairs,
            stream: StreamRules::Messages,
            calls_tools: false,
            answered_here: false,
            signs_messages: false,
            answers_freely: false,
            names_context_in_replies: true,
            claim_hint: "",
            version_hint: a2a::VERSION_HINT,
            form_hint: "send exactly the members that docs/spec/native-l8.md lists, and nothing else",
            http: HttpTraits { accept_tells_streams: true, ..HttpTraits::PLAIN },
        }
    }

    fn request<'j>(
        &self,
        json: &'j Json<'j>,
        _call: &Call,
        _question: Option<mcp::Operation>,
        reading: &Reading<'_>,
    ) -> Read<Message<'j>> {
        read(json, reading)
    }

    fn reply<'j>(&self, json: &'j Json<'j>, _: &ReplyTo<'j>, reading: &Reading<'_>) -> Read<Reply<'j>> {
        read(json, reading).map(|message| Reply::Message(Box::new(message)))
    }

    fn reply_kind(&self, status: u16, is_empty: bool, _operation: Option<Operation>) -> Option<ReplyKind> {
        match (status, is_empty) {
            (202 | 204, true) => Some(ReplyKind::Acknowledgement),
            (200..300, false) => Some(ReplyKind::Message),
            (200..300, true) => Some(ReplyKind::Missing),
            _ => None,
        }
    }

    fn write(&self, own: &GatewayAnswer<'_>, _asked: Option<&Asked>, _extension: &str) -> Option<Vec<u8>> {
        Some(own.native())
    }

    fn converses(&self, _operation: Option<Operation>) -> bool {
        true
    }
}

/// Reads one envelope.
///
/// # Errors
/// The first member that is missing, unknown, of the wrong form or there twice.
pub fn read<'j>(json: &'j Json<'j>, reading: &Reading<'_>) -> Read<Message<'j>> {
    envelope(json, reading).map_err(|fault| prefer_duplicate(fault, json, KNOWN))
}

#[derive(Default)]
struct Envelope<'j> {
    protocol: Option<&'j str>,
    message_id: Option<&'j str>,
    performative: Option<&'j str>,
    sender_id: Option<&'j str>,
    receiver_id: Option<&'j str>,
    context: Option<&'j str>,
    digest: Option<&'j str>,
    lock: Option<&'j str>,
    session: Option<&'j str>,
    content: Option<&'j Json<'j>>,
}

fn envelope<'j>(json: &'j Json<'j>, reading: &Reading<'_>) -> Read<Message<'j>> {
    let mut e = Envelope::default();
    for (key, value) in object(json, "")?.iter() {
        match key {
            "protocol" => e.protocol = Some(string(value, "", key)?),
            "message_id" => e.message_id = Some(id(value, "", key)?),
            "performative" => e.performative = Some(string(value, "", key)?),
            "sender_id" => e.sender_id = Some(string(value, "", key)?),
            "receiver_id" => e.receiver_id = Some(string(value, "", key)?),
            "context" => e.context = Some(string(value, "", key)?),
            "digest" => e.digest = Some(string(value, "", key)?),
            "lock" => e.lock = Some(id(value, "", key)?),
            "session" => e.session = Some(id(value, "", key)?),
            "content" => e.content = Some(value),
            _ => return unknown("", key),
        }
    }
    let protocol = required(e.protocol, "", "protocol")?;
    if !PROTOCOLS.contains(&protocol) {
        return Err(MessageFault::malformed("/protocol", "is neither `L8/1.0` nor `A2A/1.0`"));
    }
    let message_id = required(e.message_id, "", "message_id")?;
    let performative = required(e.performative, "", "performative")?
        .parse::<Performative>()
        .map_err(|_| MessageFault::malformed("/performative", "is not one of the eleven performatives"))?;
    let mut message = Message::new(Binding::L8, performative);
    message.message_id = message_id;
    message.sender_id = Some(required(e.sender_id, "", "sender_id")?);
    message.receiver_id = Some(required(e.receiver_id, "", "receiver_id")?);
    if let (Some(_), Some(_)) = (e.lock, e.session) {
        return Err(MessageFault::malformed("/session", "is another name of `lock`, which is also present"));
    }
    let lock = e.lock.or(e.session);
    // without a context, digest and lock belong to nothing: the message is refused for naming no context
    if let Some(urn) = e.context {
        message.claims.push(Claim { urn, digest: e.digest, lock, location: "/context" });
    }
    let body = required(e.content, "", "content")?;
    content::read(body, &Base::Fixed("/content"), performative, reading, &mut message)?;
    Ok(message)
}

#[cfg(test)]
#[path = "native_tests.rs"]
mod tests;
