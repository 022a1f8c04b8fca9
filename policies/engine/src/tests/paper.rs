//! The paper's policies, word for word (§5.2.2), and the shipped agents.

use semgate_contexts::Performative;

use super::{
    Ask, COURIER, House, OPERATOR, RETAILER, STRANGER, TREASURER, WEBAPP, WHOLESALER, denied, permitted,
    transfer,
};

const CONTINGENCY: &str =
    r#"{"if_condition_text":"demand spike","then_change_text":"increase order by 10 units"}"#;
const OVER: &str = "a payment over 10000 needs the credential high-value-authorized";

fn contingency(sender: &str) -> Ask<'_> {
    Ask {
        sender,
        action: Performative::Inform,
        urn: "supplyChain:v1.0",
        term: "decision_contingency",
        value: CONTINGENCY,
        ..Ask::default()
    }
}

#[test]
fn retailer_7_is_allowed_to_use_the_decision_contingency_concept_and_public_webapp_3_is_not() {
    let house = House::shipped();
    let by = ["supply-chain.cedar#retailer-7-contingency"];
    assert_eq!(house.ask(contingency(RETAILER)), permitted(&by));
    let forbid = ["supply-chain.cedar#public-webapp-3-contingency"];
    let notice = ["this agent may not use decision_contingency"];
    assert_eq!(house.ask(contingency(WEBAPP)), denied(&forbid, &notice));
}

#[test]
fn any_payment_over_10000_is_rejected_unless_the_sender_has_high_value_authorized() {
    let house = House::shipped();
    let ask = |sender, amount: &str| {
        let value = transfer(amount);
        house.ask(Ask { sender, value: &value, ..Ask::default() })
    };
    let passes = permitted(&["lines.cedar#transfers"]);
    let rejected = denied(&["payment.cedar#high-value"], &[OVER]);
    for amount in ["0", "9999.9999", "10000", "10000.0", "1e4", "1.0E+4", "10000.0000"] {
        assert_eq!(ask(RETAILER, amount), passes, "{amount}");
    }
    for amount in ["10000.0001", "12000", "12000.0", "1.2e4", "922337203685477.58"] {
        assert_eq!(ask(RETAILER, amount), rejected, "{amount}");
        assert_eq!(ask(WEBAPP, amount), rejected, "{amount}");
        assert_eq!(ask(TREASURER, amount), passes, "{amount}");
    }
}

#[test]
fn the_threshold_holds_in_every_loaded_version_and_under_every_performative() {
    let house = House::shipped();
    let value = transfer("10000.0001");
    for urn in ["payment:v1.0", "payment:v1.1", "payment:v2.0"] {
        let shape = house.context(urn).term("transfer").unwrap();
        let actions: Vec<_> = shape.shapes().flat_map(|shape| shape.performatives().iter()).collect();
        assert!(actions.len() > 5);
        for action in actions {
            let verdict = house.ask(Ask { action, urn, value: &value, ..Ask::default() });
            assert_eq!(verdict, denied(&["payment.cedar#high-value"], &[OVER]), "{urn} {action}");
        }
    }
}

#[test]
fn ambiguous_parameter_is_permitted_to_partners_and_its_answer_to_repliers() {
    let house = House::shipped();
    let question = |sender| {
        house.ask(Ask {
            sender,
            action: Performative::Query,
            urn: "snl:v1.0",
            term: "ambiguous_parameter",
            value: r#"{"parameter":"date","value":"next friday"}"#,
            ..Ask::default()
        })
    };
    assert_eq!(question(RETAILER), permitted(&["ambiguity.cedar#ask"]));
    assert_eq!(question(OPERATOR), denied(&[], &[]));
    let answer = |direction| {
        house.ask(Ask {
            sender: WHOLESALER,
            receiver: RETAILER,
            action: Performative::Inform,
            urn: "snl:v1.0",
            term: "parameter_options",
            value: r#"{"parameter":"date","options":["2030-01-04"]}"#,
            direction,
            ..Ask::default()
        })
    };
    assert_eq!(answer("reply"), permitted(&["ambiguity.cedar#reply-options"]));
    assert_eq!(answer("request"), denied(&[], &[]));
}

#[test]
fn handshakes_are_opened_by_partners_and_answered_by_repliers() {
    let house = House::shipped();
    let signed = r#"{"jws":"e30.e30.AAAA","x5c":["MIIB"]}"#;
    let hello = |sender| {
        let ask = Ask { sender, urn: "snl:v1.0", term: "HELLO", value: signed, ..Ask::default() };
        house.ask(Ask { action: Performative::Request, ..ask })
    };
    assert_eq!(hello(RETAILER), permitted(&["handshake.cedar#open"]));
    assert_eq!(hello(WHOLESALER), denied(&[], &[]));
    let select = |direction| {
        let ask =
            Ask { sender: WHOLESALER, receiver: RETAILER, urn: "snl:v1.0", direction, ..Ask::default() };
        house.ask(Ask { action: Performative::Agree, term: "SELECT", value: signed, ..ask })
    };
    assert_eq!(select("reply"), permitted(&["handshake.cedar#reply-select"]));
    assert_eq!(select("request"), denied(&[], &[]));
}

#[test]
fn courier_5_may_use_contingencies_but_sends_no_free_text() {
    let house = House::shipped();
    let notice = ["this agent may not send free text"];
    assert_eq!(house.ask(contingency(COURIER)), denied(&["free-text.cedar#no-free-text"], &notice));
    let empty = Ask { value: r#"{"if_condition_text":"","then_change_text":""}"#, ..contingency(COURIER) };
    assert_eq!(house.ask(empty), permitted(&["supply-chain.cedar#planners-contingency"]));
    let decision =
        Ask { term: "current_decision", value: r#"{"item_id":"x","quantity":3}"#, ..contingency(COURIER) };
    assert_eq!(house.ask(decision), permitted(&["lines.cedar#decisions"]));
}

#[test]
fn the_wholesaler_answers_on_every_line_and_asks_on_none() {
    let house = House::shipped();
    let value = transfer("12000");
    for (direction, expected) in
        [("reply", permitted(&["lines.cedar#reply-transfers"])), ("request", denied(&[], &[]))]
    {
        let verdict = house.ask(Ask {
            sender: WHOLESALER,
            receiver: TREASURER,
            action: Performative::Agree,
            value: &value,
            direction,
            ..Ask::default()
        });
        assert_eq!(verdict, expected, "{direction}");
    }
    let verdict = house.ask(Ask {
        sender: WHOLESALER,
        receiver: RETAILER,
        direction: "reply",
        ..contingency(WHOLESALER)
    });
    assert_eq!(verdict, permitted(&["lines.cedar#reply-contingencies"]));
}

#[test]
fn the_operator_and_strangers_may_say_nothing() {
    let house = House::shipped();
    for sender in [OPERATOR, STRANGER, "", "retailer-7"] {
        assert_eq!(house.ask(contingency(sender)), denied(&[], &[]), "{sender}");
        let value = transfer("1");
        let ask = Ask { sender, value: &value, ..Ask::default() };
        assert_eq!(house.ask(ask), denied(&[], &[]), "{sender}");
    }
}
