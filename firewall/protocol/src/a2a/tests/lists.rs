//! Lists of tasks.

use super::*;
use Operation::ListTasks;

fn task(id: &str, concept: &str) -> Value {
    json!({"id": id, "contextId": format!("c-{id}"), "history": [], "artifacts": [],
        "status": {"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "role": "ROLE_AGENT", "taskId": "", "extensions": [],
            "parts": [{"data": {"concept": concept, "n": 120.50, "s": "a\"\\\u{1}\u{e9}"}, "filename": "", "mediaType": ""}]}}})
}

fn list() -> Value {
    json!({"tasks": [task("t-1", "a"), task("t-2", "b"), task("t-3", "c")], "nextPageToken": "bmV4dA==", "pageSize": 50, "totalSize": 900})
}

fn tasks(answer: Reply<'_>) -> TaskList<'_> {
    match answer {
        Reply::Tasks(list) => *list,
        other => panic!("{other:?}"),
    }
}

/// As if nothing had to be kept back.
fn told<'t>(list: &TaskList<'t>) -> Paging<'t> {
    Paging { next: list.next(), page_size: 50, total: 2 }
}

#[test]
fn each_task_is_a_message_of_its_own() {
    says(&answer(list()), &asked(ListTasks, Version::V10), &STRICT, false, |read| {
        let list = tasks(read.unwrap());
        let read: Vec<_> =
            list.tasks.iter().map(|t| (t.message_id, t.instances[0].name, t.threads.contexts[0])).collect();
        assert_eq!(read, [("t-1", "a", "c-t-1"), ("t-2", "b", "c-t-2"), ("t-3", "c", "c-t-3")]);
        assert_eq!(
            list.tasks[2].instances[0].pointer.to_string(),
            "/result/tasks/2/status/message/parts/0/data"
        );
    });
}

#[test]
fn a_list_without_others_tasks_is_written_with_counts_that_reveal_nothing() {
    says(&answer(list()), &asked(ListTasks, Version::V10), &STRICT, false, |read| {
        let list = tasks(read.unwrap());
        let written: Value = serde_json::from_slice(&list.keeping(&[0, 2], told(&list))).unwrap();
        let expected = json!({"tasks": [task("t-1", "a"), task("t-3", "c")], "nextPageToken": "bmV4dA==", "pageSize": 50, "totalSize": 2});
        assert_eq!(written, answer(expected));
        let written: Value =
            serde_json::from_slice(&list.keeping(&[], Paging { next: None, page_size: 7, total: 0 }))
                .unwrap();
        assert_eq!(written, answer(json!({"tasks": [], "nextPageToken": "", "pageSize": 7, "totalSize": 0})));
        let text = String::from_utf8(list.keeping(&[0], told(&list))).unwrap();
        assert!(text.contains("\"n\":120.5") && text.contains(r#""a\"\\\u0001é""#), "{text}");
    });
    let asked = Asked { form: Form::Rest(ListTasks), rpc_id: None, ..asked(ListTasks, Version::V10) };
    says(&list(), &asked, &STRICT, false, |read| {
        let list = tasks(read.unwrap());
        let written: Value = serde_json::from_slice(&list.keeping(&[1], told(&list))).unwrap();
        assert_eq!(
            written,
            json!({"tasks": [task("t-2", "b")], "nextPageToken": "bmV4dA==", "pageSize": 50, "totalSize": 2})
        );
    });
}

#[test]
fn what_was_written_reads_as_what_was_kept() {
    says(&answer(list()), &asked(ListTasks, Version::V10), &STRICT, false, |read| {
        let list = tasks(read.unwrap());
        let bytes = list.keeping(&[1], told(&list));
        let json = json::read(&bytes, &json::Limits::default()).unwrap();
        let again = tasks(reply(&json, &asked(ListTasks, Version::V10), &STRICT).unwrap());
        assert_eq!(again.tasks.len(), 1);
        assert_eq!(again.tasks[0].message_id, "t-2");
    });
}

#[test]
fn a_list_is_closed_and_has_no_task_twice() {
    for (member, value, path) in [
        ("surprise", json!(1), "/result/surprise"),
        ("nextPageToken", json!("a b"), "/result/nextPageToken"),
        ("totalSize", json!("9"), "/result/totalSize"),
        ("tasks", json!({}), "/result/tasks"),
        ("tasks", json!([task("t-1", "a"), task("t-1", "b")]), "/result/tasks/1/id"),
        ("tasks", json!([{"status": {"state": "TASK_STATE_WORKING"}}]), "/result/tasks/0/id"),
    ] {
        let mut list = list();
        list[member] = value;
        says(&answer(list), &asked(ListTasks, Version::V10), &STRICT, false, |read| {
            assert_eq!(read.unwrap_err().path, path)
        });
    }
}
