//! Types and payloads as messages of the one model.

use super::*;
use crate::{Binding, Call, Message, Reply, ReplyTo, Vocabulary};
use MessageType::*;
use semgate_contexts::{Context, DocumentLimits, Performative, Performative::*, Prefix, json::Json, library};
use serde_json::{Value, json};

const CLAIMED: &str = r#"{"l9":{"context":"urn:contexts:payment:v1.1"},"concept":"Payment","amount":1}"#;

fn judged(fields: &Fields<'_>) -> Result<Value, MessageFault> {
    let bytes = frame(fields).judged(&json::Limits::default())?;
    Ok(serde_json::from_slice(&bytes).unwrap())
}

fn why(fields: &Fields<'_>) -> String {
    judged(fields).unwrap_err().to_string()
}

/// Reads a request from its fields.
fn asks<T>(fields: &Fields<'_>, raw: bool, see: impl FnOnce(Result<Message<'_>, MessageFault>) -> T) -> T {
    let bytes = frame(fields).judged(&json::Limits::default()).unwrap();
    let json = json::read(&bytes, &json::Limits::default()).unwrap();
    see(Binding::Iac.protocol().request(&json, &Call::iac(), None, &reading(raw)))
}

/// Reads an answer from its fields.
fn says<T>(fields: &Fields<'_>, see: impl FnOnce(Result<Message<'_>, MessageFault>) -> T) -> T {
    let bytes = frame(fields).judged(&json::Limits::default()).unwrap();
    let json = json::read(&bytes, &json::Limits::default()).unwrap();
    let to = ReplyTo { a2a: None, mcp: None, in_stream: true, echo: None };
    see(Binding::Iac.protocol().reply(&json, &to, &reading(true)).map(|reply| match reply {
        Reply::Message(message) => *message,
        other => panic!("{other:?}"),
    }))
}

/// The instances as `vocabulary::name`.
fn names(message: &Message<'_>) -> Vec<String> {
    let name = |one: &crate::Instance<'_>| match one.of {
        Vocabulary::Protocol => format!("iac::{}", one.name),
        Vocabulary::Context | Vocabulary::Format(_) => one.name.to_owned(),
    };
    message.instances.iter().map(name).collect()
}

#[test]
fn the_claim_leaves_the_content_and_numbers_keep_every_digit() {
    let fields = Fields { payload: CLAIMED, msg_id: u64::MAX, ..TASK };
    assert_eq!(
        judged(&fields).unwrap(),
        json!({
            "from": "a", "to": "b", "msg_type": "delegate_task", "timestamp": "1795841466",
            "msg_id": "18446744073709551615", "session_id": "0",
            "l9": {"context": "urn:contexts:payment:v1.1"},
            "content": {"concept": "Payment", "amount": 1},
        })
    );
    asks(&fields, false, |message| {
        let message = message.unwrap();
        assert_eq!((message.sender_id, message.receiver_id), (Some("a"), Some("b")));
        assert_eq!((message.performative, message.message_id), (Request, "18446744073709551615"));
        assert_eq!(message.method(), Some("delegate_task"));
        let once = message.once.as_ref().unwrap();
        assert_eq!((once.at, once.ids.as_slice()), (Some(1_795_841_466), &["0", "18446744073709551615"][..]));
        assert_eq!(message.claims[0].urn, "urn:contexts:payment:v1.1");
        assert_eq!(names(&message), ["Payment"]);
        assert!(message.gap.is_none() && message.uninspectable.is_none());
    });
    asks(&Fields { timestamp: 1_795_841_466_123_456, ..fields }, false, |message| {
        assert_eq!(message.unwrap().once.unwrap().at, Some(1_795_841_466));
    });
}

#[test]
fn every_type_has_its_performative_and_its_concept() {
    let chunk = r#"{"filename":"a.txt","index":0,"total":1,
        "checksum":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}"#;
    let key = [7; 32];
    for (kind, payload, extra, performative, expected) in [
        (Ping, "", &b""[..], Query, vec!["iac::ping"]),
        (Broadcast, "", b"", Inform, vec!["iac::broadcast"]),
        (FileTransfer, chunk, b"x", Inform, vec!["iac::file_chunk"]),
        (Command, r#"{"concept":"c"}"#, b"", Request, vec!["c"]),
        (DelegateTask, r#"{"x":{"concept":"c"},"y":{"task":"d"}}"#, b"", Request, vec!["c", "d"]),
        (RegisterKey, "", &key, Propose, vec!["iac::register_key"]),
        (Create, "", b"", Request, vec!["iac::create"]),
        (Terminate, r#"{"concept":"c"}"#, b"", Request, vec!["iac::terminate", "c"]),
        (Run, "", b"x", Request, vec!["iac::run", "iac::binary"]),
    ] {
        asks(&Fields { kind, payload, extra, ..TASK }, true, |message| {
            let message = message.unwrap();
            assert_eq!(
                (message.performative, names(&message)),
                (performative, expected.iter().map(ToString::to_string).collect()),
                "{kind:?}"
            );
            assert!(message.gap.is_none() && message.uninspectable.is_none(), "{kind:?}");
        });
    }
    // a caller answers nobody
    asks(&Fields { kind: MessageType::Reply, ..TASK }, false, |message| {
        assert_eq!(message.unwrap_err().path, "/msg_type");
    });
}

#[test]
fn an_agent_answers_and_asks_for_nothing() {
    let payload = r#"{"concept":"c"}"#;
    for (kind, payload, expected) in [
        (MessageType::Reply, payload, Some(Inform)),
        (MessageType::Reply, r#"{"l9":{"performative":"REFUSE"},"concept":"c"}"#, Some(Refuse)),
        (Ping, "", Some(Inform)),
        (Broadcast, payload, Some(Inform)),
        (Broadcast, r#"{"l9":{"performative":"PUBLISH"},"concept":"c"}"#, Some(Publish)),
        (Command, payload, None),
        (Terminate, payload, None),
    ] {
        says(&Fields { kind, payload, ..TASK }, |message| {
            assert_eq!(message.ok().map(|message| message.performative), expected, "{kind:?} {payload}");
        });
    }
    says(&Fields { kind: MessageType::Reply, payload: "", ..TASK }, |message| {
        let message = message.unwrap();
        assert!(message.acknowledges && message.gap.is_none());
    });
    // a word without content is no acknowledgement
    let bare = r#"{"l9":{"performative":"AGREE"}}"#;
    says(&Fields { kind: MessageType::Reply, payload: bare, ..TASK }, |message| {
        let message = message.unwrap();
        assert!(!message.acknowledges && message.gap.is_some());
    });
}

#[test]
fn a_type_decides_which_performatives_a_claim_may_choose() {
    let payload = |word: Performative| format!(r#"{{"l9":{{"performative":"{word}"}},"concept":"c"}}"#);
    for (kind, word, passes) in [
        (Command, Query, true),
        (Command, Subscribe, true),
        (Ping, Request, false),
        (Terminate, Inform, false),
        (FileTransfer, Request, false),
        (RegisterKey, Inform, false),
    ] {
        let text = payload(word);
        let fields = Fields { kind, payload: &text, extra: &[7; 32], ..TASK };
        let read = judged(&fields).and_then(|_| asks(&fields, true, |message| message.map(drop)));
        assert_eq!(read.is_ok(), passes, "{kind:?} {word}");
    }
}

#[test]
fn a_broadcast_may_leave_out_its_receiver() {
    asks(&Fields { kind: Broadcast, to: "", ..TASK }, false, |message| {
        assert_eq!(message.unwrap().receiver_id, None);
    });
    asks(&Fields { kind: Ping, to: "", payload: "", ..TASK }, false, |message| {
        assert_eq!(message.unwrap().receiver_id, Some(""));
    });
}

#[test]
fn opaque_bytes_need_the_permission_of_the_route() {
    let fields = Fields { payload: r#"{"concept":"c"}"#, extra: b"opaque", ..TASK };
    let binary = judged(&fields).unwrap()["binary"].take();
    assert_eq!(binary["size"], 6);
    assert!(binary["digest"].as_str().unwrap().starts_with("sha-256:"));
    asks(&fields, false, |message| {
        assert_eq!(message.unwrap().uninspectable.unwrap().to_string(), "/extra_data");
    });
    asks(&fields, true, |message| assert_eq!(names(&message.unwrap()), ["iac::binary", "c"]));
}

#[test]
fn a_chunk_of_a_file_is_what_its_payload_says() {
    let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let chunk = |members: &str| format!(r#"{{"filename":"a.txt",{members}}}"#);
    let why_of =
        |members: &str| why(&Fields { kind: FileTransfer, payload: &chunk(members), extra: b"x", ..TASK });
    let good = chunk(&format!(r#""index":2,"total":3,"checksum":"{sum}""#));
    let fields = Fields { kind: FileTransfer, payload: &good, extra: b"x", ..TASK };
    assert_eq!(
        judged(&fields).unwrap()["file_chunk"],
        json!({"filename": "a.txt", "index": 2, "total": 3, "checksum": sum, "size": 1})
    );
    asks(&fields, false, |message| assert!(message.unwrap().uninspectable.is_some()));
    assert!(why(&Fields { extra: b"y", ..fields }).contains("checksum"));
    for (members, location) in [
        (format!(r#""index":3,"total":3,"checksum":"{sum}""#), "/index"),
        (format!(r#""index":0.5,"total":3,"checksum":"{sum}""#), "/index"),
        (format!(r#""total":3,"checksum":"{sum}""#), "/index"),
        (r#""index":0,"total":1"#.to_owned(), "/checksum"),
        (format!(r#""index":0,"total":1,"checksum":"{}""#, sum.to_uppercase()), "/checksum"),
        (format!(r#""index":0,"total":1,"size":9,"checksum":"{sum}""#), "/size"),
    ] {
        assert!(why_of(&members).contains(location), "{members}: {}", why_of(&members));
    }
    assert!(why(&Fields { kind: FileTransfer, payload: "", extra: b"x", ..TASK }).contains("names no file"));
}

#[test]
fn the_shipped_context_refuses_names_that_leave_a_folder() {
    let document = library::all().iter().find(|(name, _)| *name == "iac-v1.0").unwrap().1;
    let context = Context::check(document, &Prefix::default(), &DocumentLimits::default()).unwrap();
    let shape = context.term("file_chunk").unwrap().shapes().next().unwrap();
    let chunk = |name: &str| {
        json!({"filename": name, "index": 0, "total": 1, "size": 1, "checksum": "0".repeat(64)}).to_string()
    };
    let fits = |text: &str| {
        let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
        shape.conform(json.as_object().unwrap(), None).is_ok()
    };
    assert!(fits(&chunk("report-2026.pdf")) && fits(&chunk("a")));
    for name in ["../a", "a/b", r"a\b", ".bashrc", "", "a b", "a\0b", "-rf", "ü", &"a".repeat(129)] {
        assert!(!fits(&chunk(name)), "{name:?}");
    }
}

#[test]
fn a_key_is_32_bytes_long() {
    let fields = Fields { kind: RegisterKey, payload: "", extra: &[171; 32], ..TASK };
    assert_eq!(judged(&fields).unwrap()["register_key"], json!({"key": "ab".repeat(32)}));
    for extra in [&[][..], &[171; 31], &[171; 33]] {
        assert!(why(&Fields { extra, ..fields }).contains("32 bytes"));
    }
}

#[test]
fn a_payload_is_one_strict_object() {
    let deep = format!("{{\"a\":{}}}", "[".repeat(40) + &"]".repeat(40));
    for (payload, kind) in [
        ("hello", FaultKind::Malformed),
        ("[]", FaultKind::Malformed),
        ("{} ,", FaultKind::Malformed),
        (r#"{"a":1,"a":2}"#, FaultKind::DuplicateKey),
        (r#"{"l9":{},"l9":{}}"#, FaultKind::DuplicateKey),
        (&deep, FaultKind::TooDeep),
    ] {
        let fault = judged(&Fields { payload, ..TASK }).unwrap_err();
        assert_eq!((fault.kind, fault.path.as_str()), (kind, "/payload_json"), "{payload}");
    }
    // a payload cannot break out of the judged object
    let text = r#"{"concept":"c","x":"\"},\"from\":\"eve\",\"y\":{\""}"#;
    assert_eq!(judged(&Fields { payload: text, ..TASK }).unwrap()["from"], "a");
}

#[test]
fn a_claim_in_another_case_or_form_is_refused() {
    for payload in [
        r#"{"L9":{"context":"urn:contexts:payment:v1.1"},"concept":"c"}"#,
        r#"{"l9":"urn:contexts:payment:v1.1","concept":"c"}"#,
        r#"{"l9":{"context":"urn:contexts:payment:v1.1","more":1},"concept":"c"}"#,
        r#"{"l9":{"lock":"x"},"concept":"c"}"#,
    ] {
        let fields = Fields { payload, ..TASK };
        let read = judged(&fields).and_then(|_| asks(&fields, false, |message| message.map(drop)));
        assert!(read.is_err(), "{payload}");
    }
}

#[test]
fn a_message_without_content_says_nothing_that_passes() {
    for payload in ["", "{}", r#"{"l9":{}}"#] {
        asks(&Fields { kind: Command, payload, ..TASK }, false, |message| {
            assert!(message.unwrap().gap.is_some(), "{payload}");
        });
    }
}

#[test]
fn only_a_bare_ping_needs_no_lock() {
    let waives = |kind, payload| {
        asks(&Fields { kind, payload, ..TASK }, true, |message| {
            Binding::Iac.protocol().waives_lock(&message.unwrap())
        })
    };
    assert!(waives(Ping, ""));
    assert!(!waives(Ping, CLAIMED));
    assert!(!waives(Ping, r#"{"concept":"c"}"#));
    assert!(!waives(Run, ""));
    assert!(!waives(Command, ""));
}

#[test]
fn the_judged_json_is_closed() {
    let whole = judged(&Fields { payload: CLAIMED, ..TASK }).unwrap();
    let refuses = |value: &Value| {
        let text = value.to_string();
        let json: Json<'_> = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
        Binding::Iac.protocol().request(&json, &Call::iac(), None, &reading(true)).is_err()
    };
    assert!(!refuses(&whole));
    for name in ["from", "to", "msg_type", "timestamp", "msg_id", "session_id"] {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(name);
        assert!(refuses(&less), "{name}");
    }
    for (name, value) in [("more", json!({})), ("terminate", json!({})), ("signature", json!("x"))] {
        let mut more = whole.clone();
        more[name] = value;
        assert!(refuses(&more), "{name}");
    }
}
