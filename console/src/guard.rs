//! Judges a request before any page sees it: session, role, origin and token. Every page takes a [`Visit`], which only this
//! module makes:
//!
//! 1. the row of the table decides which roles may,
//! 2. a POST must come from this origin and carry the token of its session,
//! 3. a session by certificate counts only on connections with that certificate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use semgate_certs::Peer;

use crate::answer::{Frame, Trouble};
use crate::app::App;
use crate::clock::now;
use crate::roles::{Access, OpenPage, Page, Row, Verb, admits};
use crate::sessions::{Factor, Session};

/// Bytes of a form: an instance of 90,000 bytes, percent-encoded.
const MAX_FORM: usize = 320 * 1024;
/// Members of a form or a query.
const MAX_MEMBERS: usize = 64;
/// Time for the body of a form.
const FORM_TIME: Duration = Duration::from_secs(20);
/// The cookie. Browsers take this prefix only with `Secure`, `Path=/` and no domain.
pub(crate) const COOKIE: &str = "__Host-semgate";

/// The peer of the connection, put into each of its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caller(pub(crate) Option<Arc<Peer>>);

/// Names and values of a query or a form, each name once.
#[derive(Debug, Default)]
pub(crate) struct Members(BTreeMap<String, String>);

impl Members {
    fn read(bytes: &[u8]) -> Result<Self, Trouble> {
        let mut all = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(bytes) {
            if all.len() >= MAX_MEMBERS || all.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(Trouble::form("A member is there twice, or there are too many."));
            }
        }
        Ok(Self(all))
    }

    /// A member, trimmed; `None` if absent or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// A required member.
    ///
    /// # Errors
    /// It is absent or empty.
    pub(crate) fn need(&self, name: &str) -> Result<&str, Trouble> {
        self.get(name).ok_or_else(|| Trouble::form(format_args!("`{name}` is missing.")))
    }
}

/// A request of a page that needs no session.
pub(crate) struct Guest {
    pub(crate) app: Arc<App>,
    pub(crate) peer: Option<Arc<Peer>>,
    pub(crate) headers: HeaderMap,
    pub(crate) path: BTreeMap<String, String>,
    pub(crate) query: Members,
    pub(crate) form: Members,
}

/// A request of a person who may see this page. Only this module makes one.
pub(crate) struct Visit {
    pub(crate) app: Arc<App>,
    pub(crate) session: Session,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Members,
    pub(crate) form: Members,
    path: BTreeMap<String, String>,
    /// The value of the cookie.
    cookie: String,
}

impl Visit {
    /// A segment of the path by its name in the table, decoded.
    ///
    /// # Errors
    /// The table has no such name.
    pub(crate) fn segment(&self, name: &str) -> Result<&str, Trouble> {
        self.path.get(name).map(String::as_str).ok_or_else(|| Trouble::missing("No such page."))
    }

    /// The frame of a page.
    pub(crate) fn frame(&self, at: &'static str) -> Frame {
        Frame::of(&self.session, at)
    }

    /// True while the session lasts, without using it.
    pub(crate) fn lasts(&self) -> bool {
        self.app.sessions().of(&self.cookie, now(), false).is_some()
    }

    /// Ends the session.
    pub(crate) fn end(&self) {
        self.app.sessions().end(&self.cookie);
    }
}

/// An admitted request.
pub(crate) enum Admitted {
    Guest(OpenPage, Guest),
    Visit(Page, Visit),
}

/// The page that a person without a session asked for.
pub(crate) struct Wanted {
    /// Its path and query.
    pub(crate) path: String,
    /// True if a page asked that refreshes itself.
    pub(crate) refreshes: bool,
}

/// A request that was not admitted.
pub(crate) enum Turned {
    /// The person must log in first.
    ToLogin(Wanted),
    /// Refused, with the frame of the session if there is one.
    Away(Trouble, Box<Frame>),
}

impl From<Trouble> for Turned {
    fn from(trouble: Trouble) -> Self {
        Self::Away(trouble, Box::default())
    }
}

/// Judges a request for a row of the table.
///
/// # Errors
/// No session, a missing role, another origin, a wrong token, or a form that is too large, too slow or not closed.
pub(crate) async fn admit(app: &Arc<App>, row: &Row, request: Request<Body>) -> Result<Admitted, Turned> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Caller>().and_then(|caller| caller.0.clone());
    // the connection may outlive the certificate
    let peer = peer.filter(|peer| now() <= peer.not_after());
    let known = session(app, &parts, peer.as_deref());
    // who may is decided before a byte of the body is read
    let entry = match (row.access, known) {
        (Access::Open(page), _) => Entry::Open(page),
        (Access::Roles(..), None) if row.verb == Verb::Get => return Err(Turned::ToLogin(wanted(&parts))),
        (Access::Roles(..), None) => return Err(ended().into()),
        (Access::Roles(page, _), Some((cookie, session))) => {
            if !admits(row.access, &session.person.roles) {
                return Err(Turned::Away(no_role(), Box::new(Frame::of(&session, ""))));
            }
            Entry::Closed(page, cookie, session)
        }
    };
    if row.verb == Verb::Post && !is_own_origin(app, &parts.headers) {
        return Err(refused("The form came from another origin.").into());
    }
    let form = match row.verb {
        Verb::Get => Members::default(),
        Verb::Post => Members::read(&read_form(&parts.headers, body).await?)?,
    };
    if let (Verb::Post, Entry::Closed(_, cookie, _)) = (row.verb, &entry)
        && !form.get("csrf").is_some_and(|shown| app.sessions().is_token(cookie, shown))
    {
        return Err(refused("The form does not carry the token of your session. Open the page again.").into());
    }
    let query = Members::read(parts.uri.query().unwrap_or_default().as_bytes())?;
    let path = path(&mut parts).await?;
    let (app, headers) = (Arc::clone(app), parts.headers);
    Ok(match entry {
        Entry::Open(page) => Admitted::Guest(page, Guest { app, peer, headers, path, query, form }),
        Entry::Closed(page, cookie, session) => {
            Admitted::Visit(page, Visit { app, session, headers, query, form, path, cookie })
        }
    })
}

fn wanted(parts: &Parts) -> Wanted {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    Wanted { path, refreshes: parts.headers.contains_key("hx-request") }
}

enum Entry {
    Open(OpenPage),
    Closed(Page, String, Session),
}

/// The session of a request with its cookie.
fn session(app: &App, parts: &Parts, peer: Option<&Peer>) -> Option<(String, Session)> {
    let cookie = cookie(&parts.headers)?;
    // a page that refreshes itself does not keep a session alive
    let is_stream = parts.headers.get(header::ACCEPT).is_some_and(|accept| accept == "text/event-stream");
    let by_itself = is_stream || parts.headers.contains_key("hx-request");
    let active = !by_itself || parts.method == http::Method::POST;
    let session = app.sessions().of(cookie, now(), active)?;
    let is_same = |peer: &Peer| peer.id().as_str() == session.person.id;
    match session.factor {
        Factor::Certificate if !peer.is_some_and(is_same) => None,
        _ => Some((cookie.to_owned(), session)),
    }
}

/// The value of the session's cookie. Two of them are none.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut own = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
    own.next().filter(|_| own.next().is_none())
}

/// True if the browser says that the form is of this origin. A browser says it with every POST.
fn is_own_origin(app: &App, headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(header::ORIGIN).iter();
    let own = all.next().is_some_and(|origin| origin.as_bytes() == app.origin.as_bytes());
    own && all.next().is_none()
}

async fn read_form(headers: &HeaderMap, body: Body) -> Result<Bytes, Trouble> {
    let is_form = |kind: &header::HeaderValue| {
        kind.to_str().is_ok_and(|kind| {
            kind.split(';').next().is_some_and(|kind| kind.trim() == "application/x-www-form-urlencoded")
        })
    };
    if !headers.get(header::CONTENT_TYPE).is_some_and(is_form) {
        return Err(Trouble::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Not a form", "Only forms are read."));
    }
    let whole = tokio::time::timeout(FORM_TIME, Limited::new(body, MAX_FORM).collect()).await;
    match whole {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(Trouble::new(StatusCode::PAYLOAD_TOO_LARGE, "Too large", "The form is too large.")),
        Err(_) => Err(Trouble::new(StatusCode::REQUEST_TIMEOUT, "Too slow", "The form came too slowly.")),
    }
}

async fn path(parts: &mut Parts) -> Result<BTreeMap<String, String>, Trouble> {
    let read = RawPathParams::from_request_parts(parts, &()).await;
    let read = read.map_err(|_| Trouble::missing("No such page."))?;
    Ok(read.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn ended() -> Trouble {
    Trouble::new(StatusCode::UNAUTHORIZED, "You are not logged in", "Your session has ended. Log in again.")
}

fn no_role() -> Trouble {
    Trouble::new(StatusCode::FORBIDDEN, "This page is not yours", "None of your roles may see it.")
}

fn refused(text: &'static str) -> Trouble {
    Trouble::new(StatusCode::FORBIDDEN, "The form was refused", text)
}

#[cfg(test)]
mod tests;
