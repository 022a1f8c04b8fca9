//! `may_use_line`, disabled agents, unknown agents, errors.

use semgate_contexts::{Line, Performative};

use super::{
    Ask, COURIER, House, OPERATOR, RETAILER, STRANGER, TREASURER, WEBAPP, WHOLESALER, denied, one_file,
    permitted, shipped_contexts, transfer,
};
use crate::{LineUse, NoPolicy, PolicySource, Verdict};

fn may(house: &House, sender: &str, line: &str) -> Result<LineUse, NoPolicy> {
    house.policies.may_use_line(sender, &Line::parse(line).unwrap())
}

const USED: [&str; 4] = ["payment", "snl", "supplyChain", "travel"];

#[test]
fn partners_and_repliers_may_use_the_shipped_lines_and_no_other() {
    let house = House::shipped();
    for sender in [RETAILER, WEBAPP, TREASURER, COURIER, WHOLESALER] {
        for line in USED {
            assert_eq!(may(&house, sender, line), Ok(LineUse(())), "{sender} {line}");
        }
        for line in ["acme", "paymen", "Payment", "payment.x"] {
            assert_eq!(may(&house, sender, line), Err(NoPolicy), "{sender} {line}");
        }
    }
    for sender in [OPERATOR, STRANGER] {
        for line in USED {
            assert_eq!(may(&house, sender, line), Err(NoPolicy), "{sender} {line}");
        }
    }
}

#[test]
fn a_forbid_opens_no_line_and_an_unconstrained_permit_opens_every_line_known_or_not() {
    let house = House::with(
        r#"permit (principal == Agent::"spiffe://semgate.test/agent/retailer-7", action, resource);
           forbid (principal, action, resource is payment::transfer);
           permit (principal is Agent, action == Action::"QUERY", resource is snl::ambiguous_parameter);"#,
    )
    .unwrap();
    assert_eq!(may(&house, RETAILER, "acme"), Ok(LineUse(())));
    assert_eq!(may(&house, WEBAPP, "payment"), Err(NoPolicy));
    assert_eq!(may(&house, STRANGER, "snl"), Ok(LineUse(())));
    assert_eq!(may(&house, STRANGER, "acme"), Err(NoPolicy));
}

#[test]
fn a_disabled_agent_is_denied_everything() {
    let mut source = PolicySource::shipped();
    let entities = String::from_utf8(source.entities).unwrap();
    let credentials = "\"groups\": [\"partners\"],\n      \"credentials\": []";
    source.entities =
        entities.replacen(credentials, &format!("{credentials},\n      \"disabled\": true"), 1).into();
    let house = House::load(&source, shipped_contexts()).unwrap();
    assert!(house.policies.agent(RETAILER).unwrap().disabled);
    for line in USED {
        assert_eq!(may(&house, RETAILER, line), Err(NoPolicy));
        assert_eq!(may(&house, WEBAPP, line), Ok(LineUse(())));
    }
    let value = transfer("1");
    let ask = Ask { value: &value, ..Ask::default() };
    assert_eq!(house.ask(ask), denied(&[], &["the sender is disabled"]));
    assert_eq!(house.ask(Ask { sender: WEBAPP, ..ask }), permitted(&["lines.cedar#transfers"]));
    let ask = Ask { value: &value, ..Ask::default() };
    let to_retailer = Ask { sender: WEBAPP, receiver: RETAILER, ..ask };
    assert_eq!(
        house.ask(to_retailer),
        denied(&[], &["the receiver is disabled"]),
        "nor does it hear anything"
    );
}

#[test]
fn an_unknown_agent_has_only_what_everybody_has() {
    let house = House::with(
        r#"permit (principal, action, resource is payment::transfer)
             when { principal.credentials.isEmpty() && !(principal in Group::"partners") };"#,
    )
    .unwrap();
    let value = transfer("1");
    let ask = Ask { sender: STRANGER, value: &value, ..Ask::default() };
    assert_eq!(house.ask(ask), permitted(&["p.cedar#1"]));
    assert_eq!(house.ask(Ask { sender: RETAILER, ..ask }), denied(&[], &[]));
}

#[test]
fn the_receiver_is_seen_with_its_groups_and_credentials() {
    let house = House::with(
        r#"permit (principal, action, resource is payment::transfer)
             when { context.receiver in Group::"repliers" && context.receiver.credentials.contains("high-value-authorized") };
           permit (principal, action, resource is payment::transfer) when { principal == context.receiver };"#,
    )
    .unwrap();
    let value = transfer("1");
    for (sender, receiver, expected) in [
        (RETAILER, WHOLESALER, permitted(&["p.cedar#1"])),
        (RETAILER, TREASURER, denied(&[], &[])),
        (RETAILER, STRANGER, denied(&[], &[])),
        (RETAILER, RETAILER, permitted(&["p.cedar#2"])),
        (STRANGER, STRANGER, permitted(&["p.cedar#2"])),
        (STRANGER, "spiffe://semgate.test/agent/nobody-else", denied(&[], &[])),
        (WHOLESALER, WHOLESALER, permitted(&["p.cedar#1", "p.cedar#2"])),
    ] {
        let verdict = house.ask(Ask { sender, receiver, value: &value, ..Ask::default() });
        assert_eq!(verdict, expected, "{sender} to {receiver}");
    }
}

#[test]
fn a_policy_that_cannot_be_evaluated_refuses_even_where_another_permits() {
    let house = House::with(
        r#"permit (principal, action, resource);
           @id("overflow") forbid (principal, action, resource is supplyChain::current_decision)
             when { resource.quantity * 9223372036854775807 > 0 };"#,
    )
    .unwrap();
    let ask = |quantity: u32| {
        let value = format!(r#"{{"item_id":"x","quantity":{quantity}}}"#);
        house.ask(Ask {
            action: Performative::Inform,
            urn: "supplyChain:v1.0",
            term: "current_decision",
            value: &value,
            ..Ask::default()
        })
    };
    assert_eq!(ask(0), permitted(&["p.cedar#1"]));
    let Verdict::Errored { policies, why } = ask(2) else { panic!("an overflow must refuse") };
    assert_eq!(policies.to_vec(), ["p.cedar#overflow"]);
    assert_eq!(&*why, "integer overflow", "no operand in it");
}

#[test]
fn an_amount_past_cedars_bounds_is_content_that_does_not_fit_whatever_the_policies_read() {
    for house in [House::shipped(), House::with("permit (principal, action, resource);").unwrap()] {
        let value = transfer("922337203685477.59");
        let ask = Ask { value: &value, ..Ask::default() };
        assert_eq!(house.ask(ask), Verdict::Untypable { path: "/amount".to_owned(), rule: "decimal" });
    }
}

#[test]
fn the_digest_is_of_every_byte() {
    let one = House::shipped().policies.digest();
    let mut source = PolicySource::shipped();
    source.files[0].1.push('\n');
    assert_ne!(House::load(&source, shipped_contexts()).unwrap().policies.digest(), one);
    let mut source = PolicySource::shipped();
    source.entities.push(b'\n');
    assert_ne!(House::load(&source, shipped_contexts()).unwrap().policies.digest(), one);
    let moved = PolicySource {
        files: vec![("q.cedar".to_owned(), "permit (principal, action, resource);".to_owned())],
        ..one_file("")
    };
    assert_ne!(
        House::load(&moved, shipped_contexts()).unwrap().policies.digest(),
        House::with("permit (principal, action, resource);").unwrap().policies.digest()
    );
}
