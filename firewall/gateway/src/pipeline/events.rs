//! Server-sent events, parsed strictly piece by piece (WHATWG HTML §9.2) and rewritten in one form.
//!
//! Readers of this format disagree on line ends and skip unknown fields, so one event could hide another. This reader takes
//! only LF and CRLF, no byte-order mark, and known fields. These are `data`, `id`, `event` (`message` or `error`), `retry`
//! and comments; anything else is a fault. It rewrites the framing, so none of the agent's framing bytes pass.

mod line;
pub(crate) mod lines;

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};
use line::LineReader;

/// Events of a stream: 28 a second for an hour.
pub(crate) const MAX_EVENTS: usize = 100_000;

/// The content type of a stream (WHATWG HTML §9.2).
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Limits of one stream. The configuration's limits give the reasons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventLimits {
    /// Bytes of one event or line, including framing.
    pub(crate) event_bytes: usize,
    /// Events in a stream.
    pub(crate) events: usize,
}

/// Maximum bytes of an id, as for every other identifier.
const MAX_ID: usize = 256;
/// The longest reconnection time that is forwarded: an hour, in milliseconds.
const MAX_RETRY: u64 = 3_600_000;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `data` lines joined by LF; `None` without any.
    pub(crate) data: Option<Bytes>,
    /// Id of at most 256 visible ASCII characters.
    pub(crate) id: Option<String>,
    /// Reconnection time in milliseconds.
    pub(crate) retry: Option<u64>,
    /// Name as the agent wrote it; some clients ignore an event without one.
    pub(crate) name: Option<Name>,
}

/// Permitted names of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// Default name of an event (WHATWG HTML §9.2.6).
    Message,
    /// Name of the last event of a failed stream in A2A over REST.
    Error,
}

/// Result of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A whole event.
    Event(Event),
    /// A keep-alive comment; its text is dropped.
    Alive,
}

/// Fault of a stream. Its text is safe for outsiders and holds no byte of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventFault {
    /// A NUL in a line, or a CR without LF at its end.
    Line,
    /// A byte-order mark at the start.
    Mark,
    /// An unknown field, or a repeated one in one event.
    Field,
    /// `event` with a name other than `message` and `error`.
    Name,
    /// An invalid `id`.
    Id,
    /// A `retry` that is not a number up to an hour.
    Retry,
    /// An event above the limit.
    TooLarge,
    /// More events than the limit.
    TooMany,
    /// A stream that ends within an event.
    Cut,
}

impl EventFault {
    /// Text for outsiders, one line.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Line => "a line of the stream does not end in LF or CRLF",
            Self::Mark => "the stream begins with a byte-order mark",
            Self::Field => "an event has an unknown field, or a field twice",
            Self::Name => "an event has another name than `message` or `error`",
            Self::Id => "the id of an event is not an identifier",
            Self::Retry => "the `retry` of an event is not a number of milliseconds up to an hour",
            Self::TooLarge => "an event is larger than the limit",
            Self::TooMany => "the stream has more events than the limit",
            Self::Cut => "the stream ends within an event",
        }
    }
}

impl fmt::Display for EventFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for EventFault {}

/// Reader of one stream. Holds at most the bytes of one event and of the last piece.
#[derive(Debug)]
pub(crate) struct Events {
    limits: EventLimits,
    lines: LineReader,
    seen: usize,
    begun: bool,
    pending: Pending,
}

/// The unfinished event.
#[derive(Debug, Default)]
struct Pending {
    data: Option<Data>,
    id: Option<String>,
    retry: Option<u64>,
    name: Option<Name>,
}

/// Data of an event. A single line, the usual case, is not copied.
#[derive(Debug)]
enum Data {
    One(Bytes),
    More(BytesMut),
}

impl Events {
    pub(crate) fn new(limits: EventLimits) -> Self {
        Self { limits, lines: LineReader::default(), seen: 0, begun: false, pending: Pending::default() }
    }

    /// Number of bytes of unfinished input.
    pub(crate) fn buffered(&self) -> usize {
        self.lines.buffered()
    }

    /// Adds a piece. Call [`Events::next`] until it returns `None` first; nothing else bounds the waiting bytes.
    pub(crate) fn add(&mut self, piece: Bytes) {
        self.lines.add(piece);
    }

    /// The next whole event or comment; `None` until more is added.
    ///
    /// # Errors
    /// [`EventFault`]; nothing more may be read then.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, EventFault> {
        if let (false, Some(first)) = (self.begun, self.lines.waiting().first()) {
            if *first == 0xef {
                return Err(EventFault::Mark);
            }
            self.begun = true;
        }
        while let Some(line) = self.lines.next(self.limits.event_bytes)? {
            if line.is_empty() {
                self.lines.begin();
                let pending = std::mem::take(&mut self.pending);
                if let Some(event) = pending.whole() {
                    self.seen = self.seen.saturating_add(1);
                    if self.seen > self.limits.events {
                        return Err(EventFault::TooMany);
                    }
                    return Ok(Some(Item::Event(event)));
                }
            } else if line.first() == Some(&b':') {
                return Ok(Some(Item::Alive));
            } else {
                self.pending.field(line)?;
            }
        }
        Ok(None)
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// [`EventFault::Cut`] within an event, which readers would drop silently.
    pub(crate) fn end(&self) -> Result<(), EventFault> {
        let nothing = self.lines.waiting().is_empty() && self.pending.is_nothing();
        if nothing { Ok(()) } else { Err(EventFault::Cut) }
    }
}

impl Pending {
    fn is_nothing(&self) -> bool {
        self.data.is_none() && self.id.is_none() && self.retry.is_none() && self.name.is_none()
    }

    /// The finished event. `None` for two empty lines in a row, and for an event with only `event: message`, since readers
    /// skip both.
    fn whole(self) -> Option<Event> {
        let data = self.data.map(|data| match data {
            Data::One(data) => data,
            Data::More(data) => data.freeze(),
        });
        let event = Event { data, id: self.id, retry: self.retry, name: self.name };
        let says = |event: &Event| event.data.is_some() || event.id.is_some() || event.retry.is_some();
        (says(&event) || event.name == Some(Name::Error)).then_some(event)
    }

    fn field(&mut self, line: Bytes) -> Result<(), EventFault> {
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let name = line.slice(..colon);
        let mut value = line.slice(colon.saturating_add(1).min(line.len())..);
        if value.first() == Some(&b' ') {
            value.advance(1);
        }
        match &name[..] {
            b"data" => {
                self.data = Some(match self.data.take() {
                    None => Data::One(value),
                    Some(Data::One(first)) => {
                        let mut all = BytesMut::with_capacity(first.len().saturating_add(value.len()) * 2);
                        all.extend_from_slice(&first);
                        more(all, &value)
                    }
                    Some(Data::More(all)) => more(all, &value),
                });
                Ok(())
            }
            b"id" => {
                let id = std::str::from_utf8(&value).ok().filter(|id| identifier(id));
                let id = id.ok_or(EventFault::Id)?.to_owned();
                self.id.replace(id).map_or(Ok(()), |_| Err(EventFault::Field))
            }
            b"event" => {
                let name = match &value[..] {
                    b"message" => Name::Message,
                    b"error" => Name::Error,
                    _ => return Err(EventFault::Name),
                };
                self.name.replace(name).map_or(Ok(()), |_| Err(EventFault::Field))
            }
            b"retry" => {
                let digits = (1..=7).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
                let number = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
                let number = number.filter(|n| digits && *n <= MAX_RETRY).ok_or(EventFault::Retry)?;
                self.retry.replace(number).map_or(Ok(()), |_| Err(EventFault::Field))
            }
            _ => Err(EventFault::Field),
        }
    }
}

fn more(mut all: BytesMut, value: &[u8]) -> Data {
    all.extend_from_slice(b"\n");
    all.extend_from_slice(value);
    Data::More(all)
}

fn identifier(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Writes an event in the gateway's one form.
///
/// `data` is strictly parsed JSON from an [`Event`], so it has no CR. Some readers end a line at three characters beyond
/// ASCII, which occur only within strings. They are written as escapes, which gives the same JSON and hides no event.
pub(crate) fn write(event: &Event) -> Bytes {
    let data = event.data.as_deref();
    let size = data.map_or(0, <[u8]>::len).saturating_add(event.id.as_ref().map_or(0, String::len));
    let mut out = BytesMut::with_capacity(size.saturating_add(64));
    match event.name {
        Some(Name::Message) => out.extend_from_slice(b"event: message\n"),
        Some(Name::Error) => out.extend_from_slice(b"event: error\n"),
        None => {}
    }
    if let Some(id) = event.id.as_ref().filter(|id| identifier(id)) {
        for piece in [b"id: ", id.as_bytes(), b"\n"] {
            out.extend_from_slice(piece);
        }
    }
    if let Some(retry) = event.retry {
        out.extend_from_slice(format!("retry: {retry}\n").as_bytes());
    }
    for line in data.into_iter().flat_map(|data| data.split(|byte| *byte == b'\n')) {
        if memchr::memchr(b'\r', line).is_none() {
            out.extend_from_slice(b"data: ");
            one_line(line, &mut out);
            out.extend_from_slice(b"\n");
        }
    }
    out.extend_from_slice(b"\n");
    out.freeze()
}

/// U+0085, U+2028 and U+2029 in UTF-8, and their JSON escapes in ASCII.
const LINE_ENDS: [(&[u8], &[u8]); 3] =
    [(b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029")];

fn one_line(line: &[u8], out: &mut BytesMut) {
    let mut rest = line;
    while let Some(at) = memchr::memchr2(0xc2, 0xe2, rest) {
        let (before, from) = rest.split_at(at);
        out.extend_from_slice(before);
        let (size, written) = LINE_ENDS
            .iter()
            .find(|(end, _)| from.starts_with(end))
            .map_or((1, from.get(..1).unwrap_or_default()), |(end, escape)| (end.len(), *escape));
        out.extend_from_slice(written);
        rest = from.get(size..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// A keep-alive comment without text.
pub(crate) const ALIVE: Bytes = Bytes::from_static(b":\n\n");

#[cfg(test)]
mod tests;
