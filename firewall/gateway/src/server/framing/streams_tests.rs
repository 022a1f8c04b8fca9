//! What hyper would accept of an HTTP/2 head, and the gateway does not.

use super::*;
use http::Request;

fn fault(build: impl FnOnce(http::request::Builder) -> http::request::Builder) -> Option<FramingFault> {
    let request = build(Request::post("https://gw.test/").header("content-type", "application/json"));
    let (parts, ()) = request.body(()).unwrap().into_parts();
    head(&parts, &HeadLimits { max_bytes: 1024, max_headers: 8, websocket: false }).err()
}

#[test]
fn a_plain_head_passes_with_authority_alone_host_alone_or_both_alike() {
    assert_eq!(fault(|r| r), None);
    assert_eq!(fault(|r| r.header("host", "gw.test")), None);
    assert_eq!(fault(|r| r.uri("/").header("host", "gw.test")), None);
    assert_eq!(fault(|r| r.uri("ftp://gw.test/")), Some(FramingFault::Scheme));
}

#[test]
fn a_host_that_differs_from_the_authority_is_refused() {
    assert_eq!(fault(|r| r.header("host", "other.test")), Some(FramingFault::Host));
    assert_eq!(fault(|r| r.header("host", "gw.test").header("host", "gw.test")), Some(FramingFault::Host));
    assert_eq!(fault(|r| r.uri("https://user@gw.test/")), Some(FramingFault::Host));
    assert_eq!(fault(|r| r.uri("/")), Some(FramingFault::Host));
}

#[test]
fn lengths_trailers_expectations_and_upgrades_are_refused_as_in_http_1() {
    let twice = fault(|r| r.header("content-length", "1").header("content-length", "1"));
    assert_eq!(twice, Some(FramingFault::ContentLength));
    assert_eq!(fault(|r| r.header("content-length", "1, 1")), Some(FramingFault::ContentLength));
    assert_eq!(fault(|r| r.header("trailer", "x")), Some(FramingFault::Trailers));
    assert_eq!(fault(|r| r.header("expect", "200-ok")), Some(FramingFault::Expect));
    assert_eq!(fault(|r| r.header("http2-settings", "AAMAAABk")), Some(FramingFault::Upgrade));
}

#[test]
fn many_small_headers_and_few_large_ones_are_both_too_large() {
    let many = fault(|r| (0..9).fold(r, |r, n| r.header(format!("x-{n}"), "")));
    assert_eq!(many, Some(FramingFault::HeadTooLarge));
    assert_eq!(fault(|r| r.header("x", "a".repeat(1024))), Some(FramingFault::HeadTooLarge));
}

#[tokio::test]
async fn a_connection_is_idle_without_streams_and_stalled_while_an_answer_is_not_taken() {
    let (soon, late) = (Duration::ZERO, Duration::from_secs(3600));
    let streams = Streams::new();
    let place = streams.begin();
    assert_eq!(streams.overdue(soon, soon), None, "we are at work on it");
    place.given();
    assert_eq!(streams.overdue(soon, late), None);
    assert_eq!(streams.overdue(late, soon), Some(Overdue::Stalled));
    place.taken();
    assert_eq!(streams.overdue(late, soon), None);
    drop(place);
    assert_eq!(streams.overdue(late, soon), None);
    assert_eq!(streams.overdue(soon, late), Some(Overdue::Idle));
}
