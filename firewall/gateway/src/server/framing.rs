//! Strict boundaries between requests, checked before any other reader sees the bytes.
//!
//! Request smuggling needs two readers that disagree about a boundary (RFC 9112 §11.2). So this reader accepts only one
//! spelling, and later readers see nothing else. It requires CRLF line ends, at most one `Content-Length`, and never
//! `Content-Length` with `Transfer-Encoding`. It accepts only `chunked`, and no folding, chunk extensions or trailers. hyper
//! parses the same bytes again, but never the refused ones.

pub(crate) mod agreed;
mod chunks;
pub(crate) mod frames;
mod guard;
mod opening;
mod serving;
pub(crate) mod streams;

use std::fmt;

use http::Uri;

use chunks::Chunks;
pub(crate) use guard::{Guard, GuardLimits};
pub(crate) use opening::{Opening, Paced, opening};
pub(crate) use serving::{Caller, Serving, Watch};

/// Reason why the bytes of a connection are not a sequence of plain HTTP/1.1 requests. Its text is safe for outsiders and
/// holds no received byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingFault {
    /// The request line is not `METHOD SP /path SP HTTP/1.1`.
    RequestLine,
    /// The target is not in origin form. The absolute, authority and asterisk forms name other hosts or none.
    Target,
    /// A version other than HTTP/1.1.
    Version,
    /// A line end that is not CRLF, or a stray CR.
    LineEnd,
    /// A header line that continues the previous one (obs-fold, RFC 9112 §5.2).
    Folded,
    /// An invalid header name, or one followed by white space.
    HeaderName,
    /// A control character in a header value.
    HeaderValue,
    /// No `Host`, several, or an empty one. HTTP/2: neither `:authority` nor `Host`, two different ones, or one with a user.
    Host,
    /// Several `Content-Length`, a list, or an invalid decimal number.
    ContentLength,
    /// `Transfer-Encoding` other than a single `chunked`.
    TransferEncoding,
    /// `Content-Length` and `Transfer-Encoding` in one request.
    BothLengths,
    /// `Upgrade`, `HTTP2-Settings` or `Connection: upgrade`. A complete offer of HTTP/2 is ignored instead.
    Upgrade,
    /// A `Trailer` header, or bytes after the last chunk.
    Trailers,
    /// `Expect` with a value other than `100-continue`.
    Expect,
    /// A chunk that is not `hex CRLF data CRLF`, or that has an extension.
    Chunk,
    /// More header bytes or header lines than the limits allow.
    HeadTooLarge,
    /// The head did not arrive in time.
    HeadTooSlow,
    /// HTTP/2: `:scheme` is neither `http` nor `https`.
    Scheme,
}

impl FramingFault {
    /// Text for outsiders, one line.
    pub fn reason(self) -> &'static str {
        match self {
            Self::RequestLine => "the request line is not `METHOD /path HTTP/1.1`",
            Self::Target => "the request target is not a plain path",
            Self::Version => "only HTTP/1.1 is supported here",
            Self::LineEnd => "a line of the head does not end in CRLF",
            Self::Folded => "a header is folded over two lines",
            Self::HeaderName => "a header name is not a token followed by a colon",
            Self::HeaderValue => "a header value holds a control character",
            Self::Host => "there is not exactly one host, or `Host` and `:authority` differ",
            Self::ContentLength => "there is not exactly one decimal `Content-Length`",
            Self::TransferEncoding => "`Transfer-Encoding` is not exactly `chunked`",
            Self::BothLengths => "`Content-Length` and `Transfer-Encoding` contradict each other",
            Self::Upgrade => "connections are not upgraded",
            Self::Trailers => "trailers are not accepted",
            Self::Expect => "`Expect` is not `100-continue`",
            Self::Chunk => "the chunked body is malformed",
            Self::HeadTooLarge => "the head of the request is too large",
            Self::HeadTooSlow => "the head of the request did not arrive in time",
            Self::Scheme => "`:scheme` is neither `http` nor `https`",
        }
    }
}

impl fmt::Display for FramingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for FramingFault {}

/// Content after a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// This many bytes; zero without either header.
    Length(u64),
    /// Chunks.
    Chunked,
    /// Nothing before the answer: the request asks for another protocol.
    Upgrade,
}

/// Result of [`scan_head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The head is incomplete and valid so far.
    Partial,
    /// A complete head.
    Complete {
        /// Length of the head with its empty line.
        bytes: usize,
        /// Content after the head.
        body: Body,
    },
}

/// Limits of a head.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Maximum bytes of request line and headers together.
    pub max_bytes: usize,
    /// Maximum number of header lines.
    pub max_headers: usize,
    /// True if a request may ask for a WebSocket (RFC 6455 §4.1): `Upgrade: websocket` with `Connection: upgrade`, without a
    /// body.
    pub websocket: bool,
}

/// Parses the head at the front of `bytes`. `searched` is the number of bytes that earlier calls searched without finding the
/// end. It keeps the cost of a slow sender linear.
///
/// # Errors
/// The first [`FramingFault`] of a complete head; [`FramingFault::HeadTooLarge`] as soon as it is certain;
/// [`FramingFault::LineEnd`] for the first bare LF.
pub fn scan_head(bytes: &[u8], searched: usize, limits: &HeadLimits) -> Result<Head, FramingFault> {
    let Some(end) = end_of_head(bytes, searched)? else {
        if bytes.len() > limits.max_bytes {
            return Err(FramingFault::HeadTooLarge);
        }
        return Ok(Head::Partial);
    };
    if end > limits.max_bytes {
        return Err(FramingFault::HeadTooLarge);
    }
    let head = bytes.get(..end.saturating_sub(2)).unwrap_or_default();
    let mut lines = Lines { rest: head };
    request_line(lines.next().ok_or(FramingFault::RequestLine)??)?;
    let mut facts = Facts::default();
    let mut count = 0_usize;
    for line in lines {
        count = count.saturating_add(1);
        if count > limits.max_headers {
            return Err(FramingFault::HeadTooLarge);
        }
        facts.header(line?)?;
    }
    Ok(Head::Complete { bytes: end, body: facts.body(limits.websocket)? })
}

/// Index after the first empty line. Every LF up to there must follow a CR.
fn end_of_head(bytes: &[u8], searched: usize) -> Result<Option<usize>, FramingFault> {
    // three bytes back: the input may end anywhere inside CR LF CR LF
    let mut at = searched.saturating_sub(3);
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)) {
        let lf = at.saturating_add(found);
        if lf == 0 || bytes.get(lf.saturating_sub(1)) != Some(&b'\r') {
            return Err(FramingFault::LineEnd);
        }
        if lf == 1 {
            return Err(FramingFault::RequestLine); // an empty line before the request line
        }
        if lf >= 3 && bytes.get(lf.saturating_sub(3)..lf) == Some(b"\r\n\r") {
            return Ok(Some(lf.saturating_add(1)));
        }
        at = lf.saturating_add(1);
    }
    Ok(None)
}

struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = Result<&'a [u8], FramingFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\r', self.rest).unwrap_or(self.rest.len());
        let line = self.rest.get(..end).unwrap_or_default();
        match self.rest.get(end..end.saturating_add(2)) {
            Some(b"\r\n") => {
                self.rest = self.rest.get(end.saturating_add(2)..).unwrap_or_default();
                Some(Ok(line))
            }
            _ => {
                self.rest = &[];
                Some(Err(FramingFault::LineEnd))
            }
        }
    }
}

fn request_line(line: &[u8]) -> Result<(), FramingFault> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(FramingFault::RequestLine);
    };
    if method.is_empty() || method.len() > 16 || !method.iter().all(u8::is_ascii_uppercase) {
        return Err(FramingFault::RequestLine);
    }
    if version != b"HTTP/1.1" {
        return Err(FramingFault::Version);
    }
    if target.first() != Some(&b'/') || target.iter().any(|byte| !byte.is_ascii_graphic() || *byte == b'#') {
        return Err(FramingFault::Target);
    }
    // hyper makes the same check, but would answer without a decision id or a record
    Uri::try_from(target).map(drop).map_err(|_| FramingFault::Target)
}

/// Facts of the header lines that affect boundaries.
#[derive(Default)]
struct Facts {
    host: bool,
    length: Option<u64>,
    chunked: bool,
    /// `Upgrade: websocket`, and `Connection: upgrade`.
    websocket: bool,
    upgrade: bool,
    h2c: Offer,
}

/// The parts of an offer to continue in HTTP/2 (RFC 7540 §3.2). Clients without TLS make it with each request, and a server
/// may ignore it (RFC 9110 §7.8). An incomplete offer comes from no such client.
#[derive(Default, PartialEq, Eq)]
struct Offer {
    /// `Upgrade: h2c`.
    upgrade: bool,
    /// One `HTTP2-Settings`.
    settings: bool,
    /// `Connection: HTTP2-Settings`.
    named: bool,
}

impl Offer {
    const WHOLE: Self = Self { upgrade: true, settings: true, named: true };
}

impl Facts {
    fn header(&mut self, line: &[u8]) -> Result<(), FramingFault> {
        if matches!(line.first(), Some(b' ' | b'\t')) {
            return Err(FramingFault::Folded);
        }
        let colon = memchr::memchr(b':', line).ok_or(FramingFault::HeaderName)?;
        let name = line.get(..colon).unwrap_or_default();
        if name.is_empty() || !name.iter().copied().all(is_token) {
            return Err(FramingFault::HeaderName);
        }
        let value = line.get(colon.saturating_add(1)..).unwrap_or_default();
        if value.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f) {
            return Err(FramingFault::HeaderValue);
        }
        self.known(name, value.trim_ascii())
    }

    fn known(&mut self, name: &[u8], value: &[u8]) -> Result<(), FramingFault> {
        let (broken, fault) = match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => {
                (value.is_empty() || std::mem::replace(&mut self.host, true), FramingFault::Host)
            }
            6 if name.eq_ignore_ascii_case(b"expect") => {
                (!value.eq_ignore_ascii_case(b"100-continue"), FramingFault::Expect)
            }
            7 if name.eq_ignore_ascii_case(b"upgrade") => {
                let asked = match () {
                    () if value.eq_ignore_ascii_case(b"websocket") => &mut self.websocket,
                    () if value.eq_ignore_ascii_case(b"h2c") => &mut self.h2c.upgrade,
                    () => return Err(FramingFault::Upgrade),
                };
                (std::mem::replace(asked, true), FramingFault::Upgrade)
            }
            7 if name.eq_ignore_ascii_case(b"trailer") => (true, FramingFault::Trailers),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    self.upgrade |= option.eq_ignore_ascii_case(b"upgrade");
                    self.h2c.named |= option.eq_ignore_ascii_case(b"http2-settings");
                }
                return Ok(());
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                (self.length.replace(decimal(value)?).is_some(), FramingFault::ContentLength)
            }
            14 if name.eq_ignore_ascii_case(b"http2-settings") => {
                // token68; its value is never used
                let other = value.is_empty() || !value.iter().copied().all(is_token);
                (other || std::mem::replace(&mut self.h2c.settings, true), FramingFault::Upgrade)
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let other = !value.eq_ignore_ascii_case(b"chunked");
                (other || std::mem::replace(&mut self.chunked, true), FramingFault::TransferEncoding)
            }
            _ => return Ok(()),
        };
        if broken { Err(fault) } else { Ok(()) }
    }

    fn body(&self, websocket: bool) -> Result<Body, FramingFault> {
        if !self.host {
            return Err(FramingFault::Host);
        }
        let offers = self.h2c != Offer::default();
        let is_whole = self.h2c == Offer::WHOLE && self.upgrade && !self.websocket;
        if !is_whole && (self.websocket || self.upgrade || offers) {
            let asks = self.websocket && self.upgrade && self.length.is_none_or(|length| length == 0);
            return if websocket && asks && !offers && !self.chunked {
                Ok(Body::Upgrade)
            } else {
                Err(FramingFault::Upgrade)
            };
        }
        match (self.length, self.chunked) {
            (Some(_), true) => Err(FramingFault::BothLengths),
            (None, true) => Ok(Body::Chunked),
            (length, false) => Ok(Body::Length(length.unwrap_or(0))),
        }
    }
}

/// Parses `1*DIGIT` of at most eighteen digits: far above every body limit, and without overflow.
fn decimal(value: &[u8]) -> Result<u64, FramingFault> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(FramingFault::ContentLength);
    }
    Ok(value.iter().fold(0_u64, |sum, digit| {
        sum.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
    }))
}

/// Returns true for a character of a token (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
