//! A reader of server-sent events (HTML, "Server-sent events"), bounded in memory.

/// Bytes of one event: a record has at most 34 KiB.
const MAX_EVENT: usize = 256 * 1024;

/// One event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its type; empty for a plain message.
    pub(super) kind: String,
    pub(super) data: String,
}

/// An event that is too long, or not UTF-8.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadEvent;

/// The bytes of a stream so far.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    event: Event,
    size: usize,
}

impl Events {
    /// Takes bytes and returns the events that they complete. Comments and unknown fields are left out.
    ///
    /// # Errors
    /// [`BadEvent`]; the stream cannot be read on.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Event>, BadEvent> {
        let mut complete = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.size = self.size.saturating_add(1);
                if self.size > MAX_EVENT {
                    return Err(BadEvent);
                }
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8(line).map_err(|_| BadEvent)?;
            match line.strip_suffix('\r').unwrap_or(&line) {
                "" => {
                    self.size = 0;
                    let event = std::mem::take(&mut self.event);
                    if !event.data.is_empty() {
                        complete.push(event);
                    }
                }
                line => self.field(line),
            }
        }
        Ok(complete)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
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

    fn event(kind: &str, data: &str) -> Event {
        Event { kind: kind.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_however_their_bytes_arrive() {
        let text = ": hello\n\nid: 1\ndata: {\"n\":1}\n\nevent: gap\r\ndata:{}\r\n\r\n:\n\ndata: a\ndata: b\nretry: 3\n\n";
        let wanted = [event("", "{\"n\":1}"), event("gap", "{}"), event("", "a\nb")];
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
        let taken = (0..1_000).find_map(|_| events.take(&piece).err());
        assert_eq!(taken, Some(BadEvent));
        assert_eq!(Events::default().take(b"data: \xff\n"), Err(BadEvent));
        // also of many short lines
        let mut events = Events::default();
        let taken = (0..1_000_000).find_map(|_| events.take(b"data: x\n").err());
        assert_eq!(taken, Some(BadEvent));
    }
}
