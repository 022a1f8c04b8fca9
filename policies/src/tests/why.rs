//! A policy that is true for no message is told with the parts of its condition that are why, and with what is known of what they ask for.

use super::faults;

/// What stands behind "true for no message", for a permit about payments.
fn why(condition: &str) -> String {
    let text = format!("permit (principal, action, resource is payment::transfer)\n{condition};");
    let told = faults(&text);
    let [one] = &told[..] else { panic!("{condition}: {told:?}") };
    let (_, why) = one.split_once(" true for no message").unwrap_or_else(|| panic!("{one}"));
    why.to_owned()
}

#[test]
fn bug_a_condition_that_is_true_for_no_message_was_told_without_the_part_that_is_why() {
    for (condition, told) in [
        (
            "when { resource.currency == \"USD\" && resource.currency == \"EUR\" }",
            " (`resource.currency == \"USD\"` and `resource.currency == \"EUR\"` are never true together: did you mean `||`?)",
        ),
        (
            "when { context.locked && resource.amount.greaterThan(decimal(\"100.0\")) && resource.currency == \"EUR\" && resource.amount.lessThan(decimal(\"50.0\")) }",
            " (`resource.amount.greaterThan(decimal(\"100.0\"))` and `resource.amount.lessThan(decimal(\"50.0\"))` are never true together)",
        ),
        (
            "when { resource.amount.lessThan(decimal(\"0.0\")) }",
            " (`resource.amount.lessThan(decimal(\"0.0\"))`: `resource.amount` is at least `0.0`)",
        ),
        ("when { context.major == 7 }", " (`context.major == 7`: `context.major` is one of `1`, `2`)"),
        (
            "when { resource.sender_id != resource.sender_id }",
            " (`resource.sender_id != resource.sender_id`: `resource.sender_id` is compared with itself)",
        ),
        (
            "when { context.locked } unless { context.locked }",
            " (`context.locked` and `!context.locked` are never true together)",
        ),
        (
            "when { !context.locked } when { context has session && context.session.expires > datetime(\"2030-01-01\") }",
            " (`!context.locked` and `context has session` are never true together)",
        ),
        (
            "when { context has session && context.session.expires < context.now }",
            " (`context.session.expires < context.now`: a session is there until it expires)",
        ),
        (
            "when { context.scores.concepts < 1 }",
            " (`context.scores.concepts < 1`: `context.scores.concepts` is at least `1`)",
        ),
        (
            "when { context.now.toTime() > duration(\"25h\") }",
            " (`context.now.toTime() > duration(\"25h\")`: a time of day is in whole seconds, from `0h` on and below `24h`)",
        ),
        (
            "when { (context.major == 7 && context.locked) || resource.amount.lessThan(decimal(\"0.0\")) }",
            " (`context.major == 7`: `context.major` is one of `1`, `2`; `resource.amount.lessThan(decimal(\"0.0\"))`: `resource.amount` is at least `0.0`)",
        ),
        (
            "when { [\"USD\", \"EUR\"].contains(resource.currency) } unless { resource.currency == \"USD\" } unless { resource.currency == \"EUR\" }",
            " (`[\"USD\", \"EUR\"].contains(resource.currency)`, `!(resource.currency == \"USD\")`, `!(resource.currency == \"EUR\")` are never true together)",
        ),
        (
            "when { principal == Agent::\"spiffe://semgate.test/agent/retailer-7\" && principal == Agent::\"spiffe://semgate.test/agent/treasurer-1\" }",
            " (`principal == Agent::\"spiffe://semgate.test/agent/retailer-7\"` and `principal == Agent::\"spiffe://semgate.test/agent/treasurer-1\"` are never true together: did you mean `||`?)",
        ),
    ] {
        assert_eq!(why(condition), told, "{condition}");
    }
}

#[test]
fn bug_an_action_that_no_concept_of_the_line_takes_loaded_where_a_condition_names_the_line() {
    let told = |action: &str, condition: &str| {
        faults(&format!(
            "permit (principal, action == Action::\"{action}\", resource)\nwhen {{ {condition} }};"
        ))
    };
    let one = told("SUBSCRIBE", "context.line == \"payment\"");
    let why = "(`context.line == \"payment\"`: nothing of `payment` takes `SUBSCRIBE`)";
    assert!(matches!(&one[..], [one] if one.ends_with(why)), "{one:?}");
    let one = told("SUBSCRIBE", "context.locked && resource is payment::transfer");
    let why = "(`resource is payment::transfer`: nothing of `payment::transfer` takes `SUBSCRIBE`)";
    assert!(matches!(&one[..], [one] if one.ends_with(why)), "{one:?}");
    for (action, condition) in [
        ("REQUEST", "context.line == \"payment\""),
        ("SUBSCRIBE", "context.line == \"a2a\""),
        ("SUBSCRIBE", "context.line == \"learnt\""),
        ("SUBSCRIBE", "context.line == \"payment\" || context.line == \"a2a\""),
    ] {
        assert_eq!(told(action, condition), [""; 0], "{action} {condition}");
    }
}

#[test]
fn bug_a_binding_before_a_line_that_it_does_not_say_loaded() {
    let told =
        |condition: &str| faults(&format!("permit (principal, action, resource)\nwhen {{ {condition} }};"));
    for condition in [
        "context.binding == \"a2a\" && context.line == \"mcp\"",
        "context.line == \"mcp\" && context.binding == \"a2a\"",
        "context.binding == \"l8\" && resource is a2a::GetTask",
        "context.binding != \"mcp\" && context.locked && context.line == \"mcp\"",
        "(context.binding == \"a2a\" || context.binding == \"l8\") && context.line == \"mcp\"",
        "context.binding == \"a2a\" && (context.line == \"mcp\" || context.line == \"payment\")",
    ] {
        assert_eq!(told(condition).len(), 1, "{condition}: {:?}", told(condition));
    }
    for condition in [
        "context.binding == \"a2a\" && context.line == \"a2a\"",
        "context.binding == \"a2a\" && context.line == \"payment\"",
        "context.binding != \"a2a\" && context.line == \"mcp\"",
        "context.binding == \"a2a\" && context.line != \"mcp\"",
        "context.binding == \"mcp\" && context.line == \"learnt\"",
    ] {
        assert_eq!(told(condition), [""; 0], "{condition}");
    }
}

/// What is said of a condition about a member `v` with these values, in a context of somebody.
fn of_values(values: &[String], condition: &str) -> Vec<String> {
    let values = serde_json::to_string(values).unwrap();
    let document = format!(
        r#"{{"context":"urn:contexts:t:v1.0","concepts":{{"c":{{"type":"object","required":["v"],"properties":{{"v":{{"type":"string","enum":{values}}}}}}}}}}}"#
    );
    let text = format!("permit (principal, action, resource is t::c) when {{ {condition} }};");
    super::House::load(&super::one_file(&text), vec![super::context(&document)]).err().unwrap_or_default()
}

#[test]
fn bug_a_member_of_many_values_was_told_as_being_their_number() {
    let values: Vec<String> = (0..60).map(|n| format!("a{n}")).collect();
    let told = of_values(&values, "resource.v like \"q*\"");
    assert!(matches!(&told[..], [one] if one.contains("`resource.v` is one of 60 values")), "{told:?}");
}

#[test]
fn attack_a_value_of_a_context_writes_a_second_line_of_what_is_told() {
    let values = ["a\n\u{1b}[31merror: all good".to_owned(), "b".to_owned()];
    for (condition, told_of) in [
        ("resource.v like \"q*\"", r#"`"a\n\u{1b}[31merror: all good"`"#),
        ("resource.v == \"something else\"", r#"`"a\n\u{1b}[31merror: all good"`"#),
        ("resource.v == \"x\\ny\"", r#"is never `"x\ny"`"#),
    ] {
        let told = of_values(&values, condition);
        assert!(matches!(&told[..], [one] if one.contains(told_of)), "{condition}: {told:?}");
        assert!(!told[0].contains(char::is_control), "{condition}: {told:?}");
    }
}

#[test]
fn bug_an_agent_and_a_group_that_it_is_not_in_were_told_as_alternatives() {
    let retailer = "Agent::\"spiffe://semgate.test/agent/retailer-7\"";
    let house = super::House::with(&format!(
        "permit (principal, action, resource is payment::transfer)\nwhen {{ principal == {retailer} && principal in Group::\"planners\" }};"
    ))
    .unwrap();
    let told: Vec<String> = house.policies.warnings().iter().map(ToString::to_string).collect();
    assert!(matches!(&told[..], [one] if one.ends_with("are never true together)")), "{told:?}");
}

#[test]
fn bug_a_time_or_a_day_that_never_comes_was_told_with_a_reason_that_was_none() {
    let whole = "a time of day is in whole seconds, from `0h` on and below `24h`";
    let midnight = "a day begins at `0h` of UTC";
    for (condition, why) in [
        ("context.now.toTime() == duration(\"1500ms\")", whole),
        ("context.now.toTime().toMilliseconds() == 5", whole),
        ("context.now.toTime() < duration(\"-1h\")", whole),
        ("context.now.toTime().toMinutes() < 0", whole),
        ("context.session.expires.toTime() >= duration(\"24h\")", whole),
        ("resource.date.toTime() > duration(\"0s\")", midnight),
        ("resource.date.toTime().toHours() == 9", midnight),
        ("context.now.toDate().toTime() > duration(\"1h\")", midnight),
        ("context.now.toDate() == datetime(\"2030-01-01T10:00:00Z\")", midnight),
        ("datetime(\"2030-01-01T10:00:00Z\") == resource.date.toDate()", midnight),
        ("context.now.toTime() != context.now.toTime()", "`context.now.toTime()` is compared with itself"),
    ] {
        let asks = if condition.contains("session") { "context has session && " } else { "" };
        let text = format!(
            "forbid (principal, action, resource is travel::bookFlight)\nwhen {{ {asks}{condition} }};"
        );
        let told = faults(&text);
        let expected = format!(
            "p.cedar:2:{}: policy `p.cedar#1`: its condition is true for no message (`{condition}`: {why})",
            "when { ".len() + asks.len() + 1
        );
        assert_eq!(told.first(), Some(&expected), "{told:?}");
    }
}

#[test]
fn bug_that_a_session_is_there_until_it_expires_was_told_where_it_is_no_reason() {
    for (condition, told) in [
        (
            "context.session.expires.offset(duration(\"500ms\")) == datetime(\"2030-01-01\")",
            "`context.session.expires` is in whole seconds",
        ),
        (
            "context.session.expires.durationSince(context.session.expires) > duration(\"1s\")",
            "`context.session.expires` is compared with itself",
        ),
        ("context.session.expires <= context.now", "a session is there until it expires"),
        (
            "context.now.durationSince(context.session.expires) > duration(\"1h\")",
            "a session is there until it expires",
        ),
    ] {
        assert_eq!(
            why(&format!("when {{ context has session && {condition} }}")),
            format!(" (`{condition}`: {told})")
        );
    }
}
