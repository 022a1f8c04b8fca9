//! Golden pairs: a message in, its verdict out. The files in `golden/` are the table; this reads them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{NOW, agent, bases, inspector, merge, route, world};
use semgate_inspect::{Code, HeaderClaims, Inspector, Now, Refusal, Sent};
use semgate_message::Binding;
use semgate_statement::testing::START;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    shows: String,
    #[serde(default = "day")]
    world: String,
    #[serde(default)]
    seconds_later: u64,
    #[serde(default = "l8")]
    route: String,
    #[serde(default = "retailer")]
    from: String,
    #[serde(default)]
    headers: HashMap<String, Vec<String>>,
    #[serde(flatten)]
    message: Said,
    reply: Option<Reply>,
    verdict: Verdict,
}

#[derive(Deserialize)]
struct Said {
    base: Option<String>,
    change: Option<Value>,
    raw: Option<String>,
    /// `raw` holds `<PAD>`, which stands for that many letters: no golden file should be a megabyte.
    pad: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    #[serde(default = "wholesaler")]
    from: String,
    #[serde(default = "ok")]
    status: u16,
    base: Option<String>,
    change: Option<Value>,
    raw: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    cause: Option<String>,
    /// Text that the reason, and of a refused reply the operator's detail, must hold.
    #[serde(default)]
    says: Option<String>,
    #[serde(default)]
    hints: Option<String>,
    #[serde(default)]
    concepts: Option<Vec<String>>,
    #[serde(default)]
    policies: Option<Vec<String>>,
}

fn day() -> String {
    "day".to_owned()
}

fn l8() -> String {
    "l8".to_owned()
}

fn retailer() -> String {
    "retailer-7".to_owned()
}

fn wholesaler() -> String {
    "wholesaler-1".to_owned()
}

const fn ok() -> u16 {
    200
}

fn bytes(base: Option<&String>, change: Option<&Value>, raw: Option<&String>) -> Vec<u8> {
    if let Some(raw) = raw {
        return raw.clone().into_bytes();
    }
    let mut message = bases()[base.expect("a case has `base` or `raw`")].clone();
    assert!(!message.is_null(), "there is no base `{base:?}`");
    if let Some(change) = change {
        merge(&mut message, change);
    }
    serde_json::to_vec(&message).unwrap()
}

struct Worlds(HashMap<String, Inspector>);

impl Worlds {
    fn get(&mut self, name: &str) -> &Inspector {
        self.0.entry(name.to_owned()).or_insert_with(|| inspector(world(name)))
    }
}

enum Outcome {
    Passed { concepts: Vec<String>, policies: Vec<String> },
    Refused(Refusal),
}

fn judge(case: &Case, worlds: &mut Worlds) -> Outcome {
    let inspector = worlds.get(&case.world);
    let route = route(&case.route);
    let now = Now { unix: NOW.unix + case.seconds_later, ..NOW };
    let header = |name: &str| -> Vec<&str> {
        case.headers.get(name).map(|all| all.iter().map(String::as_str).collect()).unwrap_or_default()
    };
    let (l9, mut version) = (header("L9-Context"), header("A2A-Version"));
    if route.binding == Binding::A2a && !case.headers.contains_key("A2A-Version") {
        version.push("1.0");
    }
    let claims = HeaderClaims { l9_context: &l9, a2a_version: &version };
    let said = &case.message;
    let padded = said.raw.as_ref().map(|raw| raw.replace("<PAD>", &"x".repeat(said.pad.unwrap_or(0))));
    let body = bytes(said.base.as_ref(), said.change.as_ref(), padded.as_ref());
    let permit = match inspector.inspect(&route, &agent(&case.from), &claims, body.clone().into(), now) {
        Ok(permit) => permit,
        Err(refusal) => return Outcome::Refused(refusal),
    };
    let Some(reply) = &case.reply else {
        let facts = permit.facts().clone();
        let policies = facts.policy_ids().into_iter().map(str::to_owned).collect();
        let (forwarded, _) = permit.spend();
        assert_eq!(forwarded, body, "{}: other bytes than were judged", case.shows);
        return Outcome::Passed { concepts: facts.concepts, policies };
    };
    let (_, sent): (_, Sent) = permit.spend();
    let body = bytes(reply.base.as_ref(), reply.change.as_ref(), reply.raw.as_ref());
    match inspector.inspect_reply(&sent, &agent(&reply.from), reply.status, body.clone().into(), now) {
        Ok(permit) => {
            let facts = permit.facts().clone();
            let policies = facts.policy_ids().into_iter().map(str::to_owned).collect();
            let (status, handed) = permit.spend();
            assert_eq!((status, &handed[..]), (reply.status, &body[..]), "{}: another reply", case.shows);
            Outcome::Passed { concepts: facts.concepts, policies }
        }
        Err(refusal) => Outcome::Refused(refusal),
    }
}

/// What is wrong with the outcome, if anything.
fn wrong(case: &Case, outcome: &Outcome) -> Option<String> {
    let verdict = &case.verdict;
    match (outcome, &verdict.code) {
        (Outcome::Refused(refusal), None) => Some(format!("refused: {refusal} | {}", refusal.detail())),
        (Outcome::Passed { .. }, Some(code)) => Some(format!("passed, and should have been `{code}`")),
        (Outcome::Passed { concepts, policies }, None) => {
            let concepts_fit = verdict.concepts.as_ref().is_none_or(|wanted| wanted == concepts);
            let policies_fit = verdict.policies.as_ref().is_none_or(|wanted| wanted == policies);
            (!concepts_fit || !policies_fit).then(|| format!("passed with {concepts:?} by {policies:?}"))
        }
        (Outcome::Refused(refusal), Some(code)) => {
            let text = format!("{refusal}: {}", refusal.detail());
            let fits = refusal.code().as_str() == code
                && refusal.cause().map(Code::as_str) == verdict.cause.as_deref()
                && verdict.says.as_ref().is_none_or(|says| text.contains(says))
                && verdict.hints.as_ref().is_none_or(|hint| refusal.hint().contains(hint));
            let dressed = !refusal.hint().is_empty()
                && !refusal.reason().contains('\n')
                && !refusal.reason().ends_with('.')
                && !refusal.facts().sender.is_empty();
            (!fits || !dressed).then(|| {
                format!(
                    "{refusal} | cause {:?} | {} | hint: {}",
                    refusal.cause(),
                    refusal.detail(),
                    refusal.hint()
                )
            })
        }
    }
}

fn files() -> Vec<(&'static str, Vec<Case>)> {
    [
        ("form.json", include_str!("golden/form.json")),
        ("parties_and_contexts.json", include_str!("golden/parties_and_contexts.json")),
        ("content.json", include_str!("golden/content.json")),
        ("policy.json", include_str!("golden/policy.json")),
        ("order.json", include_str!("golden/order.json")),
        ("a2a.json", include_str!("golden/a2a.json")),
        ("replies.json", include_str!("golden/replies.json")),
    ]
    .into_iter()
    .map(|(name, text)| (name, serde_json::from_str(text).unwrap_or_else(|fault| panic!("{name}: {fault}"))))
    .collect()
}

#[test]
fn every_message_gets_its_verdict() {
    let mut worlds = Worlds(HashMap::new());
    let (mut count, mut faults) = (0, Vec::new());
    for (file, cases) in files() {
        for case in &cases {
            count += 1;
            let outcome = judge(case, &mut worlds);
            if let Some(fault) = wrong(case, &outcome) {
                faults.push(format!("{file}: {}\n    {fault}", case.shows));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
    assert!(count >= 60, "{count} cases");
}

#[test]
fn no_refusal_repeats_what_the_message_says() {
    let mut worlds = Worlds(HashMap::new());
    for (file, cases) in files() {
        for case in &cases {
            if let Outcome::Refused(refusal) = judge(case, &mut worlds) {
                for value in ["attacker@evil.com", "beer", "happy", "New York", "SECRET", "12000", "demand"] {
                    let said = format!("{refusal} {} {}", refusal.hint(), refusal.detail());
                    assert!(!said.contains(value), "{file}: {}: {said}", case.shows);
                }
            }
        }
    }
}

/// Every code that the inspector gives has a golden case; the two of the meters have tests of their own.
#[test]
fn every_code_of_the_inspector_has_a_case() {
    let mut seen = BTreeSet::new();
    for (_, cases) in files() {
        for case in cases {
            seen.extend(case.verdict.code);
            seen.extend(case.verdict.cause);
        }
    }
    let elsewhere = [
        // of the gateway
        Code::EncodingUnsupported,
        Code::TooSlow,
        Code::UpstreamUnavailable,
        Code::UpstreamTimeout,
        Code::AuditUnavailable,
        // of protocols to come
        Code::NotFound,
        Code::AgentError,
        Code::HeaderMismatch,
        Code::Replayed,
        Code::ToolDrift,
        // of the meters
        Code::AmbiguityLimited,
        Code::RateLimited,
    ];
    for code in Code::ALL {
        let wanted = !elsewhere.contains(code);
        assert_eq!(seen.contains(code.as_str()), wanted, "`{code}`");
    }
    assert_eq!(NOW.unix, START + 60);
}
