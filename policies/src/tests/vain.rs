//! What could never be so or never be read: trust domains that are none, tokens that nobody vouches for, notices to nobody.

use super::{loads, one_file, refused, shipped_contexts};
use crate::{Policies, PolicyLimits};

#[test]
fn a_trust_domain_that_is_written_as_a_url_is_refused_with_the_one_that_was_meant() {
    let form = "a trust domain is what stands between `spiffe://` and the next `/`";
    for (condition, column, member, wrong, meant) in [
        (
            "principal.trust_domain == \"https://semgate.test\"",
            8,
            "principal",
            "https://semgate.test",
            "semgate.test",
        ),
        (
            "\"spiffe://semgate.test/agent\" != principal.trust_domain",
            41,
            "principal",
            "spiffe://semgate.test/agent",
            "semgate.test",
        ),
        (
            "context.receiver.trust_domain == \"Semgate.test\"",
            8,
            "context.receiver",
            "Semgate.test",
            "semgate.test",
        ),
        (
            "[\"a.test\", \"semgate.test:443\"].contains(principal.trust_domain)",
            48,
            "principal",
            "semgate.test:443",
            "semgate.test",
        ),
        ("principal.trust_domain like \"spiffe://*.test\"", 8, "principal", "spiffe://*.test", "*.test"),
    ] {
        let text =
            format!("permit (principal, action, resource is payment::transfer)\nwhen {{ {condition} }};");
        let fault = format!(
            "p.cedar:2:{column}: policy `p.cedar#1`: `{member}.trust_domain` is never `\"{wrong}\"` ({form}: did you mean `\"{meant}\"`?)"
        );
        refused(&text, &[&fault]);
    }
    loads(
        "permit (principal, action, resource is payment::transfer)\nwhen { principal.trust_domain like \"*.semgate.test\" || \
         principal.trust_domain == \"semgate.test\" };",
    );
}

#[test]
fn a_notice_on_what_decides_replies_only_is_refused_since_nobody_reads_it() {
    let fault = |column: usize| {
        format!(
            "p.cedar:1:{column}: policy `p.cedar#x`: `@notice` is never shown: this policy decides replies only, and of a refused reply its \
             caller learns no reason (leave it out, or let the policy decide requests too)"
        )
    };
    let scope = "(principal, action, resource is payment::transfer)";
    for condition in
        ["when { context.direction == \"reply\" }", "unless { context.direction == \"request\" }"]
    {
        refused(&format!("@id(\"x\") @notice(\"ask us\") forbid {scope} {condition};"), &[&fault(10)]);
        let permit =
            format!("@id(\"x\") @limit(\"1/minute\") @notice(\"ask us\") permit {scope} {condition};");
        refused(&permit, &[&fault(29)]);
        loads(&format!("@id(\"x\") forbid {scope} {condition};"));
    }
    loads(&format!(
        "@notice(\"ask us\") forbid {scope} when {{ context.direction == \"request\" || resource.currency == \"EUR\" }};"
    ));
}

#[test]
fn a_credential_of_an_issuer_that_is_not_configured_is_refused_where_the_configuration_is_known() {
    let text = "permit (principal, action, resource is payment::transfer)\n\
                when { principal.credentials.containsAny([\"token:hr:payer\", \"high-value-authorized\"]) ||\n  \
                context.receiver.credentials.contains(\"token:hq:bank\") };";
    let load = |issuers: Option<&[&str]>| {
        let token_issuers = issuers.map(|names| names.iter().map(ToString::to_string).collect());
        let limits = PolicyLimits { token_issuers, ..PolicyLimits::default() };
        Policies::load(&one_file(text), &shipped_contexts(), &limits)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let unknown = load(None).unwrap();
    assert_eq!(unknown.token_issuers().collect::<Vec<_>>(), [("hq", "p.cedar#1"), ("hr", "p.cedar#1")]);
    assert!(load(Some(&["hq", "hr"])).is_ok());
    let fault = |at: &str, name: &str, hint: &str| {
        format!(
            "p.cedar:{at}: policy `p.cedar#1`: nobody can show `token:{name}`: no issuer of that name is configured ({hint})"
        )
    };
    assert_eq!(
        load(Some(&["hr"])).unwrap_err(),
        [fault("3:41", "hq:bank", "its name is `name` of a `[[credential_issuer]]`")]
    );
    let none = "the configuration has no `[[credential_issuer]]`";
    assert_eq!(
        load(Some(&[])).unwrap_err(),
        [fault("2:43", "hr:payer", none), fault("3:41", "hq:bank", none)]
    );
    let near = load(Some(&["hr", "HQ"])).unwrap_err();
    assert_eq!(near, [fault("3:41", "hq:bank", "did you mean `HQ`?")]);
}

#[test]
fn bug_a_key_that_counts_nothing_apart_by_the_conditions_loaded() {
    let of = |key: &str, condition: &str| {
        super::faults(&format!(
            "@limit(\"10/minute\")\n@limit_key(\"{key}\")\npermit (principal, action, resource) when {{ {condition} }};"
        ))
    };
    let told = |word: &str, about: &str| {
        format!(
            "p.cedar:2:1: policy `p.cedar#1`: `@limit_key`: `{word}` counts nothing apart, since this policy is about {about} alone (leave `{word}` out)"
        )
    };
    let line = "context.line == \"payment\" && context.locked";
    assert_eq!(of("line", line), [told("line", "the line `payment`")]);
    assert_eq!(of("concept", "resource is payment::transfer"), [told("concept", "`payment::transfer`")]);
    assert_eq!(of("concept", line), [""; 0]);
    assert_eq!(of("pair", line), [""; 0]);
    assert_eq!(of("line", "context.line like \"*a*\""), [""; 0]);
    assert_eq!(of("line", "context.line == \"payment\" || context.line == \"snl\""), [""; 0]);
}

#[test]
fn bug_what_a_policy_does_nothing_beside_was_told_without_the_version_that_is_left_out() {
    let reading = |version: &str, kind: &str| {
        super::context(&format!(
            r#"{{"context":"urn:contexts:grid:{version}","concepts":{{"reading":{{"type":"object","properties":{{"n":{{"type":"{kind}"}}}},"additionalProperties":false}}}}}}"#
        ))
    };
    let text = "permit (principal, action, resource is grid::reading);\nforbid (principal, action, resource) when { context.line == \"grid\" && context.major == 1 };";
    let load = |contexts| super::House::load(&super::one_file(text), contexts).err().unwrap_or_default();
    let one = load(vec![reading("v1.0", "integer")]);
    assert!(one.len() == 1 && one[0].ends_with("so does what forbids)"), "{one:?}");
    let two = load(vec![reading("v1.0", "integer"), reading("v2.0", "string")]);
    let left = "so does what forbids; `urn:contexts:grid:v2.0` is left out: it would make a policy invalid: p.cedar:1:40: policy `p.cedar#1`: unrecognized entity type `grid::reading` (`reading` is known as `grid::v1::reading` and `grid::v2::reading`))";
    assert!(two.len() == 1 && two[0].contains("it permits nothing") && two[0].ends_with(left), "{two:?}");
}

#[test]
fn bug_a_member_was_redacted_that_a_forbid_lets_no_reply_have() {
    let load = |forbid: &str| {
        super::faults(&format!(
            "@redact(\"booking_reference\")\npermit (principal in Group::\"repliers\", action, resource is travel::bookFlight_results)\nwhen {{ context.direction == \"reply\" }};\nforbid {forbid};"
        ))
    };
    let of = |condition: &str| {
        load(&format!("(principal, action, resource is travel::bookFlight_results) when {{ {condition} }}"))
    };
    let told = "p.cedar:1:1: policy `p.cedar#1`: `@redact`: `booking_reference` is never taken out: `p.cedar#2` (p.cedar:4:1) forbids each reply of this permit that has it (leave `booking_reference` out of `@redact`, or let the forbid be about less)";
    assert_eq!(of("resource has booking_reference"), [told]);
    assert_eq!(of("context.direction == \"reply\" && resource has booking_reference"), [told]);
    assert_eq!(load("(principal, action, resource) when { resource has booking_reference }"), [told]);
    assert_eq!(of("resource has booking_reference && resource.booking_reference like \"LH*\""), [""; 0]);
    assert_eq!(of("resource has booking_reference && context.locked"), [""; 0]);
    assert_eq!(of("!(resource has booking_reference)"), [""; 0]);
    assert_eq!(of("context.direction == \"request\" && resource has booking_reference"), [""; 0]);
    for condition in [
        "(resource has booking_reference) == true",
        "((resource has booking_reference) == false) != true",
        "if context.locked then resource has booking_reference else resource has booking_reference",
        "resource has booking_reference && resource.booking_reference like \"*\"",
    ] {
        assert_eq!(of(condition), [told], "{condition}");
    }
    let each =
        |status: &str| format!("resource has booking_reference && resource.status {status} \"confirmed\"");
    let scope = "(principal, action, resource is travel::bookFlight_results)";
    let two = |second: &str| {
        load(&format!("{scope} when {{ {} }};\nforbid {scope} when {{ {second} }}", each("==")))
    };
    let both = told.replace("(p.cedar:4:1)", "(p.cedar:4:1) with `p.cedar#3` (p.cedar:5:1)");
    assert_eq!(two(&each("!=")), [both]);
    assert_eq!(two("resource has booking_reference && resource.status == \"waitlisted\""), [""; 0]);
    assert_eq!(of("(resource has booking_reference) == false"), [""; 0]);
    assert_eq!(of("if context.locked then resource has booking_reference else context.free_text"), [""; 0]);
    let few = "(principal == Agent::\"spiffe://semgate.test/agent/retailer-7\", action, resource is travel::bookFlight_results) when { resource has booking_reference }";
    assert_eq!(load(few), [""; 0]);
}

#[test]
fn bug_an_address_of_the_kind_that_its_format_is_not_was_asked_for() {
    let net = |version: &str, format: &str| {
        super::context(&format!(
            r#"{{"context":"urn:contexts:net:{version}","concepts":{{"peer":{{"type":"object","properties":{{
                "old":{{"type":"string","format":"ipv4"}},"new":{{"type":"string","format":"ipv6"}},"some":{{"type":"string","format":"{format}"}},
                "any":{{"anyOf":[{{"type":"string","format":"ipv4"}},{{"type":"string","format":"ipv6"}}]}}}},
               "required":["old","new","some","any"],"additionalProperties":false}}}}}}"#
        ))
    };
    let of = |condition: &str, contexts: &[std::sync::Arc<semgate_contexts::Context>]| {
        let text = format!("permit (principal, action, resource is net::peer)\nwhen {{ {condition} }};");
        super::House::load(&super::one_file(&text), contexts.to_vec()).err().unwrap_or_default()
    };
    let (one, both) = ([net("v1.0", "ipv4")], [net("v1.0", "ipv4"), net("v1.1", "ipv6")]);
    for (condition, kind) in [
        ("resource.old.isIpv6()", "`resource.old` is an IPv4 address"),
        ("!resource.old.isIpv4()", "`resource.old` is an IPv4 address"),
        ("resource.old.isInRange(ip(\"::/0\"))", "`resource.old` is an IPv4 address"),
        ("resource.old == ip(\"::1\")", "`resource.old` is an IPv4 address"),
        ("resource.new.isIpv4()", "`resource.new` is an IPv6 address"),
        ("resource.new == ip(\"10.0.0.1\")", "`resource.new` is an IPv6 address"),
        ("resource.some.isIpv6()", "`resource.some` is an IPv4 address"),
    ] {
        let told = of(condition, &one);
        let why = format!(" true for no message (`{condition}`: {kind})");
        assert!(told.len() == 1 && told[0].ends_with(&why), "{condition}: {told:?}");
    }
    for condition in [
        "resource.old.isIpv4() && resource.new.isIpv6()",
        "resource.old == ip(\"10.0.0.1\") || resource.new == ip(\"::1\")",
        "resource.any.isIpv6() && resource.any.isInRange(ip(\"::/0\"))",
        "resource.any.isIpv4()",
        "resource.some.isIpv6()",
        "resource.some.isIpv4()",
    ] {
        assert_eq!(of(condition, &both), [""; 0], "{condition}");
    }
}
