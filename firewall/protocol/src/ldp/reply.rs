//! Answers of a delegate.

use super::{
    body::{Content, content, member, message, whole},
    envelope::{self, Envelope, mode, reason, word},
    kind::Kind,
    provenance,
};
use crate::{
    AgentFailure, Base, Binding, Echo, Instance, MessageFault, Pointer, Reading, Reply, SessionStep,
    Vocabulary,
    member::{Read, object},
    model::Message,
};
use semgate_contexts::{Performative, json::Json};

/// Categories of failures; the first stands in for any other.
const CATEGORIES: [&str; 7] =
    ["runtime", "identity", "capability", "policy", "quality", "session", "transport"];

/// Severities of failures; the first stands in for any other.
const SEVERITIES: [&str; 3] = ["error", "warning", "fatal"];

/// Reads the answer to a message.
///
/// # Errors
/// The first fault of the answer: also if it answers another request, session or task than the one that was sent.
pub(super) fn read<'j>(json: &'j Json<'j>, echo: &'j Echo, reading: &Reading<'_>) -> Read<Reply<'j>> {
    let envelope = envelope::read(json)?;
    let asked = echo.get("type").and_then(Kind::parse).ok_or_else(MessageFault::unasked)?;
    let kind = envelope.kind;
    if !kind.replies_to(asked) {
        return Err(MessageFault::malformed("/body/type", "does not answer the request"));
    }
    let session = echo.get("session_id").unwrap_or_default();
    if kind != Kind::SessionAccept && envelope.session_id != session {
        return Err(MessageFault::malformed("/session_id", "is not that of the request"));
    }
    let mut out = message(&envelope, kind.answers());
    if matches!(kind, Kind::SessionReject | Kind::TaskFailed) {
        return Ok(Reply::Failure(failure(&envelope), Box::new(out)));
    }
    if matches!(kind, Kind::TaskUpdate | Kind::TaskResult) {
        let task = word(member(envelope.body, "task_id")?, "/body", "task_id")?;
        if echo.get("task_id") != Some(task) {
            return Err(MessageFault::malformed("/body/task_id", "is not the task of the request"));
        }
        out.threads.tasks.push(task);
        out.threads.own.task = Some(task);
    }
    if let Some(json) = envelope.provenance {
        provenance::read(json, "/provenance", envelope.mode, &mut out)?;
    }
    match kind {
        Kind::TaskResult => result(&envelope, echo, reading, &mut out)?,
        Kind::SessionAccept => accepted(&envelope, session, &mut out)?,
        Kind::SessionClose => drop(envelope.body.get("reason").map(reason).transpose()?),
        _ => {}
    }
    if let Some(concept) = kind.concept() {
        whole(&envelope, concept, &mut out);
    }
    Ok(Reply::Message(Box::new(out)))
}

/// `TASK_RESULT`: the output under the name of the skill, and where it comes from.
fn result<'j>(
    envelope: &Envelope<'j>,
    echo: &'j Echo,
    reading: &Reading<'_>,
    out: &mut Message<'j>,
) -> Read<()> {
    let skill = echo.get("skill").ok_or_else(MessageFault::unasked)?;
    content(envelope, Content { member: "output", path: "/body/output", skill }, reading, out)?;
    let json = member(envelope.body, "provenance")?;
    let path = "/body/provenance";
    // a question is in the mode of texts whatever the mode of the task, and stock delegates answer it alike
    let asked = echo.get("type") == Some(Kind::TaskUpdate.as_str());
    let object = envelope.body.get("output").is_some_and(|output| output.as_object().is_some());
    let stated = if asked && object { provenance::stated_mode(json, path)? } else { None };
    let usage = provenance::read(json, path, stated.unwrap_or(envelope.mode), out)?;
    out.dialogue.step = SessionStep::Result(usage);
    Ok(())
}

/// `SESSION_ACCEPT`: the id of the session, which the envelope has too, or the one that was proposed.
fn accepted<'j>(envelope: &Envelope<'j>, proposed: &str, out: &mut Message<'j>) -> Read<()> {
    let body = envelope.body;
    let id = word(member(body, "session_id")?, "/body", "session_id")?;
    if envelope.session_id != id && envelope.session_id != proposed {
        return Err(MessageFault::malformed(
            "/session_id",
            "is neither the new session nor the proposed one",
        ));
    }
    let mode = mode(member(body, "negotiated_mode")?, "/body", "negotiated_mode")?;
    out.dialogue.step = SessionStep::Accept { id, mode };
    Ok(())
}

/// A failure in closed words. The delegate's text and its partial output are not kept.
fn failure(envelope: &Envelope<'_>) -> AgentFailure {
    let error = envelope.body.get("error").and_then(Json::as_object);
    let text = |name: &str| error.and_then(|error| error.get(name)).and_then(Json::as_str);
    let one_of = |name: &str, words: &'static [&'static str]| {
        let known = |text: &str| words.iter().find(|word| **word == text).copied();
        text(name).and_then(known).or(words.first().copied()).unwrap_or_default()
    };
    let is_word = |text: &&str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    AgentFailure {
        code: text("code").filter(is_word).unwrap_or("agent_error").to_owned(),
        category: one_of("category", &CATEGORIES),
        severity: one_of("severity", &SEVERITIES),
        retryable: matches!(error.and_then(|error| error.get("retryable")), Some(Json::Bool(true))),
    }
}

/// Reads a card or a manifest: one object, which is one concept.
pub(super) fn document<'j>(json: &'j Json<'j>, concept: &'static str) -> Read<Reply<'j>> {
    let performative = Performative::Inform;
    let mut out = Message::new(Binding::Ldp, performative);
    let pointer = Pointer { base: Base::Fixed(""), key: None };
    let (of, object) = (Vocabulary::Protocol, object(json, "")?);
    out.instances.push(Instance { of, name: concept, naming: "", pointer, object, performative });
    Ok(Reply::Message(Box::new(out)))
}
