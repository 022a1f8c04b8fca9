//! What the agent behind answered, judged like a request and handed back without its headers (`docs/design/firewall.md` §7).

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderName, HeaderValue};
use semgate_inspect::{Inspector, Notice, Now, Peer, Refusal, ReplyPermit, Sent};
use semgate_message::Binding;

use crate::address::Address;
use crate::admit::headers::{ContentType, Media};
use crate::answer::{Answer, AnswerBody};
use crate::decision::DecisionId;
use crate::forward::Returned;
use crate::reasons::invalid;
use crate::refuse::answer;

/// What the caller should know although the message passed.
const NOTICE: HeaderName = HeaderName::from_static("semgate-notice");

/// A reply that may pass.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) permit: ReplyPermit,
    media: Media,
    /// Who answered.
    pub(crate) replier: Peer,
}

/// Judges a reply. Whether the caller may still hear it is asked anew before: the agent may have thought for a while.
///
/// # Errors
/// `sender_mismatch`, `upstream_invalid`, or `reply_refused` with its cause; all say `delivered: yes`.
pub(crate) fn judge(
    inspector: &Inspector,
    returned: Returned,
    (configured, heard): (&Peer, Result<(), Refusal>),
    now: Now,
) -> Result<(Sent, Passed), Refusal> {
    let Returned { sent, head, body, met } = returned;
    heard.map_err(|refusal| refusal.with_rpc_id(sent.rpc_id().cloned()))?;
    let error = is_error(&sent, head.status.as_u16());
    let media = match head.status.is_success() && sent.is_unanswered() {
        // no byte of it is read or passes
        true => Media::Json,
        false => form(&head, &body, error).map_err(|refusal| refusal.with_rpc_id(sent.rpc_id().cloned()))?,
    };
    let replier = met.replier(configured);
    let permit = inspector.inspect_reply(&sent, &replier, head.status.as_u16(), body, now)?;
    Ok((sent, Passed { permit, media, replier }))
}

/// A2A answers errors of its own with a status over HTTP+JSON, and some agents over JSON-RPC too: which it is, the inspector
/// reads, and no byte of it passes.
fn is_error(sent: &Sent, status: u16) -> bool {
    matches!(sent.binding(), Binding::A2a | Binding::Mcp) && (400..600).contains(&status)
}

/// Successes that say something about this reply as a whole. The others say that it is a part (206), that someone else changed
/// it (203), or nothing that has a meaning here. The binding narrows this further.
fn passes(status: u16) -> Result<(), Refusal> {
    match status {
        200 | 201 | 202 | 204 => Ok(()),
        _ => Err(invalid("the agent behind answered with a status that does not pass")
            .with_detail(format!("status {status}"))),
    }
}

/// A body is JSON and not compressed: none was asked for in another form.
fn form(head: &Parts, body: &Bytes, error: bool) -> Result<Media, Refusal> {
    if !error {
        passes(head.status.as_u16())?;
    }
    let headers = &head.headers;
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity") {
        return Err(invalid("the reply of the agent behind is compressed"));
    }
    if body.is_empty() {
        return Ok(Media::Json); // whether a reply may be empty is the inspector's question
    }
    // it is handed back without parameters, which must not relabel it
    let content = ContentType::of(headers);
    let content =
        content.ok_or_else(|| invalid("the reply of the agent behind has no one content type of utf-8"))?;
    match content.kind.as_str() {
        "application/problem+json" if error => Ok(Media::Json),
        kind => [Media::Json, Media::A2aJson]
            .into_iter()
            .find(|media| media.as_str() == kind)
            .ok_or_else(|| invalid("the reply of the agent behind is not json")),
    }
}

/// The answer for a reply that passed: the agent's own status and body, the headers ours. A `card` that the gateway wrote stands in the
/// place of the body.
pub(crate) fn hand_back(
    passed: Passed,
    card: Option<Bytes>,
    echo: Option<&HeaderName>,
    notice: Option<&Notice>,
    address: &Address,
    decision: DecisionId,
) -> Answer {
    let media = passed.media;
    let (status, body) = passed.permit.spend();
    let body = card.unwrap_or(body);
    let empty = body.is_empty();
    let mut answer = answer(decision, status, media.as_str(), body);
    if empty {
        answer.headers_mut().remove(CONTENT_TYPE);
    }
    told(&mut answer, echo, notice, address);
    answer
}

/// The answer for a body that comes piece by piece, each of which passed by itself.
pub(crate) fn hand_on(
    body: AnswerBody,
    kind: &'static str,
    echo: Option<&HeaderName>,
    notice: Option<&Notice>,
    address: &Address,
    decision: DecisionId,
) -> Answer {
    let mut answer = answer(decision, 200, kind, Bytes::new());
    *answer.body_mut() = body;
    told(&mut answer, echo, notice, address);
    answer
}

/// `echo` is the header by which the caller asked for our extension: it is active, since the gateway is what holds messages to it,
/// whether or not the agent behind knows of it.
fn told(answer: &mut Answer, echo: Option<&HeaderName>, notice: Option<&Notice>, address: &Address) {
    let headers = answer.headers_mut();
    if let Some(name) = echo {
        headers.insert(name, address.extension().clone());
    }
    if let Some(Ok(text)) = notice.map(|notice| HeaderValue::try_from(notice_text(notice))) {
        headers.insert(NOTICE, text);
    }
}

fn notice_text(notice: &Notice) -> String {
    match notice {
        Notice::Deprecated { newest: Some(newest) } => format!("deprecated; newest={newest}"),
        Notice::Deprecated { newest: None } => "deprecated".to_owned(),
    }
}
