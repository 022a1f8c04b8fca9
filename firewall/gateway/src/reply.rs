//! The agent's reply: judged like a request, and returned without its headers.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderName, HeaderValue};
use semgate_inspect::{Inspector, Notice, Now, Peer, Refusal, ReplyPermit, Sent};
use semgate_protocol::ReplyKind;

use crate::address::Address;
use crate::admit::headers::{ContentType, Media};
use crate::answer::{Answer, AnswerBody};
use crate::decision::DecisionId;
use crate::forward::Returned;
use crate::reasons::invalid;
use crate::refuse::answer;

/// Header with a notice to the caller about a permitted message.
const NOTICE: HeaderName = HeaderName::from_static("semgate-notice");

/// A permitted reply.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) permit: ReplyPermit,
    media: Media,
    /// Sender of the reply.
    pub(crate) replier: Peer,
}

/// Judges a reply. First checks again that the caller may receive it, since the agent may have taken a while.
///
/// # Errors
/// `sender_mismatch`, `upstream_invalid`, or `reply_refused` with its cause; all state `delivered: yes`.
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
        // none of its bytes are read or forwarded
        true => Media::Json,
        false => form(&head, &body, error).map_err(|refusal| refusal.with_rpc_id(sent.rpc_id().cloned()))?,
    };
    let replier = met.replier(configured);
    let permit = inspector.inspect_reply(&sent, &replier, head.status.as_u16(), body, now)?;
    Ok((sent, Passed { permit, media, replier }))
}

/// Returns true for the status of an error: always in A2A's HTTP+JSON, and from some agents in JSON-RPC. The inspector reads
/// the error, and none of its bytes pass.
fn is_error(sent: &Sent, status: u16) -> bool {
    sent.binding().protocol().reply_kind(status, false, None) == Some(ReplyKind::Error)
}

/// Accepts the successes that describe this reply as a whole. The others mark a part (206) or a change by an intermediary
/// (203), or have no meaning here. The binding narrows this further.
fn passes(status: u16) -> Result<(), Refusal> {
    match status {
        200 | 201 | 202 | 204 => Ok(()),
        _ => Err(invalid("the agent behind answered with a status that does not pass")
            .with_detail(format!("status {status}"))),
    }
}

/// Accepts only uncompressed JSON, since the gateway requests no other form.
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
    // the content type is returned without parameters, which must not change its meaning
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

/// Answer for a permitted reply: the agent's status and body, with our headers. The gateway's own `card` replaces the body.
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

/// Answer with a body in pieces, each permitted by itself.
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

/// Adds the common headers. `echo` is the header in which the caller asked for our extension. It is active even if the agent
/// does not know it, since the gateway enforces it.
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
