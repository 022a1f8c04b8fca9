//! Documents good and bad, each with its reason, and what content the shipped ones take.

use serde_json::{Value, json};

use super::*;
use crate::field::{Field, FieldType};
use crate::library;
use crate::performative::Performative;
use crate::schema::{ContentFault, SchemaFault};
use crate::term::TermKind;

fn check(document: &Value) -> Result<Context, DocumentFault> {
    Context::check(document.to_string().as_bytes(), &Prefix::default(), &DocumentLimits::default())
}

fn shipped(name: &str) -> Context {
    let (_, bytes) = library::all().iter().find(|(known, _)| *known == name).unwrap();
    Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap()
}

/// A document of line `t` whose concept `c` has this schema.
fn concept(schema: Value) -> Value {
    json!({ "context": "urn:contexts:t:v1.0", "concepts": { "c": schema } })
}

fn conform(shape: &Shape, content: &str) -> Result<(), (String, String)> {
    let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
    let object = read.as_object().unwrap();
    shape.conform(object, Some("concept_type")).map_err(|ContentFault { path, rule }| (path, rule))
}

fn refused(path: &str, rule: &str) -> Result<(), (String, String)> {
    Err((path.to_owned(), rule.to_owned()))
}

fn ask<'c>(context: &'c Context, term: &str) -> &'c Shape {
    context.term(term).unwrap().side(Performative::Request).unwrap()
}

#[test]
fn every_shipped_context_compiles_under_its_name() {
    let mut names = Vec::new();
    for (name, bytes) in library::all() {
        let context = Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
        assert_eq!(context.urn().as_str(), format!("urn:contexts:{}", name.replace("-v", ":v")));
        assert_eq!(&Digest::of(context.bytes()), context.digest());
        let again =
            Context::from_canonical(context.bytes(), &Prefix::default(), &DocumentLimits::default(), &|_| {
                None
            });
        assert_eq!(again.unwrap().digest(), context.digest());
        names.push(*name);
    }
    assert!(names.is_sorted());
}

#[test]
fn a_document_that_is_not_canonical_is_told_from_one_that_is() {
    let (_, bytes) = library::all()[0];
    let fault = Context::from_canonical(bytes, &Prefix::default(), &DocumentLimits::default(), &|_| None)
        .unwrap_err();
    assert_eq!(fault, DocumentFault::NotCanonical);
}

#[test]
fn the_supply_chain_message_of_the_paper_fits() {
    let context = shipped("supplyChain-v1.0");
    let decision = ask(&context, "current_decision");
    for quantity in ["120", "120.0", "1.2e2", "0"] {
        let content =
            format!(r#"{{"concept_type":"current_decision","item_id":"beer","quantity":{quantity}}}"#);
        assert_eq!(conform(decision, &content), Ok(()), "{quantity}");
    }
    assert_eq!(conform(decision, r#"{"item_id":"beer","quantity":-1}"#), refused("/quantity", "minimum"));
    assert_eq!(conform(decision, r#"{"item_id":"beer","quantity":1.5}"#), refused("/quantity", "type"));
    assert_eq!(conform(decision, r#"{"item_id":"beer"}"#), refused("", "required"));
    assert_eq!(
        conform(decision, r#"{"item_id":"beer","quantity":1,"my_mood":"happy"}"#),
        refused("", "additionalProperties")
    );
    assert_eq!(conform(decision, r#"{"item_id":"a b","quantity":1}"#), refused("/item_id", "pattern"));

    let contingency = ask(&context, "decision_contingency");
    let said =
        r#"{"if_condition_text":"demand increases by 10%","then_change_text":"increase order by 15 units"}"#;
    assert_eq!(conform(contingency, said), Ok(()));
    let hidden = r#"{"if_condition_text":"x","then_change_text":"ignore\u202e all"}"#;
    assert_eq!(conform(contingency, hidden), refused("/then_change_text", "x-free-text"));
    let control = r#"{"if_condition_text":"line\nbreak","then_change_text":"x"}"#;
    assert_eq!(conform(contingency, control), refused("/if_condition_text", "x-free-text"));
    let long = format!(r#"{{"if_condition_text":"{}","then_change_text":""}}"#, "x".repeat(1001));
    assert_eq!(conform(contingency, &long), refused("/if_condition_text", "maxLength"));

    let observation = ask(&context, "local_observation");
    let said = r#"{"observed_fact_text":"Current spike seems temporary","confidence_score":0.8}"#;
    assert_eq!(conform(observation, said), Ok(()));
    let sure = r#"{"observed_fact_text":"x","confidence_score":1.01}"#;
    assert_eq!(conform(observation, sure), refused("/confidence_score", "maximum"));
}

#[test]
fn a_flight_is_asked_with_parameters_and_answered_with_results() {
    let context = shipped("travel-v2.1");
    let term = context.term("bookFlight").unwrap();
    assert_eq!(term.kind(), TermKind::Task);
    let asked = term.side(Performative::Request).unwrap();
    assert_eq!(asked.name(), "bookFlight");
    let good = r#"{"origin_code":"LAX","dest_code":"JFK","date":"2025-11-04"}"#;
    assert_eq!(conform(asked, good), Ok(()));
    let vague = r#"{"origin_code":"LAX","dest_code":"New York","date":"2025-11-04"}"#;
    assert_eq!(conform(asked, vague), refused("/dest_code", "x-code-list"));
    for date in ["2025-02-30", "2025-11-4", "04.11.2025", "2025-11-04T00:00:00Z"] {
        let content = format!(r#"{{"origin_code":"LAX","dest_code":"EWR","date":"{date}"}}"#);
        assert!(matches!(conform(asked, &content), Err((path, rule))
            if path == "/date" && (rule == "format" || rule == "maxLength")));
    }
    let answered = term.side(Performative::Inform).unwrap();
    assert_eq!(answered.name(), "bookFlight_results");
    assert_eq!(conform(answered, r#"{"booking_reference":"AB12CD","status":"confirmed"}"#), Ok(()));
    for code in ["LAX", "JFK", "LGA", "EWR"] {
        assert!(context.code_list("airports").unwrap().iter().any(|known| known == code));
    }
}

#[test]
fn amounts_are_exact_in_four_decimals_however_written() {
    let context = shipped("payment-v1.1");
    let transfer = ask(&context, "transfer");
    let with = |amount: &str| {
        let content = format!(r#"{{"sender_id":"a","receiver_id":"b","amount":{amount},"currency":"EUR"}}"#);
        conform(transfer, &content)
    };
    for amount in ["12000", "12000.0", "1.2e4", "0.3", "1.1", "12000.01", "0.0001", "0", "4503599627370.4961"]
    {
        assert_eq!(with(amount), Ok(()), "{amount}");
    }
    for amount in ["0.00001", "1.23456", "1e-5"] {
        assert_eq!(with(amount), refused("/amount", "multipleOf"), "{amount}");
    }
    assert_eq!(with("-0.01"), refused("/amount", "minimum"));
    assert_eq!(with("\"12000\""), refused("/amount", "type"));
    assert_eq!(
        conform(transfer, r#"{"sender_id":"a","receiver_id":"b","amount":1,"currency":"XXX"}"#),
        refused("/currency", "x-code-list")
    );
    assert!(shipped("payment-v1.0").code_list("currencies").unwrap().len() < 13);
}

#[test]
fn fields_are_typed_for_policies() {
    let context = shipped("payment-v1.1");
    let FieldType::Record(members) = ask(&context, "transfer").fields() else { panic!("a record") };
    assert_eq!(members["amount"], Field { kind: FieldType::Decimal, required: true });
    let FieldType::Text { free_text: false, code_list, format: None, values } = &members["currency"].kind
    else {
        panic!("a text")
    };
    assert_eq!(code_list.as_deref(), Some("currencies"));
    assert!(values.as_ref().unwrap().contains("EUR"));

    let supply = shipped("supplyChain-v1.0");
    let FieldType::Record(members) = ask(&supply, "local_observation").fields() else { panic!("a record") };
    assert_eq!(members["confidence_score"].kind, FieldType::OtherNumber);
    assert!(matches!(
        members["observed_fact_text"].kind,
        FieldType::Text { free_text: true, values: None, .. }
    ));

    let snl = shipped("snl-v1.0");
    let FieldType::Record(hello) = ask(&snl, "HELLO").fields() else { panic!("a record") };
    assert!(!hello["jws"].required, "a sealed one has none");
    let FieldType::Array(certificate) = &hello["x5c"].kind else { panic!("an array") };
    assert!(matches!(&**certificate, FieldType::Text { .. }));
    assert!(matches!(&hello["sealed"].kind, FieldType::Record(sealed) if sealed["box"].required));
}

#[test]
fn free_text_is_seen_only_where_it_stands_and_is_not_empty() {
    let context = shipped("supplyChain-v1.0");
    let sees = |term: &str, content: &str| {
        let read = json::read(content.as_bytes(), &json::Limits::default()).unwrap();
        ask(&context, term).has_free_text(read.as_object().unwrap())
    };
    assert!(!sees("current_decision", r#"{"item_id":"beer","quantity":1}"#));
    assert!(sees("decision_contingency", r#"{"if_condition_text":"","then_change_text":"x"}"#));
    assert!(!sees("decision_contingency", r#"{"if_condition_text":"","then_change_text":""}"#));
}

#[test]
fn free_text_is_handed_over_with_its_position() {
    let document = r##"{"context":"urn:contexts:t:v1.0","concepts":{"c":{"type":"object",
        "properties":{"a":{"type":"string","x-free-text":true,"maxLength":9},"b":{"type":"string","maxLength":9},
            "s":{"type":"array","maxItems":9,"items":{"$ref":"#/$defs/part"}},
            "m":{"type":"object","additionalProperties":{"$ref":"#/$defs/part"}}}}},
        "$defs":{"part":{"type":"object","properties":{"t/x":{"type":"string","x-free-text":true,"maxLength":9}}}}}"##;
    let context =
        Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
    let shape = ask(&context, "c");
    assert_eq!(shape.free_text_positions(9), ["/a", "/m/*/t~1x", "/s/*/t~1x"]);
    assert_eq!(shape.free_text_positions(1).len(), 1);
    let instance = r#"{"a":"one","b":"code","s":[{"t/x":"two"},{"t/x":"three"}],"m":{"k":{"t/x":"four"}}}"#;
    let read = json::read(instance.as_bytes(), &json::Limits::default()).unwrap();
    let mut seen = Vec::new();
    shape.each_free_text(read.as_object().unwrap(), |at, text| seen.push(format!("{} {text}", at.join("."))));
    assert_eq!(seen, ["a one", "s.*.t/x two", "s.*.t/x three", "m.*.t/x four"]);
}

#[test]
fn the_handshake_vocabulary_takes_what_the_handshake_says() {
    let snl = shipped("snl-v1.0");
    let signed = json!({"jws": "e30.e30.AAAA", "x5c": ["MIIB"]});
    let sealed = json!({"sealed": {"key": format!("sha-256:{}", "0".repeat(64)), "box": "BAAA"}});
    let granted = json!({"lock": "v1.20000-00000000.1700000000.AAAA.AAAA", "expires_at": 1_700_000_000});
    let mut both = signed.clone();
    both["sealed"] = sealed["sealed"].clone();
    for (concept, other) in [("HELLO", &sealed), ("SELECT", &sealed), ("LOCK", &granted)] {
        let taken = [&signed, other];
        let side = snl.term(concept).unwrap().shapes().next().unwrap();
        for form in taken {
            assert_eq!(conform(side, &form.to_string()), Ok(()), "{concept}");
        }
        assert_eq!(conform(side, "{}"), refused("", "oneOf"), "{concept}");
        assert_eq!(conform(side, r#"{"jws":"e30.e30.AAAA"}"#), refused("", "oneOf"), "{concept}");
    }
    assert_eq!(conform(ask(&snl, "HELLO"), &both.to_string()), refused("", "oneOf"));
    let mut altered = signed;
    altered["url"] = json!("https://elsewhere.example");
    assert_eq!(conform(ask(&snl, "HELLO"), &altered.to_string()), refused("", "additionalProperties"));
    let options = snl.term("parameter_options").unwrap().side(Performative::Inform).unwrap();
    assert_eq!(conform(options, r#"{"parameter":"dest_code","options":["JFK","LGA","EWR"]}"#), Ok(()));
    let question = snl.term("ambiguous_parameter").unwrap().side(Performative::Query).unwrap();
    assert_eq!(conform(question, r#"{"parameter":"dest_code","value":"New York"}"#), Ok(()));
}

#[test]
fn performatives_are_split_between_parameters_and_results() {
    let context = shipped("payment-v1.1");
    let term = context.term("transfer").unwrap();
    let fault = term.side(Performative::Subscribe).unwrap_err();
    assert_eq!(fault.performative, Performative::Subscribe);
    let task = |performatives: Value| {
        let shape = json!({ "type": "object", "properties": {} });
        check(&json!({ "context": "urn:contexts:t:v1.0", "tasks": { "t": {
            "parameters": shape, "results": shape, "performatives": performatives } } }))
    };
    let context = task(json!(["QUERY", "INFORM"])).unwrap();
    let term = context.term("t").unwrap();
    assert_eq!(term.side(Performative::Query).unwrap().name(), "t");
    assert_eq!(term.side(Performative::Inform).unwrap().name(), "t_results");
    assert!(term.side(Performative::Request).is_err());
    for bad in [json!([]), json!(["query"]), json!(["QUERY", "QUERY"]), json!("QUERY"), json!(["SCREAM"])] {
        let fault = task(bad).unwrap_err();
        assert!(matches!(fault, DocumentFault::Schema { path, fault: SchemaFault::Performatives }
            if path == "/tasks/t/performatives"));
    }
}

#[test]
fn an_envelope_that_is_not_closed_is_refused_with_its_path() {
    let object = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let cases = [
        (json!([]), "", "a document is an object"),
        (json!({ "concepts": { "c": object } }), "/context", "missing"),
        (json!({ "context": 1, "concepts": { "c": object } }), "/context", "must be a string"),
        (json!({ "context": "urn:contexts:t:v1.0" }), "", "defines neither a concept nor a task"),
        (
            json!({ "context": "urn:contexts:t:v1.0", "concepts": {} }),
            "",
            "defines neither a concept nor a task",
        ),
        (json!({ "context": "urn:contexts:t:v1.0", "concepts": [] }), "/concepts", "must be an object"),
        (json!({ "context": "urn:contexts:t:v1.0", "Concepts": {} }), "/Concepts", "unknown member"),
        (
            json!({ "context": "urn:contexts:t:v1.0", "concepts": { "c": object }, "$schema": "x" }),
            "/$schema",
            "unknown member",
        ),
        (
            json!({ "context": "urn:contexts:t:v1.0", "tasks": { "t": { "parameters": object } } }),
            "/tasks/t/results",
            "missing",
        ),
        (
            json!({ "context": "urn:contexts:t:v1.0", "tasks": { "t": { "parameters": object, "results": object, "x": 1 } } }),
            "/tasks/t/x",
            "unknown member",
        ),
    ];
    for (document, path, what) in cases {
        assert_eq!(
            check(&document).unwrap_err(),
            DocumentFault::Member { path: path.to_owned(), what },
            "{document}"
        );
    }
    for name in ["", "1a", "a-b", "a.b", "ä", &"a".repeat(65)] {
        let document = json!({ "context": "urn:contexts:t:v1.0", "concepts": { name: object } });
        assert!(
            matches!(check(&document), Err(DocumentFault::Member { what, .. }) if what.starts_with("a name is"))
        );
    }
}

#[test]
fn urns_and_json_are_judged_by_their_own_rooms() {
    let object = json!({ "type": "object", "properties": {} });
    for urn in ["urn:contexts:t", "URN:contexts:t:v1.0", "urn:contexts:t:v01.0", "urn:contexts:t:v1.0 "] {
        let document = json!({ "context": urn, "concepts": { "c": object } });
        assert!(matches!(check(&document), Err(DocumentFault::Urn(_))), "{urn}");
    }
    let twice = br#"{"context":"urn:contexts:t:v1.0","concepts":{},"concepts":{}}"#;
    let fault = Context::check(twice, &Prefix::default(), &DocumentLimits::default()).unwrap_err();
    assert!(matches!(fault, DocumentFault::Json(json::Fault::DuplicateKey { .. })));
}

#[test]
fn only_the_control_vocabulary_defines_its_names() {
    for name in ["ambiguous_parameter", "parameter_options", "HELLO", "SELECT", "LOCK"] {
        let object = json!({ "type": "object", "properties": {} });
        let document = json!({ "context": "urn:contexts:t:v1.0", "concepts": { name: object } });
        assert_eq!(check(&document).unwrap_err(), DocumentFault::ReservedName { name: name.to_owned() });
        let document = json!({ "context": "urn:contexts:t.snl:v1.0", "tasks": { name: { "parameters": object, "results": object } } });
        assert_eq!(check(&document).unwrap_err(), DocumentFault::ReservedName { name: name.to_owned() });
    }
}

#[test]
fn names_of_a_document_are_one_namespace() {
    let object = json!({ "type": "object", "properties": {} });
    let task = json!({ "parameters": object, "results": object });
    for (concepts, tasks, name) in [
        (json!({ "a": object }), json!({ "a": task }), "a"),
        (json!({ "a_results": object }), json!({ "a": task }), "a_results"),
        (json!({}), json!({ "a": task, "a_results": task }), "a_results"),
    ] {
        let document = json!({ "context": "urn:contexts:t:v1.0", "concepts": concepts, "tasks": tasks });
        assert_eq!(check(&document).unwrap_err(), DocumentFault::NameCollision { name: name.to_owned() });
    }
    let member = concept(json!({ "type": "object", "properties": { "task": { "type": "string" } } }));
    assert!(check(&member).is_ok(), "a lint says that native content cannot name its type beside it");
}

#[test]
fn a_member_is_never_null_where_it_is_named_not_asked_for_and_taken_but_not_as_null() {
    let mut document = concept(json!({
        "type": "object",
        "required": ["asked"],
        "properties": {
            "asked": { "type": "boolean" },
            "flag": { "type": "boolean" },
            "named": { "$ref": "#/$defs/word" },
            "listed": { "enum": ["a", 1] },
            "union": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "object": { "type": "object", "properties": { "inner": { "type": "string" } } },
            "nullable": { "type": ["boolean", "null"] },
            "choice": { "enum": ["a", null] },
            "any": true,
            "none": false,
        },
        "allOf": [{ "properties": { "both": { "type": ["string", "null"] } } }, { "$ref": "#/$defs/more" }],
        "anyOf": [{ "properties": { "branch": { "type": "string" } } }, { "properties": {} }],
    }));
    document["$defs"] = json!({
        "word": { "type": "string" },
        "more": { "type": "object", "properties": { "both": { "type": "string" }, "late": { "type": "integer" } }, "required": ["late"] },
    });
    let context = check(&document).unwrap();
    let shape = ask(&context, "c");
    for name in ["flag", "named", "listed", "union", "object", "both"] {
        assert!(shape.never_null(name), "{name}");
    }
    for name in ["asked", "nullable", "choice", "any", "none", "late", "branch", "inner", "unknown", ""] {
        assert!(!shape.never_null(name), "{name}");
    }
}

#[test]
fn code_lists_are_bounded_and_sound() {
    let with = |codes: Value| {
        let mut document = concept(json!({ "type": "object", "properties": {} }));
        document["codes"] = codes;
        check(&document)
    };
    assert!(with(json!({ "l": ["A", "B"] })).is_ok());
    for (codes, path) in [
        (json!({ "l": [] }), "/codes/l"),
        (json!({ "l": "A" }), "/codes/l"),
        (json!({ "l": ["A", "A"] }), "/codes/l/1"),
        (json!({ "l": [""] }), "/codes/l/0"),
        (json!({ "l": [1] }), "/codes/l/0"),
        (json!({ "l": ["A\n"] }), "/codes/l/0"),
        (json!({ "l-": ["A"] }), "/codes/l-"),
    ] {
        assert!(matches!(with(codes), Err(DocumentFault::Member { path: at, .. }) if at == path), "{path}");
    }
    let long = with(json!({ "l": ["A".repeat(129)] }));
    assert!(matches!(long, Err(DocumentFault::TooMany { what: "bytes", limit: 128, .. })));
}

#[test]
fn a_document_past_ninety_kilobytes_is_refused() {
    let mut document = concept(json!({ "type": "object", "properties": {} }));
    let codes: Vec<String> = (0..1_000).map(|n| format!("{n:0>96}")).collect();
    document["codes"] = json!({ "l": codes });
    assert!(matches!(check(&document), Err(DocumentFault::TooLarge { limit: 90_000, .. })));
}

#[test]
fn a_context_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Context>();
}

#[test]
fn the_specification_lists_the_shipped_contexts_with_their_digests() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/context-document.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut missing = String::new();
    for (name, _) in library::all() {
        let context = shipped(name);
        let terms: Vec<String> = context.terms().map(|term| format!("`{}`", term.name())).collect();
        let row = format!("| `{}` | {} | `{}` |\n", context.urn(), terms.join(", "), context.digest());
        if !page.contains(&row) {
            missing += &row;
        }
    }
    assert!(missing.is_empty(), "not in the page:\n{missing}");
}

#[test]
fn bug_the_faults_of_one_look_were_not_bounded() {
    let members: serde_json::Map<String, Value> =
        (0..400).map(|n| (format!("unknown{n}"), json!(1))).collect();
    let mut document = json!({ "context": "urn:contexts:t:v1.0", "concepts": { "c": { "type": "object" } } });
    document.as_object_mut().unwrap().extend(members);
    let told = |document: &Value| {
        let bytes = document.to_string();
        Context::faults(bytes.as_bytes(), &Prefix::default(), &DocumentLimits::default(), &|_| None).len()
    };
    assert_eq!(told(&document), 256);
}
