//! A condition that holds for every message only since no version takes a further action today is redundant and no mistake: it says
//! something once a version takes one. What holds whatever a version takes, and what asks for an action that nothing takes, is one.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use cedar_policy::{Authorizer, Context as CedarContext, Decision, Entities, EntityUid, PolicySet, Request};
use proptest::prelude::*;
use semgate_contexts::{Context, Performative};

use super::generated::cases;
use super::{House, context, one_file, shipped_contexts};
use crate::agents::Agents;
use crate::catalogue::Catalogue;
use crate::check::Texts;
use crate::parse::parse;
use crate::sense::World;
use crate::{Floors, PolicyFault, PolicyLimits, PolicySource};

/// A concept that takes these.
fn grid(performatives: &[Performative]) -> Vec<Arc<Context>> {
    let named: Vec<String> = performatives.iter().map(|one| format!("\"{one}\"")).collect();
    let document = format!(
        r#"{{"context":"urn:contexts:grid:v1.0","concepts":{{"reading":{{"type":"object","properties":{{"level":{{"type":"integer"}}}},
            "required":["level"],"additionalProperties":false,"x-performatives":[{}]}}}}}}"#,
        named.join(",")
    );
    let mut contexts = shipped_contexts();
    contexts.push(context(&document));
    contexts
}

const TODAY: [Performative; 2] = [Performative::Request, Performative::Inform];

fn faults(action: &str, conditions: &str) -> Vec<String> {
    let text = format!("permit (principal, {action}, resource is grid::reading)\n{conditions};");
    House::load(&one_file(&text), grid(&TODAY)).err().unwrap_or_default()
}

#[test]
fn a_condition_that_is_true_only_since_no_version_takes_another_action_loads() {
    for condition in [
        "when { action == Action::\"REQUEST\" || action == Action::\"INFORM\" }",
        "when { action in [Action::\"REQUEST\", Action::\"INFORM\"] }",
        "when { action in [Action::\"REQUEST\", Action::\"INFORM\"] && context.locked }",
        "when { action != Action::\"QUERY\" }",
        "unless { action == Action::\"QUERY\" }",
        "unless { action in [Action::\"QUERY\", Action::\"SUBSCRIBE\"] || context.locked }",
        "when { context.locked || action != Action::\"QUERY\" }",
        "when { !(action == Action::\"QUERY\" && context.locked) }",
        "when { context.locked } unless { action in [Action::\"QUERY\", Action::\"SUBSCRIBE\"] }",
    ] {
        assert_eq!(faults("action", condition), [""; 0], "{condition}");
    }
    let text = "permit (principal, action, resource is a2a::GetTask) when { action == Action::\"QUERY\" };";
    assert!(House::load(&one_file(text), shipped_contexts()).is_ok(), "it takes nothing else today");
}

#[test]
fn what_holds_whatever_a_version_takes_and_what_asks_for_an_action_that_nothing_takes_is_refused() {
    let either = "action in [Action::\"REQUEST\", Action::\"INFORM\"]";
    for (action, condition, told) in [
        (
            "action == Action::\"REQUEST\"",
            "when { action == Action::\"REQUEST\" }",
            "is true for every message",
        ),
        (either, "when { action != Action::\"QUERY\" }", "is true for every message"),
        (either, "unless { action == Action::\"QUERY\" }", "is true for no message that comes to it"),
        (
            "action",
            "when { action == Action::\"REQUEST\" || action != Action::\"REQUEST\" }",
            "is true for every message",
        ),
        ("action", "when { action == Action::\"QUERY\" }", "its condition is true for no message"),
        (
            "action",
            "when { context.locked || action == Action::\"QUERY\" }",
            "`action == Action::\"QUERY\"` is true for no message that comes to it",
        ),
        (
            "action",
            "unless { !(context.locked || action == Action::\"QUERY\") }",
            "`action == Action::\"QUERY\"` is true for no message that comes to it",
        ),
        ("action == Action::\"QUERY\"", "when { context.locked }", "`grid::reading` never takes `QUERY`"),
    ] {
        let faults = faults(action, condition);
        assert!(matches!(&faults[..], [one] if one.contains(told)), "{condition}: {faults:?}");
    }
}

/// The types of today and of a version that takes everything.
fn worlds() -> &'static [(Catalogue, Agents); 2] {
    static WORLDS: OnceLock<[(Catalogue, Agents); 2]> = OnceLock::new();
    WORLDS.get_or_init(|| {
        [grid(&TODAY), grid(&Performative::ALL)].map(|contexts| {
            let agents = Agents::read(&PolicySource::shipped().entities, &PolicyLimits::default()).unwrap();
            (Catalogue::build(&contexts), agents)
        })
    })
}

fn senseless((catalogue, agents): &(Catalogue, Agents), text: &str) -> BTreeSet<String> {
    let files = [("p.cedar".to_owned(), text.to_owned())];
    let (limits, floors) = (PolicyLimits::default(), Floors::new());
    let written = parse(&files, &limits).unwrap();
    let world = World::new(catalogue, agents, &floors, &limits);
    let told = |fault: PolicyFault| match fault {
        PolicyFault::Invalid { why, .. } => Some(why),
        _ => None,
    };
    Texts { files: &files, written: &written }.senseless(&world).into_iter().filter_map(told).collect()
}

/// Whether the conditions hold for a message of this action, under a lock or not.
fn holds(policies: &PolicySet, action: Performative, locked: bool) -> bool {
    let uid = |text: &str| text.parse::<EntityUid>().unwrap();
    let context = CedarContext::from_json_value(serde_json::json!({"locked": locked}), None).unwrap();
    let (principal, resource) = (uid("Agent::\"a\""), uid("grid::reading::\"1\""));
    let request = Request::new(principal, uid(&format!("Action::\"{action}\"")), resource, context, None);
    let answer = Authorizer::new().is_authorized(&request.unwrap(), policies, &Entities::empty());
    assert!(answer.diagnostics().errors().next().is_none());
    answer.decision() == Decision::Allow
}

const SCOPES: [&str; 3] =
    ["action", "action == Action::\"REQUEST\"", "action in [Action::\"INFORM\", Action::\"REQUEST\"]"];

/// What asks for actions, and for locks so that pieces of it can be this or that.
fn atom() -> impl Strategy<Value = String> {
    let named = || prop::sample::select(vec!["REQUEST", "INFORM", "QUERY", "SUBSCRIBE"]);
    let listed = |names: Vec<&str>| {
        let names: Vec<String> = names.iter().map(|name| format!("Action::\"{name}\"")).collect();
        format!("action in [{}]", names.join(", "))
    };
    prop_oneof![
        3 => named().prop_map(|name| format!("action == Action::\"{name}\"")),
        2 => prop::collection::vec(named(), 1..4).prop_map(listed),
        1 => Just("context.locked".to_owned()),
    ]
}

/// `negated`: with negations, or without any.
fn condition(negated: bool) -> BoxedStrategy<String> {
    let leaf = atom().prop_map(|text| format!("({text})"));
    let all = leaf.prop_recursive(3, 8, 2, move |inner| {
        let not = inner.clone().prop_map(move |a| if negated { format!("(!{a})") } else { a });
        prop_oneof![
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            3 => (inner.clone(), inner).prop_map(|(a, b)| format!("({a} || {b})")),
            2 => not,
        ]
    });
    all.boxed()
}

/// The piece that a fault says this of, if it shows all of it.
fn piece<'f>(fault: &'f str, said: &str) -> Option<&'f str> {
    fault
        .strip_suffix(said)?
        .trim_end()
        .strip_prefix('`')?
        .strip_suffix('`')
        .filter(|piece| !piece.ends_with('…'))
}

fn alone(piece: &str, scope: &str) -> PolicySet {
    format!("permit (principal, {scope}, resource) when {{ {piece} }};").parse().unwrap()
}

fn every() -> impl Iterator<Item = (Performative, bool)> {
    Performative::ALL.into_iter().flat_map(|action| [(action, false), (action, true)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_called_true_for_every_message_that_a_further_action_makes_false(
        scope in prop::sample::select(SCOPES.to_vec()),
        when in condition(true),
        unless in prop::option::weighted(0.4, condition(true)),
    ) {
        let unless = unless.map(|unless| format!(" unless {{ {unless} }}")).unwrap_or_default();
        let conditions = format!("when {{ {when} }}{unless}");
        let text = format!("permit (principal, {scope}, resource is grid::reading) {conditions};");
        let told = senseless(&worlds()[0], &text);
        let open: PolicySet = format!("permit (principal, {scope}, resource) {conditions};").parse().unwrap();
        let scoped = alone("true", scope);
        for fault in &told {
            if let Some(piece) = piece(fault, " is true for every message") {
                let policies = alone(piece, scope);
                let shown = every().find(|(action, locked)| holds(&scoped, *action, *locked) && !holds(&policies, *action, *locked));
                prop_assert_eq!(shown, None, "{}\n{:?}", text, told);
            }
            if fault.ends_with("for no message") {
                let shown = every().find(|(action, locked)| TODAY.contains(action) && holds(&open, *action, *locked));
                prop_assert_eq!(shown, None, "{}\n{:?}", text, told);
            }
        }
    }

    /// What a policy only keeps away is refused for nothing that a version which takes more would mend.
    #[test]
    fn nothing_that_is_kept_away_is_refused_since_no_version_takes_it_today(
        scope in prop::sample::select(SCOPES.to_vec()),
        away in condition(false),
        as_not in any::<bool>(),
    ) {
        let conditions = if as_not { format!("when {{ !{away} }}") } else { format!("unless {{ {away} }}") };
        let text = format!("permit (principal, {scope}, resource is grid::reading) {conditions};");
        let [now, then] = worlds().each_ref().map(|world| senseless(world, &text));
        let vain = now.iter().any(|fault| fault.ends_with("for no message"));
        prop_assert!(vain || now.is_subset(&then), "{}\nnow {:?}\nthen {:?}", text, now, then);
    }
}

#[test]
fn a_good_deal_of_generated_conditions_is_redundant_today_and_loads() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut redundant, mut refused) = (0, 0);
    for _ in 0..600 {
        let tree = condition(true).new_tree(&mut runner).unwrap();
        let conditions = format!("when {{ {} }}", proptest::strategy::ValueTree::current(&tree));
        let open: PolicySet = format!("permit (principal, action, resource) {conditions};").parse().unwrap();
        let is = |(action, locked): (Performative, bool)| holds(&open, action, locked);
        if every().filter(|(action, _)| TODAY.contains(action)).all(is) && !every().all(is) {
            let text = format!("permit (principal, action, resource is grid::reading) {conditions};");
            let told = senseless(&worlds()[0], &text);
            match told.is_empty() {
                true => redundant += 1,
                false => refused += 1,
            }
        }
    }
    assert!(redundant > 10, "{redundant} of {}", redundant + refused);
}
