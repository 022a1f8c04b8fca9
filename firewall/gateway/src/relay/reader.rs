//! How the events of a stream stand in its bytes, read from the agent and written to the caller alike.

use bytes::Bytes;

use crate::admit::headers::Media;
use crate::config::Limits;
use crate::events::lines::{self, Lines};
use crate::events::{self, EVENT_STREAM, Event, EventFault, EventLimits, Events, Item};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// JSON values, one a line.
    Lines,
}

/// Reads one stream, and writes what passes of it.
pub(crate) enum Reader {
    Events(Events),
    Lines(Lines),
}

impl Reader {
    pub(crate) fn new(framing: Framing, limits: &Limits) -> Self {
        let bounds = EventLimits { event_bytes: limits.event_bytes, events: limits.events };
        match framing {
            Framing::Events => Self::Events(Events::new(bounds)),
            Framing::Lines => Self::Lines(Lines::new(bounds)),
        }
    }

    /// The content type of the stream.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Events(_) => EVENT_STREAM,
            Self::Lines(_) => Media::Json.as_str(),
        }
    }

    /// Adds what came. Take every [`Reader::next`] before adding more.
    pub(crate) fn add(&mut self, piece: Bytes) {
        match self {
            Self::Events(events) => events.add(piece),
            Self::Lines(lines) => lines.add(piece),
        }
    }

    /// Bytes of what is not whole.
    pub(crate) fn buffered(&self) -> usize {
        match self {
            Self::Events(events) => events.buffered(),
            Self::Lines(lines) => lines.buffered(),
        }
    }

    /// The next whole event or comment; `None` until more is added.
    ///
    /// # Errors
    /// [`EventFault`]: nothing more may be read.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, EventFault> {
        match self {
            Self::Events(events) => events.next(),
            Self::Lines(lines) => Ok(lines.next()?.map(|line| Item::Event(said(line)))),
        }
    }

    /// The end of the stream, with the event that it ends.
    ///
    /// # Errors
    /// [`EventFault::Cut`] and the other faults of what is left.
    pub(crate) fn end(&mut self) -> Result<Option<Event>, EventFault> {
        match self {
            Self::Events(events) => events.end().map(|()| None),
            Self::Lines(lines) => Ok(lines.end()?.map(said)),
        }
    }

    /// An event as the caller gets it.
    pub(crate) fn write(&self, event: &Event) -> Bytes {
        match self {
            Self::Events(_) => events::write(event),
            Self::Lines(_) => event.data.as_deref().map(lines::write).unwrap_or_default(),
        }
    }

    /// What says that somebody is there, where the framing has it.
    pub(crate) const fn alive(&self) -> Option<Bytes> {
        match self {
            Self::Events(_) => Some(events::ALIVE),
            Self::Lines(_) => None,
        }
    }
}

fn said(line: Bytes) -> Event {
    Event { data: Some(line), ..Event::default() }
}
