use super::*;
use proptest::prelude::*;
use semgate_contexts::json;
use serde_json::{Value, json};

const NAMING: Naming<'_> = Naming { line: "drafts", version: "v1.0", title: "Drafts" };

fn compiled(text: &'static str) -> Result<Descriptors, ImportFault> {
    Descriptors::compile(
        &["a.proto".to_owned()],
        Box::new(move |name| (name == "a.proto").then(|| text.to_owned())),
    )
}

fn draft(text: &'static str) -> ContextDraft {
    compiled(text).unwrap().draft(&[], &NAMING).unwrap()
}

/// The rule by which the concept refuses a value; none if it accepts it.
pub(crate) fn refused(draft: &ContextDraft, concept: &str, value: &Value) -> Option<String> {
    let text = value.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
    let shape = draft.context.term(concept).unwrap().shapes().next().unwrap();
    shape.conform(read.as_object().unwrap(), None).err().map(|fault| fault.rule.to_string())
}

const SHOP: &str = r#"
syntax = "proto3";
package acme.shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/field_mask.proto";
// One order of a customer.
message Order {
  // Name of the order.
  string order_id = 1;
  int64 cents = 2;
  uint64 serial = 3;
  bytes seal = 4;
  Kind kind = 5;
  repeated Order parts = 6;
  map<int32, string> notes = 7;
  oneof payer { string person = 8; Company company = 9; }
  google.protobuf.Timestamp made = 10;
  google.protobuf.Duration took = 11;
  google.protobuf.Any rest = 12;
  google.protobuf.Struct more = 13;
  google.protobuf.Int64Value limit = 14;
  google.protobuf.FieldMask mask = 15;
  double weight = 16;
  message Company { string name = 1; }
}
enum Kind { KIND_UNSPECIFIED = 0; RETAIL = 1; WHOLESALE = 2; }
service Shop {
  // Places an order.
  rpc Place(Order) returns (Order.Company);
  rpc Watch(Order) returns (stream Order);
}
"#;

#[test]
fn a_message_takes_the_json_that_serialisers_write_and_nothing_else() {
    let draft = draft(SHOP);
    let good = [
        json!({}),
        json!({"orderId": "a-1", "cents": "-9223372036854775808", "serial": "18446744073709551615", "seal": "AAE=", "kind": "RETAIL"}),
        json!({"parts": [{"parts": [{"orderId": "deep"}]}], "notes": {"-5": "x"}, "company": {"name": "Acme"}, "weight": 1.5}),
        json!({"made": "2024-02-29T10:00:00.123Z", "took": "-3.000250s", "limit": "7", "mask": "orderId,company.name", "more": {"a": [1, null]}}),
    ];
    for value in good {
        assert_eq!(refused(&draft, "Order", &value), None, "{value}");
    }
    for (value, rule) in [
        (json!({"order_id": "a"}), "unevaluatedProperties"),
        (json!({"cents": 5}), "type"),
        (json!({"cents": "9223372036854775808"}), "not"),
        (json!({"serial": "18446744073709551616"}), "pattern"),
        (json!({"seal": "AA"}), "pattern"),
        (json!({"kind": 1}), "type"),
        (json!({"kind": "OTHER"}), "x-code-list"),
        (json!({"orderId": null}), "type"),
        (json!({"notes": {"01": "x"}}), "propertyNames"),
        (json!({"made": "2024-02-29T10:00:00+01:00"}), "pattern"),
        (json!({"took": "315576000001s"}), "pattern"),
        (json!({"rest": {"@type": "x"}}), "unevaluatedProperties"),
        (json!({"orderId": "two\nlines"}), "x-free-text"),
        (json!({"weight": "NaN"}), "type"),
        (json!({"person": "p", "company": {}}), "oneOf"),
    ] {
        let shown = refused(&draft, "Order", &value);
        assert!(shown.is_some(), "{value} passes");
        assert!(
            rule == "propertyNames" || rule == "oneOf" || shown.as_deref() == Some(rule),
            "{value}: {shown:?}"
        );
    }
}

#[test]
fn each_difference_from_the_source_is_named_with_its_part() {
    let draft = draft(SHOP);
    for (at, what) in [
        ("acme.shop.v1.Order.rest", "is left out: a `google.protobuf.Any`"),
        ("acme.shop.v1.Order.more", "takes any JSON"),
        ("acme.shop.v1.Order.order_id", "is free text"),
        ("acme.shop.v1.Order.notes", "is a map"),
        ("acme.shop.v1.Kind", "numbers, unknown ones too, are refused"),
        ("acme.shop.v1.Shop.Watch", "is a stream"),
        ("", "null is refused"),
    ] {
        assert!(
            draft.remarks.iter().any(|one| one.at == at && one.what.contains(what)),
            "{at}: {:#?}",
            draft.remarks
        );
    }
}

#[test]
fn methods_become_tasks_and_comments_descriptions() {
    let draft = draft(SHOP);
    let terms: Vec<&str> = draft.context.terms().map(|term| term.name()).collect();
    assert_eq!(terms, ["Order", "Place", "Watch"]);
    assert_eq!(draft.document["concepts"]["Order"]["description"], "One order of a customer.");
    assert_eq!(draft.document["tasks"]["Place"]["parameters"]["description"], "Places an order.");
    assert_eq!(draft.document["tasks"]["Place"]["results"]["$ref"], "#/$defs/Order_Company");
    assert_eq!(draft.document["codes"]["Kind"], json!(["KIND_UNSPECIFIED", "RETAIL", "WHOLESALE"]));
}

#[test]
fn required_fields_of_proto2_are_required() {
    let draft = draft(
        "syntax = \"proto2\"; message A { required string a = 1; optional int32 b = 2; extensions 100 to 200; }",
    );
    assert_eq!(refused(&draft, "A", &json!({"b": 1})).as_deref(), Some("required"));
    assert_eq!(refused(&draft, "A", &json!({"a": ""})), None);
    assert!(draft.remarks.iter().any(|one| one.what.contains("extensions")));
}

#[test]
fn chosen_messages_are_concepts_and_what_they_reach_are_definitions() {
    let draft = compiled(SHOP).unwrap().draft(&["Company".to_owned()], &NAMING).unwrap();
    let terms: Vec<&str> = draft.context.terms().map(|term| term.name()).collect();
    assert_eq!(terms, ["Order_Company"]);
    assert!(draft.document.get("$defs").is_none());
    let unknown = compiled(SHOP).unwrap().draft(&["Nobody".to_owned()], &NAMING).unwrap_err();
    assert_eq!(unknown.what, "the source has no message `Nobody`");
}

#[test]
fn names_that_two_packages_share_stay_apart() {
    let a = "syntax = \"proto3\"; package a; import \"b.proto\"; message M { b.M other = 1; }";
    let b = "syntax = \"proto3\"; package b; message M { int32 n = 1; }";
    let open = move |name: &str| match name {
        "a.proto" => Some(a.to_owned()),
        "b.proto" => Some(b.to_owned()),
        _ => None,
    };
    let draft =
        Descriptors::compile(&["a.proto".to_owned()], Box::new(open)).unwrap().draft(&[], &NAMING).unwrap();
    assert_eq!(draft.document["concepts"]["a_M"]["properties"]["other"]["$ref"], "#/$defs/b_M");
}

#[test]
fn a_descriptor_set_gives_the_same_draft_as_its_text() {
    let descriptors = compiled(SHOP).unwrap();
    let set = descriptors.pool.encode_to_vec();
    let again = Descriptors::from_set(&set).unwrap().draft(&[], &NAMING).unwrap();
    assert_eq!(again.context.digest(), draft(SHOP).context.digest());
}

#[test]
fn what_cannot_be_read_is_refused_with_its_reason() {
    let missing = compiled("syntax = \"proto3\"; import \"gone.proto\";").unwrap_err();
    assert!(missing.what.contains("gone.proto") && missing.hint.unwrap().contains("--include"));
    assert!(compiled("syntax = \"proto3\"; message {").is_err());
    assert!(compiled("edition = \"2023\"; message A {}").is_err());
    assert_eq!(Descriptors::from_set(b"\xff\xff").unwrap_err().what, "the file holds no `FileDescriptorSet`");
}

fn shared(name: &str) -> Value {
    let mut definition = well_known::definition(name).unwrap();
    definition["type"] = json!("string");
    json!({"context": "urn:contexts:x:v1.0", "concepts": {"c": {"type": "object", "properties": {"v": definition}}}})
}

fn accepts(name: &str, text: &str) -> bool {
    let document = shared(name).to_string();
    let context =
        semgate_contexts::Context::check(document.as_bytes(), &Default::default(), &Default::default())
            .unwrap();
    let value = json!({"v": text}).to_string();
    let read = json::read(value.as_bytes(), &json::Limits::default()).unwrap();
    context.term("c").unwrap().shapes().next().unwrap().conform(read.as_object().unwrap(), None).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_integer_of_64_bits_is_a_text_and_no_other_number_is(signed: i64, plain: u64, far in 1_u64..u64::MAX) {
        prop_assert!(accepts("proto_int64", &signed.to_string()));
        prop_assert!(accepts("proto_uint64", &plain.to_string()));
        let above = i128::from(i64::MAX) + i128::from(far);
        let below = i128::from(i64::MIN) - i128::from(far);
        prop_assert!(!accepts("proto_int64", &above.to_string()), "{above}");
        prop_assert!(!accepts("proto_int64", &below.to_string()), "{below}");
        let over = u128::from(u64::MAX) + u128::from(far);
        prop_assert!(!accepts("proto_uint64", &over.to_string()), "{over}");
    }

    #[test]
    fn fuzz_descriptors_of_any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(descriptors) = Descriptors::from_set(&bytes) {
            let _ = descriptors.draft(&[], &NAMING);
        }
    }

    #[test]
    fn fuzz_proto_texts_never_panic(noise in "[a-zA-Z0-9{}=;\" .\\[\\]<>,/\n]{0,120}", cut in 0_usize..2000) {
        let text: String = SHOP.chars().take(cut).chain(noise.chars()).collect();
        let open = move |name: &str| (name == "a.proto").then(|| text.clone());
        if let Ok(descriptors) = Descriptors::compile(&["a.proto".to_owned()], Box::new(open)) {
            let _ = descriptors.draft(&[], &NAMING);
        }
    }
}
