//! The caller and its rights: certificate → person → publisher → line.

use axum::body::Body;
use axum::http::Request as HttpRequest;
use semgate_certs::SpiffeId;
use semgate_contexts::Line;

use super::App;
use super::problem::{Code, Problem};
use super::serve::Caller;
use crate::LinePattern;
use crate::Publisher;
use crate::clock::now;

/// One of the four rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Publish,
    Revoke,
    Floor,
    Override,
}

impl Right {
    const ALL: [Right; 4] = [Right::Publish, Right::Revoke, Right::Floor, Right::Override];

    fn lines(self, publisher: &Publisher) -> &[LinePattern] {
        match self {
            Self::Publish => &publisher.publish,
            Self::Revoke => &publisher.revoke,
            Self::Floor => &publisher.floor,
            Self::Override => &publisher.overrides,
        }
    }

    /// Returns true for the rights whose acts have a page in a console. A stolen key of a console gives no others.
    const fn is_offered_by_consoles(self) -> bool {
        matches!(self, Self::Revoke | Self::Floor)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Revoke => "revoke",
            Self::Floor => "floor",
            Self::Override => "override",
        }
    }
}

/// Request header by which a console names the person for whom it calls.
const PERSON: &str = "semgate-person";

/// The person of a request: the owner of the certificate, or the person whom a console names.
#[derive(Debug, Clone)]
pub(super) struct Acting {
    /// SPIFFE id of the person, whose rights count.
    pub(super) person: String,
    /// SPIFFE id of the console that calls for the person.
    pub(super) console: Option<String>,
}

impl Acting {
    /// Reads certificate and header.
    ///
    /// # Errors
    /// No certificate counts now; a console names nobody, several, or no SPIFFE id; another caller names a person.
    pub(super) fn of(app: &App, request: &HttpRequest<Body>) -> Result<Self, Problem> {
        let caller = request.extensions().get::<Caller>().and_then(|caller| caller.peer.clone());
        let peer = caller.ok_or(Code::CertificateRequired)?;
        // A connection may outlive its certificate.
        if peer.not_after() < now() {
            return Err(Problem::new(
                Code::CertificateRequired,
                "the certificate of this connection has expired",
            ));
        }
        let caller = peer.id().as_str().to_owned();
        let mut named = request.headers().get_all(PERSON).iter();
        let (name, is_more) = (named.next(), named.next().is_some());
        match (app.config.consoles.contains(&caller), name) {
            (false, None) => Ok(Self { person: caller, console: None }),
            (false, Some(_)) => {
                let why = format_args!("`{caller}` is no console, so it may not name a person (`{PERSON}`)");
                Err(Problem::new(Code::NotPermitted, why))
            }
            (true, None) => {
                let why =
                    format_args!("the console `{caller}` has no right of its own (`{PERSON}` is missing)");
                Err(Problem::new(Code::NotPermitted, why))
            }
            (true, Some(name)) => {
                let person = name.to_str().ok().filter(|_| !is_more).and_then(|id| SpiffeId::parse(id).ok());
                let why = format_args!("`{PERSON}` must be one SPIFFE id");
                let person = person.ok_or_else(|| Problem::new(Code::Malformed, why))?;
                Ok(Self { person: person.as_str().to_owned(), console: Some(caller) })
            }
        }
    }
}

/// A caller who holds a right on some line. Only [`Author::of`] makes one.
#[derive(Debug, Clone)]
pub(super) struct Author {
    person: String,
    publisher: Publisher,
    right: Right,
}

impl Author {
    /// The publisher behind a request. Refuses callers without a certificate, and those who hold the right on no line, before the body is
    /// read.
    pub(super) fn of(app: &App, request: &HttpRequest<Body>, right: Right) -> Result<Self, Problem> {
        Self::with_any_of(app, request, &[right])
    }

    /// A publisher with any right at all, for a request that hands in what others signed.
    pub(super) fn of_any_right(app: &App, request: &HttpRequest<Body>) -> Result<Self, Problem> {
        Self::with_any_of(app, request, &Right::ALL)
    }

    fn with_any_of(app: &App, request: &HttpRequest<Body>, rights: &[Right]) -> Result<Self, Problem> {
        let Acting { person, console } = Acting::of(app, request)?;
        let offered = |right: &&Right| console.is_none() || right.is_offered_by_consoles();
        let rights: Vec<Right> = rights.iter().filter(offered).copied().collect();
        if rights.is_empty() {
            let why = "no page of a console does this: call with the person's own certificate";
            return Err(Problem::new(Code::NotPermitted, why));
        }
        let publisher = app.config.publishers.iter().find(|p| p.id == person);
        let held = |publisher: &Publisher| rights.iter().find(|right| !right.lines(publisher).is_empty());
        match publisher.and_then(|publisher| Some((publisher, *held(publisher)?))) {
            Some((publisher, right)) => Ok(Self { person, publisher: publisher.clone(), right }),
            None => Err(Problem::new(Code::NotPermitted, no_right_detail(&rights, &person))),
        }
    }

    /// The SPIFFE id of the publisher.
    pub(super) fn id(&self) -> &str {
        &self.person
    }

    /// Checks that the right covers this line.
    pub(super) fn may(&self, line: &Line) -> Result<(), Problem> {
        if self.right.lines(&self.publisher).iter().any(|pattern| pattern.covers(line.as_str())) {
            return Ok(());
        }
        Err(refused(self.right, &self.person))
    }
}

/// Checks that a person other than the caller holds a right on a line.
pub(super) fn holds(app: &App, id: &str, right: Right, line: &Line) -> Result<(), Problem> {
    let publisher = app.config.publishers.iter().find(|p| p.id == id);
    let covered = |p: &Publisher| right.lines(p).iter().any(|pattern| pattern.covers(line.as_str()));
    if publisher.is_some_and(covered) { Ok(()) } else { Err(refused(right, id)) }
}

/// The missing right, in words, for a caller who named no line yet.
fn no_right_detail(rights: &[Right], id: &str) -> String {
    match rights {
        [right] => format!("`{id}` has the right `{}` on no line", right.as_str()),
        _ => format!("`{id}` has no right on any line"),
    }
}

fn refused(right: Right, id: &str) -> Problem {
    Problem::new(Code::NotPermitted, format_args!("`{id}` has no right `{}` on this line", right.as_str()))
}
