//! Arguments that are `null`: refused, or absent where the route says so.

use super::{
    Arc, NOW, ask, ask_with,
    common::{
        agent,
        sums::{generation, house, house_of},
    },
};
use bytes::Bytes;
use semgate_inspect::{
    Arrived, Code, HeaderClaims, Inspector, NullArguments, Permit, Refusal, Route, TextParts, UnnamedTools,
};
use semgate_protocol::{Call, mcp::Head};
use serde_json::{Value, json};

type House = (Inspector, Arc<Route>);

fn absent((inspector, route): House) -> House {
    let mut route = Route::clone(&route);
    route.options.null_arguments = NullArguments::Absent;
    (inspector, Arc::new(route))
}

/// A call of `query`.
fn query(house: &House, arguments: Value, repeated: &[(&str, &str)]) -> Result<Permit, Refusal> {
    ask_with(house, "retailer-7", "tools/call", json!({"name": "query", "arguments": arguments}), repeated)
}

/// The arguments that are forwarded.
fn forwarded(permit: Permit) -> Value {
    let body = permit.spend().0.body;
    serde_json::from_slice::<Value>(&body).unwrap()["params"]["arguments"].clone()
}

/// A call of `query` with the text of its arguments, in sessions or not.
fn written((inspector, route): &House, version: &str, arguments: &str) -> Result<Permit, Refusal> {
    let meta = match version {
        "2025-11-25" => "{}".to_owned(),
        _ => format!(
            r#"{{"io.modelcontextprotocol/protocolVersion": "{version}", "io.modelcontextprotocol/clientCapabilities": {{}}}}"#
        ),
    };
    let head = Head {
        version: Some(version.to_owned()),
        method: Some("tools/call".to_owned()),
        name: Some("query".to_owned()),
        ..Head::default()
    };
    let body = format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "query", "_meta": {meta}, "arguments": {arguments}}}}}"#
    );
    let arrived = Arrived::whole(Call::mcp(head), Bytes::from(body));
    inspector.inspect(route, &agent("retailer-7"), &HeaderClaims::default(), arrived, NOW)
}

#[test]
fn a_null_that_an_optional_argument_does_not_take_is_refused_unless_the_route_takes_it_for_absent() {
    let arguments = json!({"region": "eu", "loud": null, "note": "n"});
    let refused = query(&house(), arguments.clone(), &[("region", "eu")]).unwrap_err();
    assert_eq!(refused.code(), Code::ContentInvalid);
    assert!(refused.reason().starts_with("`/params/arguments/loud`"), "{}", refused.reason());
    assert!(refused.hint().starts_with("leave out a member without a value"), "{}", refused.hint());

    let house = absent(house());
    let permit = query(&house, arguments, &[("region", "eu")]).unwrap();
    assert_eq!(permit.facts().removed, ["/params/arguments/loud"]);
    assert_eq!(permit.facts().concepts, ["query"]);
    assert_eq!(forwarded(permit), json!({"region": "eu", "note": "n"}));
    // a call without such a null goes on byte for byte
    let plain = written(&house, "2026-07-28", r#"{ "loud" : true }"#).unwrap();
    assert!(plain.facts().removed.is_empty());
    assert!(plain.spend().0.body.ends_with(br#""arguments": { "loud" : true }}}"#));
}

#[test]
fn both_versions_have_it_and_all_else_keeps_its_order_and_its_text() {
    let house = absent(house());
    for version in ["2026-07-28", "2025-11-25"] {
        let permit =
            written(&house, version, r#"{"note":"\u00e9","loud":null,"deep":{"n":4.20e1,"on":true}}"#);
        // the headers of nested arguments belong to 2026-07-28 alone
        let permit = match version {
            "2025-11-25" => permit.unwrap(),
            _ => {
                assert_eq!(permit.unwrap_err().code(), Code::HeaderMismatch);
                written(&house, version, r#"{"note":"\u00e9","loud":null,"deep":{}}"#).unwrap()
            }
        };
        let body = String::from_utf8(permit.spend().0.body.to_vec()).unwrap();
        let deep = if version == "2025-11-25" { r#"{"n":4.20e1,"on":true}"# } else { "{}" };
        assert!(body.ends_with(&format!(r#""arguments":{{"note":"é","deep":{deep}}}}}}}"#)), "{body}");
    }
}

#[test]
fn a_null_that_is_taken_asked_for_undefined_or_further_inside_stays_as_it_is() {
    let house = absent(house());
    let kept = query(&house, json!({"note": null, "loud": null}), &[]).unwrap();
    assert_eq!(forwarded(kept), json!({"note": null}));
    for (what, arguments, path) in [
        ("undefined", json!({"other": null}), "/params/arguments"),
        ("undefined beside one that is absent", json!({"other": null, "loud": null}), "/params/arguments"),
        ("further inside", json!({"deep": {"on": null}}), "/params/arguments/deep/on"),
    ] {
        let refused = query(&house, arguments, &[]).unwrap_err();
        assert_eq!(refused.code(), Code::ContentInvalid, "{what}: {}", refused.reason());
        assert!(refused.reason().starts_with(&format!("`{path}`")), "{what}: {}", refused.reason());
    }
    let asked = json!({"name": "add", "arguments": {"a": 1, "b": null}});
    let refused = ask(&house, "retailer-7", "tools/call", asked).unwrap_err();
    assert_eq!(refused.code(), Code::ContentInvalid);
    assert!(refused.reason().starts_with("`/params/arguments/b`"), "{}", refused.reason());
}

#[test]
fn a_header_that_repeats_an_argument_which_is_absent_for_null_is_a_mismatch() {
    let house = absent(house());
    assert_eq!(forwarded(query(&house, json!({"region": null}), &[]).unwrap()), json!({}));
    for said in ["eu", "null", ""] {
        let refused = query(&house, json!({"region": null}), &[("region", said)]).unwrap_err();
        assert_eq!(refused.code(), Code::HeaderMismatch, "{said:?}");
    }
}

#[test]
fn policies_judge_the_call_without_what_is_absent_for_null() {
    let named = r#"@id("named") forbid (principal, action, resource is sums::query) unless { resource has region };
        @id("quiet") forbid (principal, action, resource is sums::query) when { resource has loud };"#;
    let house = absent(house_of(UnnamedTools::Withhold, named, TextParts::default()));
    assert!(query(&house, json!({"region": "eu", "loud": null}), &[("region", "eu")]).is_ok());
    let refused = query(&house, json!({"region": null, "loud": null}), &[]).unwrap_err();
    assert_eq!(
        (refused.code(), refused.facts().policy_ids()),
        (Code::PolicyDenied, vec!["sums.cedar#named"])
    );
    assert_eq!(refused.facts().removed, ["/params/arguments/region", "/params/arguments/loud"]);
}

#[test]
fn attack_a_null_stands_before_another_member_of_the_same_name() {
    let house = absent(house());
    for version in ["2026-07-28", "2025-11-25"] {
        for twice in [
            r#"{"loud":null,"loud":true}"#,
            r#"{"loud":true,"loud":null}"#,
            r#"{"loud":null,"l\u006fud":true}"#,
        ] {
            let refused = written(&house, version, twice).unwrap_err();
            assert_eq!(refused.code(), Code::DuplicateKey, "{version} {twice}");
        }
        let refused = written(&house, version, r#"{"loud":null,"Loud":true}"#).unwrap_err();
        assert_eq!(refused.code(), Code::ContentInvalid, "{version}: a reader that folds case has one name");
        // the name is what it is however it is written, and none of its spellings goes on
        let permit = written(&house, version, r#"{"l\u006fud":null,"note":"loud"}"#).unwrap();
        assert_eq!(forwarded(permit), json!({"note": "loud"}));
    }
}

#[test]
fn a_call_that_is_judged_again_is_the_one_that_was_judged() {
    let house = absent(house());
    let permit = query(&house, json!({"note": "n", "loud": null}), &[]).unwrap();
    house.0.swap(generation(""));
    let permit = house.0.renew(permit, NOW).unwrap();
    assert_eq!(permit.facts().removed, ["/params/arguments/loud"]);
    assert_eq!(forwarded(permit), json!({"note": "n"}));
}
