//! Framing of a stream's events, for reading from the agent and writing to the caller.

use bytes::Bytes;

use crate::config::Limits;
use crate::pipeline::admit::headers::Media;
use crate::pipeline::events::lines::{self, Lines};
use crate::pipeline::events::{self, EVENT_STREAM, Event, EventFault, EventLimits, Events, Item};

/// Framing of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// JSON values, one a line.
    Lines,
}

/// Reader of one stream, and writer of its permitted parts.
pub(crate) enum Reader {
    Events(Events),
    Lines(Lines),
}

impl Reader {
    pub(crate) fn new(framing: Framing, limits: &Limits) -> Self {
        let bounds =
            EventLimits { event_bytes: limits.event_bytes, events: crate::pipeline::events::MAX_EVENTS };
        match framing {
            Framing::Events => Self::Events(Events::new(bounds)),
            Framing::Lines => Self::Lines(Lines::new(bounds)),
        }
    }

    /// Content type of the stream.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Events(_) => EVENT_STREAM,
            Self::Lines(_) => Media::Json.as_str(),
        }
    }

    /// Adds a piece. Call [`Reader::next`] until it returns `None` first.
    pub(crate) fn add(&mut self, piece: Bytes) {
        match self {
            Self::Events(events) => events.add(piece),
            Self::Lines(lines) => lines.add(piece),
        }
    }

    /// Number of bytes of unfinished input.
    pub(crate) fn buffered(&self) -> usize {
        match self {
            Self::Events(events) => events.buffered(),
            Self::Lines(lines) => lines.buffered(),
        }
    }

    /// The next whole event or comment; `None` until more is added.
    ///
    /// # Errors
    /// [`EventFault`]; nothing more may be read then.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, EventFault> {
        match self {
            Self::Events(events) => events.next(),
            Self::Lines(lines) => Ok(lines.next()?.map(|line| Item::Event(event(line)))),
        }
    }

    /// Ends the stream. Returns its last event, if the end completes one.
    ///
    /// # Errors
    /// [`EventFault::Cut`] and other faults of the remaining bytes.
    pub(crate) fn end(&mut self) -> Result<Option<Event>, EventFault> {
        match self {
            Self::Events(events) => events.end().map(|()| None),
            Self::Lines(lines) => Ok(lines.end()?.map(event)),
        }
    }

    /// Formats an event for the caller.
    pub(crate) fn write(&self, event: &Event) -> Bytes {
        match self {
            Self::Events(_) => events::write(event),
            Self::Lines(_) => event.data.as_deref().map(lines::write).unwrap_or_default(),
        }
    }

    /// Keep-alive of the framing, if it has one.
    pub(crate) const fn alive(&self) -> Option<Bytes> {
        match self {
            Self::Events(_) => Some(events::ALIVE),
            Self::Lines(_) => None,
        }
    }
}

fn event(line: Bytes) -> Event {
    Event { data: Some(line), ..Event::default() }
}
