//! Two descriptions of one value: both hold (`meet`), or one of them does (`join`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::field::{Field, FieldType, Members};

/// Strings that are in both.
pub(super) fn both(a: Arc<BTreeSet<String>>, b: Arc<BTreeSet<String>>) -> Arc<BTreeSet<String>> {
    if a == b { a } else { Arc::new(a.intersection(&b).cloned().collect()) }
}

/// The description of a value that fits both. If both cannot hold there is no such value, and the description is empty.
pub(super) fn meet(a: FieldType, b: FieldType) -> FieldType {
    use FieldType::{Array, Decimal, Integer, Nullable, Opaque, OtherNumber, Record, Text};
    match (a, b) {
        (a, b) if a == b => a,
        (Opaque, known) | (known, Opaque) => known,
        (Nullable(a), Nullable(b)) => nullable(meet(*a, *b)),
        (Nullable(a), b) | (b, Nullable(a)) => meet(*a, b),
        (
            Text { free_text: f, code_list: l, format: t, values: v },
            Text { free_text, code_list, format, values },
        ) => Text {
            free_text: f || free_text,
            code_list: l.or(code_list),
            format: one_of(t, format),
            values: match (v, values) {
                (Some(a), Some(b)) => Some(both(a, b)),
                (a, b) => a.or(b),
            },
        },
        (Integer, Decimal | OtherNumber) | (Decimal | OtherNumber, Integer) => Integer,
        (Decimal, OtherNumber) | (OtherNumber, Decimal) => Decimal,
        (Array(a), Array(b)) => match meet(*a, *b) {
            Opaque => Opaque,
            items => Array(Box::new(items)),
        },
        (Record(mut a), Record(b)) => {
            for (name, field) in b {
                both_fields(&mut a, name, field);
            }
            Record(a)
        }
        _ => Opaque,
    }
}

/// The description of a value that fits one of the two, if it is unknown which.
pub(super) fn join(a: FieldType, b: FieldType) -> FieldType {
    use FieldType::{Array, Decimal, Integer, Nullable, Opaque, OtherNumber, Text};
    match (a, b) {
        (a, b) if a == b => a,
        (Opaque, _) | (_, Opaque) => Opaque,
        (Nullable(a), Nullable(b)) => nullable(join(*a, *b)),
        (Nullable(a), b) | (b, Nullable(a)) => nullable(join(*a, b)),
        (
            Text { free_text: f, code_list: l, format: t, values: v },
            Text { free_text, code_list, format, values },
        ) => Text {
            free_text: f || free_text,
            code_list: l.filter(|list| code_list.as_ref() == Some(list)),
            format: t.filter(|known| format == Some(*known)),
            values: match (v, values) {
                (Some(a), Some(b)) => Some(Arc::new(a.union(&b).cloned().collect())),
                _ => None,
            },
        },
        (Integer, Decimal) | (Decimal, Integer) => Decimal,
        (Integer | Decimal, OtherNumber) | (OtherNumber, Integer | Decimal) => OtherNumber,
        (Array(a), Array(b)) => match join(*a, *b) {
            Opaque | Nullable(_) => Opaque,
            items => Array(Box::new(items)),
        },
        // Objects may carry further members, which only `add` knows.
        _ => Opaque,
    }
}

/// Adds the members in the branches of an object's unions. The object can hold only members that it or some branch names.
pub(super) fn add(own: &mut Members, unions: Vec<Vec<Members>>) {
    let mut partly = Members::new();
    let mut wholly = Members::new();
    for branches in unions.into_iter().filter(|branches| !branches.is_empty()) {
        let names: BTreeSet<String> = branches.iter().flat_map(|branch| branch.keys().cloned()).collect();
        for name in names {
            let fields: Vec<Field> =
                branches.iter().filter_map(|branch| branch.get(&name).cloned()).collect();
            let everywhere = fields.len() == branches.len();
            let required = everywhere && fields.iter().all(|field| field.required);
            let Some(kind) = fields.into_iter().map(|field| field.kind).reduce(join) else { continue };
            if everywhere {
                both_fields(&mut wholly, name, Field { kind, required });
            } else if let Some(other) = partly.remove(&name) {
                partly.insert(name, Field { kind: join(other.kind, kind), required: false });
            } else {
                partly.insert(name, Field { kind, required: false });
            }
        }
    }
    for (name, field) in wholly {
        partly.remove(&name);
        both_fields(own, name, field);
    }
    for (name, field) in partly {
        own.entry(name).or_insert(field);
    }
}

fn both_fields(members: &mut Members, name: String, field: Field) {
    let met = match members.remove(&name) {
        None => field,
        Some(own) => Field { required: own.required || field.required, kind: meet(own.kind, field.kind) },
    };
    members.insert(name, met);
}

fn nullable(kind: FieldType) -> FieldType {
    if kind == FieldType::Opaque { kind } else { FieldType::Nullable(Box::new(kind)) }
}

/// The one value that is present; none where two are.
fn one_of<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => (a == b).then_some(a),
        (a, b) => a.or(b),
    }
}
