//! What the agent behind answered, judged like a request and handed back without its headers (DESIGN §2.7).

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderName, HeaderValue};
use semgate_inspect::{Inspector, Notice, Now, Peer, Refusal, ReplyPermit, Sent};

use crate::admit::A2A_EXTENSIONS;
use crate::answer::{Answer, AnswerBody};
use crate::decision::DecisionId;
use crate::forward::{Address, Returned, invalid};
use crate::refuse::answer;
use crate::relay::EVENT_STREAM;

/// What the caller should know although the message passed.
const NOTICE: HeaderName = HeaderName::from_static("semgate-notice");

/// A reply that may pass, with the one header of the agent's that may too.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) permit: ReplyPermit,
    extension: bool,
}

/// Judges a reply.
///
/// # Errors
/// `upstream_invalid`, or `reply_refused` with its cause; both say `delivered: yes`.
pub(crate) fn judge(
    inspector: &Inspector,
    returned: Returned,
    replier: &Peer,
    address: &Address,
    now: Now,
) -> Result<(Sent, Passed), Refusal> {
    let Returned { sent, head, body } = returned;
    form(&head, &body).map_err(|refusal| refusal.with_rpc_id(sent.rpc_id().cloned()))?;
    let extension = says_extension(&head, address);
    let permit = inspector.inspect_reply(&sent, replier, head.status.as_u16(), body, now)?;
    Ok((sent, Passed { permit, extension }))
}

/// Whether the agent says that our extension is active.
pub(crate) fn says_extension(head: &Parts, address: &Address) -> bool {
    head.headers.get_all(A2A_EXTENSIONS).iter().any(|value| value == address.extension())
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
fn form(head: &Parts, body: &Bytes) -> Result<(), Refusal> {
    passes(head.status.as_u16())?;
    let headers = &head.headers;
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity") {
        return Err(invalid("the reply of the agent behind is compressed"));
    }
    if body.is_empty() {
        return Ok(()); // whether a reply may be empty is the inspector's question
    }
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err(invalid("the reply of the agent behind has no one content type"));
    };
    let mut parts = value.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    if !parts.next().unwrap_or_default().eq_ignore_ascii_case(b"application/json") {
        return Err(invalid("the reply of the agent behind is not json"));
    }
    // it is handed back without parameters, which must not relabel it
    if parts.any(foreign_charset) {
        return Err(invalid("the reply of the agent behind is not utf-8"));
    }
    Ok(())
}

fn foreign_charset(parameter: &[u8]) -> bool {
    let mut halves = parameter.splitn(2, |byte| *byte == b'=').map(<[u8]>::trim_ascii);
    let charset = halves.next().unwrap_or_default().eq_ignore_ascii_case(b"charset");
    let value = halves.next().unwrap_or_default();
    let utf8 = [b"utf-8".as_slice(), b"\"utf-8\""].iter().any(|known| value.eq_ignore_ascii_case(known));
    charset && !utf8
}

/// The answer for a reply that passed: the agent's own status and body, the headers ours.
pub(crate) fn hand_back(
    passed: Passed,
    notice: Option<&Notice>,
    address: &Address,
    decision: DecisionId,
) -> Answer {
    let (status, body) = passed.permit.spend();
    let empty = body.is_empty();
    let mut answer = answer(decision, status, "application/json", body);
    if empty {
        answer.headers_mut().remove(CONTENT_TYPE);
    }
    told(&mut answer, passed.extension, notice, address);
    answer
}

/// The answer for a stream whose events pass one by one.
pub(crate) fn hand_on(
    body: AnswerBody,
    extension: bool,
    notice: Option<&Notice>,
    address: &Address,
    decision: DecisionId,
) -> Answer {
    let mut answer = answer(decision, 200, EVENT_STREAM, Bytes::new());
    *answer.body_mut() = body;
    told(&mut answer, extension, notice, address);
    answer
}

fn told(answer: &mut Answer, extension: bool, notice: Option<&Notice>, address: &Address) {
    let headers = answer.headers_mut();
    if extension {
        headers.insert(A2A_EXTENSIONS, address.extension().clone());
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
