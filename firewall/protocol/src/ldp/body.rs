//! Bodies of messages, in both directions.

use super::{
    contract,
    envelope::{self, Envelope, mode, reason, word},
    kind::Kind,
    provenance,
};
use crate::{
    Admit, Base, Binding, Claim, Instance, MessageFault, Once, Otherwise, PayloadMode, Pointer, Reading,
    SessionStep, SessionTerms, Submission, Vocabulary,
    member::{Read, array, at, id, object, required, string, unknown},
    model::Message,
};
use semgate_contexts::{
    Performative,
    json::{Json, Object},
};

/// The member that holds the claim of a context.
const CLAIM: &str = "l9_context";

/// The members that make an object a frame, in which a task of any skill may be put.
const FRAME: [&str; 2] = ["task_type", "instruction"];

/// The concept of a frame.
const FRAME_CONCEPT: &str = "semantic_frame";

/// A message of the envelope, without content.
pub(super) fn message<'j>(envelope: &Envelope<'j>, performative: Performative) -> Message<'j> {
    let mut message = Message::new(Binding::Ldp, performative);
    message.message_id = envelope.message_id;
    message.sender_id = Some(envelope.from);
    message.receiver_id = Some(envelope.to);
    message.once = Some(Once { at: Some(envelope.at_ms / 1_000), ids: vec![envelope.message_id] });
    message.dialogue.seal = Some(envelope.seal.clone());
    message
}

/// Reads a body that is one concept of the protocol.
pub(super) fn whole<'j>(envelope: &Envelope<'j>, concept: &'static str, out: &mut Message<'j>) {
    out.instances.push(instance(concept, envelope.body, out.performative));
}

fn instance<'j>(name: &'j str, body: &'j Object<'j>, performative: Performative) -> Instance<'j> {
    let pointer = Pointer { base: Base::Fixed("/body"), key: None };
    Instance { of: Vocabulary::Protocol, name, naming: "type", pointer, object: body, performative }
}

/// Reads the body of a request.
pub(super) fn request<'j>(envelope: &Envelope<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    let Envelope { kind, body, session_id, .. } = *envelope;
    if session_id.is_empty() && matches!(kind, Kind::TaskSubmit | Kind::SessionPropose | Kind::SessionClose) {
        return Err(MessageFault::malformed("/session_id", "is empty"));
    }
    if let Some(json) = envelope.provenance {
        provenance::read(json, "/provenance", envelope.mode, out)?;
    }
    out.dialogue.to_address =
        matches!(kind, Kind::Hello | Kind::SessionPropose | Kind::TaskUpdate | Kind::TaskCancel);
    match kind {
        Kind::TaskSubmit => return submission(envelope, reading, out),
        Kind::SessionPropose => return proposal(envelope, body, out),
        Kind::Hello => {
            out.parties.push(envelope::sender(word(member(body, "delegate_id")?, "/body", "delegate_id")?))
        }
        Kind::TaskUpdate | Kind::TaskCancel => {
            let task = word(member(body, "task_id")?, "/body", "task_id")?;
            out.threads.tasks.push(task);
            out.threads.own.task = Some(task);
            out.threads.asks = true;
            out.dialogue.step = SessionStep::Follow;
        }
        Kind::SessionClose => {
            body.get("reason").map(reason).transpose()?;
            out.dialogue.step = SessionStep::Close;
        }
        _ if !session_id.is_empty() => out.dialogue.step = SessionStep::Speak,
        _ => {}
    }
    let name = if kind == Kind::TaskUpdate { Some("task_query") } else { kind.concept() };
    if let Some(name) = name {
        whole(envelope, name, out);
    }
    Ok(())
}

pub(super) fn member<'j>(body: &'j Object<'j>, name: &str) -> Read<&'j Json<'j>> {
    required(body.get(name), "/body", name)
}

/// `SESSION_PROPOSE`: its configuration, in the words of both SDKs and of the specification.
fn proposal<'j>(envelope: &Envelope<'j>, body: &'j Object<'j>, out: &mut Message<'j>) -> Read<()> {
    let path = "/body/config";
    let config = object(member(body, "config")?, path)?;
    let session = Some(envelope.session_id).filter(|id| !id.is_empty());
    let mut terms = SessionTerms { session, ..SessionTerms::default() };
    let mut claimed = false;
    for (key, value) in config.iter() {
        match key {
            "preferred_payload_modes" => {
                for one in array(value, path, key)? {
                    terms.modes.push(mode(one, path, key)?);
                }
            }
            "payload_mode" => terms.modes.push(mode(value, path, key)?),
            "ttl_secs" => terms.ttl = Some(contract::count(value, path, key)?),
            "trust_domain" => terms.trust_domain = Some(string(value, path, key)?),
            "required_trust_domain" => terms.required_domain = Some(string(value, path, key)?),
            CLAIM => {
                claim(value, "/body/config/l9_context", Performative::Propose, out)?;
                claimed = true;
            }
            // the schema of the concept has the others
            _ => {}
        }
    }
    let both = ["payload_mode", "preferred_payload_modes"];
    if both.iter().all(|name| config.get(name).is_some()) {
        return Err(MessageFault::malformed(at(path, both[0]), "is another name of the preferred modes"));
    }
    out.dialogue.step = SessionStep::Propose(terms);
    out.instances.push(Instance {
        of: Vocabulary::Protocol,
        name: "session_propose",
        naming: if claimed { CLAIM } else { "" },
        pointer: Pointer { base: Base::Fixed(path), key: None },
        object: config,
        performative: Performative::Propose,
    });
    Ok(())
}

/// `TASK_SUBMIT`: the input of a skill, and the contract.
fn submission<'j>(envelope: &Envelope<'j>, reading: &Reading<'_>, out: &mut Message<'j>) -> Read<()> {
    let body = envelope.body;
    let task = word(member(body, "task_id")?, "/body", "task_id")?;
    let skill = word(member(body, "skill")?, "/body", "skill")?;
    out.threads.begins = Some(task);
    out.threads.own.task = Some(task);
    content(envelope, Content { member: "input", path: "/body/input", skill }, reading, out)?;
    let mut bounds = None;
    if let Some(json) = body.get("contract") {
        let contract = object(json, "/body/contract")?;
        bounds = Some(contract::bounds(contract)?);
        out.instances.push(Instance {
            of: Vocabulary::Protocol,
            name: "contract",
            naming: "",
            pointer: Pointer { base: Base::Fixed("/body/contract"), key: None },
            object: contract,
            performative: Performative::Request,
        });
    }
    out.dialogue.step = SessionStep::Submit(Submission { task, skill, mode: envelope.mode, bounds });
    Ok(())
}

/// The content of a task: its member of the body, its location, and the skill that names it.
pub(super) struct Content<'j> {
    pub member: &'static str,
    pub path: &'static str,
    pub skill: &'j str,
}

/// Reads input or output: an object under the name of the skill, or a text in the mode of texts.
pub(super) fn content<'j>(
    envelope: &Envelope<'j>,
    content: Content<'j>,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let Content { member, path, skill } = content;
    let (body, performative) = (envelope.body, out.performative);
    let pointer = Pointer { base: Base::Fixed(path), key: None };
    match body.get(member) {
        Some(Json::Object(object)) => {
            let claimed = object.get(CLAIM);
            if let Some(json) = claimed {
                let location =
                    if member == "input" { "/body/input/l9_context" } else { "/body/output/l9_context" };
                claim(json, location, performative, out)?;
            }
            // what a delegate answers to a frame has no form
            if member == "output" || FRAME.iter().all(|name| object.get(name).is_some()) {
                let instance = out.instances.len();
                out.otherwise.push(Otherwise { instance, of: Vocabulary::Protocol, term: FRAME_CONCEPT });
            }
            let naming = if claimed.is_some() { CLAIM } else { "" };
            let of = Vocabulary::Context;
            out.instances.push(Instance { of, name: skill, naming, pointer, object, performative });
        }
        Some(Json::String(_)) if envelope.mode == PayloadMode::Text => {
            if !reading.admit.text {
                out.note_uninspectable(pointer, Admit::Text);
            }
            out.instances.push(instance("text", body, performative));
        }
        Some(Json::String(_)) => {
            return Err(MessageFault::malformed(path, "is text, which this payload mode does not carry"));
        }
        Some(_) => out.note_gap(pointer, "is not an object"),
        None => out.note_gap(pointer, "is missing"),
    }
    Ok(())
}

/// The claim of a context. A performative in it must be that of the message (F0-10).
fn claim<'j>(
    json: &'j Json<'j>,
    location: &'static str,
    performative: Performative,
    out: &mut Message<'j>,
) -> Read<()> {
    let (mut urn, mut digest, mut lock) = (None, None, None);
    for (key, value) in object(json, location)?.iter() {
        match key {
            "context" => urn = Some(string(value, location, key)?),
            "digest" => digest = Some(string(value, location, key)?),
            "lock" => lock = Some(id(value, location, key)?),
            "performative" if string(value, location, key)? == performative.as_str() => {}
            "performative" => return Err(MessageFault::malformed(at(location, key), "is not allowed here")),
            _ => return unknown(location, key),
        }
    }
    let urn = required(urn, location, "context")?;
    out.claims.push(Claim { urn, digest, lock, location });
    Ok(())
}
