//! Values that are written out where none ever is so: in records and sets, between seconds, and between the multiples that a schema asks for.

use super::{House, context, one_file, shipped_contexts};

const STORE: &str = r#"{"context":"urn:contexts:store:v1.0","concepts":{"lot":{"type":"object","properties":{
    "code":{"type":"string","enum":["EUR","USD"]},"memo":{"type":"string"},"ttl":{"type":"string","format":"duration"},
    "load":{"type":"integer","multipleOf":100,"minimum":1},"price":{"type":"number","multipleOf":0.01},
    "at":{"type":"string","format":"date-time"},
    "spot":{"type":"object","properties":{"code":{"type":"string","enum":["A","B"]},"n":{"type":"integer","minimum":1}},"required":["code","n"],"additionalProperties":false},
    "rows":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"tags":{"type":"array","items":{"type":"string","enum":["r","b"]}}},
       "required":["a","tags"],"additionalProperties":false}}},
   "required":["code","memo","ttl","load","price","at","spot","rows"],"additionalProperties":false}}}"#;

fn told(condition: &str) -> Vec<String> {
    let mut contexts = shipped_contexts();
    contexts.push(context(STORE));
    let policy = format!("permit (principal, action, resource is store::lot)\nwhen {{ {condition} }};");
    House::load(&one_file(&policy), contexts).err().unwrap_or_default()
}

#[track_caller]
fn never(condition: &str, said: &str) {
    let all = told(condition);
    let at = |fault: &String| fault.split_once(": policy `p.cedar#1`: ").unwrap().1.to_owned();
    assert_eq!(all.iter().map(at).collect::<Vec<_>>(), [said], "{condition}");
}

#[track_caller]
fn never_true(conditions: &[&str]) {
    for condition in conditions {
        let all = told(condition);
        let why = "its condition is true for no message (";
        assert!(matches!(&all[..], [one] if one.contains(why)), "{condition}: {all:?}");
    }
}

#[track_caller]
fn good(conditions: &[&str]) {
    for condition in conditions {
        assert_eq!(told(condition), Vec::<String>::new(), "{condition}");
    }
}

/// A code in a record or a set that is written out was held against nothing: such a policy loaded and never applied.
#[test]
fn a_code_in_a_record_that_is_written_out_is_one_that_there_is() {
    let code = "`resource.code` is never `\"XXX\"` (it is one of `\"EUR\"`, `\"USD\"`)";
    for condition in [
        "{a: resource.code} == {a: \"XXX\"}",
        "{a: \"XXX\"} == {a: resource.code}",
        "{a: {b: resource.code, c: 1}} == {a: {b: \"XXX\", c: 1}}",
        "context.locked || {a: resource.code} == {a: \"XXX\"}",
        "[{a: \"XXX\"}, {a: \"EUR\"}].contains({a: resource.code})",
    ] {
        never(condition, code);
    }
    never(
        "resource.spot == {code: \"C\", n: 1}",
        "`resource.spot.code` is never `\"C\"` (it is one of `\"A\"`, `\"B\"`)",
    );
    never("resource.spot != {code: \"A\", n: 0}", "`resource.spot.n` is never `0` (it is at least `1`)");
    never(
        "{a: resource.load} == {a: -1}",
        "`resource.load` is never `-1` (it is a multiple of `100`, at least `100`)",
    );
    let row = "`resource.rows.a` is never `\"z\"` (it is one of `\"x\"`, `\"y\"`)";
    never("resource.rows.contains({a: \"z\", tags: [\"r\"]})", row);
    never(
        "context.locked || resource.rows.containsAny([{a: \"z\", tags: [\"r\"]}, {a: \"x\", tags: [\"r\"]}])",
        row,
    );
    never("resource.rows == [{a: \"z\", tags: [\"r\"]}]", row);
    never(
        "resource.rows.contains({a: \"x\", tags: [\"g\", \"r\"]})",
        "`resource.rows.tags` is never `\"g\"` (it is one of `\"b\"`, `\"r\"`)",
    );
}

#[test]
fn records_and_sets_that_can_never_be_the_same_are_told() {
    never_true(&[
        "[{a: resource.code}] == [{a: \"XXX\"}]",
        "[{a: resource.code}].contains({a: \"XXX\"})",
        "[{a: resource.code}, {a: \"GBP\"}].containsAll([{a: \"XXX\"}])",
        "[[resource.code]].contains([\"XXX\"])",
        "[[resource.code], [\"GBP\"]] == [[\"XXX\"], [\"GBP\"]]",
        "{a: 1, b: resource.code} == {a: 2, b: \"EUR\"}",
    ]);
}

#[test]
fn records_and_sets_that_can_be_the_same_are_good() {
    good(&[
        "{a: resource.code} == {a: \"EUR\"}",
        "{a: resource.code} != {a: \"EUR\"}",
        "{a: resource.memo, b: resource.code} == {a: \"XXX\", b: \"USD\"}",
        "{a: resource.memo} == {a: resource.code}",
        "[{a: resource.code}, {a: resource.memo}].contains({a: \"XXX\"})",
        "[[resource.code], [resource.memo]].contains([\"XXX\"])",
        "[[resource.code, resource.memo]] == [[\"XXX\", \"EUR\"]]",
        "resource.spot == {code: \"A\", n: 1}",
        "resource.spot == {code: resource.memo, n: resource.load}",
        "{code: resource.code, n: 1} == {code: resource.memo, n: resource.load - 99}",
        "resource.rows.contains({a: \"x\", tags: [\"r\", \"b\"]})",
        "resource.rows.contains({a: resource.memo, tags: [\"r\"]})",
        "resource.rows == [{a: \"x\", tags: [\"r\"]}, {a: \"y\", tags: [\"b\"]}]",
        "{who: principal} == {who: context.receiver}",
        "{a: \"x\"} == {a: \"x\"} && context.locked",
    ]);
}

/// The clock, the end of a session and a duration have no parts of a second; such a policy loaded and never applied.
#[test]
fn what_is_in_whole_seconds_is_never_between_two() {
    for condition in [
        "context.now == datetime(\"2030-01-01T10:00:00.500Z\")",
        "context.now != datetime(\"2030-01-01T10:00:00.500Z\") && context.locked",
        "context.locked || context.now == datetime(\"2030-01-01T10:00:00.001Z\")",
    ] {
        let literal = condition.split('"').nth(1).unwrap();
        never(condition, &format!("`context.now` is never `{literal}` (it is in whole seconds)"));
    }
    never(
        "context has session && context.session.expires == datetime(\"2030-01-01T10:00:00.500Z\")",
        "`context.session.expires` is never `2030-01-01T10:00:00.500Z` (it is in whole seconds)",
    );
    never(
        "resource.ttl == duration(\"1s500ms\")",
        "`resource.ttl` is never `1s500ms` (it is in whole seconds)",
    );
    never_true(&[
        "context.now > datetime(\"2030-01-01T10:00:00.100Z\") && context.now < datetime(\"2030-01-01T10:00:00.900Z\")",
        "context.now.toTime() == duration(\"8h500ms\")",
        "context.now.offset(duration(\"1h\")) == datetime(\"2030-01-01T10:00:00.500Z\")",
        "context.now.durationSince(datetime(\"2030-01-01\")) == duration(\"500ms\")",
        "context has session && context.session.expires.durationSince(context.now) == duration(\"1s500ms\")",
        "resource.ttl > duration(\"1s\") && resource.ttl < duration(\"2s\")",
    ]);
    good(&[
        "context.now == datetime(\"2030-01-01T10:00:00.000Z\")",
        "context.now < datetime(\"2030-01-01T10:00:00.500Z\")",
        "context.now > datetime(\"2030-01-01T10:00:00.100Z\") && context.now < datetime(\"2030-01-01T10:00:01.100Z\")",
        "resource.at == datetime(\"2030-01-01T10:00:00.500Z\")",
        "resource.ttl > duration(\"1s500ms\")",
        "resource.at.durationSince(context.now) == duration(\"500ms\")",
    ]);
}

#[test]
fn what_is_a_multiple_is_never_between_two() {
    never(
        "resource.load == 150",
        "`resource.load` is never `150` (it is a multiple of `100`, at least `100`)",
    );
    never(
        "resource.price == decimal(\"1.005\")",
        "`resource.price` is never `1.005` (it is a multiple of `0.01`)",
    );
    never(
        "[150, 200].contains(resource.load)",
        "`resource.load` is never `150` (it is a multiple of `100`, at least `100`)",
    );
    never_true(&[
        "resource.load > 100 && resource.load < 200",
        "resource.load < 100",
        "resource.price.greaterThan(decimal(\"1.0\")) && resource.price.lessThan(decimal(\"1.01\"))",
        "resource.load + 50 == 200",
    ]);
    good(&[
        "resource.load == 200",
        "resource.load > 150",
        "resource.load + 50 == 250",
        "resource.load >= 100 && resource.load <= 100",
        "resource.price == decimal(\"1.05\")",
        "resource.price.lessThan(decimal(\"1.005\"))",
    ]);
}

#[test]
fn scores_that_no_message_has_are_told() {
    never(
        "context.scores.message_bytes == 0",
        "`context.scores.message_bytes` is never `0` (it is at least `1`)",
    );
    never_true(&[
        "context.scores.message_bytes < 1",
        "context.scores.ambiguous > context.scores.concepts",
        "context.scores.concepts < context.scores.ambiguous",
        "!(context.scores.concepts >= context.scores.ambiguous)",
    ]);
    good(&[
        // true for every message, and nothing that says so by itself
        "context.scores.message_bytes > 0",
        "context.locked || context.scores.ambiguous <= context.scores.concepts",
        "context.scores.ambiguous == context.scores.concepts",
        "context.scores.ambiguous < context.scores.concepts",
        "context.scores.ambiguous > context.scores.text_length",
    ]);
}
