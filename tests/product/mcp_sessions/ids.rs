//! An id of a request, used a second time in one session.

use super::support::{
    Up,
    mcp::{Client, Scripted, until},
    wait_for,
};
use super::{before, call, says_yes};
use serde_json::{Value, json};

const USED: &str = "malformed: the id was used before in the session";

#[test]
fn attack_an_id_is_used_a_second_time_in_a_session_to_have_what_the_first_asked_for() {
    let up = Up::start();
    let server = Scripted::start();
    let (gateway, url) = before(&up, &server);
    server.answers_by_id_alone();
    let client = Client::start(&up, "retailer-7", &url);
    let imported = server.lists();
    let lists = |id: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
    let refused_anew = || {
        // some servers keep ids as text
        for id in [json!(7), json!("7")] {
            let refused = client.post(&lists(id.clone())).json();
            assert_eq!((&refused["id"], refused.get("result")), (&id, None), "{refused}");
            let (error, why) = (&refused["error"], refused["error"]["message"].as_str().unwrap());
            assert_eq!(
                (&error["data"]["code"], &error["data"]["delivered"]),
                (&json!("malformed"), &json!("no"))
            );
            assert!(why.starts_with(USED), "{why}");
        }
        let called = client.post(&call(7, 2)).json();
        assert!(called["error"]["message"].as_str().is_some_and(|why| why.starts_with(USED)), "{called}");
    };
    let mut stream = client.begin("POST", &[], Some(&call(7, 1)));
    let mut text = String::new();
    until(&mut *stream, &mut text, "elicitation/create");
    refused_anew();
    assert_eq!(client.post(&says_yes(0)).status, 202);
    until(&mut *stream, &mut text, "\"sum\":3");
    // what was answered may come again on a stream that is resumed
    refused_anew();
    assert_eq!(server.lists(), imported, "the server heard of none");
    let listed = client.post(&lists(json!(8))).json();
    assert_eq!(listed["result"]["tools"][0]["name"], "add", "{listed}");
    wait_for("a record of each refusal", || {
        let records = std::fs::read_to_string(&gateway.audit).unwrap();
        let refused = |line: &&str| line.contains("\"refused\"") && line.contains("\"malformed\"");
        (records.lines().filter(refused).count() == 6).then_some(())
    });
}
