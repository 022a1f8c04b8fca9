//! Never is a policy called one that applies to nothing, or a permit one that a forbid covers, if some request shows the contrary: held
//! against Cedar's plain authorizer over generated policies and every request of a pool.

mod conditions;
mod covered;
mod relative;

use std::sync::OnceLock;

use cedar_policy::{PolicySet, Schema};
use proptest::prelude::*;
use semgate_contexts::Performative;

use self::conditions::{OF_ANY, OF_PAYMENTS, OF_READINGS};
use super::generated::{Prepared, cases, prepared};
use super::{
    COURIER, House, OPERATOR, RETAILER, STRANGER, TREASURER, WHOLESALER, context, one_file, shipped_contexts,
};
use crate::agents::Agents;
use crate::catalogue::Catalogue;
use crate::check::Texts;
use crate::parse::parse;
use crate::sense::World;
use crate::{
    Circumstances, Credentials, Floors, PolicyFault, PolicyLimits, PolicySource, Question, Scores, Session,
};
use semgate_contexts::Shape;
use semgate_contexts::json::{self, Json};

const SCOPES: [&str; 6] = [
    "principal",
    "principal == Agent::\"spiffe://semgate.test/agent/retailer-7\"",
    "principal in Group::\"partners\"",
    "principal in Group::\"planners\"",
    "principal is Agent in Group::\"repliers\"",
    "principal == Agent::\"spiffe://semgate.test/operator\"",
];

const ACTIONS: [&str; 3] =
    ["action", "action == Action::\"REQUEST\"", "action in [Action::\"QUERY\", Action::\"INFORM\"]"];

const RESOURCES: [&str; 5] = [
    "resource",
    "resource is grid::reading",
    "resource is payment::transfer",
    "resource is a2a::GetTask",
    "resource is supplyChain::decision_contingency",
];

/// A condition over all that fits the resource of the scope.
fn condition(resource: usize) -> BoxedStrategy<String> {
    let own: &[&str] = match resource {
        1 => &OF_READINGS,
        2 => &OF_PAYMENTS,
        _ => &OF_ANY,
    };
    let one = prop_oneof![prop::sample::select(OF_ANY.to_vec()), prop::sample::select(own.to_vec())];
    let leaf = one.prop_map(|text| format!("({text})"));
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            1 => inner.prop_map(|a| format!("(!{a})")),
        ]
    })
    .boxed()
}

/// Scope and conditions of a policy, without its effect.
fn policy() -> impl Strategy<Value = (usize, String, String)> {
    (0..RESOURCES.len()).prop_flat_map(|resource| {
        let scope = (prop::sample::select(SCOPES.to_vec()), prop::sample::select(ACTIONS.to_vec()));
        let unless = prop::option::weighted(0.3, condition(resource));
        (scope, condition(resource), unless).prop_map(move |((who, action), when, unless)| {
            let unless = unless.map(|unless| format!(" unless {{ {unless} }}")).unwrap_or_default();
            let scope = format!("({who}, {action}, {})", RESOURCES[resource]);
            (resource, scope, format!("when {{ {when} }}{unless}"))
        })
    })
}

/// The contexts, the agents and the pool of requests, each ready to be asked.
struct Ground {
    typed: (Catalogue, Schema),
    agents: Agents,
    floors: Floors,
    limits: PolicyLimits,
    asked: Vec<(Asked, Prepared)>,
}

/// The clock when the policies are loaded, 2027-01-15T07:59:59Z.
const NOW: u64 = 1_799_999_999;

/// One request that can come.
struct Asked {
    ends: (&'static str, &'static str),
    action: Performative,
    said: (&'static str, &'static str, String),
    bound: (&'static str, &'static str),
    direction: &'static str,
    holds: Credentials,
    session: Option<u64>,
    now: u64,
    scores: Scores,
}

fn readings() -> Vec<String> {
    let mut all = Vec::new();
    for (n, (level, percent)) in [(1, 0), (2, 40), (30, 100), (1, 49)].into_iter().enumerate() {
        let code = ["AB", "ABC", "x-b", "Ab"][n];
        let (day, at) =
            [("2027-01-15", "2027-01-15T10:00:00Z"), ("2027-01-16", "2027-01-15T23:59:59.999Z")][n % 2];
        let (unit, note) = [("V", ",\"note\":\"n\""), ("A", "")][n / 2];
        let name = ["x", "long name of it"][n % 2];
        let (tags, marks) = [("\"red\"", ""), ("\"blue\",\"red\"", "3,4")][n % 2];
        let (ip, ttl) = [("10.0.0.1", "PT30M"), ("127.0.0.1", "PT90M"), ("10.0.0.2", "P1D")][n % 3];
        let (load, rows) =
            [(100, r#"[{"unit":"A","n":2}]"#), (200, "[]"), (300, r#"[{"unit":"V","n":1}]"#)][n % 3];
        all.push(format!(
            r#"{{"level":{level},"percent":{percent},"code":"{code}","name":"{name}","day":"{day}","at":"{at}","unit":"{unit}","tags":[{tags}],"marks":[{marks}],"ip":"{ip}","ttl":"{ttl}","load":{load},"spot":{{"unit":"{unit}","n":1}},"rows":{rows}{note}}}"#
        ));
    }
    all
}

/// Urn, term, value and the bindings by which it comes.
fn sayings() -> Vec<(&'static str, &'static str, String, &'static [&'static str])> {
    let all: &[&str] = &["l8", "a2a", "mcp"];
    let mut sayings: Vec<_> = readings()
        .into_iter()
        .cycle()
        .take(6)
        .map(|reading| ("grid:v1.0", "reading", reading, all))
        .collect();
    let signed: &[&str] = &["l8", "a2a"];
    for (urn, amount, currency, sender) in [
        ("payment:v1.0", "0", "EUR", "a"),
        ("payment:v2.0", "100", "USD", "b"),
        ("payment:v1.1", "75.5", "EUR", "acme"),
        ("payment:v2.0", "1000", "GBP", "x"),
    ] {
        let value = format!(
            r#"{{"sender_id":"{sender}","receiver_id":"b","amount":{amount},"currency":"{currency}"}}"#
        );
        sayings.push((urn, "transfer", value, signed));
    }
    sayings.push(("a2a:v1.0", "GetTask", r#"{"id":"t1"}"#.to_owned(), &["a2a"]));
    for text in ["", "more"] {
        let value = format!(r#"{{"if_condition_text":"","then_change_text":"{text}"}}"#);
        sayings.push(("supplyChain:v1.0", "decision_contingency", value, signed));
    }
    sayings
}

fn requests(house: &House) -> Vec<Asked> {
    let senders = [
        RETAILER,
        TREASURER,
        COURIER,
        WHOLESALER,
        OPERATOR,
        STRANGER,
        "spiffe://elsewhere.test/agent/nobody",
    ];
    let receivers = [WHOLESALER, OPERATOR, COURIER, "spiffe://elsewhere.test/agent/other"];
    let versions = |binding: &str| -> &'static [&'static str] {
        match binding {
            "a2a" => &["0.3", "1.0"],
            "mcp" => &["2025-06-18", "2025-11-25", "2026-07-28"],
            _ => &[""],
        }
    };
    let tokens = || Credentials::new([("token:hr:b".to_owned(), 1_900_000_000)]);
    let (mut all, mut n) = (Vec::new(), 0_usize);
    for (urn, term, value, bindings) in sayings() {
        for action in [Performative::Request, Performative::Query, Performative::Inform] {
            // what a tool gives has another shape
            if house.context(urn).term(term).unwrap().side(action).map(Shape::name) != Ok(term) {
                continue;
            }
            for sender in senders {
                for binding in bindings {
                    // what else is so, by numbers without a common divisor
                    n += 1;
                    let version = versions(binding)[n % versions(binding).len()];
                    let reply = urn != "a2a:v1.0" && n % 3 == 0;
                    let session = (n % 5 < 2).then_some([1_800_000_050, 1_900_000_000][n % 2]);
                    all.push(Asked {
                        ends: (sender, receivers[n % receivers.len()]),
                        action,
                        said: (urn, term, value.clone()),
                        bound: (binding, version),
                        direction: if reply { "reply" } else { "request" },
                        holds: if n % 7 < 3 { tokens() } else { Credentials::NONE },
                        session,
                        now: [NOW + 1, NOW + 51, NOW][n % 3],
                        scores: Scores {
                            message_bytes: [200, 900][n % 2],
                            concepts: 1 + (n % 4) as u64,
                            ambiguous: (n % 2) as u64,
                            beside: 0,
                        },
                    });
                }
            }
        }
    }
    all
}

fn ground() -> &'static Ground {
    static GROUND: OnceLock<Ground> = OnceLock::new();
    GROUND.get_or_init(|| {
        let mut contexts = shipped_contexts();
        contexts.push(context(
            r#"{"context":"urn:contexts:grid:v1.0","tasks":{"reading":{"parameters":{"$comment":"mcp-tool reading","type":"object","properties":{
            "level":{"type":"integer","enum":[1,2,30]},"percent":{"type":"integer","minimum":0,"maximum":100},
            "code":{"type":"string","minLength":2,"maxLength":3,"pattern":"^[A-Zb][A-Zb-]+$|^x-b$"},
            "name":{"type":"string","maxLength":40,"x-free-text":true},
            "day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},
            "unit":{"type":"string","enum":["V","A"]},"ip":{"type":"string","format":"ipv4"},"ttl":{"type":"string","format":"duration"},
            "tags":{"type":"array","items":{"type":"string"},"minItems":1},"marks":{"type":"array","items":{"type":"integer","maximum":9}},"note":{"type":"string","pattern":"^[a-z]*$","maxLength":262144},
            "load":{"type":"integer","multipleOf":100},
            "spot":{"type":"object","properties":{"unit":{"type":"string","enum":["V","A"]},"n":{"type":"integer"}},"required":["unit","n"],"additionalProperties":false},
            "rows":{"type":"array","items":{"type":"object","properties":{"unit":{"type":"string","enum":["V","A"]},"n":{"type":"integer","maximum":9}},"required":["unit","n"],"additionalProperties":false}}},
           "required":["level","percent","code","name","day","at","unit","tags","marks","ip","ttl","load","spot","rows"],"additionalProperties":false},"results":{"type":"object","properties":{},"additionalProperties":false}}}}"#,
        ));
        let house = House::load(&one_file("permit (principal, action, resource);"), contexts).unwrap();
        let catalogue = Catalogue::build(&house.contexts);
        let schema = catalogue.schema().unwrap();
        let agents = Agents::read(&PolicySource::shipped().entities, &PolicyLimits::default()).unwrap();
        let asked = requests(&house);
        assert!(asked.len() > 500, "{}", asked.len());
        let typed = (catalogue, schema);
        let ready = |one: Asked| {
            let prepared = asking(&house, &typed, &one);
            (one, prepared)
        };
        let asked = asked.into_iter().map(ready).collect();
        // nothing is asked before what is asked was loaded
        let limits = PolicyLimits { now: Some(NOW), ..PolicyLimits::default() };
        Ground { typed, agents, floors: Floors::new(), limits, asked }
    })
}

/// A request of the pool, which says what its schema lets it.
fn asking(house: &House, typed: &(Catalogue, Schema), asked: &Asked) -> Prepared {
    let (urn, term, value) = &asked.said;
    let context = house.context(urn);
    let read = json::read(value.as_bytes(), &json::Limits::default()).unwrap();
    let Json::Object(object) = &read else { panic!("an object") };
    let shape = context.term(term).unwrap().side(asked.action).unwrap();
    shape.conform(object, None).unwrap_or_else(|why| panic!("{value}: {why}"));
    // who asks shows a token, and who replies shows none
    let (sender_holds, receiver_holds) = match asked.direction {
        "reply" => (&Credentials::NONE, &asked.holds),
        _ => (&asked.holds, &Credentials::NONE),
    };
    let question = Question {
        sender: asked.ends.0,
        receiver: asked.ends.1,
        action: asked.action,
        context,
        shape,
        value: object,
        without: None,
        binding: asked.bound.0,
        direction: asked.direction,
        circumstances: Circumstances {
            sender_holds,
            receiver_holds,
            protocol_version: asked.bound.1,
            session: asked.session.map(|expires_at| Session { expires_at }),
            now: asked.now,
            scores: asked.scores,
        },
    };
    prepared(typed, house.policies.agents(), &question)
}

/// Which policies of a set apply to a request, and whether one cannot be evaluated.
fn applied(set: &PolicySet, asked: &Prepared) -> (Vec<String>, bool) {
    let response = asked.of(set);
    let by: Vec<String> = response.diagnostics().reason().map(ToString::to_string).collect();
    (by, response.diagnostics().errors().next().is_some())
}

thread_local! {
    /// What policies are judged by, once for each thread.
    static WORLD: World<'static> = {
        let ground = ground();
        World::new(&ground.typed.0, &ground.agents, &ground.floors, &ground.limits)
    };
}

/// What is wrong with these policies, as loading finds it once they fit the schema.
fn senseless(text: &str) -> Vec<String> {
    let files = [("p.cedar".to_owned(), text.to_owned())];
    let written = parse(&files, &ground().limits).unwrap();
    let told = |fault: PolicyFault| match fault {
        PolicyFault::Invalid { why, .. } => Some(why),
        _ => None,
    };
    let texts = Texts { files: &files, written: &written };
    WORLD.with(|world| texts.senseless(world)).into_iter().filter_map(told).collect()
}

/// Whether it says that a policy applies to nothing at all.
fn is_whole(why: &str) -> bool {
    why.starts_with("its condition") && why.ends_with("for no message")
}

/// A policy that is called vain, and the request that shows that it is not.
fn contrary(text: &str) -> Option<String> {
    let set: PolicySet = text.parse().unwrap();
    let (shown, _) = ground().asked.iter().find(|(_, asked)| !applied(&set, asked).0.is_empty())?;
    Some(format!("{:?} {:?} {:?}", shown.ends, shown.said, shown.bound))
}

#[test]
fn every_single_question_that_is_called_vain_is_so_and_some_are() {
    let mut vain = 0;
    for (resource, scope) in RESOURCES.iter().enumerate() {
        let own: &[&str] = match resource {
            1 => &OF_READINGS,
            2 => &OF_PAYMENTS,
            _ => &[],
        };
        for atom in OF_ANY.iter().chain(own) {
            let text = format!("permit (principal, action, {scope}) when {{ {atom} }};");
            let faults = senseless(&text);
            let never = |why: &String| {
                is_whole(why) || (!atom.contains("!=") && !atom.contains('[') && why.contains("` is never `"))
            };
            if faults.iter().any(never) {
                vain += 1;
                assert_eq!(contrary(&text), None, "{text}\n{faults:?}");
            }
        }
    }
    assert!(vain > 30, "{vain}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_policy_is_called_vain_that_some_request_satisfies((_, scope, conditions) in policy()) {
        let text = format!("permit {scope} {conditions};");
        if senseless(&text).iter().any(|why| is_whole(why)) {
            prop_assert_eq!(contrary(&text), None, "{}", text);
        }
    }

    #[test]
    fn no_permit_is_called_covered_that_some_request_shows_to_pass(
        (resource, scope, conditions) in policy(),
        (other, more, narrower) in (policy(), prop::sample::select(OF_ANY.to_vec()), any::<bool>()),
    ) {
        // what the forbid asks for is mostly near to what the permit does
        let (permit, forbid) = if narrower {
            let wider = conditions.clone();
            (format!("{conditions} when {{ {more} }}"), format!("{} {wider}", scope.replace(SCOPES[2], SCOPES[0])))
        } else {
            let scope = if other.0 == resource { other.1 } else { scope.clone() };
            (conditions, format!("{scope} {}", if other.0 == resource { other.2 } else { format!("when {{ {more} }}") }))
        };
        let text = format!("permit {scope} {permit};\nforbid {forbid};");
        if senseless(&text).iter().any(|why| why.starts_with("it permits nothing")) {
            let set: PolicySet = text.parse().unwrap();
            let passes = ground().asked.iter().find(|(_, asked)| applied(&set, asked) == (vec!["policy0".to_owned()], false));
            let shown = passes.map(|(asked, _)| format!("{:?} {:?} {:?}", asked.ends, asked.said, asked.bound));
            prop_assert_eq!(shown, None, "{}", text);
        }
    }
}

/// What a refusal tells, and whether it passes.
fn verdict(set: &PolicySet, asked: &Prepared) -> (bool, bool, Vec<String>) {
    let (by, errs) = applied(set, asked);
    let forbids = by.iter().filter_map(|id| set.policy(&id.parse().ok()?));
    let mut notices: Vec<String> =
        forbids.filter_map(|policy| policy.annotation("notice")).map(str::to_owned).collect();
    notices.sort();
    notices.dedup();
    (asked.of(set).decision() == cedar_policy::Decision::Allow, errs, notices)
}

/// The set without the forbids that are called covered, if there are any.
fn without_covered(text: &str) -> Option<(PolicySet, PolicySet)> {
    let files = [("p.cedar".to_owned(), text.to_owned())];
    let written = parse(&files, &ground().limits).unwrap();
    let texts = Texts { files: &files, written: &written };
    let told = |fault: PolicyFault| match fault {
        PolicyFault::Invalid { why, policy, .. } if why.starts_with("it forbids nothing") => Some(policy),
        _ => None,
    };
    let gone: Vec<String> = WORLD.with(|world| texts.senseless(world)).into_iter().filter_map(told).collect();
    let all = || written.iter().map(|one| one.policy.clone());
    let left = all().filter(|policy| !gone.contains(&policy.id().to_string()));
    let sets = (PolicySet::from_policies(all()).unwrap(), PolicySet::from_policies(left).unwrap());
    (!gone.is_empty()).then_some(sets)
}

/// Forbids near to each other, some with a notice.
fn forbids() -> impl Strategy<Value = String> {
    let one = (policy(), prop::sample::select(OF_ANY.to_vec()), 0..8_usize);
    (policy(), prop::collection::vec(one, 1..4)).prop_map(|((resource, scope, conditions), others)| {
        let mut text = format!("permit (principal, action, resource);\nforbid {scope} {conditions};\n");
        for ((other, its, own), more, form) in others {
            let near = match form {
                0 => format!("{scope} {conditions}"),
                1 | 2 => format!("{scope} {conditions} when {{ {more} }}"),
                3 => scope.replace(SCOPES[2], SCOPES[0]),
                4 => format!("{its} {}", if other == resource { &conditions } else { &own }),
                5 => format!("{} {conditions}", scope.replace("Group::\"planners\"", "Group::\"partners\"")),
                6 => format!("(principal, action, resource) when {{ {more} }}"),
                _ => format!(
                    "{scope} {}",
                    if other == resource { own } else { format!("unless {{ {more} }}") }
                ),
            };
            let notice = ["", "", "@notice(\"a\") ", "@notice(\"b\") "][(form + more.len()) % 4];
            text.push_str(&format!("{notice}forbid {near};\n"));
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn leaving_out_every_forbid_that_is_called_covered_changes_no_verdict(text in forbids()) {
        if let Some((all, left)) = without_covered(&text) {
            for (asked, prepared) in &ground().asked {
                let shown = format!("{:?} {:?} {:?}", asked.ends, asked.said, asked.bound);
                prop_assert_eq!(verdict(&all, prepared), verdict(&left, prepared), "{}\n{}", text, shown);
            }
        }
    }
}

#[test]
fn a_good_deal_of_generated_forbids_is_called_covered() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let trees = (0..200).map(|_| forbids().new_tree(&mut runner).unwrap());
    let covered =
        trees.filter(|tree| without_covered(&proptest::strategy::ValueTree::current(tree)).is_some());
    let covered = covered.count();
    assert!(covered > 30, "{covered}");
}

#[test]
fn a_good_deal_of_generated_policies_is_called_vain_or_covered() {
    let both = |a: &str, b: &str| {
        format!("permit (principal, action, resource is payment::transfer) when {{ {a} && {b} }};")
    };
    let mut vain = 0;
    for a in OF_PAYMENTS.iter().chain(&OF_ANY) {
        for b in OF_PAYMENTS.iter().chain(&OF_ANY[..44]) {
            if senseless(&both(a, b)).iter().any(|why| is_whole(why)) {
                vain += 1;
                assert_eq!(contrary(&both(a, b)), None, "{a} {b}");
            }
        }
    }
    assert!(vain > 100, "{vain}");
}

#[test]
fn no_part_is_called_vain_that_some_request_satisfies() {
    let of = |clause: &str| format!("permit (principal, action, resource is payment::transfer) {clause};");
    let mut vain = 0;
    for a in &OF_PAYMENTS {
        for b in OF_PAYMENTS.iter().chain(&OF_ANY) {
            for part in [format!("{a} && {b}"), format!("({b}) && {a}")] {
                let told = senseless(&of(&format!("unless {{ {part} }}")));
                if told.iter().any(|why| why.contains("for no message that comes to it")) {
                    vain += 1;
                    assert_eq!(contrary(&of(&format!("when {{ {part} }}"))), None, "{part}\n{told:?}");
                }
            }
        }
    }
    assert!(vain > 100, "{vain}");
}
