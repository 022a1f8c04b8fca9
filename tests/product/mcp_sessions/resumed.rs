//! Streams of a session that are resumed, or that outlast it.

use serde_json::json;

use super::support::Up;
use super::support::mcp::{Client, Scripted, until};
use super::{before, call, changed};

#[test]
fn nobody_resumes_after_an_event_that_was_not_told_in_the_session() {
    let up = Up::start();
    let server = Scripted::start();
    let (_gateway, url) = before(&up, &server);
    let theirs = Client::start(&up, "treasurer-1", &url);
    let cut = theirs.post(&call(1, 77));
    assert!(String::from_utf8(cut.body).unwrap().contains("id: c-1\n"));
    // what an attacker asked under the same id would make the other's answer fit
    let attacker = Client::start(&up, "retailer-7", &url);
    let mut own = call(1, 5);
    own["params"]["_meta"] = json!({});
    let mut stream = attacker.begin("POST", &[], Some(&own));
    let mut text = String::new();
    until(&mut *stream, &mut text, "elicitation/create");
    let before = Client::start(&up, "retailer-7", &url);
    for (client, event) in [(&attacker, "c-9"), (&attacker, "g-1"), (&before, "c-1")] {
        let refused = client.ask("GET", &[("last-event-id", event)]);
        assert_eq!((refused.status, refused.code().as_str()), (404, "not_found"), "{event}");
    }
}

#[test]
fn a_stream_ends_with_its_session_even_if_the_server_goes_on() {
    let up = Up::start();
    let server = Scripted::start();
    let (_gateway, url) = before(&up, &server);
    server.says(vec![changed()]);
    let client = Client::start(&up, "retailer-7", &url);
    let mut stream = client.begin("GET", &[], None);
    let mut text = String::new();
    until(&mut *stream, &mut text, "list_changed");
    assert_eq!(client.ask("DELETE", &[]).status, 200);
    until(&mut *stream, &mut text, "reply_refused");
}
