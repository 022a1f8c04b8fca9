//! IAC as an implementation of [`Protocol`]. It reads the JSON that [`super::Frame::judged`] writes.

use super::{
    Frame, MessageType,
    judged::{CLAIM, PAYLOAD},
    kind::BINARY,
};
use crate::{
    Admit, Asked, Base, Binding, Call, FaultKind, GatewayAnswer, HttpTraits, Instance, Message, MessageFault,
    Once, Pointer, Protocol, Reading, Reply, ReplyKind, ReplyTo, RequestBytes, StreamRules, Traits, Turns,
    Vocabulary, a2a,
    claim::{self, Row},
    content, mcp,
    member::{Read, at, id, object, required, string, unknown},
};
use semgate_contexts::{
    Performative, Version,
    json::{Json, Object},
};

/// IAC.
#[derive(Debug)]
pub(crate) struct Iac;

impl Protocol for Iac {
    fn traits(&self) -> &'static Traits {
        &Traits {
            params_path: "",
            request_bytes: RequestBytes::Encoded,
            turns: Turns::Pairs,
            stream: StreamRules::Messages,
            calls_tools: false,
            names_context_in_replies: false,
            answered_here: false,
            signs_messages: true,
            answers_freely: true,
            claim_hint: " in `l9` of the payload",
            version_hint: a2a::VERSION_HINT,
            form_hint: "send exactly what docs/spec/iac-binding.md lists, and nothing else",
            http: HttpTraits::PLAIN,
        }
    }

    fn vocabulary(&self) -> Option<(&'static str, Version)> {
        Some(("iac", Version::new(1, 0)))
    }

    fn request<'j>(
        &self,
        json: &'j Json<'j>,
        _call: &Call,
        _question: Option<mcp::Operation>,
        reading: &Reading<'_>,
    ) -> Read<Message<'j>> {
        read(json, MessageType::asks, reading)
    }

    fn reply<'j>(&self, json: &'j Json<'j>, _: &ReplyTo<'j>, reading: &Reading<'_>) -> Read<Reply<'j>> {
        read(json, MessageType::answers, reading).map(|message| Reply::Message(Box::new(message)))
    }

    /// A message has no status. The gateway gives 200 for every message of the agent.
    fn reply_kind(&self, status: u16, _: bool, _: Option<a2a::Operation>) -> Option<ReplyKind> {
        (status == 200).then_some(ReplyKind::Message)
    }

    fn write(&self, _: &GatewayAnswer<'_>, _: Option<&Asked>, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn converses(&self, _: Option<a2a::Operation>) -> bool {
        true
    }

    /// A bare ping reads nothing and changes nothing.
    fn waives_lock(&self, message: &Message<'_>) -> bool {
        let ping = |instance: &Instance<'_>| {
            instance.of == Vocabulary::Protocol && MessageType::Ping.concept() == Some(instance.name)
        };
        message.claims.is_empty() && message.gap.is_none() && message.instances.iter().all(ping)
    }
}

/// The members of the judged JSON.
#[derive(Default)]
struct Parts<'j> {
    from: Option<&'j str>,
    to: Option<&'j str>,
    kind: Option<MessageType>,
    timestamp: Option<&'j str>,
    msg_id: Option<&'j str>,
    session_id: Option<&'j str>,
    claim: Option<&'j Json<'j>>,
    content: Option<&'j Json<'j>>,
    act: Option<(&'j str, &'j Object<'j>)>,
    binary: Option<&'j Object<'j>>,
}

fn parts<'j>(json: &'j Json<'j>) -> Read<Parts<'j>> {
    let mut parts = Parts::default();
    for (key, value) in object(json, "")?.iter() {
        match key {
            "from" => parts.from = Some(string(value, "", key)?),
            "to" => parts.to = Some(string(value, "", key)?),
            "msg_type" => parts.kind = MessageType::parse(string(value, "", key)?),
            "timestamp" => parts.timestamp = Some(id(value, "", key)?),
            "msg_id" => parts.msg_id = Some(id(value, "", key)?),
            "session_id" => parts.session_id = Some(id(value, "", key)?),
            CLAIM => parts.claim = Some(value),
            "content" => parts.content = Some(value),
            BINARY => parts.binary = Some(object(value, "/extra_data")?),
            act if parts.act.is_none() => parts.act = Some((act, object(value, &at("", act))?)),
            _ => return unknown("", key),
        }
    }
    Ok(parts)
}

/// Reads a message. `rows` gives the performatives of a type for this side of the exchange.
fn read<'j>(
    json: &'j Json<'j>,
    rows: impl Fn(MessageType) -> Option<Row>,
    reading: &Reading<'_>,
) -> Read<Message<'j>> {
    let parts = parts(json)?;
    let kind = required(parts.kind, "", "msg_type")?;
    let row = rows(kind).ok_or_else(|| {
        MessageFault::malformed("/msg_type", "is a type that this side of the exchange does not send")
    })?;
    let mut message = Message::new(Binding::Iac, row.default);
    message.verb = Some(kind.as_str());
    message.message_id = required(parts.msg_id, "", "msg_id")?;
    let session_id = required(parts.session_id, "", "session_id")?;
    let at = Some(stamp(required(parts.timestamp, "", "timestamp")?)?);
    message.once = Some(Once { at, ids: vec![session_id, message.message_id] });
    message.sender_id = Some(required(parts.from, "", "from")?);
    message.receiver_id = receiver(required(parts.to, "", "to")?, kind);
    if let Some(claim) = parts.claim {
        let path = format!("{PAYLOAD}/{CLAIM}");
        message.performative =
            claim::read(claim, &path, "/payload_json/l9/context", row, &mut message)?.performative;
    }
    let performative = message.performative;
    act(&parts, kind, reading, &mut message)?;
    match parts.content {
        Some(content) => {
            content::read(content, &Base::Fixed(PAYLOAD), performative, reading, &mut message)?;
        }
        // an empty answer acknowledges; a word such as REFUSE without content says nothing that a schema judges
        None if kind == MessageType::Reply && parts.binary.is_none() && performative == row.default => {
            message.acknowledges = true;
        }
        None if kind.concept().is_none() => message.note_gap(pointer(PAYLOAD), "is empty"),
        None => {}
    }
    Ok(message)
}

/// The receiver. A broadcast to nobody by name is for whoever listens, so also for the receiver of the route.
fn receiver(to: &str, kind: MessageType) -> Option<&str> {
    Some(to).filter(|to| !to.is_empty() || kind != MessageType::Broadcast)
}

/// The session id and message id of a frame, as text.
pub struct FrameIds([String; 2]);

impl FrameIds {
    /// The ids of this frame.
    pub fn of(frame: &Frame) -> Self {
        Self([frame.session_id().to_string(), frame.msg_id().to_string()])
    }

    /// The names, ids and stamp of the frame, as a message without content.
    pub fn head<'f>(&'f self, frame: &'f Frame) -> Message<'f> {
        let mut message = Message::new(Binding::Iac, Performative::Inform);
        let Self([session_id, msg_id]) = self;
        message.message_id = msg_id;
        message.once = Some(Once { at: Some(seconds(frame.timestamp())), ids: vec![session_id, msg_id] });
        message.sender_id = Some(frame.from());
        message.receiver_id = receiver(frame.to(), frame.kind());
        message
    }
}

/// Timestamps above this are in microseconds.
const SECONDS_UP_TO: u64 = 10_000_000_000_000;

/// The seconds of a timestamp.
fn stamp(text: &str) -> Read<u64> {
    let stamp = text.parse().map(seconds);
    stamp.map_err(|_| MessageFault::malformed("/timestamp", "is not a number"))
}

const fn seconds(timestamp: u64) -> u64 {
    if timestamp <= SECONDS_UP_TO { timestamp } else { timestamp / 1_000_000 }
}

/// Adds the instances of the protocol: the act of the type, and opaque bytes.
fn act<'j>(parts: &Parts<'j>, kind: MessageType, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    let performative = out.performative;
    let act = match (parts.act, kind.concept()) {
        (Some((name, object)), Some(concept)) if name == concept => Some((concept, object)),
        (Some((name, _)), _) => return unknown("", name),
        (None, Some(concept)) => return required(None, "", concept),
        (None, None) => None,
    };
    let opaque = kind == MessageType::FileTransfer || parts.binary.is_some();
    if opaque && !reading.admit.raw {
        out.note_uninspectable(pointer("/extra_data"), Admit::File);
    }
    let bytes = parts.binary.map(|object| (BINARY, object));
    for (name, object, base) in act
        .map(|(name, object)| (name, object, base_of(kind)))
        .into_iter()
        .chain(bytes.map(|(name, object)| (name, object, "/extra_data")))
    {
        push(instance(name, object, base, performative), reading, out)?;
    }
    Ok(())
}

/// The location that an error about the act of a type names.
const fn base_of(kind: MessageType) -> &'static str {
    match kind {
        MessageType::FileTransfer => PAYLOAD,
        MessageType::RegisterKey => "/extra_data",
        _ => "/msg_type",
    }
}

fn push<'j>(instance: Instance<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    if out.instances.len() >= reading.max_concepts {
        let what = "holds more concepts than the limit";
        return Err(MessageFault { kind: FaultKind::TooComplex, path: PAYLOAD.to_owned(), what });
    }
    out.instances.push(instance);
    Ok(())
}

fn instance<'j>(
    name: &'static str,
    object: &'j Object<'j>,
    base: &'static str,
    performative: Performative,
) -> Instance<'j> {
    Instance { of: Vocabulary::Protocol, name, naming: "", pointer: pointer(base), object, performative }
}

fn pointer(base: &'static str) -> Pointer<'static> {
    Pointer { base: Base::Fixed(base), key: None }
}
