use super::*;
use crate::source;
use semgate_contexts::json;

const NAMING: Naming<'_> = Naming { line: "drafts", version: "v1.0", title: "Drafts" };

const SHOP: &str = r##"
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 1}}
    get:
      operationId: getOrder
      summary: Reads one order.
      parameters:
        - {name: id, in: query, schema: {type: string, enum: [short, long]}}
        - {name: Accept, in: header, schema: {type: string}}
      responses:
        200: {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
        404: {description: no, content: {application/json: {schema: {type: string}}}}
    put:
      operationId: putOrder
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}
      responses: {"204": {description: done}}
    post:
      operationId: upload
      requestBody: {content: {image/png: {schema: {type: string, format: binary}}}}
      responses: {"204": {description: done}}
components:
  schemas:
    Order:
      type: object
      required: [sku, lines]
      properties:
        sku: {type: string, nullable: true}
        price: {type: number, minimum: 0, exclusiveMinimum: true}
        parent: {$ref: "#/components/schemas/Order"}
        lines: {type: array, uniqueItems: true, items: {type: string, maxLength: 20}}
        free: {type: object}
"##;

fn source() -> Value {
    source::json_or_yaml(SHOP.as_bytes()).unwrap()
}

fn drafted(choice: &Choice) -> ContextDraft {
    draft(&source(), choice, &NAMING).unwrap()
}

fn rule(draft: &ContextDraft, term: &str, side: usize, value: &Value) -> Option<String> {
    let text = value.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let shape = draft.context.term(term).unwrap().shapes().nth(side).unwrap();
    shape.conform(read.as_object().unwrap(), None).err().map(|fault| fault.rule)
}

#[test]
fn an_operation_becomes_a_task_with_its_parameters_body_and_answer() {
    let draft = drafted(&Choice::default());
    let order =
        json!({"sku": null, "lines": ["a"], "parent": {"sku": "x", "lines": []}, "free": {"any": [1]}});
    for (task, side, value, refused) in [
        ("getOrder", 0, json!({"path_id": 1, "query_id": "long"}), None),
        ("getOrder", 0, json!({"query_id": "long"}), Some("required")),
        ("getOrder", 0, json!({"path_id": 0}), Some("minimum")),
        ("getOrder", 1, json!({"body": order}), None),
        ("getOrder", 1, json!({}), Some("required")),
        ("putOrder", 0, json!({"id": 1, "body": order}), None),
        (
            "putOrder",
            0,
            json!({"id": 1, "body": {"sku": "a", "lines": [], "price": 0}}),
            Some("exclusiveMinimum"),
        ),
        ("putOrder", 0, json!({"id": 1, "body": {"sku": "a", "lines": ["x", "x"]}}), Some("uniqueItems")),
        (
            "putOrder",
            0,
            json!({"id": 1, "body": {"sku": "a", "lines": [], "more": 1}}),
            Some("additionalProperties"),
        ),
        ("putOrder", 1, json!({}), None),
    ] {
        assert_eq!(rule(&draft, task, side, &value).as_deref(), refused, "{task} {value}");
    }
}

#[test]
fn what_no_task_can_say_is_left_out_with_its_pointer() {
    let draft = drafted(&Choice::default());
    for (at, what) in [
        ("/paths/~1orders~1{id}/post", "is left out: its body is no JSON (image/png)"),
        ("/paths/~1orders~1{id}/get/responses", "answers of other statuses are left out: 404"),
        ("/components/schemas/Order", "members that it does not name are refused"),
        ("/components/schemas/Order/properties/sku", "is free text"),
        ("/components/schemas/Order/properties/lines", "at most 256 items"),
        ("/components/schemas/Order/properties/free", "is an open object"),
    ] {
        assert!(
            draft.remarks.iter().any(|one| one.at == at && one.what.contains(what)),
            "{at}: {:#?}",
            draft.remarks
        );
    }
    assert!(draft.context.term("upload").is_none());
}

#[test]
fn operations_and_schemas_are_chosen_by_name() {
    let draft = drafted(&Choice { operations: vec!["GET /orders/{id}".to_owned()], schemas: Vec::new() });
    assert_eq!(draft.context.terms().map(|term| term.name()).collect::<Vec<_>>(), ["getOrder"]);
    let draft = drafted(&Choice { operations: Vec::new(), schemas: vec!["Order".to_owned()] });
    assert_eq!(draft.context.terms().map(|term| term.name()).collect::<Vec<_>>(), ["Order"]);
    assert_eq!(draft.document["concepts"]["Order"]["properties"]["parent"]["$ref"], "#/concepts/Order");
    let missing = Choice { operations: vec!["upload".to_owned()], schemas: Vec::new() };
    let refused = super::draft(&source(), &missing, &NAMING).unwrap_err();
    assert!(refused.what.contains("no operation `upload`") && refused.hint.unwrap().contains("getOrder"));
}

#[test]
fn other_versions_are_refused() {
    for (text, why) in [
        ("{\"swagger\": \"2.0\"}", "Swagger 2.0"),
        ("{\"openapi\": \"4.0.0\"}", "no description"),
        ("[]", "no description"),
    ] {
        let source = source::json_or_yaml(text.as_bytes()).unwrap();
        assert!(super::draft(&source, &Choice::default(), &NAMING).unwrap_err().what.contains(why));
    }
}

#[test]
fn yaml_is_read_by_the_types_of_json() {
    let value = source::json_or_yaml(b"no: no\n007: 007\nd: 2020-01-01\nn: 1.5\nt: true\n").unwrap();
    assert_eq!(value, json!({"no": "no", "007": "007", "d": "2020-01-01", "n": 1.5, "t": true}));
}

#[test]
fn attack_aliases_of_yaml_multiply() {
    let mut text = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (this, last) in "bcdefghij".chars().zip("abcdefghi".chars()) {
        text += &format!(
            "{this}: &{this} [*{last},*{last},*{last},*{last},*{last},*{last},*{last},*{last},*{last}]\n"
        );
    }
    let refused = source::json_or_yaml(text.as_bytes()).unwrap_err();
    assert!(refused.what.starts_with("neither JSON nor YAML"), "{refused}");
    assert!(source::json_or_yaml(b"a: 1\na: 2\n").is_err(), "two equal keys");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn fuzz_yaml_and_descriptions_never_panic(noise in "[ -~\n]{0,80}", cut in 0_usize..1500) {
        let text: String = SHOP.chars().take(cut).chain(noise.chars()).collect();
        if let Ok(source) = source::json_or_yaml(text.as_bytes()) {
            let _ = super::draft(&source, &Choice::default(), &NAMING);
        }
    }
}
