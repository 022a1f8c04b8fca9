//! References between contexts: what is borrowed is judged as in its own document, and nothing is borrowed by name alone.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::*;
use crate::field::{Field, FieldType};
use crate::performative::Performative;
use crate::schema::SchemaFault;

fn among(document: &Value, others: &[Arc<Context>]) -> Result<Context, DocumentFault> {
    let find = |urn: &ContextUrn| others.iter().find(|context| context.urn() == urn).cloned();
    let bytes = document.to_string();
    Context::check_among(bytes.as_bytes(), &Prefix::default(), &DocumentLimits::default(), &find)
}

/// A vocabulary of money, with a code list, a definition, free text and performatives of its own.
fn money() -> Arc<Context> {
    let document = json!({
        "context": "urn:contexts:money:v1.0",
        "concepts": {
            "amount": {
                "type": "object",
                "x-performatives": ["REQUEST"],
                "properties": {
                    "value": { "$ref": "#/$defs/exact" },
                    "currency": { "type": "string", "x-code-list": "currencies" },
                    "memo": { "type": "string", "maxLength": 20, "x-free-text": true },
                },
                "required": ["value", "currency"],
            },
        },
        "tasks": { "convert": { "parameters": { "type": "object", "properties": {} }, "results": { "type": "object", "properties": {} } } },
        "codes": { "currencies": ["EUR", "USD"] },
        "$defs": { "exact": { "type": "number", "multipleOf": 0.01 } },
    });
    Arc::new(among(&document, &[]).unwrap())
}

fn to(context: &Context, name: &str) -> Value {
    json!({ "$ref": format!("{}#/concepts/{name}", context.urn()), "x-digest": context.digest().to_string() })
}

/// A context `line` whose concept `order` has a member `total` with this schema, and a code list called like the other's.
fn order(line: &str, total: &Value) -> Value {
    json!({
        "context": format!("urn:contexts:{line}:v1.0"),
        "concepts": { "order": { "type": "object", "required": ["total"], "properties": { "total": total } } },
        "codes": { "currencies": ["XXX"] },
    })
}

fn conform(context: &Context, content: &str) -> Result<(), (String, String)> {
    let shape = context.term("order").unwrap().side(Performative::Query).unwrap();
    let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
    shape.conform(read.as_object().unwrap(), None).map_err(|fault| (fault.path, fault.rule))
}

#[test]
fn a_borrowed_concept_is_judged_as_in_its_own_document() {
    let money = money();
    let context = among(&order("shop", &to(&money, "amount")), &[Arc::clone(&money)]).unwrap();
    let fault = |path: &str, rule: &str| Err((path.to_owned(), rule.to_owned()));
    assert_eq!(conform(&context, r#"{"total":{"value":1.25,"currency":"EUR"}}"#), Ok(()));
    assert_eq!(
        conform(&context, r#"{"total":{"value":1.255,"currency":"EUR"}}"#),
        fault("/total/value", "multipleOf")
    );
    assert_eq!(
        conform(&context, r#"{"total":{"value":1,"currency":"XXX"}}"#),
        fault("/total/currency", "x-code-list")
    );
    assert_eq!(
        conform(&context, r#"{"total":{"value":1,"currency":"EUR","more":1}}"#),
        fault("/total", "additionalProperties")
    );
    assert_eq!(context.references().iter().map(|other| other.urn()).collect::<Vec<_>>(), [money.urn()]);
}

#[test]
fn types_and_free_text_are_seen_through_a_reference() {
    let money = money();
    let context = among(&order("shop", &to(&money, "amount")), &[money]).unwrap();
    let shape = context.term("order").unwrap().side(Performative::Query).unwrap();
    let FieldType::Record(members) = shape.fields() else { panic!("no record") };
    let FieldType::Record(total) = &members["total"].kind else { panic!("no record inside") };
    assert_eq!(total["value"], Field { kind: FieldType::Decimal, required: true });
    let text = |memo: &str| {
        let content = format!(r#"{{"total":{{"value":1,"currency":"EUR","memo":"{memo}"}}}}"#);
        let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
        shape.has_free_text(read.as_object().unwrap())
    };
    assert!(text("hello") && !text(""));
    let target = shape.schema()["properties"]["total"]["$ref"].as_str().unwrap().to_owned();
    assert!(context.bundled().pointer(target.trim_start_matches('#')).is_some());
}

#[test]
fn the_signed_bytes_keep_the_reference_as_it_was_written() {
    let money = money();
    let document = order("shop", &to(&money, "amount"));
    let context = among(&document, &[money]).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(context.bytes()).unwrap(), document);
}

#[test]
fn what_is_borrowed_may_borrow_in_turn_and_all_of_it_counts() {
    let money = money();
    let shop = Arc::new(among(&order("shop", &to(&money, "amount")), &[Arc::clone(&money)]).unwrap());
    let mall = among(&order("mall", &to(&shop, "order")), &[Arc::clone(&shop)]).unwrap();
    let lines: Vec<_> = mall.references().iter().map(|other| other.urn().line().as_str()).collect();
    assert_eq!(lines, ["shop", "money"]);
    assert_eq!(conform(&mall, r#"{"total":{"total":{"value":1,"currency":"USD"}}}"#), Ok(()));
    assert_eq!(
        conform(&mall, r#"{"total":{"total":{"value":1,"currency":"usd"}}}"#),
        Err(("/total/total/currency".to_owned(), "x-code-list".to_owned()))
    );
}

#[test]
fn a_reference_is_by_urn_and_digest_together() {
    let money = money();
    let known = [Arc::clone(&money)];
    let with = |change: &dyn Fn(&mut Value)| {
        let mut reference = to(&money, "amount");
        change(&mut reference);
        among(&order("shop", &reference), &known).unwrap_err()
    };
    let reference = |fault: DocumentFault| match fault {
        DocumentFault::Reference { path, what } => {
            assert_eq!(path, "/concepts/order/properties/total");
            what
        }
        other => panic!("{other}"),
    };
    let remove = |reference: &mut Value| drop(reference.as_object_mut().unwrap().remove("x-digest"));
    assert!(reference(with(&remove)).contains("`x-digest`"));
    assert!(reference(with(&|r| r["x-digest"] = json!("sha-256:00"))).contains("`x-digest`"));
    let other = Digest::of(b"other").to_string();
    assert!(matches!(with(&|r| r["x-digest"] = json!(other)), DocumentFault::ReferenceDigest { .. }));
    for (target, why) in [
        ("urn:contexts:money:v1.0#/concepts/none", "names no concept"),
        ("urn:contexts:money:v1.0#/concepts/convert", "names no concept"),
        ("urn:contexts:money:v1.0#/$defs/exact", "must be `#/$defs/NAME`"),
        ("urn:contexts:money:v1.0", "must be `#/$defs/NAME`"),
        ("URN:contexts:money:v1.0#/concepts/amount", "must be `#/$defs/NAME`"),
        ("https://money.example/#/concepts/amount", "must be `#/$defs/NAME`"),
        ("", "must be `#/$defs/NAME`"),
        ("urn:contexts:shop:v1.0#/concepts/order", "to its own context"),
        ("#/$defs/0.concepts.amount", "names nothing in this document"),
    ] {
        assert!(reference(with(&|r| r["$ref"] = json!(target))).contains(why), "{target}");
    }
    let missing = among(&order("shop", &to(&money, "amount")), &[]).unwrap_err();
    assert_eq!(
        missing,
        DocumentFault::ReferenceMissing { urn: money.urn().clone(), digest: *money.digest() }
    );
}

#[test]
fn a_digest_beside_no_reference_to_another_context_is_refused() {
    for schema in [
        json!({ "type": "string", "x-digest": Digest::of(b"x").to_string() }),
        json!({ "$ref": "#/concepts/order", "x-digest": Digest::of(b"x").to_string() }),
    ] {
        let fault = among(&order("shop", &schema), &[]).unwrap_err();
        let DocumentFault::Schema { fault: SchemaFault::RefusedKeyword { keyword, .. }, .. } = fault else {
            panic!("{fault}")
        };
        assert_eq!(keyword, "x-digest");
    }
}

#[test]
fn a_code_list_of_another_context_is_reached_by_a_concept_alone() {
    let money = money();
    let mut document = order("shop", &to(&money, "amount"));
    for list in ["urn:contexts:money:v1.0#/codes/currencies", "money#"] {
        document["concepts"]["order"]["properties"]["own"] = json!({"type": "string", "x-code-list": list});
        let fault = among(&document, &[Arc::clone(&money)]).unwrap_err();
        let DocumentFault::Schema { fault, path } = fault else { panic!("{fault:?}") };
        assert_eq!((fault, path.as_str()), (SchemaFault::UnknownCodeList, "/concepts/order/properties/own"));
    }
}

#[test]
fn a_member_called_ref_is_no_reference() {
    let total = json!({ "type": "object", "properties": { "$ref": { "type": "string", "const": "urn:contexts:money:v1.0#/concepts/amount" } } });
    assert!(among(&order("shop", &total), &[]).unwrap().references().is_empty());
}

#[test]
fn a_context_with_two_digests_is_no_one_context() {
    let money = money();
    let shop = Arc::new(among(&order("shop", &to(&money, "amount")), &[Arc::clone(&money)]).unwrap());
    let mut other: Value = serde_json::from_slice(money.bytes()).unwrap();
    other["title"] = json!("another");
    let other = Arc::new(among(&other, &[]).unwrap());
    let mut both = order("mall", &to(&shop, "order"));
    both["concepts"]["order"]["properties"]["more"] = to(&other, "amount");
    let fault = among(&both, &[shop, other]).unwrap_err();
    assert_eq!(fault, DocumentFault::ReferenceDigest { urn: money.urn().clone() });
}

#[test]
fn references_and_their_work_are_bounded() {
    let mut chain = vec![Arc::new(among(&order("l0", &json!({ "type": "integer" })), &[]).unwrap())];
    let mut last = Ok(());
    for step in 1..=17 {
        let next = among(&order(&format!("l{step}"), &to(&chain[step - 1], "order")), &chain);
        match next {
            Ok(context) => chain.push(Arc::new(context)),
            Err(fault) => {
                last = Err((step, fault));
                break;
            }
        }
    }
    let (step, fault) = last.unwrap_err();
    assert_eq!(step, 17);
    assert!(
        matches!(fault, DocumentFault::TooMany { what: "referenced contexts", limit: 16, .. }),
        "{fault}"
    );

    // each step looks at the value twice: what no single document shows, the whole does
    let twice = |line: &str, schema: &Value| {
        let both = json!({ "context": format!("urn:contexts:{line}:v1.0"), "concepts": { "order": {
            "type": "object", "allOf": [schema.clone(), schema.clone(), schema.clone(), schema.clone()] } } });
        both
    };
    let mut before = Arc::clone(&chain[0]);
    let fault = (0..8).find_map(|step| {
        match among(&twice(&format!("t{step}"), &to(&before, "order")), &[Arc::clone(&before)]) {
            Ok(context) => {
                before = Arc::new(context);
                None
            }
            Err(fault) => Some(fault),
        }
    });
    let Some(DocumentFault::Schema { fault: SchemaFault::Work { .. }, .. }) = fault else {
        panic!("{fault:?}")
    };
}

#[test]
fn a_borrowed_code_list_is_found_by_the_name_that_the_member_has_for_it() {
    let money = money();
    let context = among(&order("shop", &to(&money, "amount")), &[Arc::clone(&money)]).unwrap();
    let shape = context.term("order").unwrap().side(Performative::Query).unwrap();
    let FieldType::Record(members) = shape.fields() else { panic!("no record") };
    let FieldType::Record(total) = &members["total"].kind else { panic!("no record inside") };
    let FieldType::Text { code_list: Some(list), .. } = &total["currency"].kind else { panic!("no list") };
    assert_eq!(context.code_list(list).unwrap(), ["EUR", "USD"]);
    assert_eq!(context.code_list("currencies").unwrap(), ["XXX"]);
    assert_eq!(context.code_list("urn:contexts:other:v1.0#/codes/currencies"), None);
}

#[test]
fn all_that_is_missing_is_found_in_borrowed_schemas_too_and_within_a_bound() {
    let money = money();
    let context = among(&order("shop", &to(&money, "amount")), &[money]).unwrap();
    let shape = context.term("order").unwrap().side(Performative::Query).unwrap();
    let gaps = |content: &str, most: usize| {
        let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
        shape.gaps(read.as_object().unwrap(), Some("concept"), most)
    };
    assert_eq!(gaps(r#"{"concept":"order"}"#, 9), ["/total"]);
    assert_eq!(gaps(r#"{"concept":"order","total":{"memo":"x"}}"#, 9), ["/total/currency", "/total/value"]);
    assert_eq!(gaps(r#"{"total":{}}"#, 1), ["/total/currency"]);
    assert_eq!(gaps(r#"{"total":{"value":1,"currency":"EUR"}}"#, 9), [""; 0]);
    assert_eq!(gaps(r#"{"total":7}"#, 9), [""; 0], "what is not an object has another fault");
}
