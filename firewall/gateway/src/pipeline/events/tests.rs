//! One spelling of a stream of events, however it is cut into pieces.

use super::*;
use proptest::prelude::*;

fn events(limit: usize) -> Events {
    Events::new(EventLimits { event_bytes: limit, events: 4 })
}

fn read(pieces: &[&[u8]]) -> Result<Vec<Item>, EventFault> {
    let mut events = events(64);
    let mut items = Vec::new();
    for piece in pieces {
        events.add(Bytes::copy_from_slice(piece));
        while let Some(item) = events.next()? {
            items.push(item);
        }
    }
    events.end().map(|()| items)
}

fn data(text: &str) -> Item {
    Item::Event(Event { data: Some(Bytes::copy_from_slice(text.as_bytes())), ..Event::default() })
}

#[test]
fn lines_of_data_are_joined_and_comments_say_only_that_someone_is_there() {
    let items = read(&[b"data: {\"a\":\ndata: 1}\n\n: ping - 2026\n\ndata:x\r\n\r\n"]);
    assert_eq!(items, Ok(vec![data("{\"a\":\n1}"), Item::Alive, data("x")]));
}

#[test]
fn ids_names_and_waits_are_read_within_their_form() {
    let items = read(&[b"event: message\nid: 7-a\nretry: 1500\ndata\n\n"]).unwrap();
    let event = Event {
        data: Some(Bytes::new()),
        id: Some("7-a".to_owned()),
        retry: Some(1500),
        name: Some(Name::Message),
    };
    assert_eq!(items, vec![Item::Event(event)]);
    for (bytes, fault) in [
        (&b"event: endpoint\ndata: x\n\n"[..], EventFault::Name),
        (b"id: a b\n\n", EventFault::Id),
        (b"id: \n\n", EventFault::Id),
        (b"id: a\nid: b\n\n", EventFault::Field),
        (b"event: message\nevent: message\n\n", EventFault::Field),
        (b"retry: 99999999\n\n", EventFault::Retry),
        (b"retry: -1\n\n", EventFault::Retry),
        (b"Data: x\n\n", EventFault::Field),
        (b"x\n\n", EventFault::Field),
    ] {
        assert_eq!(read(&[bytes]), Err(fault), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn sse_event_that_smuggles_a_second_message_is_no_event() {
    // readers that end lines at a lone CR would see two events here, others one
    assert_eq!(read(&[b"data: {\"a\":1}\rdata: {\"b\":2}\n\n"]), Err(EventFault::Line));
    assert_eq!(read(&[b"data: {}\r\r\ndata: {}\n\n"]), Err(EventFault::Line));
    assert_eq!(read(&[b"data: \0\n\n"]), Err(EventFault::Line));
    assert_eq!(read(&[b"\xef\xbb\xbfdata: {}\n\n"]), Err(EventFault::Mark));
}

#[test]
fn an_event_that_is_cut_too_large_or_one_too_many_ends_the_stream() {
    assert_eq!(read(&[b"data: {}\n"]), Err(EventFault::Cut));
    assert_eq!(read(&[b"data: {}"]), Err(EventFault::Cut));
    assert_eq!(read(&[&[b'a'; 65]]), Err(EventFault::TooLarge));
    let lines = b"data: 123456789\n".repeat(5);
    assert_eq!(read(&[&lines, b"\n"]), Err(EventFault::TooLarge));
    assert_eq!(read(&[&b"data: 1\n\n".repeat(5)]), Err(EventFault::TooMany));
}

#[test]
fn what_is_written_reads_back_alike() {
    let data = Some(Bytes::from_static(b"{\n}"));
    let event = Event { data, id: Some("7".into()), retry: Some(5), name: Some(Name::Error) };
    let written = write(&event);
    assert_eq!(&written[..], b"event: error\nid: 7\nretry: 5\ndata: {\ndata: }\n\n");
    assert_eq!(read(&[&written]), Ok(vec![Item::Event(event)]));
    assert_eq!(read(&[&ALIVE]), Ok(vec![Item::Alive]));
}

#[test]
fn sse_event_that_smuggles_a_second_message_behind_a_line_separator_of_unicode_is_written_as_escapes() {
    // readers that split lines as Python's `splitlines` does would see a second event here
    let text = "{\"t\":\"a\u{2028}data: {}\u{2029}\u{85}é€ä\"}";
    let data = Some(Bytes::copy_from_slice(text.as_bytes()));
    let written = write(&Event { data, ..Event::default() });
    let line = std::str::from_utf8(&written).unwrap().strip_prefix("data: ").unwrap().trim_end();
    assert_eq!(line, "{\"t\":\"a\\u2028data: {}\\u2029\\u0085é€ä\"}");
    let (one, other): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(line).unwrap(), serde_json::from_str(text).unwrap());
    assert_eq!(one, other);
}

proptest! {
    #[test]
    fn the_pieces_that_bytes_come_in_change_nothing(bytes in "(data: ?[a-z\n\r]{0,6}|id: 7|:x|\n|\r\n){0,8}", cut in 0_usize..40) {
        let bytes = bytes.as_bytes();
        let cut = cut.min(bytes.len());
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        let whole = read(&[bytes]);
        prop_assert_eq!(&read(&[&bytes[..cut], &bytes[cut..]]), &whole);
        prop_assert_eq!(&read(&one_by_one), &whole);
    }

    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&[&bytes]);
    }
}
