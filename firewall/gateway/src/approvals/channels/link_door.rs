//! `/decide/{token}`: the confirmation page behind a single-use link.
//!
//! A `GET` never decides: scanners of mail follow links. A `POST` decides with the token of a form that this gateway rendered.

use std::sync::{Arc, LazyLock};

use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::digest::{SHA256, digest};
use semgate_approvals::render::{Background, Card, Form, STYLE, confirmation, notice};
use semgate_approvals::{
    ActionDigest, Answer, ApprovalFault, Factor, Hold, HumanCard, Link, Reply, Verdict, token_hash,
};

use super::super::DeskFault;
use super::doors::Doors;
use crate::clock::unix_now;

/// Bytes of a submitted form: a reason of two thousand characters, escaped.
const MAX_FORM: usize = 32 * 1024;
/// Characters of a reason. It is shown to the agent and recorded.
const MAX_REASON: usize = 2_000;
/// The content security policy of the pages: no script, nothing from elsewhere, and the one style sheet by its hash.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
});

/// A link with everything it leads to.
struct Opened {
    link: Link,
    hold: Arc<Hold>,
    human: HumanCard,
    /// Hash of the link's token.
    hash: String,
}

/// Fields of a form, each at most once.
#[derive(Default)]
struct Fields {
    form: Option<String>,
    digest: Option<String>,
    option: Option<String>,
    reason: Option<String>,
}

/// Shows the request and asks for a confirmation.
pub(super) async fn show(State(doors): State<Doors>, Path(token): Path<String>) -> Response {
    match doors.opened(&token) {
        Some(opened) => doors.ask(&opened, StatusCode::OK, None),
        None => gone(),
    }
}

/// Decides, and uses the link up.
pub(super) async fn decide(
    State(doors): State<Doors>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(opened) = doors.opened(&token) else { return gone() };
    let Some(fields) = fields(&headers, &body) else {
        return stated(StatusCode::BAD_REQUEST, "Not understood", "Open the link again and use its form.");
    };
    if !doors.forms.take(&opened.hash, fields.form.as_deref().unwrap_or_default()) {
        let again = "This form was used before or is too old. Nothing was decided. Please confirm again.";
        return doors.ask(&opened, StatusCode::CONFLICT, Some(again));
    }
    let answer = match opened.answer(fields) {
        Ok(answer) => answer,
        Err(why) => return doors.ask(&opened, StatusCode::UNPROCESSABLE_ENTITY, Some(why)),
    };
    match doors.desk.answer(answer).await {
        Ok(()) => {
            doors.forms.forget(&opened.hash);
            let text = "Your answer is recorded. You can close this page.";
            stated(StatusCode::OK, "Done", text)
        }
        Err(DeskFault::Refused(why @ (ApprovalFault::ReasonRequired | ApprovalFault::NotOffered))) => {
            doors.ask(&opened, StatusCode::UNPROCESSABLE_ENTITY, Some(&why.to_string()))
        }
        Err(DeskFault::Refused(why)) => {
            stated(StatusCode::CONFLICT, "Nothing was decided", &format!("The reason: {why}."))
        }
        Err(DeskFault::Unavailable) => {
            let text = "The gateway cannot record answers now. Try again later, or ask the operator.";
            stated(StatusCode::SERVICE_UNAVAILABLE, "Nothing was decided", text)
        }
    }
}

impl Doors {
    /// The link of this token, while its request is open and in time.
    fn opened(&self, token: &str) -> Option<Opened> {
        let link = self.desk.read(|book| book.link(token).cloned())?;
        let hold = self.desk.hold(&link.id)?;
        let human = self.desk.registry().get(&link.human)?.clone();
        let in_time = hold.state.is_open() && unix_now() <= hold.expires_at;
        in_time.then(|| Opened { link, hold, human, hash: token_hash(token) })
    }

    fn ask(&self, opened: &Opened, status: StatusCode, fault: Option<&str>) -> Response {
        let Opened { link, hold, human, hash } = opened;
        let last =
            self.desk.read(|book| book.last_approved(hold).map(|(canonical, _)| Arc::clone(canonical)));
        let page = self.config.page.as_deref();
        let card = Card::new(hold, Background { last_approved: last.as_deref(), page });
        let Some(token) = self.forms.draw(hash) else {
            return stated(StatusCode::SERVICE_UNAVAILABLE, "Not now", "Try again later.");
        };
        let form = Form { person: human.id.as_str(), verdict: link.verdict, token: &token, fault };
        page_of(status, confirmation(&card, form).ok())
    }
}

impl Opened {
    /// The answer of a form.
    fn answer(&self, fields: Fields) -> Result<Answer, &'static str> {
        let digest = fields.digest.as_deref().and_then(ActionDigest::parse);
        let digest = digest.ok_or("The form is incomplete. Please confirm again.")?;
        let reason = fields.reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        if reason.as_ref().is_some_and(|text| text.chars().count() > MAX_REASON) {
            return Err("The reason is too long.");
        }
        let index = fields.option.filter(|_| self.link.verdict == Verdict::Approved);
        let option = match (index, &self.hold.subject) {
            (None, _) => None,
            (Some(index), semgate_approvals::Subject::Interaction(asked)) => {
                let chosen = index.parse().ok().and_then(|index: usize| asked.options.get(index));
                Some(chosen.ok_or("Choose one of the options.")?.clone())
            }
            (Some(_), _) => return Err("This request has no options."),
        };
        let reply = Reply { verdict: self.link.verdict, option, data: None, reason };
        let (id, human) = (self.link.id.clone(), self.link.human.clone());
        Ok(Answer { id, digest, human, factor: Factor::Link, reply })
    }
}

/// Reads a form. Refuses unknown and repeated fields.
fn fields(headers: &HeaderMap, body: &[u8]) -> Option<Fields> {
    let media = headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim();
    if media != "application/x-www-form-urlencoded" || body.len() > MAX_FORM {
        return None;
    }
    let mut fields = Fields::default();
    for (name, value) in url::form_urlencoded::parse(body) {
        let field = match name.as_ref() {
            "form" => &mut fields.form,
            "digest" => &mut fields.digest,
            "option" => &mut fields.option,
            "reason" => &mut fields.reason,
            _ => return None,
        };
        if field.replace(value.into_owned()).is_some() {
            return None;
        }
    }
    Some(fields)
}

fn gone() -> Response {
    let text = "This link was used before, is too old, or never existed. Nothing was decided.";
    stated(StatusCode::NOT_FOUND, "This link does not work", text)
}

fn stated(status: StatusCode, title: &str, text: &str) -> Response {
    page_of(status, notice(title, text).ok())
}

fn page_of(status: StatusCode, html: Option<String>) -> Response {
    let Some(html) = html else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ];
    (status, headers, html).into_response()
}
