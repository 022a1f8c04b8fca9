//! Values that can never be, by schema, by who somebody is, and by how a message comes: each is named, and the nearest good policy loads.

use std::collections::BTreeSet;

use super::{House, context, loads, one_file, refused, shipped_contexts};
use crate::{Policies, PolicyLimits, PolicySource};

const WHOLE: &str = "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message";

fn typed(of: &str, condition: &str) -> String {
    format!("permit (principal, action, resource is {of})\nwhen {{ {condition} }};")
}

/// `expected` of a policy about this type, at this column of the second line.
#[track_caller]
fn never(of: &str, condition: &str, column: usize, said: &str) {
    refused(&typed(of, condition), &[&format!("p.cedar:2:{column}: policy `p.cedar#1`: {said}")]);
}

#[test]
fn a_text_that_length_pattern_or_format_forbid_is_named_with_what_they_ask() {
    let of = "payment::transfer";
    let pattern = "its `pattern` is `^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`";
    never(
        of,
        "resource.sender_id == \"\"",
        30,
        "`resource.sender_id` is never `\"\"` (it has at least 1 character(s))",
    );
    never(
        of,
        "resource.sender_id == \"a b\"",
        30,
        &format!("`resource.sender_id` is never `\"a b\"` ({pattern})"),
    );
    never(
        of,
        "[\"acme\", \"-acme\"].contains(resource.sender_id)",
        17,
        &format!("`resource.sender_id` is never `\"-acme\"` ({pattern})"),
    );
    let long = "x".repeat(129);
    never(
        of,
        &format!("resource.sender_id == \"{long}\""),
        30,
        &format!("`resource.sender_id` is never `\"{long}\"` (it has at most 128 character(s))"),
    );
    for like in ["a b*", "*#", "-a"] {
        refused(&typed(of, &format!("resource.sender_id like \"{like}\"")), &[WHOLE]);
    }
    for good in ["== \"acme\"", "== \"urn:acme/7\"", "like \"acme*\"", "like \"*@*\"", "!= \"acme\""] {
        loads(&typed(of, &format!("resource.sender_id {good}")));
    }
    let reference = "resource has booking_reference && resource.booking_reference";
    never(
        "travel::bookFlight_results",
        &format!("{reference} == \"abc123\""),
        72,
        "`resource.booking_reference` is never `\"abc123\"` (its `pattern` is `^[A-Z0-9]{5,16}$`)",
    );
    loads(&typed("travel::bookFlight_results", &format!("{reference} == \"ABC123\"")));
    loads(&typed("travel::bookFlight_results", &format!("{reference} like \"ABC*\"")));
}

#[test]
fn a_text_is_judged_by_every_version_that_is_loaded() {
    let version = |number: &str, schema: &str| {
        context(&format!(
            r#"{{"context":"urn:contexts:t:{number}","concepts":{{"note":{{"type":"object","properties":{{"code":{schema}}},"required":["code"]}}}}}}"#
        ))
    };
    let short = version("v1.0", r#"{"type":"string","maxLength":3}"#);
    let long = version("v1.1", r#"{"type":"string","maxLength":6,"pattern":"^[a-z]+$"}"#);
    let any = version("v1.2", r#"{"type":"string"}"#);
    let uuid = version("v1.3", r#"{"type":"string","format":"uuid"}"#);
    let load = |literal: &str, contexts: &[_]| {
        let text = format!(
            "permit (principal, action, resource is t::note) when {{ resource.code == \"{literal}\" }};"
        );
        House::load(&one_file(&text), contexts.to_vec()).map(drop).map_err(|faults| faults.join("\n"))
    };
    assert!(
        load("abcd", std::slice::from_ref(&short)).unwrap_err().ends_with("(it has at most 3 character(s))")
    );
    assert_eq!(load("abcd", &[short.clone(), long.clone()]), Ok(()));
    assert!(load("ABCD", &[short.clone(), long.clone()]).is_err());
    assert_eq!(load("ABC", &[short.clone(), long]), Ok(()));
    assert_eq!(load("ABCD", &[short, any]), Ok(()));
    assert!(load("x", std::slice::from_ref(&uuid)).unwrap_err().ends_with("(its `format` is `uuid`)"));
    assert_eq!(load("123e4567-e89b-12d3-a456-426614174000", &[uuid]), Ok(()));
}

#[test]
fn bug_a_pattern_of_few_characters_was_told_as_a_text_too_short() {
    let code = r#"{"type":"string","minLength":3,"maxLength":20,"pattern":"^[A-Z]{2}[0-9]+$"}"#;
    let shop = context(&format!(
        r#"{{"context":"urn:contexts:shop:v1.0","concepts":{{"order":{{"type":"object","properties":{{"code":{code}}},"required":["code"]}}}}}}"#
    ));
    for (pattern, asks) in [("*x*", "its `pattern` is"), ("x", "it has at least 3 character(s)")] {
        let text = format!(
            "permit (principal, action, resource is shop::order) when {{ resource.code like \"{pattern}\" }};"
        );
        let told = House::load(&one_file(&text), vec![shop.clone()]).err().unwrap_or_default().join("\n");
        assert!(told.contains(&format!(": of `resource.code` {asks}")), "{told}");
    }
}

#[test]
fn an_instant_that_begins_no_day_is_never_a_day() {
    let of = "travel::bookFlight";
    never(
        of,
        "resource.date == datetime(\"2030-01-01T10:00:00Z\")",
        34,
        "`resource.date` is never `2030-01-01T10:00:00Z` (it is a day, and so its midnight in UTC: `datetime(\"2030-01-01\")`)",
    );
    for good in [
        "resource.date == datetime(\"2030-01-01\")",
        "resource.date == datetime(\"2030-01-01T00:00:00Z\")",
        "resource.date == datetime(\"2030-01-01T01:00:00+0100\")",
        "resource.date < datetime(\"2030-01-01T10:00:00Z\")",
        "resource.date > datetime(\"2030-01-01\") && resource.date < datetime(\"2030-02-01\")",
        "context.now == datetime(\"2030-01-01T10:00:00Z\")",
    ] {
        loads(&typed(of, good));
    }
    for never in [
        "resource.date > datetime(\"2030-02-01\") && resource.date < datetime(\"2030-01-01\")",
        "resource.date > datetime(\"2030-01-01\") && resource.date < datetime(\"2030-01-01T23:59:59Z\")",
        "context.now < datetime(\"2030-01-01\") && context.now >= datetime(\"2030-01-01\")",
    ] {
        refused(&typed(of, never), &[WHOLE]);
    }
}

#[test]
fn a_score_that_none_has_is_named() {
    let of = "payment::transfer";
    never(
        of,
        "context.scores.concepts == 0",
        8,
        "`context.scores.concepts` is never `0` (it is at least `1`)",
    );
    for condition in
        ["context.scores.text_length < 0", "context.scores.concepts < 1", "context.scores.ambiguous <= -1"]
    {
        refused(&typed(of, condition), &[WHOLE]);
    }
    let always = "(what is true of every message asks for nothing: leave it out)";
    never(
        of,
        "context.locked || context.scores.message_bytes >= 0",
        26,
        &format!("`context.scores.message_bytes >= 0` is true for every message {always}"),
    );
    for good in [
        "context.scores.concepts == 1",
        "context.scores.ambiguous > 0",
        "context.scores.message_bytes < 1000",
    ] {
        loads(&typed(of, good));
    }
}

#[test]
fn free_text_is_asked_of_what_can_have_some() {
    let none = "no version of `a2a::GetTask` has a member that is marked `x-free-text`, and beside it stands no text";
    for condition in ["context.free_text", "context.scores.text_length > 0"] {
        let told = super::faults(&typed("a2a::GetTask", condition)).join("\n");
        assert!(
            told.contains("true for no message (`context.") && told.ends_with(&format!("; {none})")),
            "{told}"
        );
        // in MCP client and server say something of themselves beside every instance
        loads(&typed("payment::transfer", condition));
        loads(&typed("mcp::Ping", condition));
        loads(&typed("supplyChain::decision_contingency", condition));
        refused(&typed("payment::transfer", &format!("{condition} && context.binding == \"l8\"")), &[WHOLE]);
        loads(&typed(
            "supplyChain::decision_contingency",
            &format!("{condition} && context.binding == \"l8\""),
        ));
    }
    let text = "supplyChain::decision_contingency";
    never(
        text,
        "context.free_text && context.scores.text_length == 0",
        29,
        "`context.scores.text_length` is never `0` (it is at least `1`)",
    );
    refused(&typed(text, "!context.free_text && context.scores.text_length > 3"), &[WHOLE]);
    loads(&typed(text, "context.free_text && context.scores.text_length < 100"));
    // a version to come may bring some
    loads(&typed("payment::transfer", "context.binding == \"l8\" && !context.free_text"));
    loads("forbid (principal, action, resource) when { context.free_text };");
}

#[test]
fn what_one_protocol_alone_says_comes_by_no_other() {
    never(
        "a2a::GetTask",
        "context.binding == \"mcp\"",
        27,
        "`context.binding` is never `\"mcp\"` (it is one of `\"a2a\"`)",
    );
    never(
        "mcp::Ping",
        "context.binding == \"l8\"",
        27,
        "`context.binding` is never `\"l8\"` (it is one of `\"mcp\"`)",
    );
    never(
        "a2a::CancelTask",
        "context.binding_version == \"2025-11-25\"",
        35,
        "`context.binding_version` is never `\"2025-11-25\"` (it is one of `\"0.3\"`, `\"1.0\"`)",
    );
    for open in [
        "resource is a2a::GetTask && context.binding == \"mcp\"",
        "context.binding == \"l8\" && resource is mcp::Ping",
        "context.line == \"payment\" && resource is a2a::GetTask",
    ] {
        let faults = super::faults(&format!("permit (principal, action, resource)\nwhen {{ {open} }};"));
        assert_eq!(faults.len(), 1, "{open}: {faults:#?}");
    }
    loads(&typed("a2a::GetTask", "context.binding == \"a2a\" && context.binding_version == \"1.0\""));
    loads(&typed("mcp::ListTools", "context.binding_version == \"2026-07-28\""));
    loads(&typed("snl::HELLO", "context.binding == \"a2a\""));
    loads(
        "permit (principal, action, resource)\nwhen { context.binding == \"a2a\" && resource is a2a::GetTask };",
    );
}

/// A question counts itself.
#[test]
fn a_message_with_an_ambiguous_question_has_one_at_least() {
    never(
        "snl::ambiguous_parameter",
        "context.scores.ambiguous == 0",
        8,
        "`context.scores.ambiguous` is never `0` (it is at least `1`)",
    );
    loads(&typed("snl::ambiguous_parameter", "context.scores.ambiguous < 2"));
    loads(&typed("snl::parameter_options", "context.scores.ambiguous == 0"));
    loads("permit (principal, action, resource) when { context.scores.ambiguous == 0 };");
}

/// A guard against transfers through MCP loaded and was about no message.
#[test]
fn of_a_signed_context_mcp_says_tools_and_what_they_give_alone() {
    let none = ": MCP says tools of signed contexts alone, and this is none";
    never(
        "payment::transfer",
        "context.binding == \"mcp\"",
        8,
        &format!(
            "its condition is true for no message (`context.binding == \"mcp\"`: `context.binding` is one of `\"a2a\"`, `\"l8\"`{none})"
        ),
    );
    let shop = |comment: &str| {
        let shape = r#""type":"object","properties":{"item":{"type":"string"}},"additionalProperties":false"#;
        super::context(&format!(
            r#"{{"context":"urn:contexts:shop:v1.0","concepts":{{"order":{{{shape}}}}},
                "tasks":{{"buy":{{"parameters":{{"$comment":"{comment}",{shape}}},"results":{{{shape}}}}}}}}}"#
        ))
    };
    let faults = |comment: &str, text: &str| {
        let contexts = [super::shipped_contexts(), vec![shop(comment)]].concat();
        super::House::load(&super::alone(text), contexts).err().unwrap_or_default()
    };
    let asks = |name: &str, asks: &str| {
        format!("permit (principal, action, resource is shop::{name}) when {{ context.{asks} }};")
    };
    let by_mcp = ["binding == \"mcp\"", "binding_version == \"2026-07-28\"", "binding_version != \"\""];
    for asked in by_mcp {
        for tool in ["buy", "buy_results"] {
            assert_eq!(faults("mcp-tool buy sha-256:00", &asks(tool, asked)), Vec::<String>::new());
        }
    }
    for comment in ["mcp-tool", "mcp-tools buy", "a tool", ""] {
        for (name, asked) in
            [("buy", by_mcp[0]), ("buy_results", by_mcp[0]), ("order", by_mcp[0]), ("buy", by_mcp[1])]
        {
            let told = faults(comment, &asks(name, asked));
            assert!(told.len() == 1 && told[0].contains(none), "{comment} {name}: {told:?}");
        }
    }
    // one of several may be a tool
    assert_eq!(
        faults(
            "mcp-tool buy",
            "permit (principal, action, resource) when { context.line == \"shop\" && context.binding == \"mcp\" };"
        ),
        Vec::<String>::new()
    );
    assert_eq!(faults("", "permit (principal, action, resource) when { context.line == \"shop\" && context.binding == \"mcp\" };").len(), 1);
    // in whichever order and by its version, too
    for asked in ["binding_version == \"2025-11-25\"", "binding_version like \"2025*\""] {
        for all in [
            format!("context.line == \"payment\" && context.{asked}"),
            format!("context.{asked} && context.line == \"payment\""),
        ] {
            let told = faults("", &format!("permit (principal, action, resource) when {{ {all} }};"));
            assert!(told.len() == 1 && told[0].contains("for no message"), "{all}: {told:?}");
        }
    }
    // a forbid stands before a version makes it one, and is told
    for condition in ["context.binding == \"mcp\"", "context.binding_version == \"2026-07-28\""] {
        for scope in ["resource is payment::transfer", "resource"] {
            let line = if scope == "resource" { "context.line == \"payment\" && " } else { "" };
            let text = format!(
                "permit (principal, action, resource);\nforbid (principal, action, {scope})\nwhen {{ {line}{condition} }};"
            );
            let house = super::House::with(&text).unwrap();
            let told: Vec<String> = house.policies.advice().iter().map(ToString::to_string).collect();
            let advice = "p.cedar:3:1: policy `p.cedar#2`: it does nothing before a version makes a tool of it: MCP says tools of signed contexts alone";
            assert_eq!(told, [advice], "{text}");
        }
    }
    let all = "permit (principal, action, resource);\nforbid (principal, action, resource)\nwhen { context.binding == \"mcp\" && context.locked };";
    assert_eq!(super::House::with(all).unwrap().policies.advice(), []);
    // so does a part of a permit
    for guard in [
        "unless { context.binding == \"mcp\" }",
        "when { !(context.binding == \"mcp\") }",
        "when { context.binding == \"l8\" || context.binding == \"mcp\" }",
        "unless { context.binding_version == \"2026-07-28\" && context.locked }",
        "when { if context.binding == \"mcp\" then context.locked else true }",
    ] {
        loads(&format!("permit (principal, action, resource is payment::transfer)\n{guard};"));
    }
    // a version to come may make it one: what says so beside other bindings does no harm
    assert_eq!(faults("", &asks("buy", "binding != \"mcp\"")), Vec::<String>::new());
}

#[test]
fn a_session_is_there_under_a_lock_and_nowhere_else() {
    let of = "payment::transfer";
    for condition in [
        "!context.locked && context has session",
        "context has session && context.session.expires > context.now && !context.locked",
        "context.locked && !(context has session)",
    ] {
        refused(&typed(of, condition), &[WHOLE]);
    }
    refused(
        &format!(
            "permit (principal, action, resource is {of})\nwhen {{ context has session }}\nunless {{ context.locked }};"
        ),
        &["p.cedar:1:1: policy `p.cedar#1`: its conditions together are true for no message"],
    );
    loads(&typed(of, "context.locked && context has session && context.session.expires > context.now"));
    loads(&typed(of, "context has session"));
    loads(&typed(of, "!context.locked"));
}

#[test]
fn who_is_in_another_trust_domain_or_group_is_never_meant() {
    let retailer = "spiffe://semgate.test/agent/retailer-7";
    let of = |condition: &str| {
        format!(
            "permit (principal == Agent::\"{retailer}\", action, resource is payment::transfer)\nwhen {{ {condition} }};"
        )
    };
    refused(
        &of("principal.trust_domain == \"elsewhere.test\""),
        &[
            "p.cedar:2:34: policy `p.cedar#1`: `principal.trust_domain` is never `\"elsewhere.test\"` (it is one of `\"semgate.test\"`)",
        ],
    );
    loads(&of("principal.trust_domain == \"semgate.test\""));
    for (never, good) in [
        (
            "principal in Group::\"partners\" && principal.trust_domain == \"elsewhere.test\"",
            "principal in Group::\"partners\" && principal.trust_domain == \"semgate.test\"",
        ),
        (
            "principal in Group::\"planners\" && principal.trust_domain like \"*.elsewhere\"",
            "principal in Group::\"planners\" && principal.trust_domain like \"*.test\"",
        ),
        (
            "context.receiver == Agent::\"spiffe://semgate.test/agent/wholesaler-1\" && context.receiver in Group::\"partners\"",
            "context.receiver == Agent::\"spiffe://semgate.test/agent/wholesaler-1\" && context.receiver in Group::\"repliers\"",
        ),
        (
            "context.receiver in Group::\"repliers\" && context.receiver in Group::\"planners\"",
            "context.receiver in Group::\"partners\" && context.receiver in Group::\"planners\"",
        ),
        (
            "context.receiver == Agent::\"spiffe://semgate.test/operator\" && context.receiver.trust_domain == \"elsewhere.test\"",
            "context.receiver == Agent::\"spiffe://semgate.test/operator\" && context.receiver.trust_domain == \"semgate.test\"",
        ),
        (
            "context.receiver == Agent::\"spiffe://semgate.test/operator\" && context.receiver == Agent::\"spiffe://semgate.test/agent/courier-5\"",
            "context.receiver == Agent::\"spiffe://semgate.test/operator\" || context.receiver == Agent::\"spiffe://semgate.test/agent/courier-5\"",
        ),
    ] {
        let told = match House::with(&typed("payment::transfer", never)) {
            Err(faults) => faults,
            // who is in a group may be another tomorrow
            Ok(house) => {
                assert!(never.contains("Group"), "{never}");
                house.policies.warnings().iter().map(ToString::to_string).collect()
            }
        };
        assert_eq!(told.len(), 1, "{never}: {told:#?}");
        loads(&typed("payment::transfer", good));
    }
    // anybody without an entry may be of any trust domain
    loads(&typed("payment::transfer", "principal.trust_domain == \"elsewhere.test\""));
}

#[test]
fn a_blank_in_the_name_of_a_credential_is_told() {
    for (written, meant) in [
        ("token:hr:X ", "token:hr:X"),
        (" token:hr:X", "token:hr:X"),
        ("token:hr :X", "token:hr:X"),
        ("cert:eku:1.2.3 ", "cert:eku:1.2.3"),
        ("high-value-authorized ", "high-value-authorized"),
    ] {
        never(
            "payment::transfer",
            &format!("principal.credentials.contains(\"{written}\")"),
            39,
            &format!("nobody has the credential `{written}` (did you mean `\"{meant}\"`?)"),
        );
        loads(&typed("payment::transfer", &format!("principal.credentials.contains(\"{meant}\")")));
    }
    refused(
        &typed("payment::transfer", "principal in Group::\"partners \""),
        &[
            "p.cedar:2:21: policy `p.cedar#1`: `Group::\"partners \"` is not in entities.json (did you mean `Group::\"partners\"`?)",
        ],
    );
}

/// The shipped agents, some of them changed.
fn source(policies: &str, change: &[(&str, &str)]) -> PolicySource {
    let mut entities = String::from_utf8(PolicySource::shipped().entities).unwrap();
    for (from, to) in change {
        assert!(entities.contains(from));
        entities = entities.replacen(from, to, 1);
    }
    PolicySource { entities: entities.into(), ..one_file(policies) }
}

#[test]
fn a_policy_about_disabled_agents_alone_is_told_and_never_keeps_a_set_from_loading() {
    let off = [("\"alias\": \"retailer-7\",", "\"alias\": \"retailer-7\", \"disabled\": true,")];
    let scope = "permit (principal == Agent::\"spiffe://semgate.test/agent/retailer-7\", action, resource is payment::transfer);";
    let warnings = |text: &str, change: &[(&str, &str)]| -> Vec<String> {
        let loaded =
            Policies::load(&source(text, change), &shipped_contexts(), &PolicyLimits::default()).unwrap();
        loaded.warnings().iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        warnings(scope, &off),
        [
            "p.cedar:1:22: policy `p.cedar#1`: nobody whom its scope names comes to be judged: `spiffe://semgate.test/agent/retailer-7` is disabled"
        ]
    );
    assert_eq!(warnings(scope, &[]), [""; 0]);
    let condition =
        typed("payment::transfer", "principal == Agent::\"spiffe://semgate.test/agent/retailer-7\"");
    assert_eq!(
        warnings(&condition, &off),
        [
            "p.cedar:2:1: policy `p.cedar#1`: its condition is true only with agents that never come: disabled ones, or of a trust domain that is not configured"
        ]
    );
    let either = typed(
        "payment::transfer",
        "principal in Group::\"planners\" || principal == Agent::\"spiffe://semgate.test/agent/retailer-7\"",
    );
    assert_eq!(warnings(&either, &off), [""; 0]);
    assert_eq!(warnings("permit (principal in Group::\"partners\", action, resource);", &off), [""; 0]);
    assert_eq!(warnings("permit (principal, action, resource is payment::transfer);", &off), [""; 0]);
}

#[test]
fn a_policy_that_is_true_for_no_message_is_not_also_told_to_be_about_agents_that_never_come() {
    let entities =
        r#"{"agents":[{"id":"spiffe://semgate.test/agent/retailer-7","groups":["vips"],"credentials":[]}]}"#;
    let one =
        "principal in Group::\"vips\" && principal != Agent::\"spiffe://semgate.test/agent/retailer-7\"";
    let text = typed("payment::transfer", one);
    let source = PolicySource { entities: entities.into(), ..one_file(&text) };
    let loaded = Policies::load(&source, &shipped_contexts(), &PolicyLimits::default());
    let told: Vec<String> = match &loaded {
        Ok(loaded) => loaded.warnings().iter().map(ToString::to_string).collect(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    };
    assert!(super::plainly(told.clone(), &[WHOLE]) == [WHOLE], "{told:?}");
}

#[test]
fn a_trust_domain_that_no_gateway_meets_anybody_of_is_refused_where_the_configuration_is_known() {
    let load = |text: &str, domains: Option<&[&str]>| {
        let trust_domains =
            domains.map(|names| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>());
        let limits = PolicyLimits { trust_domains, ..PolicyLimits::default() };
        let change = [("spiffe://semgate.test/operator", "spiffe://partner.test/operator")];
        Policies::load(&source(text, &change), &shipped_contexts(), &limits)
            .map(|loaded| loaded.warnings().iter().map(ToString::to_string).collect::<Vec<_>>())
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let both: &[&str] = &["partner.test", "semgate.test"];
    let text = typed("payment::transfer", "context.locked || principal.trust_domain == \"partners.test\"");
    assert_eq!(load(&text, None), Ok(vec![]));
    assert_eq!(
        load(&text, Some(both)),
        Err(vec![
            "p.cedar:2:52: policy `p.cedar#1`: `principal.trust_domain` is never `\"partners.test\"` (did you mean `\"partner.test\"`?)"
                .to_owned()
        ])
    );
    assert_eq!(load(&text.replace("partners.test", "partner.test"), Some(both)), Ok(vec![]));
    let operator = "permit (principal == Agent::\"spiffe://partner.test/operator\", action, resource);";
    assert_eq!(load(operator, Some(both)), Ok(vec![]));
    assert_eq!(
        load(operator, Some(&["semgate.test"])),
        Ok(vec![
            "p.cedar:1:22: policy `p.cedar#1`: nobody whom its scope names comes to be judged: the trust domain of \
             `spiffe://partner.test/operator` is not configured"
                .to_owned(),
            "entities.json:35:7: at `/agents/5/id`: nobody of the trust domain `partner.test` is met: it is not configured".to_owned(),
        ])
    );
}

#[test]
fn a_member_of_an_instance_that_is_called_trust_domain_is_what_its_schema_says() {
    let document = context(
        r#"{"context":"urn:contexts:mesh:v1.0","concepts":{"peering":{"type":"object","properties":{
            "trust_domain":{"type":"string","maxLength":200}},"required":["trust_domain"],"additionalProperties":false}}}"#,
    );
    let text = typed("mesh::peering", "resource.trust_domain == \"spiffe://Elsewhere.test\"");
    let contexts = shipped_contexts().into_iter().chain([document]).collect();
    assert_eq!(House::load(&one_file(&text), contexts).map(drop), Ok(()));
}

#[test]
fn one_member_of_an_arrays_items_cannot_be_asked_for_and_all_of_required_ones_can() {
    let items = |required: &str| {
        context(&format!(
            r#"{{"context":"urn:contexts:grid:v1.0","concepts":{{"reading":{{"type":"object","properties":{{"rows":{{"type":"array","items":{{
                "type":"object","properties":{{"a":{{"type":"string"}},"b":{{"type":"string"}}}},"required":[{required}],"additionalProperties":false}}}}}},
               "required":["rows"],"additionalProperties":false}}}}}}"#
        ))
    };
    let load = |required: &str, condition: &str| {
        let text = format!("permit (principal, action, resource is grid::reading) when {{ {condition} }};");
        House::load(&super::one_file(&text), vec![items(required)]).err().unwrap_or_default().join("\n")
    };
    let (all, some) = ("\"a\",\"b\"", "\"a\"");
    assert_eq!(load(all, "resource.rows.contains({a: \"x\", b: \"y\"})"), "");
    assert_eq!(load(some, "!resource.rows.isEmpty()"), "");
    for (required, asked) in [(all, "{a: \"x\"}"), (some, "{a: \"x\"}"), (some, "{a: \"x\", b: \"y\"}")] {
        let told = load(required, &format!("resource.rows.contains({asked})"));
        assert!(told.contains("are not compatible"), "{asked}: {told}");
    }
}
