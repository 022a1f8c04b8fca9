use super::*;
use semgate_contexts::json;

const NAMING: Naming<'_> = Naming { line: "oasf", version: "v1.0", title: "OASF" };

fn class(name: &str, extends: &str) -> Value {
    json!({"uid": 1, "caption": name, "description": "d", "extends": extends, "name": name, "attributes": {}})
}

#[test]
fn classes_become_codes_by_their_names_below_the_root() {
    let classes = [
        class("finance", "base_domain"),
        class("payments", "finance"),
        class("summarise", "base_skill"),
        class("lost", "nobody"),
    ];
    let draft = draft(&classes, &NAMING).unwrap();
    assert_eq!(
        draft.document["codes"],
        json!({"domains": ["finance", "finance/payments"], "skills": ["summarise"]})
    );
    let shape = draft.context.term("domain").unwrap().shapes().next().unwrap();
    for (text, passes) in
        [(r#"{"name":"finance/payments"}"#, true), (r#"{"name":"payments"}"#, false), ("{}", false)]
    {
        let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
        assert_eq!(shape.conform(read.as_object().unwrap(), None).is_ok(), passes, "{text}");
    }
    assert!(draft.remarks.iter().any(|one| one.at == "lost" && one.what.contains("no base class")));
}

#[test]
fn two_classes_of_one_name_and_other_objects_are_refused() {
    assert!(
        draft(&[class("a", "base_skill"), class("a", "base_skill")], &NAMING)
            .unwrap_err()
            .what
            .contains("two classes")
    );
    assert!(draft(&[json!({"name": "x"})], &NAMING).unwrap_err().what.contains("no class of OASF"));
    let looped = draft(&[class("a", "b"), class("b", "a")], &NAMING).unwrap_err();
    assert!(looped.what.contains("nothing of the source"));
}
