//! Tests of `line`.

use super::*;

/// Code and id of the answer to a line that is no message.
fn refusal(line: &[u8]) -> (i64, Value) {
    let RequestLine::Refused(answer) = RequestLine::read(line) else {
        panic!("taken: {}", String::from_utf8_lossy(line))
    };
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["jsonrpc"], "2.0");
    (answer["error"]["code"].as_i64().unwrap(), answer["id"].clone())
}

fn call(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

#[test]
fn attack_a_line_that_no_lenient_reader_takes_leaves_its_client_waiting() {
    let list = |n: u32, value: &str| {
        call(n, "list_codes", &format!(r#"{{"context":"travel:v2.1","offset":{value}}}"#))
    };
    let deep = "[".repeat(200) + &"]".repeat(200);
    for (n, value, code) in [
        (1, "1e400", PARSE_ERROR),
        (2, &*"9".repeat(400), PARSE_ERROR),
        (3, "NaN", PARSE_ERROR),
        (4, &*deep, INVALID_REQUEST),
        (5, r#""\ud800""#, PARSE_ERROR),
        (6, r#"{"a":1,"a":2}"#, INVALID_REQUEST),
    ] {
        assert_eq!(refusal(list(n, value).as_bytes()), (i64::from(code), n.into()), "{value}");
    }
    let broken: [(&[u8], i32, Value); 8] = [
        (b"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"ping\",\"x\":\"\xff\xfe\"}", PARSE_ERROR, 10.into()),
        (b"{\"jsonrpc\":", PARSE_ERROR, Value::Null),
        (b"{\"id\":\"a\",\"jsonrpc\":", PARSE_ERROR, "a".into()),
        (b"{\"id\":1,\"id\":2}", INVALID_REQUEST, Value::Null),
        (b"[]", INVALID_REQUEST, Value::Null),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}]", INVALID_REQUEST, Value::Null),
        (b"{\"id\":7}", INVALID_REQUEST, 7.into()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", INVALID_REQUEST, Value::Null),
    ];
    for (line, code, id) in broken {
        assert_eq!(refusal(line), (i64::from(code), id), "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn arguments_that_are_no_object_are_wrong_parameters() {
    for arguments in [r#""x""#, "5", "[]", "true"] {
        let line = call(8, "list_codes", arguments);
        assert_eq!(refusal(line.as_bytes()), (i64::from(INVALID_PARAMS), 8.into()), "{arguments}");
    }
    let line = r#"{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{}}"#;
    assert_eq!(refusal(line.as_bytes()), (i64::from(INVALID_PARAMS), 9.into()));
}

#[test]
fn requests_are_taken_and_notifications_are_not_answered() {
    let unknown = r#"{"jsonrpc":"2.0","id":7,"method":"foo/bar"}"#;
    for line in
        [&call(1, "list_codes", "{}"), unknown, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]
    {
        assert!(matches!(RequestLine::read(line.as_bytes()), RequestLine::Message(_)), "{line}");
    }
    for line in ["", " \r", r#"{"jsonrpc":"2.0","method":"notifications/progress","params":5}"#] {
        assert!(!matches!(RequestLine::read(line.as_bytes()), RequestLine::Refused(_)), "{line}");
    }
}

#[test]
fn attack_content_that_a_lenient_reader_changes_reaches_the_check_as_it_was_sent() {
    for content in [
        r#"{"a":1, "a":2}"#,
        r#"{"n":1e-400}"#,
        r#"{"n":0.10000000000000000555}"#,
        r#"{"n":1e400}"#,
        r#"{"x":"\ud800"}"#,
        "[1]",
    ] {
        let line = call(3, "check_message", &format!(r#"{{"context":"c:v1.0","content" : {content} }}"#));
        let RequestLine::Message(message) = RequestLine::read(line.as_bytes()) else { panic!("{content}") };
        let JsonRpcMessage::Request(request) = *message else { panic!("{content}") };
        let ClientRequest::CallToolRequest(called) = request.request else { panic!("{content}") };
        assert_eq!(called.params.arguments.unwrap()["content"], content);
    }
}

/// Numbers from a seed: xorshift.
fn next(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    usize::try_from(*seed >> 33).unwrap()
}

#[test]
fn fuzz_changed_lines_are_read_or_refused_with_one_answer() {
    let rounds =
        std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4_000);
    let lines = [
        call(1, "check_message", r#"{"context":"c:v1.0","content":{"a":[1,"x\\u0041"]}}"#),
        call(2, "list_codes", r#"{"context":"c:v1.0","offset":500}"#),
        r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#.to_owned(),
    ];
    let bytes = b"{}[]\",:0e9-\\u\xff\x00 n";
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for round in 0..rounds {
        let mut line = lines[round % lines.len()].clone().into_bytes();
        for _ in 0..=next(&mut seed) % 4 {
            let at = next(&mut seed) % line.len();
            match next(&mut seed) % 3 {
                0 => line[at] = bytes[next(&mut seed) % bytes.len()],
                1 => line.insert(at, bytes[next(&mut seed) % bytes.len()]),
                _ => line.truncate(at.max(1)),
            }
        }
        if let RequestLine::Refused(answer) = RequestLine::read(&line) {
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert!(answer["error"]["code"].is_i64());
            assert!(!answer["id"].is_array() && !answer["id"].is_object());
        }
    }
}
