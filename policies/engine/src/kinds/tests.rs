use super::{Attribute, Attributes, Kind};

fn record(members: &[(&str, Option<Kind>, bool)]) -> Attributes {
    Attributes {
        members: members
            .iter()
            .map(|(name, kind, required)| {
                let attribute = Attribute { kind: kind.clone(), required: *required, nullable: false };
                ((*name).to_owned(), attribute)
            })
            .collect(),
        open: false,
    }
}

#[test]
fn a_member_is_required_only_if_every_version_requires_it() {
    let a = record(&[("x", Some(Kind::Long), true), ("y", Some(Kind::Long), true)]);
    let b = record(&[
        ("x", Some(Kind::Long), true),
        ("y", Some(Kind::Long), false),
        ("z", Some(Kind::Bool), true),
    ]);
    let merged = a.merge(&b).unwrap();
    let required: Vec<_> = merged.members.iter().map(|(name, a)| (name.as_str(), a.required)).collect();
    assert_eq!(required, [("x", true), ("y", false), ("z", false)]);
    assert_eq!(merged, b.merge(&a).unwrap());
}

#[test]
fn another_type_is_a_conflict_at_any_depth() {
    let nested = |kind| {
        record(&[("o", Some(Kind::Set(Box::new(Kind::Record(record(&[("x", Some(kind), true)]))))), true)])
    };
    let conflict = nested(Kind::Long).merge(&nested(Kind::String)).unwrap_err();
    assert_eq!(conflict.to_string(), "`o.x` is an integer in other versions and a string here");
}

#[test]
fn what_one_version_hides_and_another_shows_is_a_conflict() {
    let shown = record(&[("amount", Some(Kind::Decimal), true)]);
    let hidden = record(&[("amount", None, true)]);
    assert!(shown.merge(&hidden).is_err());
    assert!(hidden.merge(&shown).is_err());
    assert!(hidden.merge(&hidden).is_ok());
    let closed = record(&[]);
    assert!(shown.merge(&closed).is_ok());
    let open = Attributes { open: true, ..closed };
    assert!(shown.merge(&open).is_err());
    assert!(open.merge(&shown).is_err());
}
