//! `@approve` and the words around it: what may be written, and whom a verdict asks.

use std::sync::Arc;

use semgate_contexts::Context;

use super::{Ask, House, context, one_file};
use crate::{Approval, Approvers, Assurance, Escalation, ReasonRule, Reuse, Verdict, demands};

const OPS: &str = r#"{"context":"urn:contexts:ops:v1.0","concepts":{"plan":{"type":"object","properties":
    {"service":{"type":"string"},"confidence_score":{"type":"number"},"shaky":{"type":["number","null"]},
     "parts":{"type":"array","items":{"type":"object","properties":{"score":{"type":"number","multipleOf":0.01}}}}},
    "required":["service"]}},
    "tasks":{"restart":{"parameters":{"type":"object","properties":{"service":{"type":"string"}}},
      "results":{"type":"object"},"x-require-approval":"restarts a production service"}}}"#;

const PLAN: &str = "permit (principal, action, resource is ops::plan);";

fn house(policies: &str) -> Result<House, Vec<String>> {
    House::load(&one_file(policies), vec![context(OPS)])
}

#[track_caller]
fn refused(annotations: &str, expected: &[&str]) {
    let Err(faults) = house(&format!("{annotations}\n{PLAN}")) else { panic!("loaded: {annotations}") };
    let faults = faults.join("\n");
    for part in expected {
        assert!(faults.contains(part), "`{part}` is not in:\n{faults}");
    }
}

/// The demands about an instance of `ops`, where the sender made this many steps.
fn asked(policies: &str, ask: Ask<'_>, steps: u64) -> (&'static str, Vec<Arc<Approval>>) {
    let house = house(policies).unwrap_or_else(|faults| panic!("{faults:?}"));
    house.question(Ask { urn: "ops:v1.0", ..ask }, |question| {
        let verdict = house.policies.decide(question);
        let Verdict::Permitted { obligations, .. } = &verdict else { panic!("{verdict:?}") };
        (verdict.word(question, &|| steps), demands(question, obligations, &|| steps))
    })
}

fn of_plan(annotations: &str, value: &str, steps: u64) -> (&'static str, Vec<Arc<Approval>>) {
    asked(&format!("{annotations} {PLAN}"), Ask { term: "plan", value, ..Ask::default() }, steps)
}

#[test]
fn every_word_of_a_demand_is_carried_to_whoever_asks() {
    let (word, all) = of_plan(
        r#"@id("p") @approve("may it restart?") @approvers("capability:treasurer") @quorum("2") @approve_within("2h")
        @escalate("30m to group:heads") @reuse("same action 10m") @reason("always") @assurance("high")"#,
        r#"{"service":"a"}"#,
        0,
    );
    let expected = Approval {
        approvers: Some(Approvers::Capability("treasurer".into())),
        quorum: 2,
        within: 7_200,
        escalate: Some(Escalation { after: 1_800, to: Approvers::Group("heads".into()) }),
        reuse: Reuse::SameAction(600),
        reason: ReasonRule::Always,
        assurance: Assurance::High,
        ..Approval::new("p.cedar#p", "may it restart?")
    };
    assert_eq!(
        (word, all.iter().map(|one| (**one).clone()).collect::<Vec<_>>()),
        ("approval", vec![expected.clone()])
    );
    assert_eq!(
        expected.to_string(),
        "may it restart? (approvers capability:treasurer, quorum 2, within 2h, escalates after 30m to group:heads, reuse same action 10m, a reason always, assurance high)"
    );
    let (_, plain) = of_plan("@approve(\"why\")", r#"{"service":"a"}"#, 0);
    assert_eq!(*plain[0], Approval::new("p.cedar#1", "why"));
    assert_eq!(plain[0].to_string(), "why");
    let person = of_plan(
        "@approve(\"why\") @approvers(\"human://bob.sre\") @reuse(\"session\")",
        r#"{"service":"a"}"#,
        0,
    );
    assert_eq!(person.1[0].approvers, Some(Approvers::Human("human://bob.sre".into())));
    assert_eq!(person.1[0].reuse, Reuse::Session);
}

#[test]
fn a_value_that_a_word_does_not_take_is_an_error_at_its_annotation() {
    let with = |word: &str, expected: &[&str]| refused(&format!("@approve(\"why\")\n{word}"), expected);
    with("@approvers(\"treasurer\")", &["p.cedar:2:1: `@approvers`: people are `capability:NAME`"]);
    with("@approvers(\"capabilty:treasurer\")", &["did you mean `capability`?"]);
    for wrong in [
        "capability:",
        "group:a b",
        "human:bob",
        "human:/bob",
        "human://",
        "human://a/b",
        "group:\\u{e9}",
        "group:*",
    ] {
        with(&format!("@approvers(\"{wrong}\")"), &["`@approvers`: people are", "1 to 64 letters"]);
    }
    for wrong in ["0", "9", "", "+2", "02", "two", "2.0"] {
        with(&format!("@quorum(\"{wrong}\")"), &["`@quorum`: a quorum is a number of people from 1 to 8"]);
    }
    for wrong in
        ["29s", "25h", "1441m", "15", "15 m", "m", "", "1d", "015m", "-5m", "99999999999h", "15\u{fc}"]
    {
        with(
            &format!("@approve_within(\"{wrong}\")"),
            &["`@approve_within`: ", "is no time from 30s to 24h"],
        );
    }
    with("@escalate(\"10m\")", &["`@escalate`: an escalation is written as in `10m to group:heads`"]);
    with("@escalate(\"10m to heads\")", &["`@escalate`: people are"]);
    with("@escalate(\"1s to group:heads\")", &["is no time from 30s to 24h"]);
    with("@reuse(\"sesion\")", &["`@reuse`: an approval serves `never` again", "did you mean `session`?"]);
    with("@reuse(\"always\")", &["`@reuse`: an approval serves"]);
    with("@reuse(\"same action\")", &["name the time, as in `same action 10m`"]);
    with("@reuse(\"same action 1d\")", &["is no time from 30s to 24h"]);
    with("@reason(\"denny\")", &["`@reason`: it is one of `deny`, `always`", "did you mean `deny`?"]);
    with(
        "@assurance(\"High\")",
        &["`@assurance`: it is one of `low`, `medium`, `high`", "did you mean `high`?"],
    );
    with("@confidence(\"confidence_score\")", &["`@confidence`: a floor is a member and a number"]);
    for wrong in ["0", "-1", "1000001", "many", "05"] {
        with(&format!("@steps(\"{wrong}\")"), &["`@steps`: steps are a number from 1 to 1000000"]);
    }
    with(
        "@aprovers(\"group:a\")",
        &["`@aprovers`: no annotation of this name", "did you mean `@approvers`?"],
    );
    with("@quorun(\"2\")", &["did you mean `@quorum`?"]);
}

#[test]
fn a_word_that_could_do_nothing_where_it_stands_is_an_error() {
    let words = [
        "@approvers(\"group:a\")",
        "@quorum(\"2\")",
        "@approve_within(\"5m\")",
        "@escalate(\"5m to group:b\")",
        "@reuse(\"never\")",
        "@reason(\"deny\")",
        "@assurance(\"low\")",
        "@confidence(\"confidence_score 0.8\")",
        "@steps(\"5\")",
    ];
    for word in words {
        refused(word, &["p.cedar:1:1: `@", "needs an `@approve` on the same policy"]);
        let forbid = format!("{PLAN}\n{word} forbid (principal, action, resource is ops::plan);");
        let faults = house(&forbid).map(|_| ()).unwrap_err().join("\n");
        assert!(
            faults.contains("p.cedar:2:1: `@") && faults.contains("is allowed on a `permit` only"),
            "{faults}"
        );
    }
}

#[test]
fn words_that_contradict_one_another_are_an_error() {
    refused(
        "@approve(\"why\") @approve_within(\"5m\") @escalate(\"5m to group:b\")",
        &["`@escalate`: asks more people after 5m, but the time to answer ends after 5m"],
    );
    refused("@approve(\"why\") @escalate(\"30m to group:b\")", &["the time to answer ends after 15m"]);
    refused(
        "@approve(\"why\") @approvers(\"human://bob.sre\") @quorum(\"2\")",
        &["`@quorum`: `@approvers` names one person, who is not 2"],
    );
    let escalated =
        "@approve(\"why\") @approvers(\"human://bob.sre\") @quorum(\"2\") @escalate(\"5m to group:heads\")";
    assert!(house(&format!("{escalated} {PLAN}")).is_ok());
}

#[test]
fn a_confidence_names_a_number_of_the_type_in_the_scope() {
    let with = |floor: &str, expected: &[&str]| {
        refused(&format!("@approve(\"why\")\n@confidence(\"{floor}\")"), expected);
    };
    with(
        "confidence_scor 0.8",
        &[
            "p.cedar:2:1: policy `p.cedar#1`: `@confidence`: `ops::plan` has no member `confidence_scor`",
            "did you mean `confidence_score`?",
        ],
    );
    with("service 0.8", &["`@confidence`: `service` is no number in urn:contexts:ops:v1.0"]);
    with("parts.scor 0.8", &["`ops::plan` has no member `parts.scor`", "did you mean `score`?"]);
    with("service.x 0.8", &["`ops::plan` has no member `service.x`"]);
    with("parts 0.8", &["`parts` is no number"]);
    for floor in ["confidence_score 0.8", "shaky 0.8", "parts.score 0.8"] {
        assert!(house(&format!("@approve(\"why\") @confidence(\"{floor}\") {PLAN}")).is_ok(), "{floor}");
    }
    let open =
        "@approve(\"why\") @confidence(\"confidence_score 0.8\") permit (principal, action, resource);";
    let faults = house(open).map(|_| ()).unwrap_err().join("\n");
    assert!(faults.contains("names a member of one type: write `resource is …` in the scope"), "{faults}");
    let learnt =
        "@approve(\"why\") @confidence(\"value 1\") permit (principal, action, resource is learnt::mood);";
    let faults = house(learnt).map(|_| ()).unwrap_err().join("\n");
    assert!(faults.contains("a settled name has no members"), "{faults}");
}

#[test]
fn a_member_that_one_of_two_versions_has_can_meet_a_floor() {
    let older = OPS.replace("\"confidence_score\":{\"type\":\"number\"},", "");
    let newer = OPS.replace("ops:v1.0", "ops:v1.1");
    let both: Vec<Arc<Context>> = vec![context(&older), context(&newer)];
    let text = format!("@approve(\"why\") @confidence(\"confidence_score 0.8\") {PLAN}");
    let house = House::load(&one_file(&text), both).map_err(|faults| faults.join("\n")).unwrap();
    for (urn, value, word) in [
        ("ops:v1.1", r#"{"service":"a","confidence_score":0.9}"#, "permitted"),
        ("ops:v1.1", r#"{"service":"a","confidence_score":0.79999999999999999}"#, "approval"),
        ("ops:v1.0", r#"{"service":"a"}"#, "approval"),
    ] {
        let ask = Ask { urn, term: "plan", value, ..Ask::default() };
        let answer = house.question(ask, |question| house.policies.decide(question).word(question, &|| 0));
        assert_eq!(answer, word, "{urn} {value}");
    }
}

#[test]
fn confidence_and_steps_ask_where_they_are_met_and_only_there() {
    let sure = "@approve(\"why\") @confidence(\"confidence_score 0.8\")";
    for (value, word) in [
        (r#"{"service":"a","confidence_score":0.8}"#, "permitted"),
        (r#"{"service":"a","confidence_score":0.1}"#, "approval"),
        (r#"{"service":"a"}"#, "approval"),
    ] {
        assert_eq!(of_plan(sure, value, u64::MAX).0, word, "{value}");
    }
    let steps = "@approve(\"why\") @steps(\"50\")";
    assert_eq!(of_plan(steps, r#"{"service":"a"}"#, 49).0, "permitted");
    assert_eq!(of_plan(steps, r#"{"service":"a"}"#, 50).0, "approval");
}

#[test]
fn every_permit_that_asks_and_the_context_must_be_answered() {
    let two =
        format!("@id(\"a\") @approve(\"one\") {PLAN} @id(\"b\") @approve(\"two\") {PLAN} @id(\"c\") {PLAN}");
    let (_, all) = asked(&two, Ask { term: "plan", value: r#"{"service":"a"}"#, ..Ask::default() }, 0);
    assert_eq!(all.iter().map(|one| &*one.question).collect::<Vec<_>>(), ["one", "two"]);
    let restart = "permit (principal, action, resource is ops::restart);
        permit (principal, action, resource is ops::restart_results);";
    let (word, all) = asked(restart, Ask { term: "restart", value: "{}", ..Ask::default() }, 0);
    let expected = Approval::new("urn:contexts:ops:v1.0#restart", "restarts a production service");
    assert_eq!((word, &*all[0]), ("approval", &expected));
    let answer = Ask {
        term: "restart",
        action: semgate_contexts::Performative::Inform,
        direction: "reply",
        ..Ask::default()
    };
    assert_eq!(asked(restart, answer, 0), ("permitted", Vec::new()), "its results were asked for");
}
