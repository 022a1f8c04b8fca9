//! Twins that the hunt excuses: members that the older version takes under any name and with any value. Its compiled
//! validator answers this, so the hunt checks independently what the comparison reads off the schemas.

use serde_json::{Value, json};

use crate::json::{self, Limits};
use crate::term::Shape;

/// A name that no schema of the hunt declares.
const OTHER_NAME: &str = "zq";

/// One step from a value to one inside it.
#[derive(Clone)]
enum Step {
    Member(String),
    Item(usize),
}

/// Returns true if the older version takes each twin of the newer one under another name too, with any value.
pub(crate) fn excused(older: &Shape, newer: &Shape, content: &Value) -> bool {
    let mut twins = Vec::new();
    collect(newer, content, &mut Vec::new(), &mut twins);
    !twins.is_empty() && twins.iter().all(|path| takes_any(older, content, path))
}

/// Collects the paths of twins, without those inside another twin.
fn collect(newer: &Shape, value: &Value, path: &mut Vec<Step>, twins: &mut Vec<Vec<Step>>) {
    let inside: Vec<(Step, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (Step::Member(name.clone()), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (Step::Item(at), value)).collect(),
        _ => return,
    };
    for (step, value) in inside {
        path.push(step);
        if conforms(&skeleton(path), |object| newer.compiled.casing.conform(object, None).is_ok()) {
            collect(newer, value, path, twins);
        } else {
            twins.push(path.clone());
        }
        path.pop();
    }
}

/// Content with only the members and items on the path.
fn skeleton(path: &[Step]) -> Value {
    path.iter().rev().fold(Value::Null, |inside, step| match step {
        Step::Member(name) => json!({ name.as_str(): inside }),
        Step::Item(at) => {
            let mut items = vec![Value::Null; *at];
            items.push(inside);
            Value::Array(items)
        }
    })
}

/// Returns true if the content stays acceptable with another name, and with several values, for this member.
fn takes_any(older: &Shape, content: &Value, path: &[Step]) -> bool {
    let values = [json!("zq zq"), json!(7_654_321), json!({ "zqa": ["zq"] }), json!([null, { "ZQ": true }])];
    values.into_iter().all(|value| {
        let mut changed = content.clone();
        replace(&mut changed, path, value);
        conforms(&changed, |object| older.conform(object, None).is_ok())
    })
}

fn replace(value: &mut Value, path: &[Step], with: Value) {
    match (path, value) {
        ([Step::Member(name)], Value::Object(members)) => {
            members.remove(name);
            members.insert(OTHER_NAME.to_owned(), with);
        }
        ([Step::Member(name), rest @ ..], Value::Object(members)) => {
            if let Some(inside) = members.get_mut(name) {
                replace(inside, rest, with);
            }
        }
        ([Step::Item(at), rest @ ..], Value::Array(items)) => {
            if let Some(inside) = items.get_mut(*at) {
                replace(inside, rest, with);
            }
        }
        _ => {}
    }
}

fn conforms(content: &Value, accepts: impl Fn(&json::Object<'_>) -> bool) -> bool {
    let text = content.to_string();
    let read = json::read(text.as_bytes(), &Limits::default()).ok();
    read.as_ref().and_then(|read| read.as_object()).is_some_and(accepts)
}
