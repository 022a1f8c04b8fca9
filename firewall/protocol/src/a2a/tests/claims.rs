//! The claim stands in the metadata of messages and artifacts, and nowhere else.

use super::*;
use Operation::{CancelTask, SendMessage, SendStreamingMessage};

#[test]
fn a_claim_where_none_is_read_is_refused_even_where_data_is_admitted() {
    let hidden = claim(json!({"context": "urn:contexts:payment:v1.1"}));
    for name in [EXTENSION.to_owned(), EXTENSION.to_ascii_uppercase()] {
        let hidden = json!({ name: hidden[EXTENSION] });
        let part = json!({"data": {"concept": "x"}, "metadata": hidden});
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [part]});
        let plain = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"concept": "x"}}]});
        for (value, path) in [
            (rpc("SendMessage", json!({ "message": message })), "/params/message/parts/0/metadata"),
            (rpc("SendMessage", json!({"message": plain, "metadata": hidden})), "/params/metadata"),
            (rpc("CancelTask", json!({"id": "t", "metadata": hidden})), "/params/metadata"),
        ] {
            asks(&value, &call(Version::V10), &OPEN, |read| assert_eq!(read.unwrap_err().path, path));
        }
        let task = json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}, "metadata": hidden});
        says(&answer(task), &asked(CancelTask, Version::V10), &OPEN, false, |read| {
            assert_eq!(read.unwrap_err().path, "/result/metadata");
        });
        let update = json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}, "metadata": hidden}});
        says(&answer(update), &asked(SendStreamingMessage, Version::V10), &OPEN, true, |read| {
            assert_eq!(read.unwrap_err().path, "/result/statusUpdate/metadata");
        });
    }
}

#[test]
fn a_claim_in_another_case_of_letters_is_refused_beside_data() {
    let metadata = json!({EXTENSION.to_ascii_uppercase(): {"context": "u"}, "more": 1});
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"concept": "x"}}], "metadata": metadata});
    asks(&rpc("SendMessage", json!({ "message": message })), &call(Version::V10), &OPEN, |read| {
        assert_eq!(read.unwrap_err().path, "/params/message/metadata");
    });
}

#[test]
fn a_claim_is_closed_in_both_versions() {
    for (version, method, role) in
        [(Version::V10, "SendMessage", "ROLE_USER"), (Version::V03, "message/send", "user")]
    {
        let part = if version == Version::V10 {
            json!({"data": {"concept": "x"}})
        } else {
            json!({"kind": "data", "data": {"concept": "x"}})
        };
        for (members, path) in [
            (json!({"context": "u", "more": 1}), "/more"),
            (json!({"context": 1}), "/context"),
            (json!({"lock": "l"}), ""),
            (json!({"context": "u", "performative": "SUBSCRIBE"}), "/performative"),
            (json!({"context": "u", "performative": "inform"}), "/performative"),
        ] {
            let message =
                json!({"messageId": "m", "role": role, "parts": [part], "metadata": claim(members)});
            asks(&rpc(method, json!({ "message": message })), &call(version), &OPEN, |read| {
                assert_eq!(read.unwrap_err().path, format!("/params/message/metadata/{EXTENSION}{path}"));
            });
        }
    }
}

#[test]
fn an_artifact_carries_a_claim_of_its_own() {
    let artifact = json!({"artifactId": "a", "parts": [{"data": {"concept": "x"}}], "metadata": claim(json!({"context": "u"}))});
    let task =
        json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [artifact]}});
    says(&answer(task), &asked(SendMessage, Version::V10), &STRICT, false, |read| {
        assert_eq!(said(read.unwrap()).claims[0].location, "/result/task/artifacts/metadata");
    });
}
