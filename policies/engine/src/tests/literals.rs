//! Literals beside members: each conforms to the schema of its member in some version from the floor on.

use std::sync::Arc;

use semgate_contexts::{Context, DocumentLimits, Line, Prefix};

use super::{alone, context, faults, loads};
use crate::{Floors, Policies, PolicyLimits, PolicySource};

fn versions() -> Vec<Arc<Context>> {
    let of = |version: &str, codes: &str| {
        context(&format!(
            r#"{{"context":"urn:contexts:bill:{version}","concepts":{{"sum":{{"type":"object","properties":{{
              "code":{{"type":"string","enum":[{codes}]}},
              "account":{{"type":"string","maxLength":4,"pattern":"^[A-Z]{{2}}[0-9]{{2}}$"}},
              "count":{{"type":"integer","minimum":1,"maximum":9}},
              "tags":{{"type":"array","items":{{"type":"string","maxLength":3}}}}
            }},"additionalProperties":false}}}}}}"#
        ))
    };
    vec![of("v1.0", r#""A","B""#), of("v1.1", r#""A","C""#)]
}

fn load(condition: &str, floor: Option<&str>) -> Result<Vec<String>, Vec<String>> {
    let text = format!("permit (principal, action, resource is bill::sum)\nwhen {{ {condition} }};");
    let floors: Floors =
        floor.into_iter().map(|floor| (Line::parse("bill").unwrap(), floor.parse().unwrap())).collect();
    let loaded = Policies::load_above(&alone(&text), &versions(), &floors, &PolicyLimits::default());
    let shown = |faults: &[crate::PolicyFault]| faults.iter().map(ToString::to_string).collect();
    loaded.map(|policies| shown(policies.warnings())).map_err(|faults| shown(&faults))
}

fn guarded(member: &str, condition: &str) -> String {
    format!("resource has {member} && {condition}")
}

#[test]
fn a_literal_that_some_version_takes_loads_and_one_that_none_takes_is_refused() {
    for (member, condition) in [
        ("code", "resource.code == \"B\""),
        ("code", "[\"A\", \"C\"].contains(resource.code)"),
        ("account", "resource.account != \"DE12\""),
        ("account", "resource.account like \"x*\""),
        ("count", "resource.count == 9"),
        ("count", "resource.count > 100"),
        ("tags", "resource.tags.contains(\"abc\")"),
    ] {
        assert_eq!(load(&guarded(member, condition), None), Ok(Vec::new()), "{condition}");
    }
    for (member, condition, why) in [
        ("code", "resource.code == \"D\"", "`resource.code` is `\"D\"` in no version"),
        ("code", "[\"A\", \"D\"].contains(resource.code)", "`resource.code` is `\"D\"` in no version"),
        ("account", "resource.account != \"de12\"", "`resource.account` is `\"de12\"` in no version"),
        ("count", "10 == resource.count", "`resource.count` is `10` in no version"),
        ("tags", "resource.tags.containsAny([\"abcd\"])", "`resource.tags` is `\"abcd\"` in no version"),
    ] {
        let faults = load(&guarded(member, condition), None).unwrap_err();
        assert!(
            matches!(&faults[..], [one] if one.starts_with("p.cedar:2:") && one.contains(why)),
            "{faults:?}"
        );
    }
}

#[test]
fn a_literal_that_only_a_version_below_the_floor_takes_is_a_warning() {
    let of = |floor| load(&guarded("code", "resource.code == \"B\""), floor);
    assert_eq!(of(Some("v1.0")), Ok(Vec::new()));
    let warned = of(Some("v1.1")).unwrap();
    assert!(matches!(&warned[..], [one] if one.contains("`\"B\"` only below the floor")), "{warned:?}");
}

#[test]
fn a_set_that_is_live_stays_when_its_contexts_change() {
    let source = PolicySource::shipped();
    let contexts = super::shipped_contexts();
    let live = Policies::load(&source, &contexts, &PolicyLimits::default()).unwrap();
    assert!(live.reload(&source, &contexts, &PolicyLimits::default()).is_ok());
}

#[test]
fn names_are_declared_in_entities_json() {
    let report = faults(
        "permit (principal, action, resource) when { principal.credentials.contains(\"high-value-authorised\") };",
    );
    assert!(
        matches!(&report[..], [one] if one.contains("`credential \"high-value-authorised\"` is not in entities.json (did you mean `high-value-authorized`?)")),
        "{report:?}"
    );
    loads("permit (principal, action, resource) when { principal.credentials.contains(\"token:hr:boss\") };");
}

#[test]
fn a_fault_shows_its_line_with_a_caret() {
    let source = alone(
        "permit (principal, action, resource is payment::transfer)\nwhen { resource.amuont.lessThan(decimal(\"1.0\")) };",
    );
    let faults = Policies::load(&source, &super::shipped_contexts(), &PolicyLimits::default()).unwrap_err();
    let excerpt = faults[0].excerpt(&source).unwrap();
    assert_eq!(excerpt, "    when { resource.amuont.lessThan(decimal(\"1.0\")) };\n           ^");
}

#[test]
fn bug_a_literal_was_held_against_a_member_of_that_name_and_another_type() {
    let of = |version: &str, schema: &str| {
        let document = format!(
            r#"{{"context":"urn:contexts:shop:{version}","concepts":{{"order":{{"type":"object","required":["code"],"properties":{{"code":{schema}}}}}}}}}"#
        );
        let limits = DocumentLimits::default();
        Arc::new(Context::check(document.as_bytes(), &Prefix::default(), &limits).unwrap())
    };
    let contexts = [
        of("v1.0", r#"{"type":"string","maxLength":3}"#),
        of("v2.0", r#"{"type":"integer","minimum":0,"maximum":10}"#),
    ];
    let one = "(resource is shop::v1::order && resource.code == \"abc\") || resource is shop::v2::order";
    let two = |code: &str| {
        format!("forbid (principal, action, resource is shop::v2::order) when {{ resource.code == {code} }};")
    };
    let load = |code: &str| {
        let text = format!("permit (principal, action, resource) when {{ {one} }};\n{}", two(code));
        Policies::load_above(&alone(&text), &contexts, &Floors::new(), &PolicyLimits::default())
    };
    assert!(load("5").is_ok(), "{:?}", load("5").err());
    let faults = load("11").err().unwrap();
    assert!(matches!(&faults[..], [one] if one.to_string().contains("`11` in no version")), "{faults:?}");
    let wrong = one.replace("\"abc\"", "\"abcd\"");
    let text = format!("permit (principal, action, resource) when {{ {wrong} }};");
    let loaded = Policies::load_above(&alone(&text), &contexts, &Floors::new(), &PolicyLimits::default());
    assert!(loaded.err().is_some_and(|faults| faults[0].to_string().contains("`\"abcd\"` in no version")));
}
