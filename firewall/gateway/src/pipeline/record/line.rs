//! Format of a record: one line of JSON, with its members in fixed order.

use std::collections::{BTreeMap, BTreeSet};

use semgate_inspect::{Differs, Facts, Scored, Would};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Outcome, Record};

#[derive(Serialize)]
struct Line<'a> {
    time: u64,
    n: u64,
    decision_id: &'a str,
    direction: &'static str,
    verdict: &'static str,
    code: Option<&'static str>,
    sender: Option<&'a str>,
    receiver: Option<&'a str>,
    protocol: Option<&'static str>,
    performative: Option<&'static str>,
    context: Option<&'a str>,
    digest: Option<String>,
    concepts: &'a [String],
    policies: BTreeSet<&'a str>,
    generation: u64,
    duration_us: u64,
    /// Name of the gateway.
    gateway: &'a str,
    /// Id of the trace, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    /// Number of further refusals of the same agent and code that the record covers.
    #[serde(skip_serializing_if = "is_none")]
    others: u64,
    /// Names that the message settled for its pair and session.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    learnt: &'a [String],
    /// Digest of the action that people are asked about or approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<String>,
    /// Limits that refused the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limited: Vec<Limited<'a>>,
    /// Members that policies removed from the reply.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    redacted: &'a [String],
    /// `gateway` if the gateway answers for the message's sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    said_by: Option<&'static str>,
    /// Tasks whose tools were withheld from a list (`tool_drift`).
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tool_drift: &'a [String],
    /// Number of tasks withheld from a list, by the code of the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    withheld: BTreeMap<&'static str, usize>,
    /// Called or answering tool that no context names.
    #[serde(skip_serializing_if = "Option::is_none")]
    unnamed_tool: Option<&'a str>,
    /// Pointers of members removed before inspection, and names of dropped headers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removed: Vec<&'a str>,
    /// Digest of the policy set.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_digest: Option<String>,
    /// Differences of the shadow set's decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<Shadow<'a>>,
    /// Scores of text that policies read.
    #[serde(skip_serializing_if = "Option::is_none")]
    scan: Option<Scan<'a>>,
    /// Policy inputs, if the operator keeps them.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Limited<'a> {
    kind: &'static str,
    name: &'a str,
    rate: &'a str,
    per: &'a str,
    cost: u64,
    left: u64,
    again_in: Option<u64>,
}

impl<'a> Limited<'a> {
    fn of(one: &'a semgate_inspect::Limited) -> Self {
        let semgate_inspect::Limited { kind, name, rate, per, cost, left, again_in } = one;
        Self { kind, name, rate, per, cost: *cost, left: *left, again_in: *again_in }
    }
}

#[derive(Serialize)]
struct Shadow<'a> {
    would: &'static str,
    policies: BTreeSet<&'a str>,
    /// Members that the shadow set would have removed from the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<&'a BTreeSet<String>>,
}

impl<'a> Shadow<'a> {
    fn of(differs: &'a Differs) -> Self {
        let Differs { would, policies, redacted } = differs;
        let redacts = *would == Would::Redact || !redacted.is_empty();
        Self {
            would: would.as_str(),
            policies: policies.iter().flat_map(|ids| ids.iter()).collect(),
            redacted: redacts.then_some(redacted),
        }
    }
}

#[derive(Serialize)]
struct Scan<'a> {
    /// Digest of the model.
    model: String,
    texts: Vec<ScoredText<'a>>,
}

/// Scores of the text of one concept, as far as policies read them; never the text.
#[derive(Serialize)]
struct ScoredText<'a> {
    line: &'a str,
    concept: &'a str,
    #[serde(flatten)]
    scores: BTreeMap<&'static str, Option<u64>>,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    classes: &'a [&'static str],
}

impl<'a> Scan<'a> {
    fn of(facts: &'a Facts) -> Option<Self> {
        let text = |one: &'a Scored| ScoredText {
            line: &one.line,
            concept: &one.concept,
            scores: one.scores.made().collect(),
            classes: &one.classes,
        };
        let model = facts.scan_model?.to_string();
        Some(Self { model, texts: facts.scored.iter().map(text).collect() })
    }
}

/// Facts of a line that its record does not hold.
#[derive(Clone, Copy)]
pub(super) struct Stamp<'g> {
    pub(super) n: u64,
    pub(super) gateway: &'g str,
}

/// Appends the line of a record, including its newline.
pub(super) fn write(record: &Record, stamp: Stamp<'_>, out: &mut Vec<u8>) {
    let Record { facts, traced, .. } = record;
    let mut buffer = [0; 26];
    let code = match record.outcome {
        Outcome::Refused(code) => Some(code.as_str()),
        Outcome::Allowed | Outcome::Abandoned | Outcome::OfPeople(_) => None,
    };
    let line = Line {
        time: record.time,
        n: stamp.n,
        decision_id: record.decision.text(&mut buffer),
        direction: facts.direction.as_str(),
        verdict: record.outcome.verdict(),
        code,
        sender: known(&facts.sender),
        receiver: known(&facts.receiver),
        protocol: known(facts.protocol),
        performative: facts.performative.map(|performative| performative.as_str()),
        context: facts.context.as_deref(),
        digest: facts.digest.map(|digest| digest.to_string()),
        concepts: &facts.concepts,
        policies: facts.policies.iter().flat_map(|ids| ids.iter()).collect(),
        generation: facts.generation,
        duration_us: record.duration_us,
        gateway: stamp.gateway,
        trace_id: traced.trace_id.map(|id| format!("{id:032x}")),
        others: record.others,
        learnt: &facts.learnt,
        approval: facts.approval.map(|digest| digest.to_string()),
        limited: facts.limited.iter().map(Limited::of).collect(),
        redacted: &facts.redacted,
        said_by: facts.said_by,
        tool_drift: &facts.drifted,
        withheld: facts.withheld.iter().map(|(code, count)| (code.as_str(), *count)).collect(),
        asked: facts.asked.as_deref().and_then(|asked| serde_json::from_str(asked).ok()),
        unnamed_tool: facts.unnamed_tool.as_deref(),
        removed: facts.removed.iter().map(String::as_str).chain(traced.dropped.iter().copied()).collect(),
        policy_digest: facts.policy_digest.map(|digest| digest.to_string()),
        shadow: facts.shadow.as_deref().map(Shadow::of),
        scan: Scan::of(facts),
    };
    // only strings and numbers, so writing to memory cannot fail
    if serde_json::to_writer(&mut *out, &line).is_ok() {
        out.push(b'\n');
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

fn known(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
