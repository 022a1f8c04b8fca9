//! JSON values, one a line, for MCP servers that stream an answer as `application/json`.
//!
//! Readers disagree on line ends, so one value could hide another. Only LF and CRLF end a line here, and a CR anywhere else
//! is a fault. Each value is judged like an event. Characters that some readers treat as line ends are written as escapes.

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_ENCODING;
use http::response::Parts;
use http_body_util::BodyExt;
use semgate_contexts::json;
use semgate_inspect::{Delivered, Refusal};
use tokio::time::timeout_at;

use super::line::LineReader;
use super::{EventFault, EventLimits, one_line};
use crate::config::Limits;
use crate::pipeline::admit::headers::{ContentType, Media};
use crate::pipeline::forward::Answering;
use crate::pipeline::gateway_refusals::{invalid, timeout};

/// Reader of one stream. Holds at most one line and the last piece.
#[derive(Debug)]
pub(crate) struct Lines {
    limits: EventLimits,
    lines: LineReader,
    seen: usize,
}

impl Lines {
    pub(crate) fn new(limits: EventLimits) -> Self {
        Self { limits, lines: LineReader::default(), seen: 0 }
    }

    /// Number of bytes of unfinished input.
    pub(crate) fn buffered(&self) -> usize {
        self.lines.buffered()
    }

    /// Adds a piece. Call [`Lines::next`] until it returns `None` first; nothing else bounds the waiting bytes.
    pub(crate) fn add(&mut self, piece: Bytes) {
        self.lines.add(piece);
    }

    /// The next nonempty line; `None` until more is added.
    ///
    /// # Errors
    /// [`EventFault`]; nothing more may be read then.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, EventFault> {
        while let Some(line) = self.lines.next(self.limits.event_bytes)? {
            self.lines.begin();
            if !line.is_empty() {
                return self.counted(line).map(Some);
            }
        }
        Ok(None)
    }

    /// Ends the stream. Text after the last line end counts as a line.
    ///
    /// # Errors
    /// Same as [`Lines::next`].
    pub(crate) fn end(&mut self) -> Result<Option<Bytes>, EventFault> {
        let last = self.lines.rest()?;
        if last.is_empty() { Ok(None) } else { self.counted(last).map(Some) }
    }

    fn counted(&mut self, line: Bytes) -> Result<Bytes, EventFault> {
        self.seen = self.seen.saturating_add(1);
        if self.seen > self.limits.events { Err(EventFault::TooMany) } else { Ok(line) }
    }
}

/// Writes a value as one line with its end. Strictly parsed JSON has LF and CR only as white space between tokens.
pub(crate) fn write(value: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(value.len().saturating_add(8));
    for part in value.split(|byte| matches!(byte, b'\n' | b'\r')) {
        one_line(part, &mut out);
    }
    out.extend_from_slice(b"\n");
    out.freeze()
}

/// Returns true if an answer holds several values. Its first nonempty line is then JSON of a message with a method, which is
/// no answer, so more must follow. Everything else is one reply. The bytes read stay with the answer.
///
/// # Errors
/// `upstream_timeout` and `upstream_invalid`, as for a whole reply.
pub(crate) async fn are_several(answering: &mut Answering, limits: &Limits) -> Result<bool, Refusal> {
    if !plain_json(&answering.head) {
        return Ok(false);
    }
    let mut begun = Begun::default();
    let several = loop {
        let frame = match timeout_at(answering.deadline, answering.body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break false,
            Ok(Some(Err(_))) => return Err(invalid("the upstream agent's reply was cut")),
            // the agent sent a head, so it has the message
            Err(_) => return Err(timeout(Delivered::Yes)),
        };
        let Ok(data) = frame.into_data() else { continue };
        begun.add(data);
        if begun.read.len() > limits.reply_bytes {
            return Err(invalid("the answer of the upstream agent is larger than the limit"));
        }
        if let Some(line) = begun.first_line() {
            break tells(line, limits);
        }
    };
    answering.before = begun.read.freeze();
    Ok(several)
}

/// Start of an answer, and the number of bytes searched.
#[derive(Debug, Default)]
struct Begun {
    read: BytesMut,
    at: usize,
    searched: usize,
}

impl Begun {
    fn add(&mut self, data: Bytes) {
        if self.read.is_empty() {
            self.read = BytesMut::from(data);
        } else {
            self.read.extend_from_slice(&data);
        }
    }

    /// The first nonempty line, once it is complete.
    fn first_line(&mut self) -> Option<&[u8]> {
        loop {
            let rest = self.read.get(self.searched..).unwrap_or_default();
            let Some(found) = memchr::memchr(b'\n', rest) else {
                self.searched = self.read.len();
                return None;
            };
            let end = self.searched.saturating_add(found);
            let (from, next) = (self.at, end.saturating_add(1));
            (self.at, self.searched) = (next, next);
            let line = self.read.get(from..end).unwrap_or_default();
            if !line.strip_suffix(b"\r").unwrap_or(line).is_empty() {
                return self.read.get(from..end);
            }
        }
    }
}

/// Returns true for a message that is no answer.
fn tells(line: &[u8], limits: &Limits) -> bool {
    let read = json::read(line, &json::Limits { max_bytes: limits.reply_bytes, ..limits.json() });
    read.is_ok_and(|json| json.as_object().is_some_and(|message| message.get("method").is_some()))
}

/// Returns true for a success in plain JSON. Further checks of the body follow when it is complete.
fn plain_json(head: &Parts) -> bool {
    let json = ContentType::of(&head.headers).is_some_and(|content| content.kind == Media::Json.as_str());
    let encoded = head.headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity");
    head.status == 200 && json && !encoded
}

#[cfg(test)]
mod tests;
