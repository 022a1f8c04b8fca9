//! Canonical text of message content: equal values give equal text, with members in any order, and different
//! values do not. Numbers keep all of their digits, as policies read them, since different numbers may share
//! a double.

use semgate_contexts::json::{Json, Object};
use serde_json::Value;

/// Appends the object to `out`, on one line.
pub(super) fn object(object: &Object<'_>, out: &mut String) {
    let mut members: Vec<(&str, &Json<'_>)> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    out.push('{');
    for (name, member) in members {
        *out += &Value::from(name).to_string();
        out.push(':');
        value(member, out);
        out.push(',');
    }
    out.push('}');
}

fn value(json: &Json<'_>, out: &mut String) {
    match json {
        Json::Null | Json::Bool(_) | Json::String(_) => *out += &json.to_value().to_string(),
        Json::Number(number) => *out += &number.exact(),
        Json::Array(items) => {
            out.push('[');
            for item in items {
                value(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Json::Object(members) => object(members, out),
    }
}
