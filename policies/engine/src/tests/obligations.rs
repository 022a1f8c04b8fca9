//! Annotations: what may be written, and what a verdict carries of it.

use semgate_contexts::Performative;

use super::{Ask, House, WHOLESALER, context, one_file, transfer};
use crate::{Obligations, Policies, PolicyLimits, PolicySource, Rate, RateKey, Verdict};

const NOTES: &str = r#"{"context":"urn:contexts:notes:v1.0","concepts":{"note":{"type":"object","properties":
    {"title":{"type":"string"},"memo":{"type":"string"},
     "parties":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"iban":{"type":"string"}},"required":["name"]}},
     "either":{"anyOf":[{"type":"string"},{"type":"object"}]}},
    "required":["title"]}}}"#;

fn faults(text: &str) -> String {
    match House::load(&one_file(text), vec![context(NOTES)]) {
        Ok(_) => panic!("loaded: {text}"),
        Err(faults) => faults.join("\n"),
    }
}

fn refused(annotations: &str, expected: &[&str]) {
    let faults = faults(&format!("{annotations}\npermit (principal, action, resource);"));
    for part in expected {
        assert!(faults.contains(part), "`{part}` is not in:\n{faults}");
    }
}

fn obligations(house: &House, ask: Ask<'_>) -> (Vec<String>, Obligations) {
    match house.ask(ask) {
        Verdict::Permitted { policies, obligations } => (policies.to_vec(), obligations),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unknown_annotation_is_an_error_with_its_place_and_what_was_meant() {
    refused("@limits(\"10/minute\")", &["p.cedar:1:1: `@limits`: no annotation", "did you mean `@limit`?"]);
    refused("@id(\"a\")\n  @aprove(\"x\")", &["p.cedar:2:3: `@aprove`", "did you mean `@approve`?"]);
    refused(
        "@id(\"a\") @limitkey(\"agent\") @limit(\"1/day\")",
        &["p.cedar:1:10: `@limitkey`", "did you mean `@limit_key`?"],
    );
    refused(
        "@description(\"who may\")",
        &["p.cedar:1:1: `@description`: no annotation of this name: there are `@id`"],
    );
    refused("@Limit(\"10/minute\")", &["`@Limit`"]);
}

#[test]
fn a_malformed_value_is_an_error_with_the_place_of_its_annotation() {
    refused(
        "@id(\"a\")\n@limit(\"ten a minute\")",
        &["p.cedar:2:1: `@limit`: a limit is written as in `10/minute`"],
    );
    refused("@limit(\"10/minutes\")", &["did you mean `minute`?"]);
    refused(
        "@limit(\"10/minute\") @limit_key(\"agents\")",
        &["p.cedar:1:21: `@limit_key`", "did you mean `agent`?"],
    );
    refused("@limit", &["`@limit`: a limit is written"]);
    refused("@approve(\"\")", &["`@approve` holds one line"]);
    refused("@approve(\"a\\nb\")", &["`@approve` holds one line"]);
    refused("@id(\"\")", &["an `@id` is 1 to 64"]);
}

#[test]
fn every_fault_of_a_file_is_told_at_once() {
    let text = "@limits(\"a\") permit (principal, action, resource);\n@limit(\"b\") @aprove(\"c\") permit (principal, action, resource);";
    let faults = faults(text);
    assert_eq!(faults.lines().count(), 3, "{faults}");
}

#[test]
fn an_annotation_that_could_do_nothing_where_it_stands_is_an_error() {
    for annotation in ["@limit(\"10/minute\")", "@redact(\"memo\")", "@approve(\"the treasurer\")"] {
        let text = format!(
            "permit (principal, action, resource);\n{annotation}\nforbid (principal, action, resource is notes::note);"
        );
        let faults = faults(&text);
        assert!(
            faults.contains("p.cedar:2:1") && faults.contains("is allowed on a `permit` only"),
            "{faults}"
        );
    }
    refused("@limit_key(\"agent\")", &["`@limit_key`: needs a `@limit` on the same policy"]);
    refused("@notice(\"hello\")", &["`@notice`: is the hint of a refusal"]);
    assert!(
        House::with("@notice(\"slow down\") @limit(\"1/day\") permit (principal, action, resource);").is_ok()
    );
    assert!(
        House::with("@notice(\"ask first\") @approve(\"who\") permit (principal, action, resource);").is_ok()
    );
}

#[test]
fn a_redaction_is_about_replies_of_one_type() {
    refused(
        "@redact(\"memo\")",
        &["write `resource is …` in the scope", "write `when { context.direction == \"reply\" }`"],
    );
    let redact = |members: &str, when: &str| {
        format!("@redact(\"{members}\")\npermit (principal, action, resource is notes::note){when};")
    };
    for when in [
        "",
        " when { context.direction == \"request\" }",
        " when { context.direction == \"reply\" || context.major == 1 }",
        " unless { context.direction == \"reply\" }",
        " when { context.direction != \"reply\" }",
    ] {
        let faults = faults(&redact("memo", when));
        assert!(
            faults.contains("p.cedar:1:1: ") && faults.contains("`@redact`: applies to replies"),
            "{when}: {faults}"
        );
    }
    let reply = " when { context.major == 1 && \"reply\" == context.direction }";
    let loads = |members: &str| House::load(&one_file(&redact(members, reply)), vec![context(NOTES)]);
    for members in ["memo", "memo, parties.iban", "parties", "either"] {
        assert!(loads(members).is_ok(), "{members}: {:?}", loads(members).err());
    }
    for (members, expected) in [
        (
            "title",
            "`title` is required in urn:contexts:notes:v1.0, and a reply without it would violate the schema",
        ),
        ("parties.name", "`parties.name` is required"),
        ("memmo", "`notes::note` has no member `memmo` (did you mean `memo`?)"),
        ("parties.ibn", "did you mean `iban`?"),
        (
            "either.x",
            "what `either` holds in urn:contexts:notes:v1.0 has no known members (redact all of `either`)",
        ),
        ("memo.x", "what `memo` holds"),
    ] {
        let faults = faults(&redact(members, reply));
        assert!(
            faults.contains("p.cedar:1:1: policy `p.cedar#1`: `@redact`: ") && faults.contains(expected),
            "{faults}"
        );
    }
    for members in ["", "memo,", "a..b", "memo, memo", "parties, parties.iban"] {
        assert!(faults(&redact(members, reply)).contains("`@redact`: "), "{members}");
    }
}

#[test]
fn a_redaction_is_about_replies_however_the_condition_shuts_requests_out() {
    let faults = |when: &str| {
        let text = format!("@redact(\"memo\")\npermit (principal, action, resource is notes::note) {when};");
        House::load(&one_file(&text), vec![context(NOTES)]).err().unwrap_or_default()
    };
    let memo = "resource has memo && resource.memo like \"x*\"";
    for when in [
        format!(
            "when {{ (context.direction == \"reply\" && {memo}) || (context.direction == \"reply\" && context.locked) }}"
        ),
        format!("when {{ context.locked && context.direction == \"reply\" || context.direction == \"reply\" && {memo} }}"),
        "when { context.direction != \"request\" }".to_owned(),
        "unless { context.direction == \"request\" }".to_owned(),
        "unless { context.locked || context.direction != \"reply\" }".to_owned(),
        "when { !(context.direction == \"request\" || context.locked) }".to_owned(),
        "when { [\"reply\"].contains(context.direction) }".to_owned(),
        "when { if context.locked then context.direction == \"reply\" else !(context.direction == \"request\") }".to_owned(),
    ] {
        assert_eq!(faults(&when), [""; 0], "{when}");
    }
    for when in [
        format!("when {{ (context.direction == \"reply\" && {memo}) || context.locked }}"),
        "when { context.direction == \"reply\" || context.direction == \"request\" && context.locked }"
            .to_owned(),
        "unless { context.direction == \"request\" && context.locked }".to_owned(),
        "when { context.direction like \"re*\" }".to_owned(),
        "when { if context.locked then context.direction == \"reply\" else context.major == 1 }".to_owned(),
        "when { context.line == \"payment\" || context.direction == \"reply\" }".to_owned(),
        "when { [\"reply\", \"request\"].contains(context.direction) && context.locked }".to_owned(),
    ] {
        let report = faults(&when);
        let why = "p.cedar:1:1: policy `p.cedar#1`: `@redact`: applies to replies, but this policy also permits requests";
        assert!(report.iter().any(|fault| fault.starts_with(why)), "{when}: {report:?}");
    }
}

#[test]
fn a_version_that_comes_later_and_requires_what_is_taken_out_is_left_out_and_the_policy_stays() {
    let text = "@redact(\"memo\") permit (principal, action, resource is notes::note) when { context.direction == \"reply\" };";
    let (first, source) = (vec![context(NOTES)], one_file(text));
    let live = Policies::load(&source, &first, &PolicyLimits::default()).unwrap();
    let later = NOTES
        .replace("v1.0", "v1.1")
        .replace("\"required\":[\"title\"]", "\"required\":[\"title\",\"memo\"]");
    let both = vec![context(NOTES), context(&later)];
    let next = live.reload(&source, &both, &PolicyLimits::default()).unwrap();
    assert_eq!(next.left_out().len(), 1);
    assert_eq!(next.left_out()[0].urn.as_str(), "urn:contexts:notes:v1.1");
    assert!(next.left_out()[0].why.contains("`memo` is required"), "{}", next.left_out()[0].why);
}

#[test]
fn a_verdict_carries_what_every_permit_that_decided_asks_for() {
    let house = House::with(
        r#"@id("all") permit (principal, action, resource is payment::transfer);
        @id("few") @limit("10/minute") @limit_key("pair") @notice("ten a minute")
        permit (principal, action == Action::"REQUEST", resource is payment::transfer);
        @id("large") @approve("the treasurer signs")
        permit (principal, action, resource is payment::transfer) when { resource.amount.greaterThan(decimal("500.0")) };"#,
    )
    .unwrap();
    let value = transfer("100");
    let (policies, asked) =
        obligations(&house, Ask { value: &value, receiver: WHOLESALER, ..Ask::default() });
    assert_eq!(policies, ["p.cedar#all", "p.cedar#few"]);
    let all: Vec<_> = asked.iter().collect();
    assert_eq!(all.len(), 1, "a permit without annotations asks for nothing");
    assert_eq!((&*all[0].policy, all[0].notice.as_deref()), ("p.cedar#few", Some("ten a minute")));
    assert_eq!(all[0].limit, Some((Rate::parse("10/minute").unwrap(), RateKey::parse("pair").unwrap())));
    let value = transfer("1000");
    let (_, asked) = obligations(&house, Ask { value: &value, ..Ask::default() });
    let by: Vec<_> = asked
        .iter()
        .map(|one| (&*one.policy, one.approve.as_ref().map(|demand| &*demand.question)))
        .collect();
    assert_eq!(by, [("p.cedar#few", None), ("p.cedar#large", Some("the treasurer signs"))]);
}

#[test]
fn a_remembered_verdict_carries_its_obligations_too() {
    let house = House::with(
        "@limit(\"3/hour\") permit (principal, action, resource is supplyChain::current_decision);",
    )
    .unwrap();
    let ask = Ask {
        action: Performative::Inform,
        urn: "supplyChain:v1.0",
        term: "current_decision",
        value: r#"{"item_id":"a","quantity":1}"#,
        ..Ask::default()
    };
    // `ask` asks twice and compares; nothing of the instance is read, so the second comes from memory
    let (_, asked) = obligations(&house, ask);
    assert_eq!(asked.iter().count(), 1);
}

#[test]
fn the_shipped_policies_oblige_to_nothing_but_what_they_did() {
    assert!(
        Policies::load(&PolicySource::shipped(), &super::shipped_contexts(), &PolicyLimits::default())
            .is_ok()
    );
}
