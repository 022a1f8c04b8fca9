//! Index, memory and the habit of handing over only what is read never change a verdict: held against Cedar's plain
//! authorizer over the whole set, all agents, the whole instance and the whole context record, over generated policies,
//! entities and questions.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use cedar_policy::{
    Authorizer, Context as CedarContext, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid,
    PolicySet, Request, Response, RestrictedExpression, Schema,
};
use proptest::prelude::*;
use semgate_contexts::Performative;
use serde_json::json;

use super::around::{around, plain_agent, plain_circumstances};
use super::{
    Ask, COURIER, House, OPERATOR, RETAILER, STRANGER, TREASURER, WEBAPP, WHOLESALER, denied, one_file,
    shipped_contexts, transfer,
};
use crate::catalogue::Catalogue;
use crate::convert;
use crate::{
    AgentEntry, Obligations, Policies, PolicyFault, PolicyLimits, PolicySource, Question, Texts, Verdict,
    reads,
};

const PRINCIPALS: [&str; 7] = [
    "principal",
    "principal is Agent",
    "principal == Agent::\"spiffe://semgate.test/agent/retailer-7\"",
    "principal == Agent::\"spiffe://semgate.test/agent/wholesaler-1\"",
    "principal in Group::\"partners\"",
    "principal is Agent in Group::\"planners\"",
    "principal in Agent::\"spiffe://semgate.test/agent/courier-5\"",
];

const ACTIONS: [&str; 4] = [
    "action",
    "action == Action::\"INFORM\"",
    "action in [Action::\"REQUEST\", Action::\"QUERY\"]",
    "action",
];

const RESOURCES: [&str; 6] = [
    "resource",
    "resource is payment::transfer",
    "resource is supplyChain::current_decision",
    "resource is supplyChain::decision_contingency",
    "resource is snl::ambiguous_parameter",
    "resource",
];

const CONDITIONS: [&str; 44] = [
    "when { resource has amount && [decimal(\"0.0\"), decimal(\"12000.0\")].contains(resource.amount) }",
    "when { resource has amount && resource.amount.lessThanOrEqual(decimal(\"10000.0\")) }",
    "unless { resource is payment::transfer && {a: resource.amount} == {a: decimal(\"10000.0001\")} }",
    "when { resource has amount && (resource.amount.lessThan(decimal(\"0.0001\")) || resource.amount.greaterThanOrEqual(decimal(\"922337203685477.58\"))) }",
    "",
    "when { context.free_text }",
    "unless { context.direction == \"reply\" }",
    "when { context.major > 1 && context.minor == 0 }",
    "when { context.binding == \"l8\" || context.direction like \"re*\" }",
    "when { context.receiver == Agent::\"spiffe://semgate.test/agent/wholesaler-1\" }",
    "when { context.receiver in Group::\"repliers\" }",
    "when { context.receiver.credentials.contains(\"high-value-authorized\") }",
    "when { principal == context.receiver }",
    "unless { principal.credentials.contains(\"high-value-authorized\") }",
    "when { principal in Group::\"planners\" || principal in Group::\"repliers\" }",
    "when { Agent::\"spiffe://semgate.test/agent/treasurer-1\".credentials.containsAll(principal.credentials) }",
    "when { principal.credentials == Agent::\"spiffe://semgate.test/agent/wholesaler-1\".credentials }",
    "when { resource is payment::transfer && resource.amount.greaterThan(decimal(\"10000.0\")) }",
    "when { resource has quantity && resource.quantity * 9223372036854775807 > 7 }",
    "when { resource has amount } unless { resource has quantity }",
    "when { if context.free_text then resource has then_change_text else context.major == 1 }",
    "when { action == Action::\"QUERY\" && principal has credentials }",
    "when { [Action::\"INFORM\", Action::\"AGREE\"].contains(action) }",
    "when { resource has parameter && resource.parameter like \"d*\" }",
    "when { context.major * 9223372036854775807 > 0 }",
    "when { resource is supplyChain::current_decision || resource is snl::ambiguous_parameter }",
    "when { principal.trust_domain == \"semgate.test\" }",
    "unless { context.receiver.trust_domain == principal.trust_domain }",
    "when { context.binding_version == \"1.0\" || context.line == \"payment\" }",
    "when { context.locked }",
    "unless { context has session && context.session.expires > context.now }",
    "when { context has session && context.session.expires.durationSince(context.now) > duration(\"5m\") }",
    "when { context.now < datetime(\"2027-01-15T08:00:00Z\") }",
    "when { context.now.toTime() < duration(\"8h\") }",
    "when { context.scores.text_length > 3 || context.scores.concepts > 1 }",
    "when { context.scores.injection >= 75 || context.scores.markers > 1 && context.scores.hidden == 0 }",
    "when { context.scores has unusual && context.scores.unusual >= 990 }",
    "unless { context.scores.message_bytes < 1000 && context.scores.ambiguous == 0 }",
    "when { principal.credentials.contains(\"cert:policy:1.1\") }",
    "unless { principal.credentials.contains(\"token:hr:b\") }",
    "when { context.receiver.credentials.contains(\"token:hr:b\") }",
    "when { Agent::\"spiffe://semgate.test/agent/retailer-7\".credentials.contains(\"cert:policy:1.1\") }",
    "when { Agent::\"spiffe://semgate.test/agent/wholesaler-1\".trust_domain == principal.trust_domain }",
    "when { context.binding_version like \"*\" && principal in Group::\"partners\" }",
];

/// Beside them, so that no set is without a permit.
const PERMITTED: [&str; 1] = ["@id(\"more\") permit (principal, action, resource is snl::LOCK);"];

/// Policies that are valid by themselves, so that every set of them loads.
fn pool() -> &'static [String] {
    static POOL: OnceLock<Vec<String>> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut all = Vec::new();
        // Every condition with 14 scopes, spread over the combinations.
        for (c, condition) in CONDITIONS.iter().enumerate() {
            for n in 0..14 {
                let mixed = c * 31 + n * 17;
                let effect = if mixed % 5 < 3 { "permit" } else { "forbid" };
                let (p, a, r) = (PRINCIPALS[mixed % 7], ACTIONS[(mixed / 3) % 4], RESOURCES[(mixed / 2) % 6]);
                all.push(format!("@id(\"{c}-{n}\") {effect} ({p}, {a}, {r}) {condition};"));
            }
        }
        let limits = PolicyLimits { max_left_out_tries: 0, ..PolicyLimits::default() };
        let refused: HashSet<String> =
            match Policies::load(&one_file(&all.join("\n")), &shipped_contexts(), &limits) {
                Ok(_) => HashSet::new(),
                Err(faults) => faults
                    .iter()
                    .map(|fault| match fault {
                        PolicyFault::Invalid { policy, .. } => policy.replace("p.cedar#", "@id(\"") + "\")",
                        other => panic!("{other}"),
                    })
                    .collect(),
            };
        all.retain(|policy| !refused.iter().any(|id| policy.starts_with(id.as_str())));
        assert!(all.len() > 100, "{} policies left", all.len());
        all
    })
}

fn senders() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        RETAILER,
        WEBAPP,
        TREASURER,
        COURIER,
        WHOLESALER,
        OPERATOR,
        STRANGER,
        "spiffe://semgate.test/agent/nobody-else",
        "spiffe://elsewhere.test/agent/nobody",
    ])
}

/// Urn, term, performative and instance.
fn stated() -> impl Strategy<Value = (&'static str, &'static str, Performative, String)> {
    let amounts = prop::sample::select(vec!["0", "10000", "10000.0001", "1.2e4", "922337203685477.58"]);
    let payments = (prop::sample::select(vec!["payment:v1.0", "payment:v1.1", "payment:v2.0"]), amounts)
        .prop_map(|(urn, amount)| (urn, "transfer", transfer(amount)));
    let decisions = prop::sample::select(vec!["0", "1", "2.0", "900"]).prop_map(|n| {
        ("supplyChain:v1.0", "current_decision", format!(r#"{{"item_id":"x","quantity":{n}}}"#))
    });
    let texts = prop::sample::select(vec!["", "more"]).prop_map(|text| {
        let value = format!(r#"{{"if_condition_text":"","then_change_text":"{text}"}}"#);
        ("supplyChain:v1.0", "decision_contingency", value)
    });
    let questions = prop::sample::select(vec!["date", "code"]).prop_map(|name| {
        ("snl:v1.0", "ambiguous_parameter", format!(r#"{{"parameter":"{name}","value":"x"}}"#))
    });
    let actions = prop::sample::select(vec![
        Performative::Inform,
        Performative::Request,
        Performative::Query,
        Performative::Agree,
    ]);
    (prop_oneof![payments, decisions, texts, questions], actions)
        .prop_map(|((urn, term, value), action)| (urn, term, action, value))
}

struct Plain {
    set: PolicySet,
}

fn typed() -> &'static (Catalogue, Schema) {
    static TYPED: OnceLock<(Catalogue, Schema)> = OnceLock::new();
    TYPED.get_or_init(|| {
        let catalogue = Catalogue::build(&shipped_contexts());
        let schema = catalogue.schema().unwrap();
        (catalogue, schema)
    })
}

impl Plain {
    fn new(policies: &str) -> Self {
        Self { set: policies.parse().unwrap() }
    }

    /// Cedar by the book: everything is there, and everything is checked against the schema. Nobody asks it for a disabled agent.
    fn decide(&self, house: &House, question: &Question<'_>) -> Verdict {
        for (id, notice) in
            [(question.sender, "the sender is disabled"), (question.receiver, "the receiver is disabled")]
        {
            if house.policies.agent(id).is_some_and(|entry| entry.disabled) {
                return denied(&[], &[notice]);
            }
        }
        let response = prepared(typed(), house.policies.agents(), question).of(&self.set);
        let name = |id: &cedar_policy::PolicyId| {
            let own = self.set.annotation(id, "id").unwrap();
            format!("p.cedar#{own}")
        };
        let erred: Vec<String> = response
            .diagnostics()
            .errors()
            .map(|cedar_policy::AuthorizationError::PolicyEvaluationError(error)| name(error.policy_id()))
            .collect();
        if !erred.is_empty() {
            return Verdict::Errored { policies: erred.into_iter().collect(), why: "".into() };
        }
        let policies: Texts = response.diagnostics().reason().map(name).collect();
        match response.decision() {
            Decision::Allow => Verdict::Permitted { policies, obligations: Obligations::default() },
            Decision::Deny => Verdict::Denied { policies, notices: Texts::default() },
        }
    }
}

/// A question as Cedar's authorizer is asked it, given everything: made once, it can be asked of any set.
#[derive(Debug)]
pub(super) struct Prepared(Request, Entities);

impl Prepared {
    /// What Cedar's authorizer says to it.
    pub fn of(&self, set: &PolicySet) -> Response {
        Authorizer::new().is_authorized(&self.0, set, &self.1)
    }
}

/// Makes one, checked against the schema.
pub(super) fn prepared(
    (catalogue, schema): &(Catalogue, Schema),
    agents: &[AgentEntry],
    question: &Question<'_>,
) -> Prepared {
    let uid = |name: &str, id: &str| {
        EntityUid::from_type_name_and_id(name.parse::<EntityTypeName>().unwrap(), EntityId::new(id))
    };
    let shape = catalogue.shape(question.context.digest(), question.shape.name()).unwrap();
    let resource = catalogue.types[shape.of_type].uid.clone();
    let all = reads::Attributes { all: true, ..Default::default() };
    let attributes = convert::attributes(
        &shape.attributes,
        &all,
        question.value,
        question.without,
        convert::Decimals::Cedar,
    )
    .unwrap();
    let mut entities = vec![Entity::new_with_tags(resource.clone(), attributes, [], []).unwrap()];
    for agent in agents {
        let parents = agent.groups.iter().map(|group| uid("Group", group));
        let attributes = plain_agent(&agent.id, &agent.credentials, question);
        entities.push(Entity::new_with_tags(uid("Agent", &agent.id), attributes, parents, []).unwrap());
    }
    for id in HashSet::from([question.sender, question.receiver]) {
        if !agents.iter().any(|agent| agent.id == id) {
            let attributes = plain_agent(id, &[], question);
            entities.push(Entity::new_with_tags(uid("Agent", id), attributes, [], []).unwrap());
        }
    }
    let entities = Entities::from_entities(entities, Some(schema)).unwrap();
    let version = question.context.urn().version();
    let context = CedarContext::from_pairs(plain_circumstances(question).into_iter().chain([
        ("receiver".to_owned(), RestrictedExpression::new_entity_uid(uid("Agent", question.receiver))),
        ("major".to_owned(), RestrictedExpression::new_long(version.major.into())),
        ("minor".to_owned(), RestrictedExpression::new_long(version.minor.into())),
        ("binding".to_owned(), RestrictedExpression::new_string(question.binding.to_owned())),
        ("direction".to_owned(), RestrictedExpression::new_string(question.direction.to_owned())),
        (
            "free_text".to_owned(),
            RestrictedExpression::new_bool(question.shape.has_free_text(question.value)),
        ),
    ]))
    .unwrap();
    let action = uid("Action", question.action.as_str());
    let request =
        Request::new(uid("Agent", question.sender), action, resource, context, Some(schema)).unwrap();
    Prepared(request, entities)
}

/// Cedar's words for an error name the first policy that erred, in no fixed order.
fn without_words(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Errored { policies, .. } => Verdict::Errored { policies, why: "".into() },
        other => other,
    }
}

pub(super) fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48)
}

/// One case in so many of `SEMGATE_FUZZ_CASES`: each loads two sets, which without optimisation takes a hundred times as long as what other such
/// tests do in a case.
const ONE_IN: u32 = 20;

/// So that a few are run whatever is asked for, and by who asks for none.
const FEWEST: u32 = 48;

/// Groups of the generated `entities.json`, as the policies name them.
const GROUPS: [&str; 5] = ["no-free-text", "partners", "planners", "repliers", "nobody-asks"];

/// Credentials that it gives; agents show others, which end.
const GIVEN: [&str; 2] = ["high-value-authorized", "of-no-policy"];

/// Who is listed, in which groups and with what, and who is disabled: whoever policies name may be missing.
fn entities() -> impl Strategy<Value = Vec<u8>> {
    let names = vec![
        RETAILER,
        WEBAPP,
        TREASURER,
        COURIER,
        WHOLESALER,
        OPERATOR,
        STRANGER,
        "spiffe://elsewhere.test/agent/nobody",
    ];
    let one = |id: &'static str| {
        let groups = prop::sample::subsequence(GROUPS.to_vec(), 0..=GROUPS.len());
        let given = prop::sample::subsequence(GIVEN.to_vec(), 0..=GIVEN.len());
        (groups, given, 0..16_u8).prop_map(move |(groups, credentials, lot)| {
            let entry = json!({"id": id, "groups": groups, "credentials": credentials, "disabled": lot == 0});
            (lot < 13).then_some(entry)
        })
    };
    let all: Vec<_> = names.into_iter().map(one).collect();
    all.prop_map(|agents| {
        let agents: Vec<_> = agents.into_iter().flatten().collect();
        json!({"groups": GROUPS, "credentials": GIVEN, "agents": agents}).to_string().into_bytes()
    })
}

fn with(policies: &str, entities: Vec<u8>) -> House {
    let (source, contexts) = (PolicySource { entities, ..one_file(policies) }, shipped_contexts());
    let limits = PolicyLimits::default();
    // names that these entities do not declare are former ones
    let live =
        Policies::load(&one_file(policies), &contexts, &limits).unwrap_or_else(|faults| panic!("{faults:?}"));
    let loaded = live.reload(&source, &contexts, &limits);
    House { policies: loaded.unwrap_or_else(|faults| panic!("{faults:?}\n{policies}")), contexts }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (cases() / ONE_IN).max(FEWEST), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fuzz_index_and_memory_never_change_a_verdict(
        chosen in prop::collection::hash_set(0..pool().len(), 1..14),
        entities in [entities(), entities()],
        asked in prop::collection::vec((senders(), senders(), stated(), bindings(), any::<bool>(), around()), 24),
        order in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 96),
    ) {
        let policies: Vec<&str> =
            PERMITTED.into_iter().chain(chosen.iter().map(|n| pool()[*n].as_str())).collect();
        let policies = policies.join("\n");
        // Two generations that differ in who is listed, in which groups, and with what, asked in turns.
        let houses = entities.map(|entities| with(&policies, entities));
        let plain = Plain::new(&policies);
        let mut known: HashMap<(usize, bool), Verdict> = HashMap::new();
        for (index, second) in order {
            let at = index.index(asked.len());
            let (sender, receiver, (urn, term, action, value), binding, reply, around) = &asked[at];
            let house = &houses[usize::from(second)];
            if house.context(urn).term(term).unwrap().side(*action).is_err() {
                continue;
            }
            let ask = Ask {
                sender, receiver, action: *action, urn, term, value, binding,
                direction: if *reply { "reply" } else { "request" },
                around: around.borrowed(),
            };
            house.question(ask, |question| {
                let ours = without_words(house.policies.decide(question));
                let theirs = known.entry((at, second)).or_insert_with(|| plain.decide(house, question));
                prop_assert_eq!(&ours, &*theirs, "{:?}\n{}", ask, policies);
                Ok(())
            })?;
        }
    }
}

fn bindings() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["l8", "a2a", "mcp", "unheard-of"])
}
