//! Texts of cards, and their places.

use proptest::prelude::*;
use semgate_policies::{Assurance, ReasonRule};
use serde_json::json;

use super::*;

#[test]
fn hidden_characters_are_codes() {
    for (text, shown) in [
        ("a\u{202e}b", "a\\u{202E}b"),
        ("a\u{200b}\u{feff}b", "a\\u{200B}\\u{FEFF}b"),
        ("\u{1b}[2J\u{9b}\r\t", "\\u{1B}[2J\\u{9B}\\u{D}\\u{9}"),
        ("a\u{a0}\u{3000}\u{2003}b", "a\\u{A0}\\u{3000}\\u{2003}b"),
        (
            "\u{3164}\u{115f}\u{2800}\u{fe0f}\u{e0041}\u{e0100}",
            "\\u{3164}\\u{115F}\\u{2800}\\u{FE0F}\\u{E0041}\\u{E0100}",
        ),
        ("\u{e000}\u{10ffff}\u{378}", "\\u{E000}\\u{10FFFF}\\u{378}"),
        ("Zoë e\u{301} 12 € 👍 日本", "Zoë e\u{301} 12 € 👍 日本"),
        ("a\u{301}\u{301}\u{301}", "a\u{301}\u{301}\\u{301}"),
        ("a\n\u{336}b", "a\n\\u{336}b"),
        ("one\ntwo", "one\ntwo"),
    ] {
        assert_eq!(visible(text), shown);
    }
    assert_eq!(visible_line("one\ntwo"), "one\\u{A}two");
}

#[test]
fn a_card_shows_numbers_as_the_digest_covers_them() {
    let hold = opened(action(json!({"amount": 12000.0, "currency": "EUR"})), demand(ReasonRule::Never));
    for shown in [terminal(&card(&hold), false), mail(&card(&hold), &links()).unwrap().text] {
        assert!(shown.contains("│   \"amount\": 12000,"), "{shown}");
        assert!(shown.contains("\nDigest: ") || shown.contains("  Digest: "), "{shown}");
        assert!(shown.contains(&hold.digest.to_string()), "{shown}");
        assert!(shown.contains("More than 10,000 euros leave the company (payments.cedar#large)"), "{shown}");
        assert!(shown.contains("1970-01-01T00:31:40Z"), "{shown}");
    }
}

#[test]
fn a_card_shows_the_difference_to_the_last_approved_action() {
    let before = opened(action(json!({"amount": 82_000, "to": "a"})), demand(ReasonRule::Never));
    let hold =
        opened(action(json!({"amount": 820_000, "to": "a", "urgent": true})), demand(ReasonRule::Never));
    let background = Background { last_approved: Some(&before.canonical), page: None };
    let shown = terminal(&Card::new(&hold, background), false);
    assert!(shown.contains("│ /instances/0/value/amount: 82000 -> 820000\n"), "{shown}");
    assert!(shown.contains("│ /instances/0/value/urgent: nothing -> true\n"), "{shown}");
    assert!(!shown.contains("value/to:"), "{shown}");
    let same = Background { last_approved: Some(&hold.canonical), page: None };
    assert!(!terminal(&Card::new(&hold, same), false).contains("Changed"));
}

#[test]
fn a_decision_that_needs_a_reason_or_a_stronger_proof_has_no_button() {
    let ids = |hold: &Hold| -> Vec<String> {
        let message = slack(&card(hold));
        let blocks = message["blocks"].as_array().unwrap().iter().filter(|block| block["type"] == "actions");
        let elements = blocks.flat_map(|block| block["elements"].as_array().unwrap());
        elements.map(|one| one["action_id"].as_str().unwrap().to_owned()).collect()
    };
    let with = |reason| opened(action(json!({"amount": 1})), demand(reason));
    assert_eq!(ids(&with(ReasonRule::Never)), ["approve", "deny", "open"]);
    assert_eq!(ids(&with(ReasonRule::Deny)), ["approve", "open"]);
    assert_eq!(ids(&with(ReasonRule::Always)), ["open"]);
    let mut strong = demand(ReasonRule::Never);
    strong[0].assurance = Assurance::High;
    let strong = opened(action(json!({"amount": 1})), strong);
    assert_eq!(ids(&strong), ["open"]);
    assert!(!card(&strong).takes_link() && card(&with(ReasonRule::Always)).takes_link());
    let asks = |kind, options: &[&str]| opened(asking(kind, "x", options), Vec::new());
    assert_eq!(
        ids(&asks(InteractionKind::Clarification, &["a", "b"])),
        ["option-0", "option-1", "deny", "open"]
    );
    assert_eq!(ids(&asks(InteractionKind::Solicitation, &[])), ["open"]);
    assert_eq!(ids(&asks(InteractionKind::Notification, &[])), ["approve", "open"]);
    assert_eq!(ids(&asks(InteractionKind::Clarification, &["o"; 25])).len(), 27);
    assert_eq!(ids(&asks(InteractionKind::Clarification, &["o"; 26])), ["deny", "open"]);
    let long = opened(action(json!({"note": "x".repeat(13_000)})), demand(ReasonRule::Never));
    assert_eq!(ids(&long), ["open"], "a card that hides a part of the action decides nothing");
}

#[test]
fn the_page_asks_for_the_option_and_for_a_required_reason() {
    let hold = opened(asking(InteractionKind::Clarification, "x", &["<b>one</b>", "two"]), Vec::new());
    let page = page_of(&card(&hold));
    assert!(page.contains("value=\"1\" required> two</label>"), "{page}");
    assert!(!page.contains("<b>one"), "{page}");
    let hold = opened(action(json!({})), demand(ReasonRule::Deny));
    let of = |verdict| {
        let form = Form { person: "Bob", verdict, token: "t-1", fault: Some("this decision needs a reason") };
        confirmation(&card(&hold), form).unwrap()
    };
    assert!(of(Verdict::Denied).contains("maxlength=\"2000\" required>"));
    assert!(!of(Verdict::Approved).contains("maxlength=\"2000\" required>"));
    assert!(of(Verdict::Denied).contains("name=\"form\" value=\"t-1\""));
    assert!(of(Verdict::Denied).contains("role=\"alert\">this decision needs a reason<"));
    assert!(of(Verdict::Denied).contains(&format!("<style>{STYLE}</style>")));
}

#[test]
fn one_card_gathers_many_requests_and_decides_none() {
    let holds: Vec<_> = (0..30)
        .map(|n| {
            let mut hold = opened(action(json!({"n": n})), demand(ReasonRule::Never));
            hold.id = HoldId::of(n);
            Arc::new(hold)
        })
        .collect();
    let card = Card::gathered(&holds, Some("https://console.test")).unwrap();
    let message = slack(&card).to_string();
    assert!(message.contains("Number: 30") && message.contains("https://console.test/approvals\""));
    assert!(!message.contains("\"approve\"") && !message.contains("\"deny\"") && !card.takes_link());
    assert!(Card::gathered(&[], None).is_none());
}

#[test]
fn a2h_attack_a_gateway_that_shows_another_action_than_its_digest() {
    let holds = subjects("text\nDigest: forged");
    for hold in &holds {
        let (action, interaction) = match &hold.subject {
            Subject::Action(action) => (json!(action), Value::Null),
            Subject::Interaction(asked) => (Value::Null, json!(asked)),
        };
        let demands: Vec<Value> = hold
            .demands
            .iter()
            .map(|one| {
                json!({"policy": one.policy, "question": one.question, "quorum": one.quorum, "reason": one.reason, "assurance": one.assurance})
            })
            .collect();
        let view = json!({
            "id": hold.id, "state": hold.state, "digest": hold.digest, "canonical": hold.canonical, "action": action,
            "interaction": interaction, "context_urn": hold.urn, "demands": demands, "opened_at": hold.opened_at,
            "expires_at": hold.expires_at, "last_approved": null,
        });
        let background = Background { last_approved: None, page: None };
        let read = Card::read(&view).unwrap();
        assert_eq!(terminal(&read, true), terminal(&Card::new(hold, background), true));
        let other = subjects("other");
        let other = other.iter().find(|one| one.kind() == hold.kind()).unwrap();
        for (name, value) in [
            ("digest", json!(other.digest)),
            ("canonical", json!(other.canonical)),
            ("demands", json!([{"policy": "p"}])),
            ("id", json!("x")),
        ] {
            let mut forged = view.clone();
            forged[name] = value;
            assert!(Card::read(&forged).is_none(), "{name}");
        }
        let mut forged = view.clone();
        match &other.subject {
            Subject::Action(action) => forged["action"] = json!(action),
            Subject::Interaction(asked) => forged["interaction"] = json!(asked),
        }
        assert!(Card::read(&forged).is_none());
    }
}

#[test]
fn a_click_has_one_spelling() {
    let (id, digest) = (HoldId::of(7), ActionDigest::parse(&format!("sha-256:{}", "a".repeat(64))).unwrap());
    for choice in [Choice::Approve, Choice::Deny, Choice::Option(3)] {
        let click = Click { id: id.clone(), digest, choice };
        let text = click.to_string();
        assert_eq!(Click::parse(&text), Some(click));
        for other in [
            format!("{text} "),
            format!(" {text}"),
            text.replace("semgate1", "semgate2"),
            text.replace("sha-256", "sha256"),
        ] {
            assert_eq!(Click::parse(&other), None, "{other}");
        }
    }
    for index in ["+3", "03", "-1", ""] {
        assert_eq!(Click::parse(&format!("semgate1 {id} {digest} {index}")), None);
    }
}

proptest! {
    #[test]
    fn no_text_keeps_a_hidden_character(text in any::<String>()) {
        let shown = visible(&text);
        prop_assert!(!shown.chars().any(|c| c != '\n' && (c.is_control() || semgate_contexts::schema::is_unseen(c))));
        prop_assert_eq!(visible(&shown), shown.clone(), "shown text is shown as it is");
        prop_assert!(!visible_line(&text).contains('\n'));
    }
}
