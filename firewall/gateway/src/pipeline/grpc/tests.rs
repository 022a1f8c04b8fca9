use super::frame::{FrameFault, Frames, framed};
use super::head::{self, head, is_call};
use super::status::{DETAILS, MESSAGE, STATUS, Status, refused, well};
use crate::pipeline::decision::Decisions;
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use bytes::Bytes;
use http::request::{Builder, Parts};
use http::{Request, Version};
use semgate_inspect::{Code, Delivered, Refusal};
use semgate_protocol::a2a::{Operation, ProtocolError, grpc};
use std::time::Duration;

fn only(body: &[u8], limit: usize) -> Result<Bytes, FrameFault> {
    super::frame::only(&Bytes::copy_from_slice(body), limit)
}

fn call() -> Builder {
    Request::post("/lf.a2a.v1.A2AService/GetTask")
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
}

fn parts(call: Builder) -> Parts {
    call.body(()).unwrap().into_parts().0
}

fn code(call: Builder) -> Code {
    head(&parts(call)).unwrap_err().code()
}

#[test]
fn a_body_of_one_message_is_that_message() {
    assert_eq!(only(&framed(b"abc"), 3).unwrap(), "abc");
    assert_eq!(only(&framed(b""), 0).unwrap(), "");
}

#[test]
fn a_second_message_in_one_call_is_refused() {
    for second in [&framed(b"")[..], &framed(b"more"), b"\0", b"x"] {
        assert_eq!(only(&[&framed(b"abc")[..], second].concat(), 99), Err(FrameFault::Second));
    }
}

#[test]
fn a_message_over_the_limit_is_refused_by_its_prefix_alone() {
    assert_eq!(only(&framed(b"abcd"), 3), Err(FrameFault::TooLarge));
    assert_eq!(only(&[0, 0xff, 0xff, 0xff, 0xff], 1 << 20), Err(FrameFault::TooLarge));
    let mut frames = Frames::new(3);
    frames.push(&[0, 0, 0, 0, 4]);
    assert_eq!(frames.next(), Err(FrameFault::TooLarge));
}

#[test]
fn a_compressed_message_is_refused() {
    assert_eq!(only(&[1, 0, 0, 0, 0], 9), Err(FrameFault::Compressed));
    assert_eq!(only(&[1], 9), Err(FrameFault::Compressed));
    assert_eq!(only(&[2, 0, 0, 0, 0], 9), Err(FrameFault::Flag));
    assert_eq!(FrameFault::Compressed.refusal().code(), Code::EncodingUnsupported);
    assert_eq!(FrameFault::TooLarge.refusal().code(), Code::TooLarge);
}

#[test]
fn a_body_that_is_no_message_is_refused() {
    assert_eq!(only(b"", 9), Err(FrameFault::Missing));
    for cut in 1..8 {
        assert_eq!(only(&framed(b"abc")[..cut], 9), Err(FrameFault::Cut), "{cut}");
    }
}

#[test]
fn messages_come_out_however_the_stream_is_cut() {
    let stream = [&framed(b"one")[..], &framed(b""), &framed(b"three")].concat();
    for size in 1..stream.len() {
        let mut frames = Frames::new(5);
        let mut seen = Vec::new();
        for piece in stream.chunks(size) {
            frames.push(piece);
            while let Some(message) = frames.next().unwrap() {
                seen.push(message);
            }
        }
        frames.end().unwrap();
        assert_eq!(seen, ["one", "", "three"]);
    }
    let mut frames = Frames::new(5);
    frames.push(&stream[..stream.len() - 1]);
    while frames.next().unwrap().is_some() {}
    assert_eq!(frames.end(), Err(FrameFault::Cut));
}

#[test]
fn a_call_says_what_it_asks_for() {
    let read = head(&parts(call().header("grpc-timeout", "250m"))).unwrap();
    assert_eq!(read.operation, Operation::GetTask);
    assert_eq!(read.timeout, Some(Duration::from_millis(250)));
    assert_eq!(head(&parts(call())).unwrap().timeout, None);
    let plus =
        Request::post("/lf.a2a.v1.A2AService/ListTasks").version(Version::HTTP_2).header("te", "trailers");
    let plus = plus.header("content-type", "application/grpc+proto").header("grpc-encoding", "identity");
    assert_eq!(head(&parts(plus)).unwrap().operation, Operation::ListTasks);
}

#[test]
fn what_is_no_method_is_unimplemented() {
    for path in [
        "/a2a.v1.A2AService/GetTask",
        "/lf.a2a.v1.A2AService/GetAgentCard",
        "/lf.a2a.v1.A2AService/GetTask?x",
        "/lf.a2a.v1.A2AService/GetTask/",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/",
    ] {
        assert_eq!(code(call().uri(path)), Code::MethodUnsupported, "{path}");
    }
    assert_eq!(code(call().method("GET")), Code::MethodUnsupported);
    assert_eq!(Status::of(Code::MethodUnsupported, Delivered::No), Status::UNIMPLEMENTED);
}

#[test]
fn heads_that_are_no_call_are_refused() {
    assert_eq!(code(call().version(Version::HTTP_11)), Code::Malformed);
    let bare = || Request::post("/lf.a2a.v1.A2AService/GetTask").version(Version::HTTP_2);
    assert_eq!(code(bare().header("content-type", "application/grpc")), Code::Malformed);
    for media in ["application/grpc+json", "application/grpc-web", "application/grpc;x=y", "Application/grpc"]
    {
        assert_eq!(
            code(bare().header("content-type", media).header("te", "trailers")),
            Code::EncodingUnsupported
        );
        assert!(is_call(&parts(bare().header("content-type", media)).headers));
    }
    assert!(!is_call(&parts(bare().header("content-type", "application/json")).headers));
    assert!(!is_call(&parts(bare()).headers));
    assert_eq!(code(call().header("content-type", "application/grpc")), Code::Malformed);
    for (name, value) in [("grpc-encoding", "gzip"), ("content-encoding", "gzip"), ("grpc-encoding", "")] {
        assert_eq!(code(call().header(name, value)), Code::EncodingUnsupported);
    }
}

#[test]
fn a_timeout_is_at_most_eight_digits_and_a_unit() {
    for (text, time) in [
        ("1H", Duration::from_secs(3600)),
        ("2M", Duration::from_secs(120)),
        ("99999999S", Duration::from_secs(99_999_999)),
        ("7u", Duration::from_micros(7)),
        ("7n", Duration::from_nanos(7)),
    ] {
        assert_eq!(head(&parts(call().header("grpc-timeout", text))).unwrap().timeout, Some(time));
    }
    for text in ["", "1", "S", "0S", "-1S", "+1S", "1.5S", "1s", "1 S", "123456789S", "S1", "1é"] {
        assert_eq!(code(call().header("grpc-timeout", text)), Code::Malformed, "{text}");
    }
    assert_eq!(code(call().header("grpc-timeout", "1S").header("grpc-timeout", "1S")), Code::Malformed);
    assert_eq!(head::timeout_text(Duration::from_millis(1500)), "1500m");
    assert_eq!(head::timeout_text(Duration::from_nanos(1)), "1m");
}

#[test]
fn a_refusal_is_a_status_with_the_code_in_front_and_in_its_details() {
    let decision = Decisions::new().next();
    let refusal = Refusal::new(Code::PolicyDenied, "no policy permits é%").with_hint("ask the operator");
    let trailers = refused(&refusal, None, decision);
    assert_eq!(trailers[STATUS], "7");
    assert_eq!(trailers[MESSAGE], "policy_denied: no policy permits %C3%A9%25");
    let details = BASE64_STANDARD_NO_PAD.decode(&trailers[DETAILS]).unwrap();
    let text = String::from_utf8_lossy(&details);
    for part in ["POLICY_DENIED", "dev.semgate", "policy_denied", "ask the operator", &decision.to_string()] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(grpc::agent_error(7, Some(&details)).known, None);
    assert_eq!(well()[STATUS], "0");
}

#[test]
fn what_the_protocol_has_an_error_for_is_that_error() {
    let decision = Decisions::new().next();
    let details = |refusal: &Refusal, agent| {
        let trailers = refused(refusal, agent, decision);
        let details = BASE64_STANDARD_NO_PAD.decode(&trailers[DETAILS]).unwrap();
        let status = trailers[STATUS].to_str().unwrap();
        (status.to_owned(), grpc::agent_error(status.parse().unwrap(), Some(&details)).known)
    };
    let not_found = Refusal::new(Code::NotFound, "there is no such task");
    assert_eq!(details(&not_found, None), ("5".to_owned(), Some(ProtocolError::TaskNotFound)));
    let version = Refusal::new(Code::VersionUnsupported, "another version");
    assert_eq!(details(&version, None), ("9".to_owned(), Some(ProtocolError::VersionNotSupported)));
    let agents = Refusal::of_agent(Some(ProtocolError::TaskNotCancelable));
    assert_eq!(details(&agents, Some(9)), ("9".to_owned(), Some(ProtocolError::TaskNotCancelable)));
    let unknown = Refusal::of_agent(None);
    assert_eq!(details(&unknown, Some(16)), ("16".to_owned(), None));
}

#[test]
fn only_what_did_not_reach_the_agent_may_be_sent_again_by_itself() {
    for code in Code::ALL {
        for delivered in [Delivered::Yes, Delivered::Unknown] {
            assert_ne!(Status::of(*code, delivered), Status::UNAVAILABLE, "{code}");
        }
        assert_ne!(Status::of(*code, Delivered::No), Status::OK);
    }
    assert_eq!(Status::of(Code::UpstreamUnavailable, Delivered::No), Status::UNAVAILABLE);
}
