//! Remaining checks of an HTTP/2 request's head, and the open requests of one connection.
//!
//! The h2 crate already refuses the following with a stream error: missing, unknown or misplaced pseudo-headers,
//! connection-specific headers, and a `te` other than `trailers`. The same holds for a body that contradicts its
//! `content-length`. An upper-case header name or a broken header block ends the connection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, EXPECT, HOST, TRAILER};
use http::request::Parts;
use tokio::time::Instant;

use super::{FramingFault, HeadLimits, decimal};

/// Overhead of each header beside its bytes (RFC 9113 §6.5.2).
const OVERHEAD: usize = 32;

/// Returns the first fault of a head as an error.
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
    // without an authority, h2 has checked and dropped the scheme
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

/// Requires `:authority` or `Host`, and equal values if both are present (RFC 9113 §8.3.1). The value is not used.
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

/// Open requests of one connection. Not [`Send`]: the value stays on its core.
#[derive(Debug)]
pub(crate) struct Streams(RefCell<Open>);

#[derive(Debug)]
struct Open {
    last: u64,
    /// For each request, the time since which its output waits; `None` while the gateway works on it.
    open: HashMap<u64, Option<Instant>>,
    /// Time at which the last request ended.
    quiet: Instant,
}

/// Reason to end a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// Nothing was requested for too long.
    Idle,
    /// An answer was not taken for too long.
    Stalled,
}

impl Streams {
    pub(crate) fn new() -> Rc<Self> {
        let open = Open { last: 0, open: HashMap::new(), quiet: Instant::now() };
        Rc::new(Self(RefCell::new(open)))
    }

    /// Counts one more request until the value is dropped.
    pub(crate) fn begin(self: &Rc<Self>) -> OpenStream {
        let mut open = self.0.borrow_mut();
        open.last = open.last.saturating_add(1);
        let number = open.last;
        open.open.insert(number, None);
        OpenStream { streams: Rc::clone(self), number }
    }

    /// The first limit that the connection exceeds.
    pub(crate) fn overdue(&self, idle: Duration, write: Duration) -> Option<Overdue> {
        let open = self.0.borrow();
        if open.open.is_empty() {
            return (open.quiet.elapsed() >= idle).then_some(Overdue::Idle);
        }
        open.open.values().flatten().any(|since| since.elapsed() >= write).then_some(Overdue::Stalled)
    }

    /// Number of open requests.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().open.len()
    }
}

/// One open request.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Rc<Streams>,
    number: u64,
}

impl OpenStream {
    /// Records output that the caller must now take.
    pub(crate) fn given(&self) {
        self.streams.0.borrow_mut().open.insert(self.number, Some(Instant::now()));
    }

    /// Records that the caller took the output and wants more.
    pub(crate) fn taken(&self) {
        self.streams.0.borrow_mut().open.insert(self.number, None);
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.0.borrow_mut();
        open.open.remove(&self.number);
        open.quiet = Instant::now();
    }
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
