use super::*;
use semgate_contexts::json;

#[test]
fn what_stays_keeps_its_order_and_its_text() {
    let text = r#"{"z":{"amount":922337203685477.58,"memo":"x","big":1.20e3},"memo":"stays","list":[{"a":"é\"\\","memo":1},[]],"n":null}"#;
    let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let object = json.as_object().unwrap().get("z").unwrap().as_object().unwrap();
    let path: FieldPath = vec![Box::from("memo")].into();
    let cuts = [Cut { object, paths: vec![&path] }];
    let written = String::from_utf8(without(&json, &cuts, false).unwrap()).unwrap();
    assert_eq!(written, text.replacen(r#""memo":"x","#, "", 1));
}

#[test]
fn members_are_taken_out_of_every_item_of_an_array() {
    let text = r#"{"parties":[{"name":"a","iban":"1"},{"iban":"2"},[{"iban":"3","x":1}]],"iban":"4"}"#;
    let json = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let path: FieldPath = vec![Box::from("parties"), Box::from("iban")].into();
    let cuts = [Cut { object: json.as_object().unwrap(), paths: vec![&path] }];
    let written = String::from_utf8(without(&json, &cuts, false).unwrap()).unwrap();
    assert_eq!(written, r#"{"parties":[{"name":"a"},{},[{"x":1}]],"iban":"4"}"#);
}

#[test]
fn an_object_that_is_not_in_the_bytes_is_not_taken_for_cut() {
    let (json, other) = (r#"{"memo":"x"}"#, r#"{"memo":"y"}"#);
    let json = json::read(json.as_bytes(), &json::Limits::default()).unwrap();
    let other = json::read(other.as_bytes(), &json::Limits::default()).unwrap();
    let path: FieldPath = vec![Box::from("memo")].into();
    let cuts = [Cut { object: other.as_object().unwrap(), paths: vec![&path] }];
    assert_eq!(without(&json, &cuts, false), None);
}
