//! W3C Trace Context and Baggage, which operators correlate by. They are no content: policies and schemas never see them.
//!
//! Each of the three has one closed form within the bounds of its specification. A value of another form does not pass.

use std::fmt;

/// Name of the trace and of the calling span, as a header and as a key of metadata.
pub const TRACEPARENT: &str = "traceparent";
/// Name of the vendors' own positions in the trace.
pub const TRACESTATE: &str = "tracestate";
/// Name of the operators' own properties.
pub const BAGGAGE: &str = "baggage";
/// The three names.
pub const NAMES: &[&str] = &[TRACEPARENT, TRACESTATE, BAGGAGE];

/// Characters of `tracestate` that each implementation should carry (Trace Context §3.3.1.5).
const MAX_STATE: usize = 512;
/// Members of `tracestate` (Trace Context §3.3.1.1).
const MAX_STATE_MEMBERS: usize = 32;
/// Characters of a key or value in `tracestate` (Trace Context §3.3.1.3).
const MAX_STATE_WORD: usize = 256;
/// Bytes of `baggage` that each implementation should carry (Baggage §3.3.2).
const MAX_BAGGAGE: usize = 8_192;
/// Members of `baggage` that each implementation should carry (Baggage §3.3.2).
const MAX_BAGGAGE_MEMBERS: usize = 64;

/// The position of a message in a trace (Trace Context §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// Id of the trace, not zero.
    pub trace_id: u128,
    /// Id of the calling span, not zero.
    pub span_id: u64,
    /// Flags; the lowest bit states that the caller records the trace.
    pub flags: u8,
}

impl TraceParent {
    /// Reads a `traceparent`: lower-case hexadecimal, ids that are not zero. Of a version above 00 it takes the members of 00
    /// (Trace Context §3.2.4).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = hex(parts.next()?, 2)?;
        let trace_id = hex(parts.next()?, 32).filter(|id| *id != 0)?;
        let span_id = hex(parts.next()?, 16).and_then(|id| u64::try_from(id).ok()).filter(|id| *id != 0)?;
        let flags = hex(parts.next()?, 2).and_then(|flags| u8::try_from(flags).ok())?;
        let is_whole = parts.next().is_none() || version != 0;
        (is_whole && version != 0xff).then_some(Self { trace_id, span_id, flags })
    }

    /// True if the caller records the trace.
    #[must_use]
    pub const fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }
}

impl fmt::Display for TraceParent {
    /// Writes version 00.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

/// Reads this many digits of lower-case hexadecimal.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let fits = text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if fits { u128::from_str_radix(text, 16).ok() } else { None }
}

/// True of a value with the form of the header of this name, within its bounds. A `traceparent` has exactly the length of
/// version 00, since nobody here reads the members of later versions.
#[must_use]
pub fn fits(name: &str, text: &str) -> bool {
    match name {
        TRACEPARENT => text.len() == 55 && TraceParent::parse(text).is_some(),
        TRACESTATE => {
            let members = members(text);
            text.len() <= MAX_STATE
                && members.clone().count() <= MAX_STATE_MEMBERS
                && members.into_iter().all(state)
        }
        BAGGAGE => {
            let members = members(text);
            text.len() <= MAX_BAGGAGE
                && members.clone().count() <= MAX_BAGGAGE_MEMBERS
                && members.into_iter().all(property)
        }
        _ => false,
    }
}

/// Members of a list; empty ones are allowed and mean nothing (RFC 9110 §5.6.1).
fn members(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(',').map(|member| member.trim_matches(BLANKS)).filter(|member| !member.is_empty())
}

const BLANKS: [char; 2] = [' ', '\t'];

/// A member of `tracestate`: a key, `=`, and visible characters.
fn state(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let in_key = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-*/@".contains(&b);
    let fits = |text: &str| (1..=MAX_STATE_WORD).contains(&text.len());
    let is_value = value.bytes().all(|b| b.is_ascii_graphic() && b != b'=');
    fits(key) && key.bytes().all(in_key) && fits(value) && is_value
}

/// A member of `baggage`: a key and its value, then properties. Blanks stand around `=` and `;` alone, so that no sentence
/// travels here.
fn property(member: &str) -> bool {
    let mut parts = member.split(';').map(|part| part.trim_matches(BLANKS));
    let pair = |part: &str| part.split_once('=').is_some_and(|(key, value)| is_key(key) && is_value(value));
    parts.next().is_some_and(pair) && parts.all(|part| is_key(part) || pair(part))
}

/// A token of RFC 9110 §5.6.2.
fn is_key(text: &str) -> bool {
    let text = text.trim_matches(BLANKS);
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// The octets of Baggage §3.3.1: visible ASCII without quotes, commas, semicolons and backslashes.
fn is_value(text: &str) -> bool {
    let text = text.trim_matches(BLANKS);
    text.bytes().all(|b| b.is_ascii_graphic() && !b"\",;\\".contains(&b))
}

#[cfg(test)]
mod tests;
