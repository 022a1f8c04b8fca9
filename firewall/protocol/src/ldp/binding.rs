//! LDP as an implementation of [`Protocol`].

use super::{
    Endpoint, body,
    envelope::{self, KNOWN},
    refusal, reply,
};
use crate::{
    Asked, Base, Binding, Call, Echo, Form, GatewayAnswer, HttpTraits, Instance, Message, MessageFault,
    Pointer, Protocol, Reading, RefusalDraft, RefusedTask, Reply, ReplyKind, ReplyTo, RequestBytes,
    SessionRef, SessionStep, StreamRules, Traits, Turns, Vocabulary, a2a, mcp,
    member::{Read, object, prefer_duplicate},
    removal::{Walk, ldp_message},
};
use semgate_contexts::{Performative, Version, json::Json};

/// LDP over HTTP.
#[derive(Debug)]
pub(crate) struct Ldp;

impl Protocol for Ldp {
    fn traits(&self) -> &'static Traits {
        &Traits {
            params_path: "",
            request_bytes: RequestBytes::Judged,
            turns: Turns::Threads,
            stream: StreamRules::Messages,
            calls_tools: false,
            names_context_in_replies: false,
            answered_here: false,
            answers_freely: false,
            signs_messages: false,
            claim_hint: " in `config` of the session or `input` of the task, `{\"l9_context\": {\"context\": …}}`,",
            version_hint: "LDP messages name no version",
            form_hint: "send exactly the members that docs/spec/ldp-binding.md lists, and nothing else",
            http: HttpTraits { joins_paths: true, ..HttpTraits::PLAIN },
        }
    }

    fn vocabulary(&self) -> Option<(&'static str, Version)> {
        Some(("ldp", Version::new(1, 0)))
    }

    fn request<'j>(
        &self,
        json: &'j Json<'j>,
        call: &Call,
        _question: Option<mcp::Operation>,
        reading: &Reading<'_>,
    ) -> Read<Message<'j>> {
        match endpoint(call)? {
            Endpoint::Messages => {
                message(json, reading).map_err(|fault| prefer_duplicate(fault, json, KNOWN))
            }
            Endpoint::Identity => lookup(json, "get_identity"),
            Endpoint::Capabilities => lookup(json, "get_capabilities"),
        }
    }

    fn reply<'j>(&self, json: &'j Json<'j>, request: &ReplyTo<'j>, reading: &Reading<'_>) -> Read<Reply<'j>> {
        let echo = request.echo.ok_or_else(MessageFault::unasked)?;
        match echo.get("document") {
            Some("get_identity") => reply::document(json, "identity_card"),
            Some(_) => reply::document(json, "capability_manifest"),
            None => reply::read(json, echo, reading).map_err(|fault| prefer_duplicate(fault, json, KNOWN)),
        }
    }

    fn echo(&self, json: &Json<'_>, call: &Call) -> Option<Echo> {
        let mut echo = Echo::default();
        match endpoint(call).ok()? {
            Endpoint::Messages => return envelope::echo(json),
            Endpoint::Identity => echo.put("document", "get_identity"),
            Endpoint::Capabilities => echo.put("document", "get_capabilities"),
        }
        Some(echo)
    }

    fn session<'j>(&self, json: &'j Json<'j>, call: &Call) -> Option<SessionRef<'j>> {
        endpoint(call).ok().filter(|endpoint| *endpoint == Endpoint::Messages)?;
        let members = json.as_object()?;
        let body = members.get("body").and_then(Json::as_object);
        let session = members.get("session_id").and_then(Json::as_str).filter(|id| !id.is_empty());
        let task = body.and_then(|body| body.get("task_id")).and_then(Json::as_str);
        Some(SessionRef { session, task })
    }

    fn refusal(&self, draft: &RefusalDraft<'_>, echo: &Echo) -> Option<Vec<u8>> {
        refusal::write(draft, echo)
    }

    fn refused_task<'e>(&self, echo: &'e Echo) -> Option<RefusedTask<'e>> {
        refusal::task(echo)
    }

    fn remove<'j>(&self, walk: &mut Walk<'_, 'j>, json: &'j Json<'j>) {
        ldp_message(walk, json);
    }

    fn reply_kind(&self, status: u16, is_empty: bool, _: Option<a2a::Operation>) -> Option<ReplyKind> {
        match (status, is_empty) {
            (200, false) => Some(ReplyKind::Message),
            (200, true) => Some(ReplyKind::Missing),
            _ => None,
        }
    }

    fn write(&self, _: &GatewayAnswer<'_>, _: Option<&Asked>, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn converses(&self, _: Option<a2a::Operation>) -> bool {
        false
    }

    /// Only a session is proposed, or a task begun, under a lock. Everything else speaks of one of these.
    fn waives_lock(&self, message: &Message<'_>) -> bool {
        !matches!(message.dialogue.step, SessionStep::Propose(_) | SessionStep::Submit(_))
    }

    fn claim_pointer(&self, location: &str, _extension: &str) -> String {
        format!("{location}/context")
    }
}

fn endpoint(call: &Call) -> Read<Endpoint> {
    match call.form {
        Form::Ldp(endpoint) => Ok(endpoint),
        _ => Err(MessageFault::malformed("", "is no request of LDP")),
    }
}

/// Reads the envelope of a request.
fn message<'j>(json: &'j Json<'j>, reading: &Reading<'_>) -> Read<Message<'j>> {
    let envelope = envelope::read(json)?;
    if !envelope.kind.is_request() {
        return Err(MessageFault::malformed("/body/type", "is an answer, which no client sends"));
    }
    let mut message = body::message(&envelope, envelope.kind.asks());
    body::request(&envelope, reading, &mut message)?;
    Ok(message)
}

/// A request without a body: for the card, or for the manifest.
fn lookup<'j>(json: &'j Json<'j>, concept: &'static str) -> Read<Message<'j>> {
    let mut message = Message::new(Binding::Ldp, Performative::Query);
    message.instances.push(Instance {
        of: Vocabulary::Protocol,
        name: concept,
        naming: "",
        pointer: Pointer { base: Base::Fixed(""), key: None },
        object: object(json, "")?,
        performative: Performative::Query,
    });
    Ok(message)
}
