use super::*;
use semgate_contexts::json::{Limits, read};

const CREATE: Operation = Operation::CreateTaskPushNotificationConfig;
const LIST: Operation = Operation::ListTaskPushNotificationConfigs;

fn to(url: &str) -> PushTarget {
    PushTarget { url: url.to_owned(), token: None, authentication: None }
}

#[test]
fn only_where_it_sends_and_what_is_shown_there_changes_and_it_can_be_changed_back() {
    let text = r#"{"jsonrpc":"2.0","id":1,"params":{"taskId":"t","url":"https://a.test/","id":"c","token":"s","authentication":{"scheme":"Bearer","credentials":"x"}}}"#;
    let json = read(text.as_bytes(), &Limits::default()).unwrap();
    let targets_in = PushTargets::in_request(&json, Form::JsonRpc, CREATE, Version::V10);
    let targets = targets_in.targets();
    let target = targets[0].as_ref().unwrap();
    assert_eq!((target.url.as_str(), target.token.as_deref()), ("https://a.test/", Some("s")));
    assert!(!format!("{target:?}").contains("a.test"));
    let rewritten = String::from_utf8(targets_in.rewritten(&[Some(to("http://lane/1"))])).unwrap();
    let expected = r#"{"jsonrpc":"2.0","id":1,"params":{"url":"http://lane/1","taskId":"t","id":"c"}}"#;
    assert_eq!(rewritten, expected);
    let json = read(rewritten.as_bytes(), &Limits::default()).unwrap();
    let back = PushTargets::in_request(&json, Form::JsonRpc, CREATE, Version::V10).rewritten(&targets);
    assert_eq!(
        String::from_utf8(back).unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"params":{"url":"https://a.test/","taskId":"t","id":"c","token":"s","authentication":{"scheme":"Bearer","credentials":"x"}}}"#
    );
}

#[test]
fn the_one_beside_a_message_is_found_and_numbers_keep_their_digits() {
    for (version, name) in [(Version::V10, "taskPushNotificationConfig"), (Version::V03, NESTED)] {
        let text = format!(
            r#"{{"message":{{"url":"stays","n":1.20e2}},"configuration":{{"{name}":{{"url":"https://a.test/"}}}}}}"#
        );
        let json = read(text.as_bytes(), &Limits::default()).unwrap();
        let send = Operation::SendMessage;
        let targets_in = PushTargets::in_request(&json, Form::Rest(send), send, version);
        let rewritten = String::from_utf8(targets_in.rewritten(&[Some(to("http://lane/1"))])).unwrap();
        assert_eq!(rewritten, text.replace("https://a.test/", "http://lane/1"));
    }
}

#[test]
fn a_list_is_told_without_those_that_have_no_target() {
    let cases = [
        (
            Version::V10,
            r#"{"configs":[{"id":"a","url":"1"},{"id":"b","url":"2"}],"nextPageToken":""}"#,
            r#"{"configs":[{"url":"x","id":"b"}],"nextPageToken":""}"#,
        ),
        (
            Version::V03,
            r#"[{"taskId":"t","pushNotificationConfig":{"url":"1"}},{"taskId":"t","pushNotificationConfig":{"url":"2"}}]"#,
            r#"[{"taskId":"t","pushNotificationConfig":{"url":"x"}}]"#,
        ),
    ];
    for (version, text, left) in cases {
        let json = read(text.as_bytes(), &Limits::default()).unwrap();
        let targets_in = PushTargets::in_answer(&json, Form::Rest(LIST), LIST, version);
        assert_eq!(targets_in.targets().len(), 2);
        assert_eq!(String::from_utf8(targets_in.rewritten(&[None, Some(to("x"))])).unwrap(), left);
    }
}
