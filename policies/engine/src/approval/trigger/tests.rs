use semgate_contexts::json::{self, Object};

use super::*;

fn floor(text: &str) -> ConfidenceFloor {
    ConfidenceFloor::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn with<T>(instance: &str, judge: impl FnOnce(&Object<'_>) -> T) -> T {
    let read = json::read(instance.as_bytes(), &json::Limits::default()).unwrap();
    judge(read.as_object().unwrap())
}

fn met(floor: &ConfidenceFloor, instance: &str) -> bool {
    with(instance, |object| floor.is_met_by(object, None))
}

#[test]
fn a_floor_is_compared_by_digits_and_never_by_a_double() {
    let exact = floor("confidence_score 0.8");
    for (score, meets) in [
        ("0.8", true),
        ("8e-1", true),
        ("0.80", true),
        ("0.80000000000000001", true),
        ("1", true),
        ("0.79999999999999999", false),
        ("0.7999999999999999", false),
        ("-0.9", false),
        ("0", false),
    ] {
        assert_eq!(met(&exact, &format!(r#"{{"confidence_score":{score}}}"#)), meets, "{score}");
    }
    assert!(met(&floor("c -1.5"), r#"{"c":-1.5}"#) && !met(&floor("c -1.5"), r#"{"c":-2}"#));
}

#[test]
fn attack_an_absent_or_disguised_confidence_meets_no_floor() {
    let exact = floor("confidence_score 0.8");
    for instance in [
        "{}",
        r#"{"confidence_score":null}"#,
        r#"{"confidence_score":"0.9"}"#,
        r#"{"confidence_score":true}"#,
        r#"{"confidence_score":[]}"#,
        r#"{"confidence_score":[0.9,0.1]}"#,
        r#"{"confidence_score":[0.9,"x"]}"#,
        r#"{"confidence_score":{"confidence_score":0.9}}"#,
        r#"{"Confidence_score":0.9}"#,
    ] {
        assert!(!met(&exact, instance), "{instance}");
    }
    let named = r#"{"confidence_score":0.9}"#;
    assert!(!with(named, |object| exact.is_met_by(object, Some("confidence_score"))), "it names the type");
}

#[test]
fn a_floor_reaches_through_objects_and_needs_every_item() {
    let deep = floor("plan.steps.score 0.5");
    assert!(met(&deep, r#"{"plan":{"steps":[{"score":0.5},{"score":1}]}}"#));
    for instance in [
        r#"{"plan":{"steps":[{"score":0.5},{}]}}"#,
        r#"{"plan":{"steps":[{"score":0.4},{"score":1}]}}"#,
        r#"{"plan":{"steps":[]}}"#,
        r#"{"plan":{"steps":0.9}}"#,
        r#"{"plan":[]}"#,
    ] {
        assert!(!met(&deep, instance), "{instance}");
    }
}

#[test]
fn a_floor_is_one_member_and_one_number() {
    for wrong in [
        "",
        "score",
        "score ",
        " 0.8",
        "score 0,8",
        "score .8",
        "score 0.8 ",
        "a..b 1",
        "a b 1",
        "a.b.c.d.e.f.g.h.i 1",
    ] {
        let why = ConfidenceFloor::parse(wrong).unwrap_err();
        assert!(why.contains("as in `confidence_score 0.8`"), "{wrong}: {why}");
    }
}

#[test]
fn either_trigger_asks_and_without_any_every_message_does() {
    let when = |confidence: Option<&str>, steps: u32| ApproveWhen {
        confidence: confidence.map(floor),
        steps: std::num::NonZeroU32::new(steps),
    };
    let asks = |when: &ApproveWhen, score: &str, steps: u64| {
        with(&format!(r#"{{"score":{score}}}"#), |object| when.asks(object, None, &|| steps))
    };
    let always = when(None, 0);
    assert!(always.is_always() && asks(&always, "1", 0));
    let confidence = when(Some("score 0.8"), 0);
    assert!(asks(&confidence, "0.7", 0) && !asks(&confidence, "0.9", u64::MAX));
    let steps = when(None, 50);
    assert!(!asks(&steps, "0", 49) && asks(&steps, "1", 50) && asks(&steps, "1", u64::MAX));
    let both = when(Some("score 0.8"), 50);
    assert!(!asks(&both, "0.8", 49) && asks(&both, "0.7", 0) && asks(&both, "0.8", 50));
    assert_eq!(both.to_string(), "where `score` is absent or below 0.8, or after 50 steps of a session");
    assert_eq!(always.to_string(), "always");
}

#[test]
fn steps_are_counted_only_where_they_matter() {
    let never = || -> u64 { panic!("nobody needs the count") };
    let confidence = ApproveWhen { confidence: Some(floor("score 0.8")), steps: None };
    with(r#"{"score":1}"#, |object| assert!(!confidence.asks(object, None, &never)));
    let both = ApproveWhen { steps: std::num::NonZeroU32::new(1), ..confidence };
    with(r#"{"score":0}"#, |object| assert!(both.asks(object, None, &never)));
}
