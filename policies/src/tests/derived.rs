//! What methods make of a member, and what it is like: conditions that contradict one another by it, and the nearest that do not.

use super::{House, context, loads, one_file, plainly, refused, shipped_contexts};

const GRID: &str = r#"{"context":"urn:contexts:grid:v1.0","concepts":{"reading":{"type":"object","properties":{
    "id":{"type":"string"},"tags":{"type":"array","items":{"type":"string","enum":["red","blue"]},"minItems":1},
    "marks":{"type":"array","items":{"type":"integer","minimum":1,"maximum":9}},
    "none":{"type":"array","items":{"type":"string"},"maxItems":0},
    "ip":{"type":"string","format":"ipv4"},"ips":{"type":"array","items":{"type":"string","format":"ipv4"}},"ttl":{"type":"string","format":"duration"},
    "at":{"type":"string","format":"date-time"},"day":{"type":"string","format":"date"},"note":{"type":"string"}},
   "required":["id","tags","marks","none","ip","ttl","at","day"],"additionalProperties":false}}}"#;

fn told(policy: &str) -> Vec<String> {
    let mut contexts = shipped_contexts();
    contexts.push(context(GRID));
    House::load(&one_file(policy), contexts).err().unwrap_or_default()
}

fn of(condition: &str) -> Vec<String> {
    told(&format!("permit (principal, action, resource is grid::reading)\nwhen {{ {condition} }};"))
}

#[test]
fn what_methods_make_of_a_member_is_never_otherwise_than_they_can() {
    let whole = "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message";
    for condition in [
        "context.now.toTime() > duration(\"20h\") && context.now.toTime() < duration(\"6h\")",
        "context.now.toTime() > duration(\"25h\")",
        "context.now.toTime() >= duration(\"24h\")",
        "context.now.toTime() < duration(\"0h\")",
        "context.now.toTime() == duration(\"1d\")",
        "context.now.toTime() > duration(\"23h59m59s\")",
        "resource.at.toTime() > duration(\"20h\") && !(resource.at.toTime() >= duration(\"6h\"))",
        "resource.day.toTime() > duration(\"1h\")",
        "resource.at > datetime(\"2027-01-02T01:00:00Z\") && resource.at.toDate() < datetime(\"2027-01-02\")",
        "resource.at.toDate() == datetime(\"2027-01-02T10:00:00Z\")",
        "context.now.toTime().toHours() >= 20 && context.now.toTime().toHours() < 6",
        "context.now.toTime().toHours() >= 24",
        "context.now.toTime().toMinutes() > 1440",
        "context.now.toTime() > duration(\"20h\") && context.now.toTime().toHours() < 20",
        "resource.ttl < duration(\"2h\") && resource.ttl.toHours() >= 2",
        "resource.ttl.toDays() < 0",
        "resource.ttl > duration(\"2h\") && resource.ttl < duration(\"1h\")",
        "resource.ttl == duration(\"1h\") && resource.ttl > duration(\"60m\")",
        "resource.ttl < duration(\"0ms\")",
        "resource.tags.isEmpty()",
        "!resource.none.isEmpty()",
        "resource.none.contains(\"a\")",
        "resource.marks.contains(12)",
        "resource.marks.containsAny([0, 12])",
        "resource.marks.containsAll([1, 12])",
        "resource.marks.contains(1) && resource.marks.isEmpty()",
        "resource.marks.isEmpty() && resource.marks.containsAny([1, 2])",
        "principal.credentials.isEmpty() && principal.credentials.contains(\"high-value-authorized\")",
        "resource.marks.containsAll([1, 2]) && !resource.marks.contains(1)",
        "resource.marks.contains(1) && !resource.marks.containsAny([1, 2])",
        "resource.ip.isIpv4() && resource.ip.isIpv6()",
        "!resource.ip.isIpv4() && !resource.ip.isIpv6()",
    ] {
        assert_eq!(plainly(of(condition), &[whole]), [whole], "{condition}");
    }
    for condition in [
        "context.now.toTime() > duration(\"20h\") || context.now.toTime() < duration(\"6h\")",
        "context.now.toTime() >= duration(\"8h\") && context.now.toTime() <= duration(\"8h\")",
        "context.now.toTime() > duration(\"23h59m58s999ms\")",
        "resource.at.toTime() > duration(\"23h59m59s998ms\")",
        "resource.at.toTime() > duration(\"20h\") && resource.day.toTime() < duration(\"6h\")",
        "resource.day.toTime() == duration(\"0s\")",
        "context.now.toTime().toHours() >= 20 || context.now.toTime().toHours() < 6",
        "context.now.toTime().toHours() == 23 && context.now.toTime().toMinutes() > 1438",
        "resource.ttl < duration(\"2h\") && resource.ttl.toHours() >= 1",
        "resource.at > datetime(\"2027-01-02T01:00:00Z\") && resource.at.toDate() == datetime(\"2027-01-02\")",
        "resource.ttl > duration(\"1h\") && resource.ttl < duration(\"2h\")",
        "!resource.tags.isEmpty()",
        "resource.marks.isEmpty()",
        "resource.marks.contains(9)",
        "resource.marks.containsAny([9, 12])",
        "resource.marks.contains(1) && !resource.marks.contains(2)",
        "resource.marks.containsAny([1, 2]) && !resource.marks.contains(1)",
        "!resource.marks.containsAll([1, 2]) && resource.marks.contains(1)",
        "principal.credentials.isEmpty() && !principal.credentials.contains(\"high-value-authorized\")",
        "resource.ip.isIpv6() || resource.ip.isIpv4()",
        "context has session && context.session.expires > context.now",
    ] {
        assert_eq!(of(condition), [""; 0], "{condition}");
    }
}

#[test]
fn what_a_member_is_like_agrees_with_what_else_is_said_of_it() {
    let whole = "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message";
    for condition in [
        "resource.id like \"DE*\" && resource.id like \"FR*\"",
        "resource.id like \"*DE\" && resource.id like \"*FR\"",
        "resource.id like \"FR*\" && resource.id == \"DE1\"",
        "resource.id == \"DE1\" && resource.id like \"FR*\"",
        "!(resource.id like \"DE*\") && resource.id == \"DE1\"",
        "resource.id like \"DE*\" && [\"FR1\", \"IT1\"].contains(resource.id)",
        "resource.id like \"DE*\" && !(resource.id like \"D*\")",
        "!(resource.id like \"*E*\") && resource.id like \"DE*7\"",
        "resource.id like \"DE\" && resource.id like \"F*\"",
        "!(resource.id like \"*\")",
        "resource has note && resource.note like \"a*\" && resource.note like \"b*\"",
    ] {
        assert_eq!(plainly(of(condition), &[whole]), [whole], "{condition}");
    }
    for condition in [
        "resource.id like \"DE*\" && resource.id like \"DE1*\"",
        "resource.id like \"D*\" && resource.id like \"*E\"",
        "resource.id like \"*D*\" && resource.id like \"FR*\"",
        "resource.id like \"DE*\" && !(resource.id like \"DE1*\")",
        "resource.id like \"DE*\" && !(resource.id like \"*1\")",
        "!(resource.id like \"DE*\") && !(resource.id like \"FR*\")",
        "resource.id like \"DE*\" || resource.id like \"FR*\"",
        "resource.id like \"DE*\" && [\"FR1\", \"DE1\"].contains(resource.id)",
        "resource.id like \"*\\u{10ffff}*\" && !(resource.id like \"*x*\")",
        "resource.id like \"a\\*b\" && resource.id like \"a*b\"",
    ] {
        assert_eq!(of(condition), [""; 0], "{condition}");
    }
    let currency = |condition: &str| {
        format!("permit (principal, action, resource is payment::transfer)\nwhen {{ {condition} }};")
    };
    refused(&currency("resource.currency like \"E*\" && resource.currency like \"U*\""), &[whole]);
    loads(&currency("resource.currency like \"E*\" && resource.currency == \"EUR\""));
}

#[test]
fn a_part_that_says_again_what_every_time_of_day_is_loads() {
    for condition in [
        "context.now.toTime() >= duration(\"0h\") && context.now.toTime() < duration(\"6h\")",
        "context.now.toTime().toHours() >= 20 && context.now.toTime().toHours() <= 24",
        "context.now.toTime() < duration(\"6h\") || !(context.now.toTime() < duration(\"6h\")) && context.locked",
        "resource.marks.isEmpty() || !resource.marks.isEmpty() && context.locked",
        "!resource.tags.isEmpty() && resource.tags.contains(\"red\")",
        "resource.id like \"DE*\" || !(resource.id like \"DE*\") && context.locked",
    ] {
        assert_eq!(of(condition), [""; 0], "{condition}");
    }
}

#[test]
fn a_member_is_redacted_where_it_can_be() {
    let of = |condition: &str| {
        told(&format!(
            "@redact(\"note\")\npermit (principal, action, resource is grid::reading)\nwhen {{ context.direction == \"reply\" && {condition} }};"
        ))
    };
    let fault = "p.cedar:1:1: policy `p.cedar#1`: `@redact`: this permit lets replies pass only where `note` is not there (take it out of the condition, or out of `@redact`)";
    assert_eq!(of("!(resource has note)"), [fault]);
    for condition in [
        "(resource has note) == false",
        "true != (resource has note)",
        "!(resource has note && resource.note like \"*\")",
        "context.locked && !(context.locked && resource has note)",
        "(if resource has note then context.locked && !context.locked else context.locked)",
    ] {
        assert_eq!(of(condition), [fault], "{condition}");
    }
    assert_eq!(of("(resource has note) == true"), [""; 0]);
    assert_eq!(of("(if resource has note then context.locked else context.free_text)"), [""; 0]);
    assert_eq!(of("!(context.locked && resource has note)"), [""; 0]);
    assert_eq!(of("!(resource has note && resource.note == \"x\")"), [""; 0]);
    assert_eq!(of("resource has note"), [""; 0]);
}

#[test]
fn bug_an_inner_member_was_redacted_where_the_condition_wants_it_absent() {
    let document = r#"{"context":"urn:contexts:trip:v1.0","concepts":{"booked":{"type":"object","properties":{
        "seat":{"type":"object","properties":{"row":{"type":"string"},"note":{"type":"string"}},"additionalProperties":false},
        "fare":{"type":"string"}},"additionalProperties":false}}}"#;
    let of = |redact: &str, condition: &str| {
        let policy = format!(
            "@redact(\"{redact}\")\npermit (principal, action, resource is trip::booked)\nwhen {{ context.direction == \"reply\" && {condition} }};"
        );
        let mut contexts = shipped_contexts();
        contexts.push(context(document));
        House::load(&one_file(&policy), contexts).err().unwrap_or_default()
    };
    let fault = |member: &str| {
        format!(
            "p.cedar:1:1: policy `p.cedar#1`: `@redact`: this permit lets replies pass only where `{member}` is not there (take it out of the condition, or out of `@redact`)"
        )
    };
    for (redact, condition) in [
        ("seat.note", "resource has seat && !(resource.seat has note)"),
        ("seat.note", "!(resource has seat)"),
        ("seat.note", "!(resource has seat.note)"),
        ("fare, seat.note", "resource has seat && !(resource.seat has note)"),
    ] {
        assert_eq!(of(redact, condition), [fault("seat.note")], "{condition}");
    }
    for condition in [
        "resource has seat && !(resource.seat has row)",
        "resource has seat && resource.seat has note",
        "(if resource has seat && resource.seat has note then resource.seat.note == \"x\" else true)",
        "!(resource has fare)",
    ] {
        assert_eq!(of("seat.note", condition), [""; 0], "{condition}");
    }
}

#[test]
fn bug_sums_ranges_sets_and_ends_of_sessions_that_contradict_one_another_were_loaded() {
    let whole = "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message";
    for condition in [
        "context has session && context.session.expires < context.now",
        "context has session && context.session.expires == context.now",
        "context has session && (context.now >= context.session.expires || !context.locked)",
        "context has session && context.session.expires.durationSince(context.now) <= duration(\"0s\")",
        "context.scores.concepts + 1 > 10 && context.scores.concepts < 5",
        "context.scores.concepts < 5 && 10 < 1 + context.scores.concepts",
        "context.scores.concepts - 5 > 5 && context.scores.concepts <= 10",
        "context.scores.concepts < 5 && context.scores.concepts * 2 > 8",
        "context.scores.concepts + 1 == 5 && context.scores.concepts == 5",
        "context.scores.concepts + 1 < 2",
        "resource.at.offset(duration(\"1d\")) < datetime(\"2027-01-02\") && resource.at > datetime(\"2027-01-01\")",
        "resource.at.durationSince(datetime(\"2027-01-01\")) > duration(\"1d\") && resource.at < datetime(\"2027-01-02\")",
        "resource.ip.isInRange(ip(\"10.0.0.0/8\")) && resource.ip.isInRange(ip(\"192.168.0.0/16\"))",
        "resource.ip.isInRange(ip(\"10.1.0.0/16\")) && !resource.ip.isInRange(ip(\"10.0.0.0/8\"))",
        "resource.ip.isInRange(ip(\"10.0.0.0/8\")) && resource.ip == ip(\"11.0.0.1\")",
        "resource.ip == ip(\"10.0.0.1\") && resource.ip == ip(\"10.0.0.2\")",
        "resource.ip == ip(\"10.0.0.1\") && !resource.ip.isInRange(ip(\"10.0.0.0/24\"))",
        "resource.ip.isInRange(ip(\"::/0\")) && resource.ip.isIpv4()",
        "resource.tags == [\"red\"] && resource.tags.contains(\"blue\")",
        "resource.tags.contains(\"blue\") && [\"red\"].containsAll(resource.tags)",
        "resource.tags == [\"red\"] && resource.tags == [\"blue\"]",
        "resource.tags == [\"red\", \"blue\"] && !resource.tags.contains(\"red\")",
        "!resource.tags.containsAny([\"red\"]) && resource.tags == [\"red\"]",
        "[\"red\"].containsAll(resource.tags) && resource.tags.containsAny([\"blue\"])",
        "!resource.tags.containsAny([\"red\", \"blue\"]) && [\"red\", \"blue\"].containsAny(resource.tags)",
        "principal.credentials == [\"high-value-authorized\"] && principal.credentials.contains(\"token:hr:b\")",
        "[\"red\"].containsAll([\"red\", \"blue\"])",
        "[\"red\"].containsAny([\"blue\"])",
    ] {
        assert_eq!(plainly(of(condition), &[whole]), [whole], "{condition}");
    }
    for condition in [
        "context has session && context.session.expires.durationSince(context.now) <= duration(\"1s\")",
        "context.scores.concepts + 1 > 5 && context.scores.concepts < 6",
        "context.scores.concepts < 6 && context.scores.concepts * 2 > 8",
        "context.scores.ambiguous + 9223372036854775807 > 3",
        "context has session && context.session.expires > context.now",
        "context.scores.concepts * 9223372036854775807 > 3 && context.scores.concepts < 9",
        "context.scores.message_bytes - 9223372036854775807 < 5",
        "resource.at.offset(duration(\"1d\")) < datetime(\"2027-01-02\") && resource.at < datetime(\"2027-01-01\")",
        "resource.ip.isInRange(ip(\"10.0.0.0/8\")) && resource.ip.isInRange(ip(\"10.1.0.0/16\"))",
        "resource.ip.isInRange(ip(\"10.0.0.0/8\")) && !resource.ip.isInRange(ip(\"10.1.0.0/16\"))",
        "resource.ip == ip(\"10.0.0.1\") && resource.ip.isInRange(ip(\"10.0.0.2/8\"))",
        "resource.ip.isInRange(ip(\"10.0.0.0/8\")) || resource.ip.isInRange(ip(\"192.168.0.0/16\"))",
        "resource.ip != ip(\"10.0.0.1\") && resource.ip.isInRange(ip(\"10.0.0.0/31\"))",
        "resource.tags == [\"red\"] && !resource.tags.contains(\"blue\")",
        "resource.tags.contains(\"red\") && resource.tags.contains(\"blue\")",
        "[\"red\", \"blue\"].containsAll(resource.tags) && !resource.tags.contains(\"red\")",
        "resource.tags.containsAny([\"red\", \"blue\"]) && !resource.tags.contains(\"red\")",
        "principal.credentials == [\"high-value-authorized\"] || principal.credentials.contains(\"token:hr:b\")",
    ] {
        assert_eq!(of(condition), [""; 0], "{condition}");
    }
}

#[test]
fn a_range_is_not_taken_for_the_one_address_that_a_member_is() {
    let meant = |range: &str| {
        format!(
            "`resource.ip` is never `{range}`, a range (it is one address: did you mean `resource.ip.isInRange(ip(\"{range}\"))`?)"
        )
    };
    for condition in [
        "resource.ip == ip(\"10.0.0.0/8\")",
        "resource.ip != ip(\"10.0.0.0/8\")",
        "ip(\"10.0.0.0/8\") == resource.ip",
        "[ip(\"10.0.0.0/8\")].contains(resource.ip)",
        "[ip(\"127.0.0.1\"), ip(\"10.0.0.0/8\")].contains(resource.ip)",
        "ip(\"10.0.0.0/8\").isInRange(resource.ip)",
        "!(resource.id == \"x\" && resource.ip == ip(\"10.0.0.0/8\"))",
    ] {
        let found = of(condition);
        assert!(found.len() == 1 && found[0].ends_with(&meant("10.0.0.0/8")), "{condition}: {found:?}");
    }
    for condition in
        ["resource.ips.contains(ip(\"10.0.0.0/8\"))", "resource.ips.containsAny([ip(\"10.0.0.0/8\")])"]
    {
        let condition = format!("resource has ips && {condition}");
        let found = of(&condition);
        let why = "`resource.ips` never holds `10.0.0.0/8`, a range (each item is one address, and only that is found)";
        assert!(found.len() == 1 && found[0].ends_with(why), "{condition}: {found:?}");
    }
    for condition in [
        "resource.ip == ip(\"10.0.0.1/32\")",
        "[ip(\"10.0.0.1\"), ip(\"10.0.0.2\")].contains(resource.ip)",
        "ip(\"10.0.0.1\").isInRange(resource.ip)",
        "resource has ips && resource.ips.contains(ip(\"10.0.0.1\"))",
    ] {
        assert_eq!(of(condition), [""; 0], "{condition}");
    }
}

#[test]
fn a_list_on_the_left_of_a_set_is_looked_at_as_on_its_right() {
    for (condition, expected) in [
        ("[\"hihg\"].containsAny(principal.credentials)", "nobody has the credential `hihg`"),
        ("[\"hihg\"].containsAll(principal.credentials)", "nobody has the credential `hihg`"),
        ("[\"zz\"].containsAny(resource.tags)", "`resource.tags` is never `\"zz\"`"),
        ("[\"red\", \"zz\"].containsAll(resource.tags)", "`resource.tags` is never `\"zz\"`"),
        (
            "Agent::\"spiffe://semgate.test/agent/retailer-7\".credentials.contains(\"hihg\")",
            "nobody has the credential `hihg`",
        ),
        (
            "(if context.major > 1 then principal.credentials else context.receiver.credentials).contains(\"hihg\")",
            "nobody has the credential `hihg`",
        ),
        (
            "(if context.now > datetime(\"2027-01-02\") then resource.tags else resource.tags).contains(\"zz\")",
            "`resource.tags` is never `\"zz\"`",
        ),
    ] {
        let found = of(condition);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{condition}: {found:?}");
    }
    for condition in [
        "[\"high-value-authorized\"].containsAny(principal.credentials)",
        "[\"high-value-authorized\"].containsAll(principal.credentials)",
        "[\"red\"].containsAny(resource.tags)",
        "[\"red\"].containsAll(resource.tags)",
        "(if context.now > datetime(\"2027-01-02\") then resource.tags else [resource.id]).contains(\"x\")",
    ] {
        assert_eq!(of(condition), [""; 0], "{condition}");
    }
}
