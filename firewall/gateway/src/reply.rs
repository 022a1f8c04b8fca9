//! What the agent behind answered, judged like a request and handed back without its headers (DESIGN §2.7).

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use semgate_inspect::{Inspector, Notice, Now, Peer, Refusal, ReplyPermit, Sent};

use crate::admit::A2A_EXTENSIONS;
use crate::decision::DecisionId;
use crate::forward::{Address, Returned, invalid};
use crate::refuse::{Answer, answer};

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
    form(&head.headers, &body).map_err(|refusal| refusal.with_rpc_id(sent.rpc_id().cloned()))?;
    let extension = head.headers.get_all(A2A_EXTENSIONS).iter().any(|value| value == address.extension());
    let permit = inspector.inspect_reply(&sent, replier, head.status.as_u16(), body, now)?;
    Ok((sent, Passed { permit, extension }))
}

/// A body is JSON and not compressed: none was asked for in another form.
fn form(headers: &HeaderMap, body: &Bytes) -> Result<(), Refusal> {
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
    let kind = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/json") {
        return Ok(());
    }
    Err(invalid("the reply of the agent behind is not json"))
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
    let headers = answer.headers_mut();
    if empty {
        headers.remove(CONTENT_TYPE);
    }
    if passed.extension {
        headers.insert(A2A_EXTENSIONS, address.extension().clone());
    }
    if let Some(Ok(text)) = notice.map(|notice| HeaderValue::try_from(notice_text(notice))) {
        headers.insert(NOTICE, text);
    }
    answer
}

fn notice_text(notice: &Notice) -> String {
    match notice {
        Notice::Deprecated { newest: Some(newest) } => format!("deprecated; newest={newest}"),
        Notice::Deprecated { newest: None } => "deprecated".to_owned(),
    }
}
