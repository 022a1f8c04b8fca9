//! What a policy may ask about beside the instance: each input decides, and none is remembered past what it depends on.

use super::*;
use semgate_contexts::Performative;

use crate::{Circumstances, Credentials, Scores, Session};

const NOON: u64 = 1_800_014_400;

fn house(condition: &str) -> House {
    House::with(&format!("permit (principal, action, resource is payment::transfer) when {{ {condition} }};"))
        .unwrap()
}

fn permits(house: &House, ask: Ask<'_>) -> bool {
    let value = transfer("1");
    matches!(house.ask(Ask { value: &value, ..ask }), Verdict::Permitted { .. })
}

fn around(change: impl FnOnce(&mut Circumstances<'_>)) -> Ask<'static> {
    let mut ask = Ask { around: Circumstances::at(NOON), ..Ask::default() };
    change(&mut ask.around);
    ask
}

fn shown(names: &[(&str, u64)]) -> Credentials {
    Credentials::new(names.iter().map(|(name, until)| ((*name).to_owned(), *until)))
}

#[test]
fn the_trust_domain_of_both_ends() {
    let house =
        house(r#"principal.trust_domain == "semgate.test" && context.receiver.trust_domain == "banks.test""#);
    let ask = |sender, receiver| permits(&house, Ask { sender, receiver, ..Ask::default() });
    assert!(ask(RETAILER, "spiffe://banks.test/agent/b"));
    assert!(ask(STRANGER, "spiffe://banks.test/agent/b"));
    assert!(!ask(RETAILER, WHOLESALER));
    assert!(!ask("spiffe://banks.test/agent/b", "spiffe://banks.test/agent/b"));
    assert!(!ask("spiffe://semgate.test.banks.test/a", "spiffe://banks.test/agent/b"));
}

#[test]
fn attack_two_strangers_of_different_trust_domains_share_no_remembered_verdict() {
    let house = house(r#"principal.trust_domain == "a.test""#);
    let ask = |sender| permits(&house, Ask { sender, ..Ask::default() });
    for _ in 0..2 {
        assert!(ask("spiffe://a.test/x"));
        assert!(!ask("spiffe://b.test/x"));
    }
}

#[test]
fn protocol_and_version() {
    let house = house(r#"context.binding_version != "0.3""#);
    let ask = |version: &'static str| permits(&house, around(|around| around.protocol_version = version));
    for _ in 0..2 {
        assert!(ask("1.0") && ask("") && ask("2031-01-01") && !ask("0.3"));
    }
}

#[test]
fn line_and_version_of_the_context() {
    let line = house(r#"context.line == "payment" && context.major == 2"#);
    assert!(permits(&line, Ask::default()));
    assert!(!permits(&line, Ask { urn: "payment:v1.0", ..Ask::default() }));
}

#[test]
fn a_session_is_locked_until_it_is_over() {
    let session = |expires_at| around(|around| around.session = Some(Session { expires_at }));
    let locked = house("context.locked");
    for _ in 0..2 {
        assert!(permits(&locked, session(NOON + 1)));
        assert!(!permits(&locked, session(NOON)), "at its end it is over");
        assert!(!permits(&locked, around(|_| ())));
    }
    let long = house(
        r#"context has session && context.session.expires.durationSince(context.now) > duration("1m")"#,
    );
    assert!(permits(&long, session(NOON + 61)));
    assert!(!permits(&long, session(NOON + 60)));
    assert!(!permits(&long, around(|_| ())));
}

#[test]
fn the_time_is_never_remembered() {
    let hours = house(r#"context.now.toTime() >= duration("8h") && context.now.toTime() < duration("18h")"#);
    let at = |hour: u64| permits(&hours, around(|around| around.now = NOON / 86_400 * 86_400 + hour * 3_600));
    assert_eq!([7, 8, 17, 18].map(at), [false, true, true, false]);
    let until = house(r#"context.now < datetime("2027-01-15")"#);
    let at = |now| permits(&until, around(|around| around.now = now));
    assert_eq!([1_799_971_199, 1_799_971_200].map(at), [true, false]);
}

#[test]
fn a_time_that_cannot_be_written_is_an_error_and_no_verdict() {
    let house = house(r#"context.now > datetime("2027-01-15")"#);
    let value = transfer("1");
    let ask = Ask { value: &value, ..around(|around| around.now = u64::MAX) };
    assert!(matches!(house.ask(ask), Verdict::Errored { .. }));
}

#[test]
fn scores_of_the_message_and_of_the_text() {
    let scored = |condition: &str| house(&format!("context.scores.{condition}"));
    let measured = Scores { message_bytes: 640, concepts: 2, ambiguous: 1, ..Scores::default() };
    let ask = |condition| permits(&scored(condition), around(|around| around.scores = measured));
    assert!(ask("message_bytes == 640") && ask("concepts == 2") && ask("ambiguous == 1"));
    assert!(ask("text_length == 0"), "payment has no free text");
    let prose = House::with(
        "permit (principal, action, resource is supplyChain::decision_contingency) when { context.scores.text_length <= 5 };",
    )
    .unwrap();
    for (text, expected) in [("", true), ("héllo", true), ("hello!", false)] {
        let value = format!(r#"{{"if_condition_text":"{text}","then_change_text":""}}"#);
        let ask = Ask {
            urn: "supplyChain:v1.0",
            term: "decision_contingency",
            action: Performative::Inform,
            value: &value,
            ..Ask::default()
        };
        assert_eq!(matches!(prose.ask(ask), Verdict::Permitted { .. }), expected, "{text}");
    }
}

#[test]
fn shown_credentials_join_those_of_the_entry_until_they_expire() {
    let both = house(r#"principal.credentials.containsAll(["high-value-authorized", "token:hr:clerk"])"#);
    let clerk = shown(&[("token:hr:clerk", NOON + 10)]);
    let ask = |sender, now| {
        permits(
            &both,
            Ask {
                sender,
                around: Circumstances { sender_holds: &clerk, ..Circumstances::at(now) },
                ..Ask::default()
            },
        )
    };
    for _ in 0..2 {
        assert!(ask(TREASURER, NOON) && ask(TREASURER, NOON + 9));
        assert!(!ask(TREASURER, NOON + 10), "a remembered verdict outlived its credential");
        assert!(!ask(RETAILER, NOON));
    }
    assert!(!permits(&both, Ask { sender: TREASURER, ..Ask::default() }), "remembered for who shows nothing");
}

#[test]
fn a_stranger_holds_what_it_shows_and_a_receiver_too() {
    let shows = shown(&[("cert:eku:1.2.3", NOON + 10)]);
    let own = house(r#"principal.credentials.contains("cert:eku:1.2.3")"#);
    let heard = house(r#"context.receiver.credentials.contains("cert:eku:1.2.3")"#);
    let with = |sender_holds, receiver_holds| Ask {
        sender: STRANGER,
        around: Circumstances { sender_holds, receiver_holds, ..Circumstances::at(NOON) },
        ..Ask::default()
    };
    for _ in 0..2 {
        assert!(permits(&own, with(&shows, &Credentials::NONE)));
        assert!(!permits(&own, with(&Credentials::NONE, &shows)));
        assert!(permits(&heard, with(&Credentials::NONE, &shows)));
        assert!(!permits(&heard, with(&shows, &Credentials::NONE)));
    }
}

#[test]
fn attack_an_entry_cannot_give_what_only_can_be_shown() {
    for name in ["cert:eku:1.2.3", "token:hr:clerk"] {
        let entities =
            format!(r#"{{"agents":[{{"id":"spiffe://d/a","groups":[],"credentials":["{name}"]}}]}}"#);
        let source = PolicySource {
            entities: entities.into_bytes(),
            ..one_file("permit (principal, action, resource);")
        };
        let faults = House::load(&source, shipped_contexts()).err().unwrap();
        assert!(faults[0].contains("names a credential that only an agent can show"), "{faults:?}");
    }
}

#[test]
fn a_member_that_is_not_always_there_is_told_once_whatever_actions_there_are() {
    for scope in ["resource", "resource is payment::transfer"] {
        let text =
            format!("permit (principal, action, {scope})\nwhen {{ context.session.expires > context.now }};");
        let why = "p.cedar:2:8: policy `p.cedar#1`: unable to guarantee safety of access to optional attribute `session` in context \
            for Action::\"ACCEPT\" (try testing for the attribute's presence with `context has session && ..`)";
        super::refused(&text, &[why]);
    }
}

#[test]
fn faults_at_one_place_are_told_in_one_order() {
    let text = "permit (principal, action in [Action::\"INFORN\", Action::\"REQUESTT\"], resource)\n\
        when { resource.a == \"x\" && context.b && principal.c && resource.d > \"x\" || context.e == \"y\" };";
    let first = super::faults(text);
    assert!(!first.is_empty());
    for _ in 0..8 {
        assert_eq!(super::faults(text), first);
    }
}
