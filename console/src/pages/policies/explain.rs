//! The explanation of one question: who says which concept to whom, and what policies make of it.

use askama::Template;
use semgate_contexts::{ContextUrn, Performative, Prefix, json};
use semgate_policies::{Circumstances, Question, Scores};
use semgate_policy_analysis::{Condition, Explanation, Holds, Part, Weighed};

use super::{directory, set};
use crate::answer::{Answer, Frame, html};
use crate::clock::now;
use crate::guard::{Members, Visit};
use crate::sets::Analysed;
use crate::visible::filters;

/// The members of the form, as they were typed.
#[derive(Default)]
struct Typed {
    sender: String,
    receiver: String,
    context: String,
    concept: String,
    performative: String,
    content: String,
}

impl Typed {
    fn read(members: &Members) -> Self {
        let text = |name| members.get(name).unwrap_or_default().to_owned();
        Self {
            sender: text("sender"),
            receiver: text("receiver"),
            context: text("context"),
            concept: text("concept"),
            performative: text("performative"),
            content: text("content"),
        }
    }
}

/// The answer of the policies.
struct Explained {
    verdict: String,
    passes: bool,
    note: Option<String>,
    policies: Vec<PolicyRow>,
}

/// One policy that had to do with it.
struct PolicyRow {
    id: String,
    effect: &'static str,
    location: String,
    part: &'static str,
    extras: Vec<String>,
    conditions: Vec<(String, &'static str)>,
}

#[derive(Template)]
#[template(path = "explain.html")]
struct Page {
    frame: Frame,
    typed: Typed,
    agents: Vec<String>,
    contexts: Vec<String>,
    performatives: Vec<&'static str>,
    outcome: Option<Result<Explained, String>>,
    faults: usize,
}

/// `GET` and `POST /policies/explain`. The content stays out of addresses and logs, so the form is a POST; it changes nothing.
pub(crate) async fn explain(visit: Visit) -> Answer {
    let set = set(&visit.app, directory(&visit)?).await?;
    let asks = visit.form.get("sender").is_some();
    let typed = Typed::read(if asks { &visit.form } else { &visit.query });
    let performatives = Performative::ALL.iter().map(|one| one.as_str()).collect();
    let frame = visit.frame("/policies");
    let page = match &set.outcome {
        Err(faults) => {
            let (agents, contexts, faults) = (Vec::new(), Vec::new(), faults.len());
            Page { frame, typed, agents, contexts, performatives, outcome: None, faults }
        }
        Ok(analysed) => {
            let name = |agent: &semgate_policies::AgentEntry| agent.alias.clone().unwrap_or(agent.id.clone());
            Page {
                frame,
                agents: analysed.explainer.policies().agents().iter().map(name).collect(),
                contexts: analysed.contexts.iter().map(|context| context.urn().to_string()).collect(),
                performatives,
                outcome: asks.then(|| answer(analysed, &typed)),
                typed,
                faults: 0,
            }
        }
    };
    html(&page)
}

/// Asks the policies.
///
/// # Errors
/// The reason that there is no question: an unknown name, or content that does not conform.
fn answer(analysed: &Analysed, typed: &Typed) -> Result<Explained, String> {
    let urn = ContextUrn::parse(&typed.context, &Prefix::default()).map_err(|why| why.to_string())?;
    let context = analysed.contexts.iter().find(|context| *context.urn() == urn);
    let context = context.ok_or("this context is not published")?;
    let term = context.term(&typed.concept).ok_or("the context does not define this concept")?;
    let action: Performative =
        typed.performative.parse().map_err(|_| "this is no performative".to_owned())?;
    let shape = term.side(action).map_err(|_| "the concept does not take this performative".to_owned())?;
    let read = json::read(typed.content.as_bytes(), &json::Limits::default());
    let read = read.map_err(|why| format!("the content is not strict JSON: {why}"))?;
    let value = read.as_object().ok_or("the content is not an object")?;
    if let Err(fault) = shape.conform(value, None) {
        return Err(format!("content_invalid at `{}`: {}", fault.path, fault.rule));
    }
    let policies = analysed.explainer.policies();
    let id = |name: &str| policies.by_alias(name).map_or_else(|| name.to_owned(), |agent| agent.id.clone());
    let (sender, receiver) = (id(&typed.sender), id(&typed.receiver));
    let bytes = u64::try_from(typed.content.len()).unwrap_or(u64::MAX);
    let scores = Scores { message_bytes: bytes, concepts: 1, ..Scores::default() };
    let question = Question {
        sender: &sender,
        receiver: &receiver,
        action,
        context,
        shape,
        value,
        without: None,
        binding: "l8",
        direction: "request",
        circumstances: Circumstances { scores, ..Circumstances::at(now()) },
    };
    Ok(explained(&question, &analysed.explainer.explain(&question)))
}

fn explained(question: &Question<'_>, explanation: &Explanation) -> Explained {
    // as the first step of a session
    let word = explanation.verdict.as_ref().map_or("unknown", |verdict| verdict.word(question, &|| 0));
    Explained {
        verdict: word.to_owned(),
        passes: word == "permitted",
        note: explanation.note.clone(),
        policies: explanation.policies.iter().map(row).collect(),
    }
}

fn row(weighed: &Weighed) -> PolicyRow {
    let asks = weighed.asks.iter().map(|asks| format!("asks a person: {asks}"));
    let limit = weighed.limit.iter().map(|limit| format!("limits: {limit}"));
    let redacts = (!weighed.redacts.is_empty()).then(|| format!("takes out: {}", weighed.redacts.join(", ")));
    let scope = weighed.out_of_scope.iter().map(|wish| format!("scope: {wish}"));
    PolicyRow {
        id: weighed.id.clone(),
        effect: if weighed.permits { "permit" } else { "forbid" },
        location: weighed.location.to_string(),
        part: match weighed.part {
            Part::Decided => "decided",
            Part::Applies => "applies too",
            Part::Open => "depends on what is not known",
            Part::Near => "came near",
        },
        extras: asks.chain(limit).chain(redacts).chain(scope).collect(),
        conditions: weighed.conditions.iter().map(condition).collect(),
    }
}

fn condition(condition: &Condition) -> (String, &'static str) {
    let holds = match condition.holds {
        Holds::Yes => "true",
        Holds::No => "false",
        Holds::Fails => "cannot be evaluated",
        Holds::Unknown(_) => "not known",
        Holds::Unasked => "was not evaluated",
    };
    (format!("{} {}", condition.clause, condition.text), holds)
}
