//! One input after the other: two questions that differ in nothing else, under a policy that reads it, are never answered alike, in whatever
//! order they come again. Whichever field goes missing from what verdicts are remembered under, and whichever reason not to remember one,
//! one of these tells: each was taken out by itself, and each time one failed.

use semgate_contexts::Performative;

use super::{Ask, COURIER, House, RETAILER, STRANGER, TREASURER, WHOLESALER, one_file, shipped_contexts};
use crate::{
    Circumstances, Credentials, Policies, PolicyLimits, Scores, Session, TextScores, TextWants, Verdict,
};

const NOW: u64 = 1_800_000_000;

fn base() -> Ask<'static> {
    Ask {
        urn: "supplyChain:v1.0",
        term: "current_decision",
        action: Performative::Inform,
        value: r#"{"item_id":"x","quantity":1}"#,
        around: Circumstances::at(NOW),
        ..Ask::default()
    }
}

/// Asks both in an order in which each follows itself and the other.
fn told_apart(condition: &str, yes: Ask<'_>, no: Ask<'_>) {
    let policy = format!("permit (principal, action, resource) when {{ {condition} }};");
    let house = House::with(&policy).unwrap_or_else(|faults| panic!("{condition}: {faults:?}"));
    for (n, ask) in [yes, no, no, yes, yes, no, yes].into_iter().enumerate() {
        let permitted = matches!(house.ask(ask), Verdict::Permitted { .. });
        assert_eq!(permitted, ![1, 2, 5].contains(&n), "{condition}, question {n}");
    }
}

#[test]
fn who_speaks_to_whom_and_about_what_is_told_apart() {
    let at = |sender, receiver| Ask { sender, receiver, ..base() };
    told_apart("principal in Group::\"partners\"", at(RETAILER, WHOLESALER), at(STRANGER, WHOLESALER));
    let given = "principal.credentials.contains(\"high-value-authorized\")";
    told_apart(given, at(TREASURER, WHOLESALER), at(RETAILER, WHOLESALER));
    let elsewhere = "spiffe://elsewhere.test/agent/nobody";
    told_apart(
        "principal.trust_domain == \"semgate.test\"",
        at(STRANGER, WHOLESALER),
        at(elsewhere, WHOLESALER),
    );
    told_apart("context.receiver in Group::\"repliers\"", at(RETAILER, WHOLESALER), at(RETAILER, COURIER));
    told_apart("principal == context.receiver", at(STRANGER, STRANGER), at(STRANGER, elsewhere));
    told_apart("action == Action::\"INFORM\"", base(), Ask { action: Performative::Request, ..base() });
    let text = |value| Ask { term: "decision_contingency", value, ..base() };
    told_apart(
        "resource is supplyChain::current_decision",
        base(),
        text(r#"{"if_condition_text":"","then_change_text":""}"#),
    );
    told_apart(
        "resource has quantity && resource.quantity < 5",
        base(),
        Ask { value: r#"{"item_id":"x","quantity":9}"#, ..base() },
    );
    let prose = text(r#"{"if_condition_text":"a","then_change_text":"b"}"#);
    told_apart("context.free_text", prose, text(r#"{"if_condition_text":"","then_change_text":""}"#));
    let paid = |urn| Ask {
        urn,
        term: "transfer",
        value: r#"{"sender_id":"a","receiver_id":"b","amount":1,"currency":"EUR"}"#,
        action: Performative::Request,
        ..base()
    };
    told_apart("context.major == 1", paid("payment:v1.0"), paid("payment:v2.0"));
    told_apart("context.minor == 0", paid("payment:v1.0"), paid("payment:v1.1"));
    told_apart("context.line == \"payment\"", paid("payment:v1.0"), base());
}

#[test]
fn how_it_is_said_is_told_apart() {
    told_apart("context.binding == \"l8\"", base(), Ask { binding: "a2a", ..base() });
    told_apart(
        "context.binding == \"mcp\"",
        Ask { binding: "mcp", ..base() },
        Ask { binding: "grpc", ..base() },
    );
    told_apart("context.direction == \"reply\"", Ask { direction: "reply", ..base() }, base());
    let around = |around| Ask { around, ..base() };
    let version = |protocol_version| around(Circumstances { protocol_version, ..Circumstances::at(NOW) });
    told_apart("context.binding_version == \"1.0\"", version("1.0"), version("0.3"));
    told_apart("context.binding_version like \"2025-*\"", version("2025-11-25"), version("2026-07-28"));
}

#[test]
fn what_is_so_meanwhile_is_told_apart() {
    let around = |around| Ask { around, ..base() };
    let at = |now| around(Circumstances::at(now));
    told_apart("context.now < datetime(\"2027-01-15T08:00:01Z\")", at(NOW), at(NOW + 1));
    let locked = |expires_at, now| {
        around(Circumstances { session: Some(Session { expires_at }), ..Circumstances::at(now) })
    };
    told_apart("context.locked", locked(NOW + 9, NOW), at(NOW));
    told_apart("context.locked", locked(NOW + 9, NOW), locked(NOW + 9, NOW + 9));
    let soon = "context has session && context.session.expires < datetime(\"2027-01-15T08:00:10Z\")";
    told_apart(soon, locked(NOW + 9, NOW), locked(NOW + 99, NOW));
    let scored = |scores| around(Circumstances { scores, ..Circumstances::at(NOW) });
    let none = Scores::default();
    told_apart("context.scores.message_bytes > 1", scored(Scores { message_bytes: 2, ..none }), scored(none));
    told_apart("context.free_text", scored(Scores { beside: 2, ..none }), scored(none));
    told_apart("context.scores.text_length > 1", scored(Scores { beside: 2, ..none }), scored(none));
    told_apart("context.scores.concepts > 1", scored(Scores { concepts: 2, ..none }), scored(none));
    told_apart("context.scores.ambiguous > 1", scored(Scores { ambiguous: 2, ..none }), scored(none));
    let text = |made| scored(Scores { text: made, ..none });
    let made = TextScores { made: TextWants::ALL, ..TextScores::NONE };
    for (condition, other) in [
        ("context.scores.hidden > 0", TextScores { hidden: 1, ..made }),
        ("context.scores.markers > 0", TextScores { markers: 1, ..made }),
        ("context.scores.injection >= 75", TextScores { injection: 75, ..made }),
        (
            "context has scores.unusual && context.scores.unusual >= 990",
            TextScores { unusual: Some(990), ..made },
        ),
    ] {
        told_apart(condition, text(other), text(made));
    }
    let text = |value| Ask { term: "decision_contingency", value, ..base() };
    let (long, short) = (
        r#"{"if_condition_text":"abcd","then_change_text":""}"#,
        r#"{"if_condition_text":"a","then_change_text":""}"#,
    );
    told_apart("context.scores.text_length > 3", text(long), text(short));
}

#[test]
fn what_is_shown_and_until_when_is_told_apart() {
    let shown = |name: &str, until| Credentials::new([(name.to_owned(), until)]);
    let (held, other, longer) = (
        shown("cert:policy:1.1", NOW + 9),
        shown("cert:policy:1.2", NOW + 9),
        shown("cert:policy:1.1", NOW + 99),
    );
    let sends = |holds, now| Ask {
        around: Circumstances { sender_holds: holds, ..Circumstances::at(now) },
        ..base()
    };
    let hears = |holds, now| Ask {
        around: Circumstances { receiver_holds: holds, ..Circumstances::at(now) },
        ..base()
    };
    let own = "principal.credentials.contains(\"cert:policy:1.1\")";
    told_apart(own, sends(&held, NOW), sends(&other, NOW));
    told_apart(own, sends(&held, NOW), sends(&Credentials::NONE, NOW));
    told_apart(own, sends(&held, NOW + 8), sends(&held, NOW + 9));
    told_apart(own, sends(&longer, NOW + 9), sends(&held, NOW + 9));
    let heard = "context.receiver.credentials.contains(\"cert:policy:1.1\")";
    told_apart(heard, hears(&held, NOW), hears(&other, NOW));
    told_apart(heard, hears(&held, NOW + 8), hears(&held, NOW + 9));
    told_apart(heard, hears(&held, NOW), sends(&held, NOW));
    let named = format!("Agent::\"{RETAILER}\".credentials.contains(\"cert:policy:1.1\")");
    told_apart(&named, sends(&held, NOW), sends(&other, NOW));
}

#[test]
fn what_one_generation_remembers_another_does_not() {
    let contexts = shipped_contexts();
    let ask = Ask { sender: TREASURER, ..base() };
    let first = House::with("permit (principal in Group::\"partners\", action, resource);").unwrap();
    let denied = "@id(\"1\") forbid (principal in Group::\"partners\", action, resource); permit (principal, action, resource);";
    let limits = PolicyLimits::default();
    let second: Policies = first.policies.reload(&one_file(denied), &contexts, &limits).unwrap();
    for _ in 0..3 {
        assert!(matches!(first.ask(ask), Verdict::Permitted { .. }));
        first.question(ask, |question| {
            assert!(matches!(second.decide(question), Verdict::Denied { .. }));
            assert!(matches!(first.policies.decide(question), Verdict::Permitted { .. }));
        });
    }
}

#[test]
fn a_verdict_hangs_on_the_instance_only_where_a_policy_that_is_asked_looks_at_it_or_at_a_score() {
    let permit = "permit (principal, action, resource is supplyChain::local_observation)";
    let other = "forbid (principal, action, resource is supplyChain::current_decision) when { resource.quantity > 1 };";
    let ask = Ask {
        term: "local_observation",
        value: r#"{"observed_fact_text":"a","confidence_score":0.8}"#,
        ..base()
    };
    for (policies, looks) in [
        (format!("{permit};"), false),
        (format!("{permit} when {{ context.binding == \"l8\" }};"), false),
        (format!("{permit} unless {{ context.free_text }};"), false),
        (format!("{permit}; {other}"), false),
        (format!("{permit} when {{ resource.observed_fact_text like \"a*\" }};"), true),
        (format!("{permit} when {{ context.scores.text_length < 100 }};"), true),
    ] {
        let house = House::load(&one_file(&policies), shipped_contexts()).unwrap();
        let report = house.question(ask, |question| house.policies.looks_at_instance(question));
        assert_eq!(report, looks, "{policies}");
    }
}
