use std::collections::BTreeMap;

use semgate_contexts::json::{self, Json};
use semgate_contexts::{Field, FieldType, Format};

use super::{Decimals, attributes, check};
use crate::kinds::Attributes;
use crate::reads;

fn typed(fields: &[(&str, FieldType)]) -> Attributes {
    let members: BTreeMap<String, Field> = fields
        .iter()
        .map(|(name, kind)| {
            let field = Field { kind: kind.clone(), required: true };
            ((*name).to_owned(), field)
        })
        .collect();
    Attributes::of(&FieldType::Record(members), None)
}

fn checked(attributes: &Attributes, text: &str) -> Result<(), String> {
    ruled(attributes, text).map_err(|(pointer, _)| pointer)
}

fn ruled(attributes: &Attributes, text: &str) -> Result<(), (String, &'static str)> {
    let Json::Object(object) = json::read(text.as_bytes(), &json::Limits::default()).unwrap() else {
        panic!("an object")
    };
    check(attributes, &object, None).map_err(|misfit| (misfit.pointer(), misfit.rule()))
}

fn shown(fields: &[(&str, FieldType)], text: &str) -> Vec<String> {
    let Json::Object(object) = json::read(text.as_bytes(), &json::Limits::default()).unwrap() else {
        panic!("an object")
    };
    let all = reads::Attributes { all: true, ..Default::default() };
    attributes(&typed(fields), &all, &object, Some("concept"), Decimals::Cedar)
        .unwrap()
        .into_iter()
        .map(|(name, value)| {
            let value = cedar_policy::Context::from_pairs([(name.clone(), value)]).unwrap();
            format!("{name}={:?}", value.get(&name).unwrap())
        })
        .collect()
}

#[test]
fn decimals_are_exact_up_to_both_bounds_and_refused_past_them() {
    let amount = typed(&[("amount", FieldType::Decimal)]);
    // The strict reader takes 17 digits, so these are the numbers next to the bounds ±922337203685477.58.. that can be written.
    for fits in ["0", "-0", "10000.0001", "922337203685477.58", "-922337203685477.58", "1.2e4", "12000.0"] {
        assert_eq!(checked(&amount, &format!("{{\"amount\":{fits}}}")), Ok(()), "{fits}");
    }
    for past in ["922337203685477.59", "-922337203685477.59", "1e15", "0.00001"] {
        assert_eq!(checked(&amount, &format!("{{\"amount\":{past}}}")), Err("/amount".to_owned()), "{past}");
    }
}

#[test]
fn the_same_number_however_written_is_the_same_decimal() {
    let fields = [("amount", FieldType::Decimal)];
    let expected = shown(&fields, r#"{"amount":12000}"#);
    for text in ["12000.0", "1.2e4", "12000.0000", "120e2", "1200000E-2"] {
        assert_eq!(shown(&fields, &format!("{{\"amount\":{text}}}")), expected, "{text}");
    }
    assert_ne!(shown(&fields, r#"{"amount":12000.0001}"#), expected);
}

#[test]
fn what_policies_do_not_see_is_not_handed_over() {
    let fields = [
        ("a", FieldType::OtherNumber),
        ("b", FieldType::Opaque),
        ("c", FieldType::Integer),
        ("concept", FieldType::Boolean),
    ];
    let resolved = shown(&fields, r#"{"a":1.5,"b":null,"c":120.0,"concept":true,"d":1}"#);
    assert_eq!(resolved, ["c=Long(120)"]);
}

#[test]
fn a_misfit_is_found_at_any_depth_and_named_by_pointer() {
    let inner = FieldType::Record(BTreeMap::from([(
        "x/y".to_owned(),
        Field { kind: FieldType::Decimal, required: false },
    )]));
    let nested = typed(&[("list", FieldType::Array(Box::new(inner)))]);
    assert_eq!(checked(&nested, r#"{"list":[{"x/y":1},{"x/y":1e15}]}"#), Err("/list/1/x~1y".to_owned()));
    assert_eq!(checked(&nested, r#"{"list":[{},{"x/y":1}]}"#), Ok(()));
    assert_eq!(checked(&nested, r#"{"list":{"0":{}}}"#), Err("/list".to_owned()));
}

#[test]
fn dates_durations_and_addresses_are_handed_over_as_cedar_has_them() {
    let of =
        |format| FieldType::Text { free_text: false, code_list: None, format: Some(format), values: None };
    let fields = [
        ("a", of(Format::Date)),
        ("b", of(Format::DateTime)),
        ("c", of(Format::Duration)),
        ("d", of(Format::IpAddress)),
    ];
    let shown = shown(&fields, r#"{"a":"2030-01-04","b":"2030-01-04T10:00:00+02:00","c":"P1D","d":"::1"}"#);
    assert_eq!(shown.len(), 4);
    assert!(shown.iter().all(|value| value.contains("Ext")), "{shown:?}");
    for (name, value, rule) in [
        ("b", "1990-12-31T23:59:60Z", "date-time"),
        ("b", "1990-12-31T23:59:59.1234567Z", "date-time"),
        ("c", "P1Y", "duration"),
        ("d", "10.0.0.0/8", "ip-address"),
    ] {
        let text = format!(r#"{{"{name}":"{value}"}}"#);
        assert_eq!(ruled(&typed(&fields), &text), Err((format!("/{name}"), rule)), "{value}");
    }
}

#[test]
fn a_null_that_the_schema_allows_is_absent_and_any_other_is_refused() {
    let maybe = FieldType::Nullable(Box::new(FieldType::Decimal));
    let fields = [("maybe", maybe), ("sure", FieldType::Decimal)];
    assert_eq!(shown(&fields, r#"{"maybe":null,"sure":1}"#), shown(&fields, r#"{"sure":1}"#));
    assert_eq!(checked(&typed(&fields), r#"{"maybe":null}"#), Ok(()));
    assert_eq!(ruled(&typed(&fields), r#"{"sure":null}"#), Err(("/sure".to_owned(), "type")));
    assert_eq!(ruled(&typed(&fields), r#"{"maybe":"1"}"#), Err(("/maybe".to_owned(), "type")));
    assert!(!typed(&fields).members["maybe"].required);
}
