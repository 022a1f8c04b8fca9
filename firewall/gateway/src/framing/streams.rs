//! What HTTP/2 leaves to be looked at in the head of a request, and how much is open on one connection.
//!
//! The h2 crate has refused, with an error of the stream alone, pseudo-headers that are missing, unknown or out of order,
//! `connection`, `transfer-encoding`, `upgrade`, `keep-alive`, `proxy-connection`, a `te` other than `trailers`, and a body that is
//! longer or shorter than its `content-length`; and with the connection, a header name in upper case or a header block that is none.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, EXPECT, HOST, TRAILER};
use http::request::Parts;
use tokio::time::Instant;

use super::{FramingFault, HeadLimits, decimal};

/// What each header counts beside its bytes (RFC 9113 §6.5.2).
const OVERHEAD: usize = 32;

/// The first fault of a head.
///
/// # Errors
/// [`FramingFault`].
pub(crate) fn head(parts: &Parts, limits: &HeadLimits) -> Result<(), FramingFault> {
    let headers = &parts.headers;
    if headers.len() > limits.max_headers {
        return Err(FramingFault::HeadTooLarge);
    }
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let bytes = headers.iter().fold(target, |sum, (name, value)| {
        sum.saturating_add(name.as_str().len()).saturating_add(value.len()).saturating_add(OVERHEAD)
    });
    if bytes > limits.max_bytes {
        return Err(FramingFault::HeadTooLarge);
    }
    host(parts)?;
    // without an authority h2 has looked at the scheme and dropped it
    if !matches!(parts.uri.scheme_str(), None | Some("http" | "https")) {
        return Err(FramingFault::Scheme);
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    if let Some(length) = lengths.next() {
        let _ = decimal(length.as_bytes())?;
    }
    if lengths.next().is_some() {
        return Err(FramingFault::ContentLength);
    }
    if headers.contains_key(TRAILER) {
        return Err(FramingFault::Trailers);
    }
    if headers.get_all(EXPECT).iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
        return Err(FramingFault::Expect);
    }
    if headers.contains_key("http2-settings") {
        return Err(FramingFault::Upgrade);
    }
    Ok(())
}

/// `:authority` or `Host`, and if both, the same (RFC 9113 §8.3.1). Its value is not used.
fn host(parts: &Parts) -> Result<(), FramingFault> {
    let authority = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
    let mut hosts = parts.headers.get_all(HOST).iter();
    let (host, more) = (hosts.next().map(http::HeaderValue::as_bytes), hosts.next());
    let one = match (authority, host) {
        (Some(authority), Some(host)) => (authority == host).then_some(authority),
        (one, other) => one.or(other),
    };
    match one {
        Some(one) if more.is_none() && !one.is_empty() && !one.contains(&b'@') => Ok(()),
        _ => Err(FramingFault::Host),
    }
}

/// Requests that are open on one connection. Not [`Send`]: it stays on its core.
#[derive(Debug)]
pub(crate) struct Streams(RefCell<Open>);

#[derive(Debug)]
struct Open {
    last: u64,
    /// For each, since when what it was given sits untaken; `None` while we are at work on it.
    open: HashMap<u64, Option<Instant>>,
    /// When the last one ended.
    quiet: Instant,
}

/// What a connection has done that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// Nothing was asked for so long.
    Idle,
    /// An answer was not taken for so long.
    Stalled,
}

impl Streams {
    pub(crate) fn new() -> Rc<Self> {
        let open = Open { last: 0, open: HashMap::new(), quiet: Instant::now() };
        Rc::new(Self(RefCell::new(open)))
    }

    /// One more request, until the value is dropped.
    pub(crate) fn begin(self: &Rc<Self>) -> Place {
        let mut open = self.0.borrow_mut();
        open.last = open.last.saturating_add(1);
        let number = open.last;
        open.open.insert(number, None);
        Place { streams: Rc::clone(self), number }
    }

    /// Whether anything is past its time.
    pub(crate) fn overdue(&self, idle: Duration, write: Duration) -> Option<Overdue> {
        let open = self.0.borrow();
        if open.open.is_empty() {
            return (open.quiet.elapsed() >= idle).then_some(Overdue::Idle);
        }
        open.open.values().flatten().any(|since| since.elapsed() >= write).then_some(Overdue::Stalled)
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().open.len()
    }
}

/// One open request.
#[derive(Debug)]
pub(crate) struct Place {
    streams: Rc<Streams>,
    number: u64,
}

impl Place {
    /// Something was given that is now to be taken.
    pub(crate) fn given(&self) {
        self.streams.0.borrow_mut().open.insert(self.number, Some(Instant::now()));
    }

    /// It was taken: more is asked for.
    pub(crate) fn taken(&self) {
        self.streams.0.borrow_mut().open.insert(self.number, None);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.0.borrow_mut();
        open.open.remove(&self.number);
        open.quiet = Instant::now();
    }
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
