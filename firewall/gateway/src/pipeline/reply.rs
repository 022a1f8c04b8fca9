//! The agent's reply: judged like a request, and returned without its headers.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderName, HeaderValue};
use semgate_inspect::{Inspector, Notice, Now, Peer, Refusal, ReplyPermit, Sent};
use semgate_protocol::ReplyKind;

use crate::pipeline::admit::headers::{ContentType, Media};
use crate::pipeline::answer::{Answer, AnswerBody};
use crate::pipeline::decision::DecisionId;
use crate::pipeline::forward::Returned;
use crate::pipeline::gateway_refusals::invalid;
use crate::pipeline::refuse::answer;
use crate::upstream::address::Address;

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
    configured: &Peer,
    hears: Result<(), Refusal>,
    now: Now,
) -> Result<(Sent, Passed), Refusal> {
    let Returned { sent, head, body, met } = returned;
    hears.map_err(|refusal| refusal.with_rpc_id(sent.rpc_id().cloned()))?;
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
        _ => Err(invalid("the upstream agent answered with a status that does not pass")
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
        return Err(invalid("the reply of the upstream agent is compressed"));
    }
    if body.is_empty() {
        return Ok(Media::Json); // whether a reply may be empty is the inspector's question
    }
    // the content type is returned without parameters, which must not change its meaning
    let content = ContentType::of(headers);
    let content =
        content.ok_or_else(|| invalid("the reply of the upstream agent has no single UTF-8 content type"))?;
    match content.kind.as_str() {
        "application/problem+json" if error => Ok(Media::Json),
        kind => [Media::Json, Media::A2aJson]
            .into_iter()
            .find(|media| media.as_str() == kind)
            .ok_or_else(|| invalid("the reply of the upstream agent is not JSON")),
    }
}

/// The gateway's headers on an answer.
#[derive(Clone, Copy)]
pub(crate) struct Stamp<'s> {
    /// The header in which the caller asked for our extension. It is active even if the agent does not know it, since the
    /// gateway enforces it.
    pub(crate) echo: Option<&'s HeaderName>,
    pub(crate) notice: Option<&'s Notice>,
    pub(crate) address: &'s Address,
    pub(crate) decision: DecisionId,
}

impl Stamp<'_> {
    /// Answer for a permitted reply: the agent's status and body. The gateway's own `card` replaces the body.
    pub(crate) fn whole(&self, passed: Passed, card: Option<Bytes>) -> Answer {
        let media = passed.media;
        let (status, body) = passed.permit.spend();
        let body = card.unwrap_or(body);
        let empty = body.is_empty();
        let mut answer = answer(self.decision, status, media.as_str(), body);
        if empty {
            answer.headers_mut().remove(CONTENT_TYPE);
        }
        self.add(&mut answer);
        answer
    }

    /// Answer with a body in pieces, each permitted by itself.
    pub(crate) fn pieces(&self, body: AnswerBody, kind: &'static str) -> Answer {
        let mut answer = answer(self.decision, 200, kind, Bytes::new());
        *answer.body_mut() = body;
        self.add(&mut answer);
        answer
    }

    fn add(&self, answer: &mut Answer) {
        let headers = answer.headers_mut();
        if let Some(name) = self.echo {
            headers.insert(name, self.address.extension().clone());
        }
        if let Some(Ok(text)) = self.notice.map(|notice| HeaderValue::try_from(notice_text(notice))) {
            headers.insert(NOTICE, text);
        }
    }
}

fn notice_text(notice: &Notice) -> String {
    match notice {
        Notice::Deprecated { newest: Some(newest) } => format!("deprecated; newest={newest}"),
        Notice::Deprecated { newest: None } => "deprecated".to_owned(),
    }
}
