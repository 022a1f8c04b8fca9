//! Whatever comes, nothing panics, and what is accepted is told whole.

use super::*;
use proptest::prelude::*;

fn arbitrary() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zA-Z_/:. ]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "ROLE_USER",
            "ROLE_AGENT",
            "user",
            "agent",
            "2.0",
            "task",
            "message",
            "status-update",
            "artifact-update",
            "text",
            "data",
            "file",
            "working",
            "TASK_STATE_WORKING",
            "t-1",
            "https://a.example",
            "2026-01-02T03:04:05Z",
        ])
        .prop_map(Value::from),
    ];
    let names: Vec<&str> = names::KNOWN
        .iter()
        .copied()
        .chain([EXTENSION, "Task", "x", "tasks", "statusUpdate", "artifactUpdate"])
        .collect();
    let names = prop::sample::select(names);
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6)
                .prop_map(|all| Value::Object(all.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

/// A task or update with one random thing put in a random place.
fn almost() -> impl Strategy<Value = Value> {
    let whole = prop::sample::select(vec![
        json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "a"}]}},
            "artifacts": [{"artifactId": "a", "parts": [{"data": {"concept": "x"}}]}], "history": []}}),
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-02T03:04:05Z"}}}),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true, "artifact": {"artifactId": "a", "parts": [{"text": "a"}]}}}),
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": false, "status": {"state": "working"}}),
        json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "a"}]}}),
    ]);
    (whole, any::<prop::sample::Index>(), prop::sample::select(names::KNOWN.to_vec()), arbitrary()).prop_map(
        |(mut whole, place, name, value)| {
            let mut places = Vec::new();
            objects(&whole, String::new(), &mut places);
            let place = place.get(&places).clone();
            whole.pointer_mut(&place).unwrap()[name] = value;
            whole
        },
    )
}

fn objects(value: &Value, path: String, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| objects(value, format!("{path}/{key}"), out));
            out.push(path);
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| objects(item, format!("{path}/{n}"), out));
        }
        _ => {}
    }
}

fn every_reader(json: &Json<'_>) {
    for reading in [&STRICT, &OPEN] {
        for version in [Version::V03, Version::V10] {
            let _ = request(json, &call(version), reading);
            for operation in Operation::ALL {
                let _ = request(json, &Call::a2a(version, Form::Rest(operation)), reading);
                for form in [Form::JsonRpc, Form::Grpc(operation)] {
                    let asked = Asked { form, ..asked(operation, version) };
                    if let Ok(Reply::Tasks(list)) = reply(json, &asked, reading) {
                        let paging = Paging { next: list.next(), page_size: 50, total: 3 };
                        let bytes = list.keeping(&[0, 1, 2], paging);
                        assert!(json::read(&bytes, &json::Limits::default()).is_ok());
                    }
                    let _ = event(json, &asked, reading);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases()))]

    #[test]
    fn fuzz_no_json_makes_the_binding_panic(value in arbitrary()) {
        for value in [value.clone(), answer(value.clone()), rpc("SendMessage", value)] {
            strict(&value, |json| {
                every_reader(json);
                let _ = rpc_id(json);
            });
        }
    }

    #[test]
    fn fuzz_events_that_are_almost_right(value in almost()) {
        strict(&answer(value), |json| {
            for version in [Version::V03, Version::V10] {
                for reading in [&STRICT, &OPEN] {
                    // what is accepted with data behind data was never a concept
                    if let Ok(Reply::Message(message)) = event(json, &asked(Operation::SubscribeToTask, version), reading)
                        && message.chunk.is_some_and(|chunk| chunk.append)
                    {
                        let data = message.instances.iter().filter(|i| i.name != "text" && i.name != "file" && i.name != "metadata" && i.name != "artifact");
                        assert_eq!(data.count(), 0);
                    }
                }
            }
        });
    }
}
