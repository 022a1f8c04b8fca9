//! Answers: pages, plain text and troubles, and the headers that every answer has.

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::app::Undone;
use crate::client::CallFault;
use crate::links::NoSegment;
use crate::roles::{Role, navigation};
use crate::sessions::Session;
use crate::visible::filters;

/// Nothing comes from another origin, nothing runs inline, and no page frames another.
pub(crate) const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The headers of every answer.
const ALWAYS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // with `no-referrer` a browser sends `Origin: null` with every form of this origin
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// The result of a page.
pub(crate) type Answer = Result<Response, Trouble>;

/// Adds the headers of every answer. Pages are not stored; assets state their own rule.
pub(crate) fn secured(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// The parts of a page around its content.
#[derive(Clone, Default)]
pub(crate) struct Frame {
    /// The name of the person; empty without a session.
    pub(crate) name: String,
    /// The roles of the person, in words.
    pub(crate) roles: String,
    /// Named pages with their paths.
    pub(crate) nav: Vec<(&'static str, &'static str)>,
    /// The path of the page in the navigation.
    pub(crate) at: &'static str,
    /// The token of every form.
    pub(crate) csrf: String,
    /// The last second of the session.
    pub(crate) ends: u64,
}

impl Frame {
    /// The frame of a page for a session.
    pub(crate) fn of(session: &Session, at: &'static str) -> Self {
        let roles = &session.person.roles;
        Self {
            name: session.person.name.clone(),
            roles: roles.iter().map(|role: &Role| role.as_str()).collect::<Vec<_>>().join(", "),
            nav: navigation(roles).collect(),
            at,
            csrf: session.csrf.clone(),
            ends: session.ends,
        }
    }
}

/// A request that a page does not answer, in words for the person.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    pub(crate) text: String,
}

impl Trouble {
    /// A trouble with its words.
    pub(crate) fn new(status: StatusCode, title: &'static str, text: impl std::fmt::Display) -> Self {
        Self { status, title, text: text.to_string() }
    }

    /// No such page or thing.
    pub(crate) fn missing(text: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", text)
    }

    /// A form that cannot be read.
    pub(crate) fn form(text: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "The form is not complete", text)
    }

    /// A page that could not be made.
    pub(crate) fn internal(why: impl std::fmt::Display) -> Self {
        tracing::error!(%why, "a page could not be made");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "This page could not be made", "The log has the cause.")
    }

    /// An act that could not be recorded, and did not happen.
    pub(crate) fn unrecorded(why: &std::io::Error) -> Self {
        tracing::error!(%why, "the audit log of the console cannot be written: every act is refused");
        let text = "The audit log cannot be written. Nothing happens without its record.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Nothing was done", text)
    }

    /// Renders it within this frame.
    pub(crate) fn page(&self, frame: Frame) -> Response {
        let page = TroublePage { frame, title: self.title, text: &self.text };
        let mut answer = html(&page).unwrap_or_else(|_| Response::new(Body::from(self.title)));
        *answer.status_mut() = self.status;
        answer
    }
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage<'a> {
    frame: Frame,
    title: &'a str,
    text: &'a str,
}

impl From<CallFault> for Trouble {
    fn from(fault: CallFault) -> Self {
        let status = match fault.status() {
            Some(404) => StatusCode::NOT_FOUND,
            Some(403) => StatusCode::FORBIDDEN,
            Some(409) => StatusCode::CONFLICT,
            Some(422) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, "The server refused or did not answer", fault)
    }
}

impl From<Undone> for Trouble {
    fn from(undone: Undone) -> Self {
        match undone {
            Undone::Unrecorded(why) => Self::unrecorded(&why),
            Undone::Fault(CallFault::Lost(why)) => {
                let text = format_args!("It may have happened: {why}. Look before you try again.");
                Self::new(StatusCode::BAD_GATEWAY, "The outcome is unknown", text)
            }
            Undone::Fault(fault) => fault.into(),
        }
    }
}

/// A page.
///
/// # Errors
/// The template fails, which only a failing filter could cause.
pub(crate) fn html(page: &impl Template) -> Answer {
    let text = page.render().map_err(Trouble::internal)?;
    let mut answer = Response::new(Body::from(text));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    Ok(answer)
}

/// Text as a file: no browser renders it, whatever it holds.
pub(crate) fn text_file(text: impl Into<Body>, name: &'static str) -> Answer {
    let mut answer = Response::new(text.into());
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(name));
    Ok(answer)
}

/// Sends the browser to a page of this origin after a form.
pub(crate) fn see_other(path: &str) -> Answer {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    let target = HeaderValue::from_str(path).map_err(Trouble::internal)?;
    answer.headers_mut().insert(header::LOCATION, target);
    Ok(answer)
}

impl From<NoSegment> for Trouble {
    fn from(_: NoSegment) -> Self {
        Self::missing("No name is `.` or `..`.")
    }
}

#[cfg(test)]
mod tests;
