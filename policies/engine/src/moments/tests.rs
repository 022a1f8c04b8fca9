use cedar_policy::{Context, Entities, EvalResult, Expression, Request, RestrictedExpression};
use proptest::prelude::*;
use semgate_contexts::{Context as Document, DocumentLimits, Prefix, json};

use super::{datetime, duration, ip};

/// What Cedar says of an expression over the value `context.x`.
fn of(value: RestrictedExpression, expression: &str) -> EvalResult {
    let uid = |text: &str| text.parse().unwrap();
    let context = Context::from_pairs([("x".to_owned(), value)]).unwrap();
    let request =
        Request::new(uid("A::\"a\""), uid("Action::\"a\""), uid("A::\"a\""), context, None).unwrap();
    let expression: Expression = expression.parse().unwrap();
    cedar_policy::eval_expression(&request, &Entities::empty(), &expression).unwrap()
}

fn milliseconds(text: &str) -> Option<EvalResult> {
    let value = RestrictedExpression::new_datetime(datetime(text)?);
    Some(of(value, "context.x.durationSince(datetime(\"1970-01-01\")).toMilliseconds()"))
}

#[test]
fn instants_are_exact_to_the_millisecond_whatever_their_offset() {
    for (text, expected) in [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00.1z", 100),
        ("1970-01-01T00:00:00.12Z", 120),
        ("1970-01-01T00:00:00.123000000000Z", 123),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.999-00:00", -1),
        ("1969-12-31T18:30:00-05:30", 0),
        ("2000-02-29T12:00:00Z", 951_825_600_000),
        ("9999-12-31T23:59:59.999-23:59", 253_402_387_139_999),
        ("0000-01-01T00:00:00+23:59", -62_167_305_540_000),
    ] {
        assert_eq!(milliseconds(text), Some(EvalResult::Long(expected)), "{text}");
    }
}

#[test]
fn what_cedar_has_no_instant_for_is_none() {
    for text in [
        "1990-12-31T23:59:60Z",
        "1990-12-31T15:59:60-08:00",
        "1970-01-01T00:00:00.0001Z",
        "1970-01-01T00:00:00.123456Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+0000",
        "1970-01-01 00:00:00Z",
        "2001-02-29",
        "2001-13-01",
        "1900-02-29",
        "2001-2-9",
        "2001-04-31",
        "",
        "１９７０-01-01",
    ] {
        assert_eq!(datetime(text), None, "{text}");
    }
}

#[test]
fn durations_are_exact_and_calendar_units_have_no_length() {
    for (text, expected) in [
        ("PT1S", Some(1_000)),
        ("P1DT2H3M4S", Some(93_784_000)),
        ("P2W", Some(1_209_600_000)),
        ("PT0S", Some(0)),
        ("P0Y0M1D", Some(86_400_000)),
        ("P1Y", None),
        ("P1M", None),
        ("P1Y2M3D", None),
        ("PT9223372036854775S", Some(9_223_372_036_854_775_000)),
        ("PT9223372036854776S", None),
        ("PT99999999999999999999S", None),
        ("P", None),
        ("PT", None),
        ("PT1.5S", None),
        ("-PT1S", None),
        ("1D", None),
    ] {
        assert_eq!(duration(text), expected, "{text}");
        if let Some(ms) = expected {
            let value = RestrictedExpression::new_duration(format!("{ms}ms"));
            assert_eq!(of(value, "context.x.toMilliseconds()"), EvalResult::Long(ms), "{text}");
        }
    }
}

#[test]
fn addresses_are_the_same_however_written() {
    let is = |text: &str, expression: &str| {
        of(RestrictedExpression::new_ip(ip(text).unwrap()), expression) == EvalResult::Bool(true)
    };
    assert!(is("10.1.2.3", "context.x.isInRange(ip(\"10.0.0.0/8\"))"));
    for text in ["::ffff:10.1.2.3", "::ffff:a01:203", "0:0:0:0:0:FFFF:0a01:0203"] {
        assert!(is(text, "context.x == ip(\"::ffff:a01:203\") && context.x.isIpv6()"), "{text}");
    }
    for text in ["", "10.1.2", "10.1.2.03", "fe80::1%eth0", "10.0.0.0/8", ":::"] {
        assert_eq!(ip(text), None, "{text}");
    }
}

/// A concept with a member of this format, to ask what the schema check asserts.
fn accepts(format: &str, value: &str) -> Result<(), ()> {
    let text = format!(
        r#"{{"context":"urn:contexts:t:v1.0","concepts":{{"c":{{"type":"object","properties":{{"x":{{"type":"string","format":"{format}"}}}}}}}}}}"#
    );
    let document = Document::check(text.as_bytes(), &Prefix::default(), &DocumentLimits::default()).unwrap();
    let instance = serde_json::json!({ "x": value }).to_string();
    let read = json::read(instance.as_bytes(), &json::Limits::default()).unwrap();
    let shape = document.shapes().next().unwrap();
    shape.conform(read.as_object().unwrap(), None).map_err(drop)
}

#[test]
fn formats_are_asserted_by_the_schema_before_policies_see_a_value() {
    for (format, value) in [
        ("date-time", "yesterday"),
        ("date-time", "2026-01-01"),
        ("date", "2026-02-30"),
        ("duration", "1 day"),
        ("ipv4", "010.0.0.1"),
        ("ipv4", "::1"),
        ("ipv6", "10.0.0.1"),
    ] {
        assert_eq!(accepts(format, value), Err(()), "{format} {value}");
    }
}

proptest! {
    /// What the schema takes and we do not is only what the page names: leap seconds, finer than milliseconds, years and months,
    /// overflow. And what we take, Cedar takes.
    #[test]
    fn nothing_else_that_the_schema_takes_is_refused(
        (year, month, day) in (0_u32..=9999, 1_u32..=12, 1_u32..=28),
        (hour, minute, second) in (0_u32..24, 0_u32..60, 0_u32..60),
        fraction in prop::option::of(0_u32..1000),
        offset in prop::option::of((any::<bool>(), 0_u32..24, 0_u32..60)),
        (d, h, m, s) in (0_u32..100_000, 0_u32..100, 0_u32..100, 0_u32..100),
    ) {
        let fraction = fraction.map_or(String::new(), |f| format!(".{f:03}"));
        let offset = offset.map_or("Z".to_owned(), |(plus, h, m)| format!("{}{h:02}:{m:02}", if plus { '+' } else { '-' }));
        let instant = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{offset}");
        prop_assert_eq!(accepts("date-time", &instant), Ok(()), "{}", instant);
        prop_assert!(matches!(milliseconds(&instant), Some(EvalResult::Long(_))), "{}", instant);
        let length = format!("P{d}DT{h}H{m}M{s}S");
        prop_assert_eq!(accepts("duration", &length), Ok(()), "{}", length);
        let expected = ((i64::from(d) * 24 + i64::from(h)) * 60 + i64::from(m)) * 60 + i64::from(s);
        prop_assert_eq!(duration(&length), Some(expected * 1000));
    }
}
