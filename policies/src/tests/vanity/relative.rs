//! A member beside itself, moved or cut off, and one time in several units: what is called vain is so for Cedar's evaluator, whatever the
//! members are.

use cedar_policy::{Context, Entities, EvalResult, Expression, Request, RestrictedExpression};
use proptest::prelude::*;

use super::super::generated::cases;
use super::{NOW, is_whole, senseless};

/// What the members are, one row after the other: an instant, a day, a length, a percentage and the clock.
fn rows() -> Vec<(&'static str, &'static str, &'static str, i64, u64)> {
    let at = [
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00Z",
        "2027-01-15T00:00:00Z",
        "2027-01-15T00:59:59.999Z",
        "2027-01-15T05:59:59.999Z",
        "2027-01-15T06:00:00.001Z",
        "2027-01-15T18:00:00Z",
        "2027-01-15T23:59:59.999Z",
    ];
    let day = ["2027-01-14", "2027-01-15", "1969-12-31"];
    let ttl = ["0s", "59m59s", "1h", "1h59m59s", "2h", "25h"];
    let percent = [0, 1, 50, 99, 100];
    let now = [NOW, NOW + 1, NOW + 36_000, NOW + 57_600, NOW + 86_400];
    let each = at.into_iter().flat_map(|at| now.map(|now| (at, now))).enumerate();
    each.map(|(n, (at, now))| (at, day[n % 3], ttl[n % 6], percent[(n + n / 5) % 5], now)).collect()
}

fn is_so(condition: &str, (at, day, ttl, percent, now): (&str, &str, &str, i64, u64)) -> bool {
    let uid = |text: &str| text.parse().unwrap();
    let now = format!("datetime(\"1970-01-01\").offset(duration(\"{now}s\"))").parse().unwrap();
    let pairs = [
        ("at", RestrictedExpression::new_datetime(at)),
        ("day", RestrictedExpression::new_datetime(day)),
        ("ttl", RestrictedExpression::new_duration(ttl)),
        ("percent", RestrictedExpression::new_long(percent)),
        ("now", now),
        ("locked", RestrictedExpression::new_bool(percent > 50)),
    ];
    let context = Context::from_pairs(pairs.map(|(name, value)| (name.to_owned(), value))).unwrap();
    let request =
        Request::new(uid("A::\"a\""), uid("Action::\"a\""), uid("A::\"a\""), context, None).unwrap();
    let condition: Expression = condition.replace("resource.", "context.").parse().unwrap();
    // what errs is not so
    matches!(
        cedar_policy::eval_expression(&request, &Entities::empty(), &condition),
        Ok(EvalResult::Bool(true))
    )
}

fn called_vain(condition: &str) -> bool {
    let text = format!("permit (principal, action, resource is grid::reading) when {{ {condition} }};");
    senseless(&text).iter().any(|why| is_whole(why))
}

#[test]
fn bug_a_member_beside_itself_and_one_time_in_two_units_were_not_judged() {
    for condition in [
        "context.now.toTime().toHours() >= 18 && context.now.toTime().toMinutes() < 360",
        "context.now.toTime().toMinutes() < 360 && context.now.toTime().toHours() >= 18",
        "context.now.toTime().toHours() < 6 && context.now.toTime() > duration(\"20h\")",
        "resource.ttl.toHours() == 2 && resource.ttl.toMinutes() < 120",
        "resource.ttl.toSeconds() > 3600 && resource.ttl.toDays() < 0",
        "resource.at.toDate() == datetime(\"2027-01-15\") && resource.at < datetime(\"2027-01-14T23:00:00Z\")",
        "context.now.offset(duration(\"1h\")).toTime().toHours() > 20 && context.now.offset(duration(\"1h\")).toTime() < duration(\"1h\")",
        "context.now.offset(duration(\"1d\")) < context.now",
        "context.now.offset(duration(\"-1h\")) >= context.now",
        "context.now.offset(duration(\"1d\")) == context.now",
        "context.now == context.now.offset(duration(\"1h\")).offset(duration(\"1ms\"))",
        "context.now.durationSince(context.now) > duration(\"0s\")",
        "context.now.offset(duration(\"1h\")).durationSince(context.now) != duration(\"1h\")",
        "context.now.toDate() > context.now",
        "resource.at.toDate().offset(duration(\"1d\")) <= resource.at",
        "resource.day.toDate() < resource.day",
        "resource.percent > resource.percent + 1",
        "resource.percent + 1 == resource.percent",
        "resource.percent - resource.percent > 0",
        "1 + resource.percent - 2 >= resource.percent",
        "-resource.percent > 0",
        "principal != principal",
        "resource != resource",
        "action != action",
        "!(resource in resource)",
        "context.receiver != context.receiver",
        "![1, 2, 30].contains(resource.level)",
        "[\"a\", \"b\"].isEmpty()",
        "context.locked == !context.locked",
        "(resource.percent > 5) == (resource.percent <= 5)",
        "(resource.percent > 5) != (5 < resource.percent)",
        "[\"V\"].contains(resource.unit) == false && resource.unit == \"V\"",
        "context has session && context.session.expires.durationSince(context.now).toSeconds() < 0",
        "context has session && context.now.durationSince(context.session.expires) > duration(\"1m\")",
        "context.locked && context.now > context.now.offset(duration(\"1m\")) || resource.percent < 0",
    ] {
        assert!(called_vain(condition), "{condition}");
    }
    for condition in [
        "context.now.toTime().toHours() >= 18 && context.now.toTime().toMinutes() < 1081",
        "context.now.toTime().toHours() < 6 && context.now.toTime() > duration(\"5h59m58s\")",
        "resource.ttl.toHours() == 2 && resource.ttl.toMinutes() < 121",
        "resource.at.toDate() == datetime(\"2027-01-15\") && resource.at > datetime(\"2027-01-15T23:59:59Z\")",
        "resource.at.toTime().toHours() == 0 && resource.at.toTime() > duration(\"0s\")",
        "resource.at.durationSince(datetime(\"2027-01-15\")).toHours() == 0 && resource.at < datetime(\"2027-01-15\")",
        "context.now.offset(duration(\"1d\")) > resource.at",
        "context.now.toDate() < context.now",
        "context.now.toDate() == context.now",
        "resource.at.toDate().offset(duration(\"23h\")) <= resource.at",
        "resource.day.toDate() == resource.day && context.locked",
        "resource.percent + 1 > resource.percent && context.locked",
        "resource.percent - resource.level > 0",
        "-resource.percent < 0",
        "context.receiver != principal",
        "![1, 2].contains(resource.level)",
        "![0, 1, 2, 3, 4, 5].contains(resource.percent)",
        "(resource.percent > 5) == context.locked",
        "(resource.percent > 5) == (resource.percent < 50)",
        "[\"V\"].contains(resource.unit) == false && resource.unit == \"A\"",
        "context has session && context.session.expires.durationSince(context.now).toSeconds() > 0",
    ] {
        assert!(!called_vain(condition), "{condition}");
    }
}

/// An instant that is made of a member.
fn instant() -> impl Strategy<Value = String> {
    let member = prop::sample::select(vec!["resource.at", "resource.day", "context.now"]);
    let made = prop_oneof![
        Just(String::new()),
        Just(".toDate()".to_owned()),
        prop::sample::select(vec!["1ms", "1h", "25h", "1d", "-1h", "-1ms"])
            .prop_map(|length| format!(".offset(duration(\"{length}\"))")),
    ];
    (member, prop::collection::vec(made, 0..3))
        .prop_map(|(member, made)| format!("{member}{}", made.concat()))
}

fn length() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => instant().prop_map(|instant| format!("{instant}.toTime()")),
        2 => Just("resource.ttl".to_owned()),
        1 => (instant(), instant()).prop_map(|(one, other)| format!("{one}.durationSince({other})")),
    ]
}

fn number() -> impl Strategy<Value = String> {
    let unit = prop::sample::select(vec!["toMilliseconds", "toSeconds", "toMinutes", "toHours", "toDays"]);
    prop_oneof![
        3 => (length(), unit).prop_map(|(length, unit)| format!("{length}.{unit}()")),
        1 => prop::sample::select(vec![
            "resource.percent", "resource.percent + 1", "resource.percent - 1", "(-resource.percent)",
            "(resource.percent - resource.percent)", "(9223372036854775807 + resource.percent)",
        ]).prop_map(str::to_owned),
    ]
}

fn atom() -> impl Strategy<Value = String> {
    let op = || prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
    let lengths = prop::sample::select(vec!["0s", "1h", "6h", "18h", "23h59m59s", "1d", "-1h"]);
    let numbers = prop::sample::select(vec![0, 1, 2, 6, 18, 100, 360, 1_080, 3_600, 21_600, -1]);
    prop_oneof![
        (instant(), op(), instant()).prop_map(|(one, op, other)| format!("{one} {op} {other}")),
        (length(), op(), length()).prop_map(|(one, op, other)| format!("{one} {op} {other}")),
        (length(), op(), lengths).prop_map(|(one, op, length)| format!("{one} {op} duration(\"{length}\")")),
        (number(), op(), numbers).prop_map(|(one, op, number)| format!("{one} {op} {number}")),
        (number(), op(), number()).prop_map(|(one, op, other)| format!("{one} {op} {other}")),
    ]
}

fn conditions() -> impl Strategy<Value = String> {
    let one = || {
        (atom(), any::<bool>())
            .prop_map(|(atom, so)| if so { format!("({atom})") } else { format!("!({atom})") })
    };
    prop_oneof![
        1 => one(),
        3 => (one(), one()).prop_map(|(a, b)| format!("{a} && {b}")),
        1 => (one(), one()).prop_map(|(a, b)| format!("({a}) == ({b})")),
        1 => (one(), one()).prop_map(|(a, b)| format!("{a} || {b}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_comparison_of_times_is_called_vain_that_cedar_calls_true(condition in conditions()) {
        if called_vain(&condition) {
            for row in rows() {
                prop_assert!(!is_so(&condition, row), "{} {:?}", condition, row);
            }
        }
    }
}

#[test]
fn a_good_deal_of_generated_times_is_called_vain() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let trees = (0..400).map(|_| conditions().new_tree(&mut runner).unwrap());
    let vain = trees.filter(|tree| called_vain(&proptest::strategy::ValueTree::current(tree))).count();
    assert!((40..360).contains(&vain), "{vain}");
}
