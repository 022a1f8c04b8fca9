//! A guard that is never true is refused as a part of a condition too, wherever it is refused as the whole of one: behind `unless`, behind `!`
//! and beside `||` it would load and keep nothing away. And guards that make sense load, each of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{House, context, one_file, shipped_contexts};

const GRID: &str = r#"{"context":"urn:contexts:grid:v1.0","concepts":{"reading":{"type":"object","properties":{
    "id":{"type":"string"},"tags":{"type":"array","items":{"type":"string","enum":["red","blue"]},"minItems":1},
    "marks":{"type":"array","items":{"type":"integer","minimum":1,"maximum":9}},
    "none":{"type":"array","items":{"type":"string"},"maxItems":0},
    "ip":{"type":"string","format":"ipv4"},"ttl":{"type":"string","format":"duration"},
    "at":{"type":"string","format":"date-time"},"day":{"type":"string","format":"date"},"note":{"type":"string"},
    "level":{"type":"integer","enum":[1,2,30]},"percent":{"type":"integer","minimum":0,"maximum":100},
    "unit":{"type":"string","enum":["V","A"]},
    "spot":{"type":"object","properties":{"unit":{"type":"string","enum":["V","A"]},"n":{"type":"integer"}},"required":["unit","n"],"additionalProperties":false}},
   "required":["id","tags","marks","none","ip","ttl","at","day","level","percent","unit","spot"],"additionalProperties":false}}}"#;

const READING: &str = "resource is grid::reading";
const PAYMENT: &str = "resource is payment::transfer";
const ANY: &str = "resource";

/// What is never true of a reading, whatever is added to contexts, agents or time.
const OF_READINGS: &[&str] = &[
    // times of day, days and lengths
    "context.now.toTime() >= duration(\"22h\") && context.now.toTime() < duration(\"6h\")",
    "context.now.toTime() < duration(\"6h\") && context.now.toTime() >= duration(\"22h\")",
    "context.now.toTime() > duration(\"25h\")",
    "context.now.toTime() >= duration(\"24h\")",
    "context.now.toTime() < duration(\"0h\")",
    "context.now.toTime() == duration(\"1d\")",
    "context.now.toTime() > duration(\"23h59m59s\")",
    "context.now.toTime().toHours() >= 20 && context.now.toTime().toHours() < 6",
    "context.now.toTime().toHours() >= 24",
    "context.now.toTime().toMinutes() > 1440",
    "context.now.toTime() > duration(\"20h\") && context.now.toTime().toHours() < 20",
    "context.now.toTime().toHours() >= 18 && context.now.toTime().toMinutes() < 360",
    "context.now.toTime().toMinutes() < 360 && context.now.toTime().toHours() >= 18",
    "context.now.offset(duration(\"2h\")).toTime() >= duration(\"18h\") && context.now.offset(duration(\"2h\")).toTime() < duration(\"6h\")",
    "context.now.offset(duration(\"1h\")).toTime().toHours() > 20 && context.now.offset(duration(\"1h\")).toTime() < duration(\"1h\")",
    "context.now.offset(duration(\"2h\")).toTime() > duration(\"24h\")",
    "context.now.offset(duration(\"2h\")).toDate() == datetime(\"2031-01-01\") && context.now.offset(duration(\"2h\")).toDate() == datetime(\"2031-01-02\")",
    "context.now < datetime(\"2090-01-01\") && context.now >= datetime(\"2090-01-01\")",
    "context.now > datetime(\"2091-01-01\") && context.now < datetime(\"2090-01-01\")",
    "context.now.offset(duration(\"1d\")) < context.now",
    "context.now.offset(duration(\"-1h\")) >= context.now",
    "context.now.offset(duration(\"1d\")) == context.now",
    "context.now == context.now.offset(duration(\"1h\")).offset(duration(\"1ms\"))",
    "context.now.durationSince(context.now) > duration(\"0s\")",
    "context.now.offset(duration(\"1h\")).durationSince(context.now) != duration(\"1h\")",
    "context.now.toDate() > context.now",
    "context.now.toDate() == datetime(\"2090-01-01T10:00:00Z\")",
    "resource.at.toTime() > duration(\"20h\") && !(resource.at.toTime() >= duration(\"6h\"))",
    "resource.day.toTime() > duration(\"1h\")",
    "resource.at > datetime(\"2027-01-02T01:00:00Z\") && resource.at.toDate() < datetime(\"2027-01-02\")",
    "resource.at.toDate() == datetime(\"2027-01-02T10:00:00Z\")",
    "resource.at.toDate() == datetime(\"2027-01-15\") && resource.at < datetime(\"2027-01-14T23:00:00Z\")",
    "resource.at.toDate().offset(duration(\"1d\")) <= resource.at",
    "resource.day.toDate() < resource.day",
    "resource.day > datetime(\"2030-02-01\") && resource.day < datetime(\"2030-01-01\")",
    "resource.day > datetime(\"2030-01-01\") && resource.day < datetime(\"2030-01-01T23:59:59Z\")",
    "resource.day == datetime(\"2030-01-01T10:00:00Z\")",
    "resource.at.offset(duration(\"1d\")) < datetime(\"2027-01-02\") && resource.at > datetime(\"2027-01-01\")",
    "resource.at.durationSince(datetime(\"2027-01-01\")) > duration(\"1d\") && resource.at < datetime(\"2027-01-02\")",
    "resource.ttl < duration(\"2h\") && resource.ttl.toHours() >= 2",
    "resource.ttl.toHours() == 2 && resource.ttl.toMinutes() < 120",
    "resource.ttl.toSeconds() > 3600 && resource.ttl.toDays() < 0",
    "resource.ttl.toDays() < 0",
    "resource.ttl > duration(\"2h\") && resource.ttl < duration(\"1h\")",
    "resource.ttl == duration(\"1h\") && resource.ttl > duration(\"60m\")",
    "resource.ttl < duration(\"0ms\")",
    // sets and addresses
    "resource.marks.contains(12)",
    "resource.marks.containsAny([0, 12])",
    "resource.marks.containsAll([1, 12])",
    "resource.marks.contains(1) && resource.marks.isEmpty()",
    "resource.marks.isEmpty() && resource.marks.containsAny([1, 2])",
    "resource.marks.containsAll([1, 2]) && !resource.marks.contains(1)",
    "resource.marks.contains(1) && !resource.marks.containsAny([1, 2])",
    "resource.tags == [\"red\"] && resource.tags.contains(\"blue\")",
    "resource.tags.contains(\"blue\") && [\"red\"].containsAll(resource.tags)",
    "resource.tags == [\"red\"] && resource.tags == [\"blue\"]",
    "resource.tags == [\"red\", \"blue\"] && !resource.tags.contains(\"red\")",
    "!resource.tags.containsAny([\"red\"]) && resource.tags == [\"red\"]",
    "[\"red\"].containsAll(resource.tags) && resource.tags.containsAny([\"blue\"])",
    "!resource.tags.containsAny([\"red\", \"blue\"]) && [\"red\", \"blue\"].containsAny(resource.tags)",
    "resource.tags == [\"green\"]",
    "resource.tags.isEmpty() && resource.tags.contains(\"red\")",
    "[\"red\"].containsAll([\"red\", \"blue\"])",
    "[\"red\"].containsAny([\"blue\"])",
    "[\"a\", \"b\"].isEmpty()",
    "resource.ip.isIpv4() && resource.ip.isIpv6()",
    "resource.ip.isInRange(ip(\"10.0.0.0/8\")) && resource.ip.isInRange(ip(\"192.168.0.0/16\"))",
    "resource.ip.isInRange(ip(\"10.1.0.0/16\")) && !resource.ip.isInRange(ip(\"10.0.0.0/8\"))",
    "resource.ip.isInRange(ip(\"10.0.0.0/8\")) && resource.ip == ip(\"11.0.0.1\")",
    "resource.ip == ip(\"10.0.0.1\") && resource.ip == ip(\"10.0.0.2\")",
    "resource.ip == ip(\"10.0.0.1\") && !resource.ip.isInRange(ip(\"10.0.0.0/24\"))",
    "resource.ip.isInRange(ip(\"::/0\")) && resource.ip.isIpv4()",
    "resource.ip == ip(\"10.0.0.0/8\")",
    // texts
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
    "resource.id == \"a\" && resource.id == \"b\"",
    "resource.id != \"a\" && [\"a\"].contains(resource.id)",
    "(resource.id == \"a\" || resource.id == \"b\") && resource.id == \"c\"",
    "(resource.id == \"a\" || resource.id == \"b\") && (resource.id == \"c\" || resource.id == \"d\")",
    "(if context.locked then resource.id == \"a\" else resource.id == \"b\") && resource.id == \"c\"",
    "(if context.locked then resource.id == \"a\" else resource.id == \"b\") && !context.locked && resource.id == \"a\"",
    "resource.unit == \"W\"",
    "resource.unit like \"W*\"",
    "resource.unit == resource.id && resource.id == \"x\"",
    "[\"V\"].contains(resource.unit) == false && resource.unit == \"V\"",
    "resource.unit != \"V\" && resource.unit != \"A\"",
    "resource.spot == {unit: \"W\", n: 1}",
    "{a: resource.unit} == {a: \"W\"}",
    "resource.spot.unit == \"V\" && resource.spot.unit == \"A\"",
    // numbers, scores, sessions and the way of a message
    "resource.level == 3",
    "resource.level > 30",
    "![1, 2, 30].contains(resource.level)",
    "resource.percent > 100",
    "resource.percent < 0",
    "resource.percent > 60 && resource.percent < 50",
    "resource.percent > resource.percent + 1",
    "resource.percent + 1 == resource.percent",
    "resource.percent - resource.percent > 0",
    "1 + resource.percent - 2 >= resource.percent",
    "-resource.percent > 0",
    "(resource.percent > 5) == (resource.percent <= 5)",
    "(resource.percent > 5) != (5 < resource.percent)",
    "resource.percent != resource.percent",
    "context.scores.concepts < 1",
    "context.scores.concepts == 0",
    "context.scores.message_bytes < 1",
    "context.scores.concepts + 1 > 10 && context.scores.concepts < 5",
    "context.scores.concepts < 5 && 10 < 1 + context.scores.concepts",
    "context.scores.concepts - 5 > 5 && context.scores.concepts <= 10",
    "context.scores.concepts < 5 && context.scores.concepts * 2 > 8",
    "context.scores.concepts + 1 < 2",
    "context.scores.ambiguous > context.scores.concepts",
    "context.free_text && context.scores.text_length == 0",
    "!context.free_text && context.scores.text_length > 3",
    "context has session && context.session.expires.durationSince(context.now) <= duration(\"0s\")",
    "context has session && context.session.expires.durationSince(context.now).toSeconds() < 0",
    "!context.locked && context has session",
    "context.locked && !(context has session)",
    "context.locked && !context.locked",
    "context.locked == true && context.locked == false",
    "context.locked == !context.locked",
    "(context.locked || context.free_text) && !context.locked && !context.free_text",
    "context.binding == \"a2a\" && context.binding_version == \"2025-11-25\"",
    "context.binding_version == \"\" && context.binding == \"mcp\"",
    "context.direction == \"reply\" && context.direction == \"request\"",
    "context.direction == \"reply\" && principal.credentials.contains(\"token:hr:x\")",
    "principal.credentials.contains(\"token:hr:x\") && context.direction == \"reply\"",
    "context.direction == \"request\" && context.receiver.credentials.contains(\"token:hr:x\")",
    "action == Action::\"REQUEST\" && action == Action::\"QUERY\"",
    "[Action::\"REQUEST\"].contains(action) && action == Action::\"QUERY\"",
    "action != action",
    "principal != principal",
    "resource != resource",
    "!(resource in resource)",
    "context.receiver != context.receiver",
    "!(principal has credentials)",
    "{a: context.binding} == {a: \"XXX\"}",
    // sender and receiver
    "principal == Agent::\"spiffe://semgate.test/agent/retailer-7\" && principal == Agent::\"spiffe://semgate.test/agent/treasurer-1\"",
    "context.receiver == Agent::\"spiffe://semgate.test/operator\" && context.receiver == Agent::\"spiffe://semgate.test/agent/courier-5\"",
    "principal == Agent::\"spiffe://semgate.test/operator\" && principal in [Agent::\"spiffe://semgate.test/agent/courier-5\", Agent::\"spiffe://semgate.test/agent/retailer-7\"]",
    "[Agent::\"spiffe://semgate.test/operator\"].contains(principal) && principal == Agent::\"spiffe://semgate.test/agent/courier-5\"",
    "principal == Agent::\"spiffe://semgate.test/operator\" && principal.trust_domain == \"elsewhere.test\"",
    "principal.trust_domain == \"elsewhere.test\" && principal == Agent::\"spiffe://semgate.test/operator\"",
    "principal.trust_domain == \"a.test\" && principal.trust_domain == \"b.test\"",
    "principal.credentials.isEmpty() && principal.credentials.contains(\"high-value-authorized\")",
    "principal.credentials == [\"high-value-authorized\"] && principal.credentials.contains(\"token:hr:b\")",
    "principal.credentials.contains(\"token:hr:b\") && !principal.credentials.contains(\"token:hr:b\")",
    "principal.credentials.containsAll([\"token:hr:b\", \"token:hr:c\"]) && !principal.credentials.contains(\"token:hr:b\")",
    "principal in Group::\"partners\" && !(principal in Group::\"partners\")",
    // versions of a line that is named
    "context.line == \"grid\" && context.major == 7",
    "context.major == 7 && context.line == \"grid\"",
    "context.major > 2 && context.major < 2",
    "context.major == 1 && context.major == 2",
    "context.line == \"payment\"",
];

/// The same of anything.
const OF_ANY: &[&str] = &[
    "context.binding == \"a2a\" && context.line == \"mcp\"",
    "context.line == \"mcp\" && context.binding == \"a2a\"",
    "context.binding == \"l8\" && resource is a2a::GetTask",
    "context.line == \"payment\" && resource is a2a::GetTask",
    "resource is a2a::GetTask && context.binding == \"mcp\"",
    "resource is grid::reading && resource is payment::transfer",
    "resource is grid::reading && resource.id like \"a*\" && resource.id like \"b*\"",
    "(context.binding == \"a2a\" || context.binding == \"l8\") && context.line == \"mcp\"",
    "context.line == \"payment\" && context.line == \"grid\"",
    "context.line like \"pay*\" && context.line like \"gr*\"",
    "context.line == \"payment\" && context.major == 1 && context.minor == 9",
    "context.minor == 9 && context.major == 1 && context.line == \"payment\"",
    "context.major == 9 && context.line == \"payment\"",
];

/// The same of a payment.
const OF_PAYMENTS: &[&str] = &[
    "resource.currency == \"USD\" && resource.currency == \"EUR\"",
    "resource.currency like \"E*\" && resource.currency like \"U*\"",
    "resource.currency like \"eu*\"",
    "resource.currency == \"EURO\"",
    "[\"USD\", \"EUR\"].contains(resource.currency) && resource.currency == \"GBP\"",
    "resource.amount.greaterThan(decimal(\"100.0\")) && resource.amount.lessThan(decimal(\"50.0\"))",
    "resource.amount == decimal(\"1.0\") && resource.amount == decimal(\"2.0\")",
    "resource.amount.lessThan(decimal(\"0.0\"))",
    "resource.sender_id like \"a b*\"",
    "resource.sender_id == \"\"",
    "resource.sender_id != resource.sender_id",
    "!(resource.sender_id like \"x*\") && [\"xa\", \"xb\"].contains(resource.sender_id)",
    "context.free_text && context.free_text == false",
];

/// What is refused, or told, as a whole condition and says something as a part: what changes as a matter of course makes it true.
const OPEN: &[(&str, &str, &str)] = &[
    (PAYMENT, "a version may come", "context.major == 7"),
    (PAYMENT, "a version may come", "context.major > 2"),
    (PAYMENT, "a version may come", "context.major == 2 && context.minor == 1"),
    (PAYMENT, "a version may come", "resource has amount && context.major == 7"),
    (ANY, "a version may come", "resource has item_id && resource has amount && context.major == 2"),
    (PAYMENT, "every loaded version requires it", "!(resource has amount)"),
    (READING, "from a version on", "context.line == \"grid\" && context.major > 1"),
    (PAYMENT, "from a version on", "context.line == \"payment\" && context.major >= 3 && context.locked"),
    (ANY, "from a version on", "context.line == \"payment\" && context.major < 1 && context.locked"),
    (PAYMENT, "from a version on", "context.locked && context.line == \"payment\" && context.major >= 3"),
    (READING, "from a version on", "context.major >= 2 && context.line == \"grid\""),
    (ANY, "from a version on", "context.line == \"payment\" && context.major < 1"),
    (READING, "a version may let it be empty", "resource.tags.isEmpty()"),
    (READING, "a version may let it hold something", "!resource.none.isEmpty()"),
    (READING, "a version may let it hold something", "resource.none.contains(\"a\")"),
    (READING, "a version may let it be of the other kind", "resource.ip.isIpv6()"),
    (PAYMENT, "a version may have text", "context.free_text && context.binding == \"l8\""),
    (
        PAYMENT,
        "who is in a group",
        "principal in Group::\"planners\" && principal == Agent::\"spiffe://semgate.test/agent/retailer-7\"",
    ),
    (
        PAYMENT,
        "who is in a group",
        "context.receiver in Group::\"repliers\" && context.receiver in Group::\"planners\"",
    ),
    (
        PAYMENT,
        "who is in a group",
        "principal in Group::\"planners\" && principal.trust_domain == \"elsewhere.test\"",
    ),
    (
        PAYMENT,
        "which entry gives which credential",
        "principal == Agent::\"spiffe://semgate.test/agent/courier-5\" && principal.credentials.contains(\"high-value-authorized\")",
    ),
    (PAYMENT, "the clock", "context.now < datetime(\"2020-01-01\")"),
    (PAYMENT, "belt and braces", "context has session && context.session.expires < context.now"),
    (PAYMENT, "belt and braces", "context has session && context.session.expires == context.now"),
    (
        PAYMENT,
        "the clock",
        "context.now < datetime(\"2020-01-01\") && context.now.toTime() < duration(\"6h\")",
    ),
    (PAYMENT, "it is written out", "false"),
    (PAYMENT, "it is written out", "context.locked && false"),
];

/// Policies that make sense, about readings where nothing else is said.
const GOOD: &[&str] = &[
    "permit (…) unless { context.now.toTime() >= duration(\"22h\") || context.now.toTime() < duration(\"6h\") }",
    "permit (…) when { !(context.now.toTime() >= duration(\"22h\") || context.now.toTime() < duration(\"6h\")) }",
    "permit (…) when { context.now.toTime() >= duration(\"8h\") && context.now.toTime() < duration(\"18h\") || context.locked }",
    "permit (…) unless { context.now.toTime() >= duration(\"8h\") && context.now.toTime() < duration(\"18h\") }",
    "permit (…) unless { context.now.toTime().toHours() >= 22 || context.now.toTime().toHours() < 6 }",
    "permit (…) when { context.now.offset(duration(\"2h\")).toTime() >= duration(\"8h\") || context.now.toTime() < duration(\"5h\") }",
    "permit (…) unless { context.now.toTime() >= duration(\"12h\") && context.now.toTime() < duration(\"13h\") && context.locked }",
    "permit (…) when { context.now.toTime() < duration(\"6h\") || !(context.now.toTime() < duration(\"6h\")) && context.locked }",
    "permit (…) when { context.now.toTime() >= duration(\"0h\") && context.now.toTime() < duration(\"6h\") || context.locked }",
    "permit (…) when { context.now > datetime(\"2090-01-01\") && context.now < datetime(\"2091-01-01\") || context.locked }",
    "permit (…) unless { context.now > datetime(\"2090-01-01\") && context.now < datetime(\"2091-01-01\") }",
    "permit (…) unless { context.now < datetime(\"2020-01-01\") || context.now > datetime(\"2090-01-01\") }",
    "permit (…) unless { context.now < datetime(\"2020-01-01\") && context.locked }",
    "permit (…) unless { resource.at > context.now }",
    "permit (…) unless { resource.at.durationSince(context.now) > duration(\"14d\") || resource.at < context.now }",
    "permit (…) unless { resource.at.toDate() == context.now.toDate() }",
    "permit (…) unless { resource.day >= datetime(\"2030-01-01\") && resource.day < datetime(\"2030-02-01\") }",
    "permit (…) unless { resource.ttl > duration(\"1h\") && resource.ttl < duration(\"2h\") || resource.ttl.toDays() > 7 }",
    "permit (…) unless { principal == Agent::\"spiffe://semgate.test/agent/retailer-7\" || principal == Agent::\"spiffe://semgate.test/agent/treasurer-1\" }",
    "permit (…) unless { principal == Agent::\"spiffe://semgate.test/agent/retailer-7\" && context.receiver == Agent::\"spiffe://semgate.test/agent/treasurer-1\" }",
    "permit (…) unless { principal in [Agent::\"spiffe://semgate.test/agent/retailer-7\", Agent::\"spiffe://semgate.test/operator\"] && principal != Agent::\"spiffe://semgate.test/operator\" }",
    "permit (…) unless { principal in Group::\"planners\" && principal in Group::\"repliers\" }",
    "permit (…) unless { principal in Group::\"planners\" && !(principal in Group::\"repliers\") }",
    "permit (…) unless { principal in Group::\"planners\" || principal in Group::\"repliers\" }",
    "permit (…) unless { principal == Agent::\"spiffe://semgate.test/agent/retailer-7\" && principal.credentials.contains(\"high-value-authorized\") }",
    "permit (…) unless { principal == Agent::\"spiffe://semgate.test/operator\" && principal.trust_domain == \"semgate.test\" }",
    "permit (…) unless { principal.trust_domain == \"elsewhere.test\" || principal.trust_domain like \"*.bad.test\" }",
    "permit (…) unless { principal.credentials.containsAny([\"token:hr:b\", \"high-value-authorized\"]) }",
    "permit (…) unless { principal.credentials.isEmpty() }",
    "permit (…) when { principal.credentials.contains(\"token:hr:b\") } unless { principal.credentials.isEmpty() }",
    "permit (…) unless { principal.credentials.contains(\"token:hr:b\") && !principal.credentials.contains(\"token:hr:c\") }",
    "permit (…) unless { principal.credentials.containsAll([\"token:hr:b\", \"token:hr:c\"]) || context.locked }",
    "permit (…) when { principal.credentials == [\"high-value-authorized\"] || principal.credentials.contains(\"token:hr:b\") }",
    "permit (…) when { context.direction == \"request\" && principal.credentials.contains(\"token:hr:b\") || context.direction == \"reply\" }",
    "permit (…) unless { context.direction == \"reply\" && context.receiver.credentials.contains(\"token:hr:b\") }",
    "permit (…) unless { resource.id like \"DE*\" || resource.id like \"FR*\" }",
    "permit (…) unless { resource.id like \"DE*\" && resource.id like \"*7\" }",
    "permit (…) unless { resource.id like \"DE*\" && !(resource.id like \"DE1*\") }",
    "permit (…) when { resource.id like \"DE*\" || !(resource.id like \"DE*\") && context.locked }",
    "permit (…) when { resource.id like \"DE*\" } unless { resource.id like \"FR*\" }",
    "permit (…) unless { resource has note && resource.note like \"secret*\" }",
    "permit (…) when { resource has note && resource.note != \"x\" || !(resource has note) }",
    "permit (…) unless { resource has note && (resource.note == \"x\" || resource.note like \"y*\") }",
    "permit (…) when { resource.marks.isEmpty() || !resource.marks.isEmpty() && context.locked }",
    "permit (…) unless { resource.marks.contains(1) && resource.marks.contains(2) }",
    "permit (…) unless { resource.marks.containsAny([1, 12]) }",
    "permit (…) unless { resource.tags == [\"red\"] || resource.tags == [\"blue\"] }",
    "permit (…) unless { [\"red\"].containsAll(resource.tags) }",
    "permit (…) unless { !(resource.tags.contains(\"red\")) && resource.tags.contains(\"blue\") }",
    "permit (…) unless { resource.ip.isInRange(ip(\"10.0.0.0/8\")) && !resource.ip.isInRange(ip(\"10.1.0.0/16\")) }",
    "permit (…) unless { resource.ip.isInRange(ip(\"10.0.0.0/8\")) || resource.ip.isInRange(ip(\"192.168.0.0/16\")) }",
    "permit (…) unless { resource.ip.isLoopback() || resource.ip.isMulticast() }",
    "permit (…) unless { resource.unit == \"V\" && resource.level > 2 || resource.unit == \"A\" && resource.level == 1 }",
    "permit (…) unless { resource.percent + resource.level > 100 }",
    "permit (…) unless { resource.percent * 2 > 98 && resource.percent < 60 }",
    "permit (…) unless { context.scores.concepts + 1 > 5 && context.scores.concepts < 6 }",
    "permit (…) unless { context.scores.concepts * 9223372036854775807 > 3 && context.scores.concepts < 9 }",
    "permit (principal, action, resource is payment::transfer) unless { context.line == \"payment\" && context.major == 1 }",
    "permit (…) unless { context.major > 1 || context.major < 1 }",
    "permit (…) unless { context.major == 1 && context.minor > 3 }",
    "permit (…) unless { context has session && context.session.expires < context.now.offset(duration(\"1h\")) }",
    "permit (…) unless { context has session && context.session.expires > datetime(\"2090-01-01\") }",
    "permit (…) unless { context.free_text && context.scores.text_length > 200 }",
    "permit (…) unless { context.binding == \"a2a\" && context.binding_version == \"0.3\" }",
    "permit (…) unless { context.binding != \"l8\" && context.binding_version != \"1.0\" }",
    "permit (…) when { if context.locked then resource.id == \"a\" else resource.id == \"b\" }",
    "permit (…) when { if context.locked then context.free_text else !context.locked && resource.id == \"b\" }",
    "permit (…) when { if resource.id like \"a*\" then context.locked else !(resource.id like \"a*\") && context.free_text }",
    "permit (…) when { resource.id like \"DE*\" || resource.id like \"DE1*\" }",
    "permit (…) when { context.now.toTime() < duration(\"6h\") || context.now.toTime() < duration(\"5h\") }",
    "permit (…) when { principal in Group::\"partners\" || principal in Group::\"partners\" && context.locked }",
    "permit (…) unless { context has session && context.session.expires <= context.now }",
    "permit (…) when { if resource has note then resource.note == \"x\" else false }",
    "permit (…) when { if context.now.toTime() < duration(\"6h\") then context.locked else resource.percent < 50 }",
    "permit (…) unless { if context.locked then resource.id == \"a\" else context.free_text }",
    "permit (…) when { (context.locked || resource.id == \"a\") && (!context.locked || resource.id == \"b\") }",
    "permit (…) unless { action == Action::\"QUERY\" }",
    "permit (…) unless { action in [Action::\"QUERY\", Action::\"REQUEST\"] && context.locked }",
    "permit (…) when { (resource.spot.unit == \"V\" || resource.spot.n > 3) && !(resource.spot == {unit: \"V\", n: 4}) }",
    "permit (principal in Group::\"partners\", action, resource is grid::reading) unless { principal == Agent::\"spiffe://semgate.test/operator\" }",
    "permit (principal in Group::\"partners\", action, resource is grid::reading) unless { principal in Group::\"planners\" }",
    "permit (principal, action, resource) unless { context.line == \"payment\" && context.major == 2 }",
    "permit (principal, action, resource) unless { context.line == \"payment\" && resource has amount && resource.amount.greaterThan(decimal(\"9.0\")) }",
    "permit (principal, action, resource) unless { resource is payment::transfer && resource.currency like \"E*\" }",
    "permit (principal, action, resource) unless { context.line == \"mcp\" && context.binding == \"mcp\" || context.line like \"a2a*\" }",
];

fn contexts() -> Vec<std::sync::Arc<semgate_contexts::Context>> {
    let mut contexts = shipped_contexts();
    contexts.push(context(GRID));
    contexts
}

/// What is told of each policy of a set, by its place in it; faults of one step hide those of the next.
fn told(policies: &[String]) -> BTreeMap<usize, Vec<String>> {
    let mut all: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    loop {
        let left = policies.iter().enumerate().filter(|(n, _)| !all.contains_key(n));
        let text: String = left.map(|(n, text)| format!("@id(\"n{n}\")\n{text};\n")).collect();
        let beside = "permit (principal, action == Action::\"REQUEST\", resource is snl::HELLO);";
        let faults = House::load(&one_file(&format!("{text}{beside}")), contexts()).err().unwrap_or_default();
        if faults.is_empty() {
            return all;
        }
        for fault in faults {
            let id =
                fault.split_once("`p.cedar#n").and_then(|(_, rest)| rest.split_once('`')?.0.parse().ok());
            all.entry(id.unwrap_or_else(|| panic!("{fault}"))).or_default().push(fault);
        }
    }
}

/// A policy with a part of its condition left open, in each way in which it stands beside others.
fn wrapped(resource: &str, part: &str) -> [String; 5] {
    let beside = match resource {
        READING => "resource.id == \"beside\"",
        PAYMENT => "resource.receiver_id == \"beside\"",
        _ => "principal.credentials.contains(\"token:hr:beside\")",
    };
    [
        format!("permit (principal, action, {resource}) unless {{ {part} }}"),
        format!("permit (principal, action, {resource}) when {{ !({part}) }}"),
        format!("permit (principal, action, {resource}) when {{ ({part}) || {beside} }}"),
        format!("permit (principal, action, {resource}) unless {{ {beside} || ({part}) }}"),
        format!(
            "permit (principal, action, {resource}) when {{ {beside} && (({part}) || context.scores.concepts > 1) }}"
        ),
    ]
}

fn each() -> Vec<(&'static str, &'static str)> {
    let of = [(READING, OF_READINGS), (PAYMENT, OF_PAYMENTS), (ANY, OF_ANY)];
    of.into_iter().flat_map(|(resource, all)| all.iter().map(move |part| (resource, *part))).collect()
}

#[test]
fn bug_a_guard_that_is_never_true_loaded_as_a_part_of_a_condition() {
    let all = each();
    let whole: Vec<String> = all
        .iter()
        .map(|(resource, part)| format!("permit (principal, action, {resource}) when {{ {part} }}"))
        .collect();
    let known: BTreeSet<usize> = told(&whole).into_keys().collect();
    let unknown: Vec<&str> = (0..all.len()).filter(|n| !known.contains(n)).map(|n| all[n].1).collect();
    assert_eq!(unknown, [""; 0], "as a whole condition each is refused");
    let mut missed = Vec::new();
    for form in 0..5 {
        let texts: Vec<String> =
            all.iter().map(|(resource, part)| wrapped(resource, part)[form].clone()).collect();
        let found = told(&texts);
        let named = |n: &usize| {
            let said =
                |fault: &String| fault.contains("true for no message") || fault.contains("` is never `");
            found.get(n).is_some_and(|faults| faults.iter().any(said))
        };
        missed.extend((0..all.len()).filter(|n| !named(n)).map(|n| texts[n].clone()));
    }
    assert_eq!(missed, [""; 0]);
}

#[test]
fn what_a_change_makes_true_as_a_matter_of_course_loads_as_a_part() {
    let mut refused = Vec::new();
    for form in 0..5 {
        let texts: Vec<String> =
            OPEN.iter().map(|(resource, _, part)| wrapped(resource, part)[form].clone()).collect();
        refused.extend(told(&texts).into_values().flatten());
    }
    assert_eq!(refused, [""; 0]);
}

#[test]
fn guards_that_make_sense_load() {
    let texts: Vec<String> =
        GOOD.iter().map(|text| text.replace("(…)", &format!("(principal, action, {READING})"))).collect();
    assert_eq!(told(&texts).into_values().flatten().collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_forbid_that_a_part_makes_wider_by_nothing_is_refused() {
    let night = "context.now.toTime() >= duration(\"22h\") && context.now.toTime() < duration(\"6h\")";
    let text = format!("forbid (principal, action, {READING}) when {{ ({night}) || context.free_text }}");
    let told = told(&[text]);
    let part = "a part that is never true does nothing: leave it out, or say what was meant";
    assert!(told[&0].len() == 1 && told[&0][0].contains(part), "{told:?}");
}

#[test]
fn of_a_part_it_is_told_which_two_exclude_one_another() {
    for (condition, place, piece, because) in [
        (
            "unless { context.now.toTime() >= duration(\"22h\") && context.now.toTime() < duration(\"6h\") }",
            "3:10",
            "(context.now.toTime() >= duration(\"22h\")) && (context.now.toTime() < duration(\"6h\"))",
            "`context.now.toTime() >= duration(\"22h\")` and `context.now.toTime() < duration(\"6h\")` are never true together",
        ),
        (
            "when { context.locked || resource.id like \"DE*\" && resource.id like \"FR*\" && context.free_text }",
            "3:26",
            "",
            "`resource.id like \"DE*\"` and `resource.id like \"FR*\"` are never true together: did you mean `||`?",
        ),
        (
            "unless { context.now.toTime() > duration(\"25h\") }",
            "3:10",
            "",
            "a time of day is in whole seconds, from `0h` on and below `24h`",
        ),
        (
            "when { context.free_text && (resource.id like \"DE*\" && (resource.id like \"FR*\" || context.locked)) }",
            "3:57",
            "resource.id like \"FR*\"",
            "`resource.id like \"DE*\"` and `resource.id like \"FR*\"` are never true together: did you mean `||`?",
        ),
    ] {
        let told = told(&[format!("permit (principal, action, {READING})\n{condition}")]);
        let told = &told[&0];
        let says = told[0].contains(&format!("p.cedar:{place}:")) && told[0].contains(because);
        assert!(told.len() == 1 && says && told[0].contains(piece), "{condition}: {told:#?}");
    }
}
