//! One reading of lines, however they are cut into pieces.

use super::*;
use proptest::prelude::*;

fn read(pieces: &[&[u8]]) -> Result<Vec<Bytes>, EventFault> {
    let mut lines = Lines::new(EventLimits { event_bytes: 32, events: 4 });
    let mut all = Vec::new();
    for piece in pieces {
        lines.add(Bytes::copy_from_slice(piece));
        while let Some(line) = lines.next()? {
            all.push(line);
        }
    }
    all.extend(lines.end()?);
    Ok(all)
}

fn texts(lines: &[&str]) -> Result<Vec<Bytes>, EventFault> {
    Ok(lines.iter().map(|line| Bytes::copy_from_slice(line.as_bytes())).collect())
}

/// What is seen in the first line of what comes in these pieces.
fn first(pieces: &[&[u8]]) -> Option<bool> {
    let mut begun = Begun::default();
    for piece in pieces {
        begun.add(Bytes::copy_from_slice(piece));
        if let Some(line) = begun.first_line() {
            return Some(tells(line, &Limits::default()));
        }
    }
    None
}

#[test]
fn values_stand_one_a_line_and_the_last_may_be_without_an_end() {
    assert_eq!(
        read(&[b"{\"a\":1}\n\r\n\n{\"b\":", b"2}\r", b"\n{\"c\":3}"]),
        texts(&["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"])
    );
    assert_eq!(read(&[b""]), texts(&[]));
    assert_eq!(read(&[b"{}\n"]), texts(&["{}"]));
}

#[test]
fn attack_a_value_hides_in_a_line_that_some_readers_end_earlier() {
    for hidden in [&b"{\"a\":\r{\"b\":1}\r}\n"[..], b"{\"a\":\r{\"b\":1}\r}", b"{}\r\r\n", b"{}\0\n", b"{}\0"]
    {
        assert_eq!(read(&[hidden]), Err(EventFault::Line), "{}", String::from_utf8_lossy(hidden));
    }
    let said = "{\"a\":\"x\u{2028}{}\u{2029}\u{85}\"}";
    assert_eq!(write(said.as_bytes()), "{\"a\":\"x\\u2028{}\\u2029\\u0085\"}\n");
    assert_eq!(write(b"{\"a\":\n1}"), "{\"a\":1}\n", "and what is handed on is one line");
}

#[test]
fn lines_are_bounded_in_size_and_number() {
    let long = [b'x'; 33];
    assert_eq!(read(&[&long]), Err(EventFault::TooLarge), "before its end comes");
    assert_eq!(read(&[&long, b"\n"]), Err(EventFault::TooLarge));
    assert!(read(&[&long[1..], b"\n", &long[1..], b"\n"]).is_ok(), "each by itself");
    assert_eq!(read(&[b"1\n2\n3\n4\n5\n"]), Err(EventFault::TooMany));
    assert_eq!(read(&[b"1\n2\n3\n4\n5"]), Err(EventFault::TooMany));
}

#[test]
fn only_a_whole_message_with_a_method_in_the_first_line_makes_several() {
    assert_eq!(first(&[b"\r\n\n{\"method\":", b"\"a\"}\r\n"]), Some(true));
    for one in [
        &b"{\"id\":1,\"result\":{}}\n{\"method\":\"a\"}\n"[..],
        b"{\n  \"method\": \"a\"\n}\n",
        b"{\"method\":\"a\"} {\"method\":\"b\"}\n",
        b"{\"method\":\"a\",\"method\":\"b\"}\n",
        b"[{\"method\":\"a\"}]\n",
        b"\xef\xbb\xbf{\"method\":\"a\"}\n",
        b" \n{\"method\":\"a\"}\n",
    ] {
        assert_eq!(first(&[one]), Some(false), "{}", String::from_utf8_lossy(one));
    }
    assert_eq!(first(&[b"{\"method\":\"a\"}"]), None, "its end decides");
}

proptest! {
    #[test]
    fn pieces_do_not_matter(text in "[a\\r\\n]{0,24}", cuts in proptest::collection::vec(0_usize..24, 0..6)) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let whole = read(&[bytes]);
        prop_assert_eq!(read(&pieces), whole);
    }
}
