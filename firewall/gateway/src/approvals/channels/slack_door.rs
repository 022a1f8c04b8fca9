//! `POST /slack/actions`: a click that Slack signed.
//!
//! The signature proves that Slack sent the click, and its user id proves who clicked. The value of the button proves nothing:
//! the book judges it like any answer.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use bytes::Bytes;
use semgate_approvals::render::{Choice, Click};
use semgate_approvals::{Answer, Factor, HumanId, Reply, Subject, Verdict};
use semgate_contexts::json::{self, Limits};
use serde::Deserialize;

use super::super::DeskFault;
use super::courier::Errand;
use super::doors::Doors;
use crate::clock::unix_now;

/// Bytes of a click. Slack sends the whole message back, escaped.
const MAX_BODY: usize = 1 << 20;

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    user: User,
    actions: Vec<Action>,
    response_url: Option<String>,
}

#[derive(Deserialize)]
struct User {
    id: String,
}

#[derive(Deserialize)]
struct Action {
    #[serde(default)]
    value: Option<String>,
}

/// Takes a click. Slack shows the text of the answer to the person alone.
pub(super) async fn clicked(State(doors): State<Doors>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(clicks) = &doors.clicks else { return StatusCode::NOT_FOUND.into_response() };
    if let Err(why) = clicks.accept(&headers, &body, unix_now()) {
        tracing::warn!(?why, "a request that slack did not sign reached the address of clicks");
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let Some(payload) = payload(&body) else { return StatusCode::BAD_REQUEST.into_response() };
    let [Action { value: Some(value) }] = payload.actions.as_slice() else {
        // the link button reports a click too
        return StatusCode::OK.into_response();
    };
    let outcome = doors.click(&payload.user.id, value).await;
    let (text, decided) = match outcome {
        Ok(text) => (text, true),
        Err(why) => (format!("Nothing was decided: {why}."), false),
    };
    if let Some(url) = payload.response_url {
        // a full queue costs the person the text only
        let _ = doors.errands.try_send(Errand::Clicked { url, text: text.clone(), replace: decided });
    }
    Json(serde_json::json!({"response_type": "ephemeral", "replace_original": false, "text": text}))
        .into_response()
}

impl Doors {
    /// Decides for the user of Slack who clicked. The texts are the gateway's own.
    async fn click(&self, user: &str, value: &str) -> Result<String, String> {
        let human = self.desk.by_address("slack_user", user).map(|card| card.id);
        let human: HumanId = human.ok_or("no human card names your slack user")?;
        let click = Click::parse(value).ok_or("this button is not of this gateway")?;
        let hold = self.desk.hold(&click.id).ok_or("there is no such request")?;
        let (verdict, option) = match (click.choice, &hold.subject) {
            (Choice::Approve, _) => (Verdict::Approved, None),
            (Choice::Deny, _) => (Verdict::Denied, None),
            (Choice::Option(index), Subject::Interaction(asked)) => {
                let option = asked.options.get(index).ok_or("this option was not offered")?;
                (Verdict::Approved, Some(option.clone()))
            }
            (Choice::Option(_), Subject::Action(_)) => return Err("this request has no options".to_owned()),
        };
        let reply = Reply { verdict, option, data: None, reason: None };
        let (id, digest) = (click.id.clone(), click.digest);
        let answer = Answer { id, digest, human: human.clone(), factor: Factor::Slack, reply };
        self.desk.answer(answer).await.map_err(|fault| match fault {
            DeskFault::Refused(why) => why.to_string(),
            DeskFault::Unavailable => "the gateway cannot record answers now".to_owned(),
        })?;
        let verb = match (click.choice, verdict) {
            (Choice::Option(_), _) => "answered",
            (_, Verdict::Approved) => "approved",
            (_, Verdict::Denied) => "denied",
        };
        Ok(format!("{human} {verb} request {}", click.id))
    }
}

/// The payload of a block action, read strictly.
fn payload(body: &[u8]) -> Option<Payload> {
    if body.len() > MAX_BODY {
        return None;
    }
    let mut fields = url::form_urlencoded::parse(body);
    let (name, text) = fields.next()?;
    if name != "payload" || fields.next().is_some() {
        return None;
    }
    json::read(text.as_bytes(), &Limits::default()).ok()?;
    let payload: Payload = serde_json::from_str(&text).ok()?;
    (payload.kind == "block_actions").then_some(payload)
}
