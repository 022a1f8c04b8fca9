//! A reader of server-sent events (HTML, "Server-sent events"), bounded in memory.

/// Bytes of one event: a record has at most 34 KiB. Those beyond it are not kept.
const MAX_EVENT: usize = 256 * 1024;
/// Bytes after which an event has no end: the stream is given up.
const ENDLESS: usize = 64 * MAX_EVENT;

/// One event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its type; empty for a plain message.
    pub(super) kind: String,
    pub(super) data: String,
    /// Its number in the count of the gateway.
    pub(super) id: Option<u64>,
    /// True if it is too long, or not UTF-8.
    pub(super) is_bad: bool,
}

/// An event without end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadEvent;

/// The bytes of a stream so far.
#[derive(Debug)]
pub(super) struct Events {
    line: Vec<u8>,
    /// True if the line has no byte yet, but for a return.
    is_empty: bool,
    event: Event,
    size: usize,
}

impl Default for Events {
    fn default() -> Self {
        Self { line: Vec::new(), is_empty: true, event: Event::default(), size: 0 }
    }
}

impl Events {
    /// Takes bytes and returns the events that they complete. Comments and unknown fields are left out.
    ///
    /// # Errors
    /// [`BadEvent`]; the stream has no further event.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Event>, BadEvent> {
        let mut complete = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.size = self.size.saturating_add(1);
                match self.size {
                    size if size <= MAX_EVENT => self.line.push(*byte),
                    size if size <= ENDLESS => self.event.is_bad = true,
                    _ => return Err(BadEvent),
                }
                self.is_empty &= *byte == b'\r';
                continue;
            }
            let line = std::mem::take(&mut self.line);
            // a skipped line does not end an event
            if !std::mem::replace(&mut self.is_empty, true) {
                match String::from_utf8(line) {
                    Ok(line) => self.field(line.strip_suffix('\r').unwrap_or(&line)),
                    Err(_) => self.event.is_bad = true,
                }
                continue;
            }
            self.size = 0;
            let event = std::mem::take(&mut self.event);
            if !event.data.is_empty() || event.is_bad {
                complete.push(event);
            }
        }
        Ok(complete)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.event.id = value.parse().ok(),
            "event" => value.clone_into(&mut self.event.kind),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str, id: Option<u64>) -> Event {
        Event { kind: kind.to_owned(), data: data.to_owned(), id, is_bad: false }
    }

    #[test]
    fn events_are_the_same_however_their_bytes_arrive() {
        let text = ": hello\n\nid: 1\ndata: {\"n\":1}\n\nevent: gap\r\ndata:{}\r\n\r\n:\n\ndata: a\ndata: b\nretry: 3\n\n";
        let wanted = [event("", "{\"n\":1}", Some(1)), event("gap", "{}", None), event("", "a\nb", None)];
        assert_eq!(Events::default().take(text.as_bytes()).unwrap(), wanted);
        let mut events = Events::default();
        let single: Vec<Event> =
            text.as_bytes().iter().flat_map(|byte| events.take(&[*byte]).unwrap()).collect();
        assert_eq!(single, wanted);
    }

    #[test]
    fn attack_a_gateway_sends_an_event_without_end() {
        let mut events = Events::default();
        let piece = [b'x'; 1_024];
        let taken = (0..100_000).find_map(|_| events.take(&piece).err());
        assert_eq!(taken, Some(BadEvent));
        assert!(events.line.len() <= MAX_EVENT);
        // also of many short lines
        let mut events = Events::default();
        let taken = (0..10_000_000).find_map(|_| events.take(b"data: x\n").err());
        assert_eq!(taken, Some(BadEvent));
        assert!(events.event.data.len() <= MAX_EVENT);
    }

    #[test]
    fn an_event_that_cannot_be_read_costs_no_other() {
        let mut text = b"id: 7\ndata: \xff\n\nid: 8\ndata: ".to_vec();
        text.resize(text.len() + MAX_EVENT, b'x');
        text.extend(b"\r\ndata: more\r\n\r\nid: 9\ndata: good\n\n");
        let read = Events::default().take(&text).unwrap();
        let shown: Vec<_> = read.iter().map(|event| (event.id, event.is_bad)).collect();
        assert_eq!(shown, [(Some(7), true), (Some(8), true), (Some(9), false)]);
        assert_eq!(read.last().unwrap().data, "good");
    }
}
