//! Scores of text: made where a policy that would be asked reads them, and never taken for zero where nobody made them.

use super::*;
use semgate_contexts::Performative;

use crate::{Circumstances, Question, Scores, TextScores, TextWants};

const TEXT: &str = r#"{"if_condition_text":"a","then_change_text":"b"}"#;
const PERMIT: &str = "permit (principal, action, resource);";
const NONE: TextWants = TextWants::NONE;

fn house(policy: &str) -> House {
    House::with(&format!("{PERMIT}\n{policy}")).unwrap()
}

fn contingency(text: TextScores) -> Ask<'static> {
    let scores = Scores { text, ..Scores::default() };
    Ask {
        urn: "supplyChain:v1.0",
        term: "decision_contingency",
        action: Performative::Inform,
        value: TEXT,
        around: Circumstances { scores, ..Circumstances::at(1_800_000_000) },
        ..Ask::default()
    }
}

fn wants(house: &House, ask: Ask<'_>) -> TextWants {
    house.question(ask, |question: &Question<'_>| house.policies.text_wants(question, false))
}

#[test]
fn a_score_is_wanted_where_a_policy_that_would_be_asked_reads_it() {
    let injection = TextWants { injection: true, ..NONE };
    let of_contingency = "forbid (principal, action, resource is supplyChain::decision_contingency)";
    let house = house(&format!("{of_contingency} when {{ context.scores.injection >= 75 }};"));
    assert_eq!(wants(&house, contingency(TextScores::NONE)), injection);
    assert_eq!(wants(&house, Ask::default()), NONE, "a transfer pays nothing for it");
}

#[test]
fn a_policy_on_another_score_wants_none_of_text() {
    let house = house("forbid (principal, action, resource) when { context.scores.message_bytes > 65536 };");
    assert_eq!(wants(&house, contingency(TextScores::NONE)), NONE);
}

#[test]
fn scores_of_text_decide() {
    let house = house(
        "forbid (principal, action, resource) when { context.scores.injection >= 75 || context.scores.markers >= 1 || context.scores.hidden > 2 };",
    );
    let made = TextScores { made: TextWants::ALL, injection: 74, hidden: 2, ..TextScores::NONE };
    let passes = |text| matches!(house.ask(contingency(text)), Verdict::Permitted { .. });
    assert!(passes(made));
    assert!(!passes(TextScores { injection: 75, ..made }));
    assert!(!passes(TextScores { markers: 1, ..made }));
    assert!(!passes(TextScores { hidden: 3, ..made }));
}

#[test]
fn attack_a_text_that_nobody_looked_at_is_no_text_without_suspicion() {
    for policy in [
        "forbid (principal, action, resource) when { context.scores.injection >= 75 };",
        "forbid (principal, action, resource) when { context.scores has unusual && context.scores.unusual > 9 };",
        "forbid (principal, action, resource) when { [context.scores].contains(context.scores) && context.scores.message_bytes > 9999 };",
    ] {
        let verdict = house(policy).ask(contingency(TextScores::NONE));
        assert!(matches!(verdict, Verdict::Errored { .. }), "{policy}: {verdict:?}");
    }
}

#[test]
fn a_text_without_a_baseline_has_no_unusual_score() {
    let house = house(
        "forbid (principal, action, resource) when { context.scores has unusual && context.scores.unusual >= 990 };",
    );
    let made = TextScores { made: TextWants::ALL, ..TextScores::NONE };
    let passes =
        |unusual| matches!(house.ask(contingency(TextScores { unusual, ..made })), Verdict::Permitted { .. });
    assert!(passes(None) && passes(Some(989)) && !passes(Some(990)));
}

#[test]
fn an_unusual_score_that_may_be_absent_is_asked_for_first() {
    let faults = super::faults("permit (principal, action, resource) when { context.scores.unusual > 9 };");
    assert!(faults.iter().any(|fault| fault.contains("unusual")), "{faults:?}");
}
