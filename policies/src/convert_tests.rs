use std::collections::BTreeMap;

use semgate_contexts::json::{self, Json};
use semgate_contexts::{Field, FieldType};

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
    let Json::Object(object) = json::read(text.as_bytes(), &json::Limits::default()).unwrap() else {
        panic!("an object")
    };
    check(attributes, &object, None).map_err(|misfit| misfit.pointer())
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
    let found = shown(&fields, r#"{"a":1.5,"b":null,"c":120.0,"concept":true,"d":1}"#);
    assert_eq!(found, ["c=Long(120)"]);
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
