//! Cedar's own integration tests through the tables of scopes: for each request the policies that are found, without their scopes, decide
//! as the plain authorizer over the whole set does, with the same policies and the same errors, and as the test expects.
//!
//! `SEMGATE_CEDAR_TESTS` names a checkout of `cedar-policy/cedar-integration-tests`, whose corpus of generated tests is unpacked beside the
//! hand-written ones; `tests/interop/cedar/run.py` does that. Without it the same is held over generated policies, hierarchies and requests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cedar_policy::{
    Authorizer, Context, Decision, Effect, Entities, Entity, EntityUid, Policy, PolicySet, Request, Response,
    Schema,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scope::{Action, Key, Scope, Scopes};
use crate::wants::Wants;

/// Decision, policies that determined it, policies that erred.
type Outcome = (Decision, BTreeSet<String>, BTreeSet<String>);

fn plain(request: &Request, set: &PolicySet, entities: &Entities) -> Outcome {
    let response: Response = Authorizer::new().is_authorized(request, set, entities);
    let reasons = response.diagnostics().reason().map(ToString::to_string).collect();
    let errors = response.diagnostics().errors();
    let errors = errors
        .map(|cedar_policy::AuthorizationError::PolicyEvaluationError(error)| error.policy_id().to_string());
    (response.decision(), reasons, errors.collect())
}

fn above(entities: &Entities, uid: &EntityUid) -> Vec<EntityUid> {
    entities.ancestors(uid).map(|all| all.cloned().collect()).unwrap_or_default()
}

/// The same policy for anybody, any action and anything.
fn unscoped(policy: &Policy) -> Policy {
    let mut form = policy.to_json().unwrap();
    for side in ["principal", "action", "resource"] {
        form[side] = json!({"op": "All"});
    }
    Policy::from_json(Some(policy.id().clone()), form).unwrap()
}

/// The answer out of the policies that the tables find, asked for their conditions alone; and how many they are.
fn through_scopes(request: &Request, policies: &[Policy], entities: &Entities) -> (Outcome, usize) {
    let (principal, action) = (request.principal().unwrap(), request.action().unwrap());
    let resource = request.resource().unwrap();
    let scopes: Vec<Scope> = policies.iter().map(Scope::of).collect();
    let actions = [Action { uid: action.clone(), ancestors: above(entities, action) }];
    let tables = Scopes::build(scopes.iter().map(|scope| (scope, Wants::default(), &[] as &[Key])), &actions);
    let of_principal = tables.principal_keys(&Key::holding(principal, above(entities, principal)));
    let of_resource = tables.resource_keys(&Key::holding(resource, above(entities, resource)));
    let mut lots = Vec::new();
    tables.find(&of_principal, 0, &of_resource, &mut lots);
    let resolved: Vec<&Policy> =
        lots.iter().flat_map(|lot| &lot.rules).map(|at| &policies[*at as usize]).collect();
    let (mut permits, mut forbids, mut errors) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for policy in &resolved {
        let alone = PolicySet::from_policies([unscoped(policy)]).unwrap();
        let (_, applies, erred) = plain(request, &alone, entities);
        errors.extend(erred);
        if policy.effect() == Effect::Permit { permits.extend(applies) } else { forbids.extend(applies) }
    }
    let (decision, reasons) = match (forbids.is_empty(), permits.is_empty()) {
        (false, _) => (Decision::Deny, forbids),
        (true, false) => (Decision::Allow, permits),
        (true, true) => (Decision::Deny, BTreeSet::new()),
    };
    ((decision, reasons, errors), resolved.len())
}

#[derive(Debug, Default)]
struct Count {
    files: usize,
    requests: usize,
    allowed: usize,
    erred: usize,
    policies: usize,
    resolved: usize,
    skipped: usize,
}

fn names(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn run(root: &Path, file: &Path, count: &mut Count) {
    let read = |name: &Value| std::fs::read_to_string(root.join(name.as_str().unwrap())).unwrap();
    let test: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let Ok((schema, _)) = Schema::from_cedarschema_str(&read(&test["schema"])) else {
        count.skipped += 1;
        return;
    };
    let set: PolicySet = read(&test["policies"]).parse().unwrap();
    let entities = Entities::from_json_str(&read(&test["entities"]), Some(&schema)).unwrap();
    let policies: Vec<Policy> = set.policies().cloned().collect();
    count.files += 1;
    for asked in test["requests"].as_array().unwrap() {
        let uid = |name: &str| EntityUid::from_json(asked[name].clone()).ok();
        let (Some(principal), Some(action), Some(resource)) =
            (uid("principal"), uid("action"), uid("resource"))
        else {
            count.skipped += 1;
            continue;
        };
        let checked = asked["validateRequest"].as_bool().unwrap_or(true).then_some(&schema);
        let context = Context::from_json_value(asked["context"].clone(), Some((&schema, &action))).unwrap();
        let request = Request::new(principal, action, resource, context, checked).unwrap();
        let whole = plain(&request, &set, &entities);
        let (ours, resolved) = through_scopes(&request, &policies, &entities);
        assert_eq!(ours, whole, "{} {}", file.display(), asked["description"]);
        let expected = if asked["decision"] == "allow" { Decision::Allow } else { Decision::Deny };
        let expected = (expected, names(&asked["reason"]), names(&asked["errors"]));
        assert_eq!(ours, expected, "{} {}", file.display(), asked["description"]);
        count.requests += 1;
        count.allowed += usize::from(ours.0 == Decision::Allow);
        count.erred += usize::from(!ours.2.is_empty());
        count.policies += policies.len();
        count.resolved += resolved;
    }
}

/// Every test below a directory: a JSON file with requests.
fn tests_below(directory: &Path, resolved: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            tests_below(&path, resolved);
        } else if name.ends_with(".json") && !name.ends_with(".entities.json") {
            resolved.push(path);
        }
    }
}

#[test]
fn cedars_own_tests_decide_through_the_tables_as_expected() {
    let Some(root) = std::env::var_os("SEMGATE_CEDAR_TESTS").map(PathBuf::from) else { return };
    for part in ["tests", "corpus-tests"] {
        let (mut files, mut count) = (Vec::new(), Count::default());
        if root.join(part).is_dir() {
            tests_below(&root.join(part), &mut files);
        }
        files.sort();
        assert!(!files.is_empty(), "no test below {part}");
        files.iter().for_each(|file| run(&root, file, &mut count));
        println!("{part}: {count:?}");
    }
}

const KINDS: [&str; 3] = ["A", "B", "N::C"];

fn uid(kind: usize, n: usize) -> EntityUid {
    format!("{}::\"{n}\"", KINDS[kind]).parse().unwrap()
}

/// One side of a scope, of every form.
fn side(var: &'static str) -> impl Strategy<Value = String> {
    (0..6_usize, 0..3_usize, 0..3_usize, 0..3_usize).prop_map(move |(form, kind, other, n)| match form {
        0 => var.to_owned(),
        1 => format!("{var} is {}", KINDS[kind]),
        2 => format!("{var} == {}", uid(kind, n)),
        3 | 4 => format!("{var} in {}", uid(kind, n)),
        _ => format!("{var} is {} in {}", KINDS[kind], uid(other, n)),
    })
}

fn action() -> impl Strategy<Value = String> {
    let one = || (0..5_usize).prop_map(|n| format!("Action::\"{n}\""));
    prop_oneof![
        Just("action".to_owned()),
        one().prop_map(|uid| format!("action == {uid}")),
        one().prop_map(|uid| format!("action in {uid}")),
        prop::collection::vec(one(), 0..4).prop_map(|uids| format!("action in [{}]", uids.join(", "))),
    ]
}

const CONDITIONS: [&str; 6] = [
    "",
    "when { context.n > 1 }",
    "unless { principal in A::\"0\" }",
    "when { principal.absent }",
    "when { resource has absent || resource in principal } unless { context.n == 2 }",
    "when { 9223372036854775807 + context.n > 0 }",
];

fn policy() -> impl Strategy<Value = String> {
    let condition = prop::sample::select(CONDITIONS.to_vec());
    (any::<bool>(), side("principal"), action(), side("resource"), condition).prop_map(
        |(permit, principal, action, resource, condition)| {
            let effect = if permit { "permit" } else { "forbid" };
            format!("{effect} ({principal}, {action}, {resource}) {condition};")
        },
    )
}

/// A hierarchy without a cycle: who stands later in the list may have any that stand before as parents.
fn hierarchy() -> impl Strategy<Value = Entities> {
    prop::collection::vec(any::<u16>(), 14).prop_map(|parents| {
        let action = |n: usize| format!("Action::\"{n}\"").parse().unwrap();
        let mut entities = Vec::new();
        let all: Vec<EntityUid> = (0..9).map(|n| uid(n % 3, n / 3)).collect();
        let actions: Vec<EntityUid> = (0..5).map(action).collect();
        for (list, bits) in [(&all, &parents[..9]), (&actions, &parents[9..])] {
            for (at, (own, bits)) in list.iter().zip(bits).enumerate() {
                // Every third is not there at all.
                if bits % 3 == 0 {
                    continue;
                }
                let above = list.iter().take(at).enumerate();
                let above = above.filter(|(n, _)| bits >> (4 + n) & 1 == 1).map(|(_, uid)| uid.clone());
                entities.push(Entity::new_no_attrs(own.clone(), above.collect()));
            }
        }
        Entities::from_entities(entities, None).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tables_decide_as_the_whole_set_does(
        policies in prop::collection::vec(policy(), 1..12),
        entities in hierarchy(),
        asked in prop::collection::vec((0..9_usize, 0..5_usize, 0..9_usize, 0..3_i64), 12),
    ) {
        let set: PolicySet = policies.join("\n").parse().unwrap();
        let policies: Vec<Policy> = set.policies().cloned().collect();
        for (principal, action, resource, n) in asked {
            let of = |n: usize| uid(n % 3, n / 3);
            let context = Context::from_json_value(json!({"n": n}), None).unwrap();
            let action = format!("Action::\"{action}\"").parse().unwrap();
            let request = Request::new(of(principal), action, of(resource), context, None).unwrap();
            let (ours, _) = through_scopes(&request, &policies, &entities);
            prop_assert_eq!(ours, plain(&request, &set, &entities), "{}\n{}", request, set);
        }
    }
}
