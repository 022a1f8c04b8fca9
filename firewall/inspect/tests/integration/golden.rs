//! Golden pairs: a message in, its verdict out. The files in `golden/` are the table; this reads them.

use crate::common;

use bytes::Bytes;
use common::{NOW, agent, bases, form, inspector, merge, route, world};
use semgate_inspect::{
    Arrived, Code, Facts, HeaderClaims, Inspector, Now, Permit, Refusal, Route, Sent, Written,
};
use semgate_protocol::{
    Binding, Call,
    a2a::{ProtocolError, Version},
};
use semgate_statement::testing::START;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

#[derive(Deserialize)]
struct Case {
    shows: String,
    #[serde(default = "day")]
    world: String,
    #[serde(default)]
    seconds_later: u64,
    #[serde(default = "l8")]
    route: String,
    /// What was said before; all of it must have passed.
    #[serde(default)]
    before: Vec<Exchange>,
    #[serde(flatten)]
    exchange: Exchange,
    verdict: Verdict,
}

/// A request and what answers it, as far as it is told here.
#[derive(Deserialize)]
struct Exchange {
    #[serde(default = "retailer")]
    from: String,
    #[serde(default)]
    headers: HashMap<String, Vec<String>>,
    /// `rpc`, or `rest` or `grpc` with an operation; of no meaning in native L8.
    #[serde(default = "rpc")]
    form: String,
    #[serde(flatten)]
    message: Said,
    reply: Option<Reply>,
    /// The events of a stream that answers; all but the last must pass.
    #[serde(default)]
    events: Vec<Said>,
    /// Members that no golden file may have.
    #[serde(flatten)]
    unknown: HashMap<String, Value>,
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
    /// The JSON that is handed back where it is written anew.
    #[serde(default)]
    hands: Option<Value>,
    /// The number of the agent's error that is repeated.
    #[serde(default)]
    number: Option<i32>,
}

fn rpc() -> String {
    "rpc".to_owned()
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

fn bytes(said: &Said) -> Vec<u8> {
    if let Some(raw) = &said.raw {
        return raw.replace("<PAD>", &"x".repeat(said.pad.unwrap_or(0))).into_bytes();
    }
    let base = said.base.as_ref().expect("a case has `base` or `raw`");
    let mut message = bases()[base].clone();
    assert!(!message.is_null(), "there is no base `{base}`");
    if let Some(change) = &said.change {
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
    Passed { concepts: Vec<String>, policies: Vec<String>, hands: Option<Value> },
    Refused(Refusal),
}

impl Outcome {
    fn passed(facts: &Facts) -> Self {
        let policies = facts.policy_ids().into_iter().map(str::to_owned).collect();
        Self::Passed { concepts: facts.concepts.clone(), policies, hands: None }
    }
}

/// The golden case with the inspector that judges it.
struct Scene<'s> {
    inspector: &'s Inspector,
    route: Arc<Route>,
    now: Now,
    shows: &'s str,
}

impl Scene<'_> {
    fn play(&self, said: &Exchange) -> Outcome {
        assert!(said.unknown.is_empty(), "{}: {:?}", self.shows, said.unknown.keys());
        match self.exchange(said) {
            Ok(outcome) => outcome,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    fn exchange(&self, said: &Exchange) -> Result<Outcome, Refusal> {
        let (permit, body) = self.request(said)?;
        let facts = permit.facts().clone();
        let (outgoing, sent) = permit.spend();
        assert_eq!(outgoing.body, body, "{}: other bytes than were judged", self.shows);
        let mut outcome = Outcome::passed(&facts);
        if let Some(reply) = &said.reply {
            outcome = self.reply(&sent, reply)?;
        }
        let mut stream = self.inspector.stream(&sent);
        for (n, event) in said.events.iter().enumerate() {
            let body = bytes(event);
            let event = Bytes::from(body.clone());
            match self.inspector.inspect_event(&sent, &mut stream, &agent("wholesaler-1"), event, self.now) {
                Ok(permit) => {
                    outcome = Outcome::passed(permit.facts());
                    assert_eq!(&permit.spend().1[..], &body[..], "{}: another event", self.shows);
                }
                Err(refusal) => {
                    assert_eq!(
                        n + 1,
                        said.events.len(),
                        "{}: event {n}: {refusal} | {}",
                        self.shows,
                        refusal.detail()
                    );
                    return Err(refusal);
                }
            }
        }
        Ok(outcome)
    }

    fn request(&self, said: &Exchange) -> Result<(Permit, Vec<u8>), Refusal> {
        let header = |name: &str| -> Vec<&str> {
            said.headers.get(name).map(|all| all.iter().map(String::as_str).collect()).unwrap_or_default()
        };
        let (l9, mut version) = (header("L9-Context"), header("A2A-Version"));
        let a2a = self.route.binding == Binding::A2a;
        if a2a && !said.headers.contains_key("A2A-Version") {
            version.push("1.0");
        }
        let peer = agent(&said.from);
        let body = bytes(&said.message);
        let call = if a2a {
            let version = Version::of(&version, &header("query")).map_err(|fault| {
                let facts = Facts { sender: peer.id().to_owned(), ..Facts::default() };
                Refusal::of_message(&fault, Binding::A2a).with_facts(facts)
            })?;
            Call::a2a(version, form(&said.form))
        } else {
            Call::l8()
        };
        let arrived = Arrived::whole(call, body.clone().into());
        let claims = HeaderClaims { l9_context: &l9 };
        Ok((self.inspector.inspect(&self.route, &peer, &claims, arrived, self.now)?, body))
    }

    fn reply(&self, sent: &Sent, reply: &Reply) -> Result<Outcome, Refusal> {
        let said = Said {
            base: reply.base.clone(),
            change: reply.change.clone(),
            raw: reply.raw.clone(),
            pad: None,
        };
        let body = bytes(&said);
        let judged = Bytes::from(body.clone());
        let permit =
            self.inspector.inspect_reply(sent, &agent(&reply.from), reply.status, judged, self.now)?;
        let (facts, written) = (permit.facts().clone(), permit.written());
        let (status, handed) = permit.spend();
        assert_eq!(status, reply.status, "{}", self.shows);
        let mut outcome = Outcome::passed(&facts);
        match (written, &mut outcome) {
            (Written::ByGateway, Outcome::Passed { hands, .. }) => {
                *hands = Some(serde_json::from_slice(&handed).unwrap());
            }
            _ => assert_eq!(&handed[..], &body[..], "{}: another reply", self.shows),
        }
        Ok(outcome)
    }
}

fn judge(case: &Case, worlds: &mut Worlds) -> Outcome {
    // what is remembered of one case is no matter of another
    let world = worlds.get(&case.world).generation();
    let inspector = &inspector(world.with_views(world.views()).unwrap());
    let now = Now { unix: NOW.unix + case.seconds_later, ..NOW };
    let scene = Scene { inspector, route: route(&case.route), now, shows: &case.shows };
    for (n, said) in case.before.iter().enumerate() {
        if let Outcome::Refused(refusal) = scene.play(said) {
            panic!("{}: before, {n}: {refusal} | {}", case.shows, refusal.detail());
        }
    }
    scene.play(&case.exchange)
}

/// What is wrong with the outcome, if anything.
fn wrong(case: &Case, outcome: &Outcome) -> Option<String> {
    let verdict = &case.verdict;
    match (outcome, &verdict.code) {
        (Outcome::Refused(refusal), None) => Some(format!("refused: {refusal} | {}", refusal.detail())),
        (Outcome::Passed { .. }, Some(code)) => Some(format!("passed, and should have been `{code}`")),
        (Outcome::Passed { concepts, policies, hands }, None) => {
            if *hands != verdict.hands {
                return Some(format!("handed back {hands:?}"));
            }
            let concepts_fit = verdict.concepts.as_ref().is_none_or(|wanted| wanted == concepts);
            let policies_fit = verdict.policies.as_ref().is_none_or(|wanted| wanted == policies);
            (!concepts_fit || !policies_fit).then(|| format!("passed with {concepts:?} by {policies:?}"))
        }
        (Outcome::Refused(refusal), Some(code)) => {
            let text = format!("{refusal}: {}", refusal.detail());
            let fits = refusal.code().as_str() == code
                && refusal.cause().map(Code::as_str) == verdict.cause.as_deref()
                && refusal.agent_error().map(ProtocolError::number) == verdict.number
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
        ("form.json", include_str!("../golden/form.json")),
        ("parties_and_contexts.json", include_str!("../golden/parties_and_contexts.json")),
        ("content.json", include_str!("../golden/content.json")),
        ("policy.json", include_str!("../golden/policy.json")),
        ("order.json", include_str!("../golden/order.json")),
        ("a2a.json", include_str!("../golden/a2a.json")),
        ("replies.json", include_str!("../golden/replies.json")),
        ("operations.json", include_str!("../golden/operations.json")),
        ("owners.json", include_str!("../golden/owners.json")),
        ("streams.json", include_str!("../golden/streams.json")),
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
        Code::HostRefused,
        Code::TargetRefused,
        Code::UpstreamUnavailable,
        Code::UpstreamTimeout,
        Code::AuditUnavailable,
        // of MCP and of handshakes, which have tests of their own
        Code::HeaderMismatch,
        Code::Replayed,
        Code::ToolDrift,
        Code::AuthorizationRequired,
        // of annotations of policies, whose tests write policies of their own (obligations.rs)
        Code::ApprovalRequired,
        // of the stage `ask`
        Code::ApprovalPending,
        Code::ApprovalDenied,
        Code::ApprovalExpired,
        Code::StateUnavailable,
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
