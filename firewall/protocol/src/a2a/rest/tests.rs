use super::*;
use crate::{
    Call, Form,
    a2a::tests::{STRICT, asks, strict},
};
use proptest::prelude::*;
use semgate_contexts::json;
use serde_json::{Value, json};

fn query(text: &str) -> Query<'_> {
    Query::parse(text).unwrap()
}

fn put(routed: &Routed<'_>, text: &str, body: Option<Value>) -> Result<Value, MessageFault> {
    let query = Query::parse(text)?;
    let bytes = match body {
        Some(body) => strict(&body, |json| params(routed, &query, Some(json)))?,
        None => params(routed, &query, None)?,
    };
    Ok(serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn every_path_of_the_binding_names_its_operation() {
    use Operation::*;
    let push = "/tasks/t-1/pushNotificationConfigs";
    let one = format!("{push}/p-1");
    for (method, path, operation, task, config) in [
        ("POST", "/message:send", SendMessage, None, None),
        ("POST", "/message:stream", SendStreamingMessage, None, None),
        ("GET", "/tasks", ListTasks, None, None),
        ("GET", "/tasks/t-1", GetTask, Some("t-1"), None),
        ("GET", "/tasks/a:b", GetTask, Some("a:b"), None),
        ("POST", "/tasks/t-1:cancel", CancelTask, Some("t-1"), None),
        ("POST", "/tasks/a:b:cancel", CancelTask, Some("a:b"), None),
        ("GET", "/tasks/t-1:subscribe", SubscribeToTask, Some("t-1"), None),
        ("POST", "/tasks/t-1:subscribe", SubscribeToTask, Some("t-1"), None),
        ("POST", push, CreateTaskPushNotificationConfig, Some("t-1"), None),
        ("GET", push, ListTaskPushNotificationConfigs, Some("t-1"), None),
        ("GET", &one, GetTaskPushNotificationConfig, Some("t-1"), Some("p-1")),
        ("DELETE", &one, DeleteTaskPushNotificationConfig, Some("t-1"), Some("p-1")),
        ("GET", "/extendedAgentCard", GetExtendedAgentCard, None, None),
        ("GET", "/.well-known/agent-card.json", GetAgentCard, None, None),
    ] {
        let expected = Routed { operation, tenant: None, task, config };
        assert_eq!(route(method, path), Ok(expected), "{method} {path}");
        let with_tenant = format!("/acme{path}");
        if operation == GetAgentCard {
            assert_eq!(route(method, &with_tenant).unwrap_err().kind, FaultKind::MethodUnsupported);
        } else {
            assert_eq!(route(method, &with_tenant), Ok(Routed { tenant: Some("acme"), ..expected }));
        }
        for other in ["PUT", "PATCH", "HEAD", "OPTIONS", "get", "post"] {
            assert_eq!(route(other, path).unwrap_err().kind, FaultKind::MethodUnsupported, "{other} {path}");
        }
    }
}

#[test]
fn every_other_path_is_unsupported() {
    for (method, path) in [
        ("POST", "message:send"),
        ("POST", ""),
        ("POST", "/"),
        ("GET", "/message:send"),
        ("POST", "/message:send/"),
        ("POST", "/Message:send"),
        ("POST", "/message%3Asend"),
        ("POST", "/v1/a/message:send"),
        ("POST", "/tasks"),
        ("POST", "/tasks/t-1"),
        ("GET", "/tasks/t-1:cancel"),
        ("POST", "/tasks/t-1:delete"),
        ("DELETE", "/tasks/t-1"),
        ("DELETE", "/tasks/t-1/pushNotificationConfigs"),
        ("POST", "/tasks/t-1/pushNotificationConfigs/p-1"),
        ("GET", "/tasks/t-1/pushNotificationConfigs/p-1/more"),
    ] {
        assert_eq!(route(method, path).unwrap_err().kind, FaultKind::MethodUnsupported, "{method} {path}");
    }
}

#[test]
fn an_id_in_a_path_has_one_reading() {
    for path in [
        "/tasks/",
        "/tasks/a%2Fb",
        "/tasks/%61",
        "/tasks/..",
        "/tasks/.",
        "/tasks/a;b=c",
        "/tasks/a?b",
        "/tasks/a#b",
        "/tasks/a b",
        "/tasks/é",
        "/tasks/a/pushNotificationConfigs/..",
        "//tasks",
        "/../tasks",
        "/%61cme/tasks",
    ] {
        assert_eq!(route("GET", path).unwrap_err().kind, FaultKind::Malformed, "{path}");
    }
    assert_eq!(route("POST", "/tasks/:cancel").unwrap_err().kind, FaultKind::Malformed);
    let long = format!("/tasks/{}", "a".repeat(257));
    assert_eq!(route("GET", &long).unwrap_err().kind, FaultKind::Malformed);
}

#[test]
fn path_query_and_body_become_the_parameters() {
    let list = route("GET", "/tasks").unwrap();
    let all = "contextId=c%3A1&status=TASK_STATE_WORKING&pageSize=10&pageToken=cDI%3D&historyLength=0&statusTimestampAfter=2026-11-21T01%3A02%3A03Z&includeArtifacts=true&A2A-Version=1.0";
    assert_eq!(
        put(&list, all, None).unwrap(),
        json!({"contextId": "c:1", "status": "TASK_STATE_WORKING", "pageSize": 10, "pageToken": "cDI=", "historyLength": 0,
            "statusTimestampAfter": "2026-11-21T01:02:03Z", "includeArtifacts": true})
    );
    assert_eq!(query(all).versions(), ["1.0"]);
    let get = route("GET", "/acme/tasks/t-1").unwrap();
    assert_eq!(
        put(&get, "historyLength=-1", None).unwrap(),
        json!({"tenant": "acme", "id": "t-1", "historyLength": -1})
    );
    let config = route("DELETE", "/tasks/t-1/pushNotificationConfigs/p-1").unwrap();
    assert_eq!(put(&config, "", None).unwrap(), json!({"taskId": "t-1", "id": "p-1"}));
    let create = route("POST", "/tasks/t-1/pushNotificationConfigs").unwrap();
    let body = json!({"taskId": "t-1", "id": "p-9", "url": "https://a", "tenant": ""});
    assert_eq!(put(&create, "", Some(body.clone())).unwrap(), body);
    let cancel = route("POST", "/tasks/t-1:cancel").unwrap();
    assert_eq!(put(&cancel, "", None).unwrap(), json!({"id": "t-1"}));
    assert_eq!(
        put(&cancel, "", Some(json!({"id": "", "metadata": {}}))).unwrap(),
        json!({"id": "t-1", "metadata": {}})
    );
    let subscribe = route("POST", "/tasks/t-1:subscribe").unwrap();
    assert_eq!(put(&subscribe, "", Some(json!({}))).unwrap(), json!({"id": "t-1"}));
    assert_eq!(put(&route("GET", "/extendedAgentCard").unwrap(), "", None).unwrap(), json!({}));
}

#[test]
fn what_was_put_together_is_read_as_a_request() {
    let get = route("GET", "/tasks/t-1").unwrap();
    let value = put(&get, "historyLength=3", None).unwrap();
    asks(&value, &Call::a2a(Version::V10, Form::Rest(get.operation)), &STRICT, |read| {
        assert_eq!(read.unwrap().threads.tasks, ["t-1"]);
    });
}

#[test]
fn a_body_that_names_another_than_the_path_is_refused() {
    for (method, path, body) in [
        ("POST", "/tasks/t-1:cancel", json!({"id": "t-2"})),
        ("POST", "/tasks/t-1:cancel", json!({"id": 1})),
        ("POST", "/acme/tasks/t-1:cancel", json!({"tenant": "other"})),
        ("POST", "/acme/message:send", json!({"tenant": "other"})),
        ("POST", "/tasks/t-1/pushNotificationConfigs", json!({"taskId": "t-2", "url": "https://a"})),
    ] {
        assert_eq!(
            put(&route(method, path).unwrap(), "", Some(body)).unwrap_err().what,
            "differs from the path"
        );
    }
    for path in ["/tasks/t-1", "/tasks", "/tasks/t-1:subscribe", "/extendedAgentCard"] {
        assert!(put(&route("GET", path).unwrap(), "", Some(json!({"id": "t-2"}))).is_err(), "{path}");
        assert!(put(&route("GET", path).unwrap(), "", Some(json!([]))).is_err(), "{path}");
    }
}

#[test]
fn a_query_parameter_twice_or_of_another_operation_is_refused() {
    let get = route("GET", "/tasks/t-1").unwrap();
    for text in [
        "historyLength=1&historyLength=1",
        "historyLength=1&historyLength=2",
        "historylength=1",
        "id=t-2",
        "tenant=&historyLength=1",
        "pageSize=1",
        "historyLength",
        "historyLength=",
        "=1",
        "&",
        "historyLength=1&",
        "historyLength=+1",
        "historyLength=01",
        "historyLength=1.0",
        "historyLength=2147483648",
        "historyLength=%31%",
        "historyLength=1;x=2",
        "history%4Cength=1",
        "A2A-Version=1.0&A2A-Version=1.0",
        "a2a-version=1.0",
        "x=%00",
        "x=%ff",
    ] {
        assert_eq!(put(&get, text, None).unwrap_err().kind, FaultKind::Malformed, "{text}");
    }
    let list = route("GET", "/tasks").unwrap();
    for text in ["includeArtifacts=True", "includeArtifacts=1", "pageSize=ten", "contextId=a+b"] {
        assert!(put(&list, text, None).is_err(), "{text}");
    }
    let send = route("POST", "/message:send").unwrap();
    assert!(put(&send, "historyLength=1", Some(json!({}))).is_err());
    assert!(put(&route("GET", "/acme/tasks").unwrap(), "tenant=acme", None).is_err());
    let many: Vec<String> = (0..17).map(|n| format!("p{n}=1")).collect();
    assert!(Query::parse(&many.join("&")).is_err());
    assert!(query("A2A-Version=1.0").only_version().is_ok());
    assert!(query("A2A-Version=1.0&tenant=a").only_version().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases()))]

    #[test]
    fn fuzz_rest_paths_and_queries_give_strict_json_or_a_fault(
        method in prop::sample::select(vec!["GET", "POST", "DELETE"]),
        path in "(/acme)?/(tasks|message:send|extendedAgentCard)?(/?[a-z%:.;\"é ]{0,6})?(:cancel|:subscribe|/pushNotificationConfigs)?(/[a-z\\\\\"]{0,3})?",
        text in "([a-zA-Z%0-9-]{0,8}=[a-z0-9%+;\"\\\\ é]{0,6}&?){0,3}(&?(historyLength|pageSize|includeArtifacts|pageToken|contextId|tenant)=[a-z0-9%\"\\\\]{0,6}){0,2}",
        body in prop::option::of(prop::collection::vec((prop::sample::select(vec!["id", "tenant", "taskId", "url", "metadata"]), "[a-z\"\\\\]{0,4}"), 0..3)),
    ) {
        let Ok(routed) = route(method, &path) else { return Ok(()) };
        let Ok(query) = Query::parse(&text) else { return Ok(()) };
        let body = body.map(|all| Value::Object(all.into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect()));
        let made = match &body {
            Some(body) => strict(body, |json| params(&routed, &query, Some(json))),
            None => params(&routed, &query, None),
        };
        if let Ok(bytes) = made {
            let json = json::read(&bytes, &json::Limits::default()).unwrap();
            let task = json.as_object().unwrap().get("id").or_else(|| json.as_object().unwrap().get("taskId"));
            if let Some(task_in_path) = routed.task {
                prop_assert!(task.is_some());
                let call = Call::a2a(Version::V10, Form::Rest(routed.operation));
                if let Ok(message) = crate::a2a::request(&json, &call, &STRICT) {
                    prop_assert_eq!(message.threads.tasks, vec![task_in_path]);
                }
            }
        }
    }
}
