//! A request with everything that a person needs to decide.

use std::sync::Arc;

use semgate_policies::{Approval, Assurance, ReasonRule};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::changes::changes;
use super::quote::Quote;
use super::visible::visible_line;
use crate::{Action, ActionDigest, Factor, Hold, HoldId, Interaction, InteractionKind, Subject, Verdict};

/// Bytes of one value that comes from the operator, such as a policy's question. Longer ones are cut on the card.
const MAX_FACT: usize = 400;
/// Changes that a card lists. With more, the action is another one, and the card says so.
const MAX_CHANGES: usize = 20;

/// Parts of a card besides the hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Background<'a> {
    /// Canonical form of the last approved action of the same sender, receiver and concepts.
    pub last_approved: Option<&'a str>,
    /// Base of the console; the card links to `PAGE/approvals/ID`.
    pub page: Option<&'a str>,
}

/// Links with single-use tokens to the confirmation page, for one person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Opens the page that approves or answers.
    pub approve: Option<String>,
    /// Opens the page that denies.
    pub deny: Option<String>,
}

/// One line in the gateway's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) label: &'static str,
    pub(super) value: String,
}

/// A request as every channel shows it. It holds no address and no token of a person.
#[derive(Clone, Debug)]
pub struct Card {
    pub(super) id: HoldId,
    pub(super) digest: ActionDigest,
    pub(super) title: &'static str,
    pub(super) facts: Vec<Fact>,
    pub(super) quotes: Vec<Quote>,
    /// Kind of the question; `None` for a list of requests, which nobody answers by itself.
    pub(super) kind: Option<InteractionKind>,
    pub(super) options: Vec<String>,
    pub(super) page: Option<String>,
    demands: Vec<Approval>,
}

impl Card {
    /// The card of a hold.
    pub fn new(hold: &Hold, background: Background<'_>) -> Self {
        let (mut facts, mut quotes, mut options) = (Vec::new(), Vec::new(), Vec::new());
        match &hold.subject {
            Subject::Action(action) => of_action(action, hold, &mut facts, &mut quotes),
            Subject::Interaction(asked) => {
                of_interaction(asked, &mut facts, &mut quotes);
                options.clone_from(&asked.options);
            }
        }
        if let Some(last) = background.last_approved {
            quotes.extend(difference(last, &hold.canonical));
        }
        of_demands(hold, &mut facts);
        facts.push(fact("Answer until", &utc(hold.expires_at)));
        facts.push(fact("Digest", &hold.digest.to_string()));
        facts.push(fact("Request", hold.id.as_str()));
        Self {
            id: hold.id.clone(),
            digest: hold.digest,
            title: title(hold),
            facts,
            quotes,
            kind: Some(hold.kind()),
            options,
            page: background.page.map(|base| page(base, &hold.id)),
            demands: hold.demands.clone(),
        }
    }

    /// One card for several requests that exceeded a person's notifications per hour (F1-26). `None` without a request.
    pub fn gathered(holds: &[Arc<Hold>], base: Option<&str>) -> Option<Self> {
        let first = holds.first()?;
        let mut facts = vec![fact("Number", &holds.len().to_string())];
        let rows = holds.iter().take(MAX_CHANGES);
        facts.extend(rows.map(|hold| {
            let row = format!("{}, {}, from {}", hold.id, hold.kind().as_str(), hold.sender());
            fact("Request", &row)
        }));
        Some(Self {
            id: first.id.clone(),
            digest: first.digest,
            title: "More requests wait for you",
            facts,
            quotes: Vec::new(),
            kind: None,
            options: Vec::new(),
            page: base.map(|base| format!("{}/approvals", base.trim_end_matches('/'))),
            demands: Vec::new(),
        })
    }

    /// The hold.
    pub fn id(&self) -> &HoldId {
        &self.id
    }

    /// Returns true if this proof of identity counts for a demand, and the answer needs no data.
    pub fn takes(&self, factor: Factor) -> bool {
        let strong = self.demands.iter().any(|demand| factor.assurance() >= demand.assurance);
        strong && !matches!(self.kind, None | Some(InteractionKind::Solicitation))
    }

    /// Returns true if this verdict needs a written reason.
    pub fn needs_reason(&self, verdict: Verdict) -> bool {
        self.demands.iter().any(|demand| match demand.reason {
            ReasonRule::Always => true,
            ReasonRule::Deny => verdict == Verdict::Denied,
            ReasonRule::Never => false,
        })
    }

    /// Returns true if a single-use link to the confirmation page answers the request.
    pub fn takes_link(&self) -> bool {
        self.takes(Factor::Link)
    }

    /// Returns true if the answer is one of the options.
    pub(super) fn is_choice(&self) -> bool {
        self.kind == Some(InteractionKind::Clarification)
    }

    /// The word on the button that answers.
    pub(super) fn yes(&self) -> &'static str {
        match self.kind {
            Some(InteractionKind::Notification) => "Acknowledge",
            Some(InteractionKind::Clarification | InteractionKind::Solicitation) => "Answer",
            _ => "Approve",
        }
    }

    /// Where the request can always be answered.
    pub(super) fn elsewhere(&self) -> String {
        let command = match self.kind {
            None => "semgate approvals list".to_owned(),
            Some(_) => format!("semgate approvals show {}", self.id),
        };
        match &self.page {
            Some(page) => format!("The whole request: {page} or `{command}`"),
            None => format!("The whole request: `{command}`"),
        }
    }

    /// Every fact as a line.
    pub(super) fn fact_lines(&self) -> Vec<String> {
        self.facts.iter().map(|fact| format!("{}: {}", fact.label, fact.value)).collect()
    }
}

fn fact(label: &'static str, value: &str) -> Fact {
    Fact { label, value: super::quote::short(&visible_line(value), MAX_FACT) }
}

fn quote(label: &str, text: &str) -> Quote {
    Quote { label: format!("{} (the agent's words)", visible_line(label)), text: text.to_owned() }
}

fn page(base: &str, id: &HoldId) -> String {
    format!("{}/approvals/{id}", base.trim_end_matches('/'))
}

fn title(hold: &Hold) -> &'static str {
    match (&hold.subject, hold.kind()) {
        (Subject::Action(_), _) => "A message of an agent waits for your approval",
        (_, InteractionKind::Permission) => "An agent asks for your permission",
        (_, InteractionKind::Clarification) => "An agent asks which option you mean",
        (_, InteractionKind::Solicitation) => "An agent asks you for data",
        (_, InteractionKind::Notification) => "An agent sends you news",
    }
}

fn of_action(action: &Action, hold: &Hold, facts: &mut Vec<Fact>, quotes: &mut Vec<Quote>) {
    facts.push(fact("From", &action.sender));
    facts.push(fact("To", &action.receiver));
    let concepts: Vec<&str> = action.instances.iter().map(|one| one.concept.as_str()).collect();
    facts.push(fact("What", &format!("{} {}", action.performative, concepts.join(", "))));
    let context = hold.urn.as_deref().unwrap_or("none");
    facts.push(fact("Context", &format!("{context} ({})", action.context)));
    // the canonical form spells numbers as the digest covers them
    let canonical: Value = serde_json::from_str(&hold.canonical).unwrap_or_default();
    let instances = canonical.get("instances").and_then(Value::as_array);
    for instance in instances.into_iter().flatten() {
        let concept = instance.get("concept").and_then(Value::as_str).unwrap_or_default();
        let value = instance.get("value").unwrap_or(&Value::Null);
        quotes.push(quote(&format!("Content of {concept}"), &pretty(value)));
    }
}

fn of_interaction(asked: &Interaction, facts: &mut Vec<Fact>, quotes: &mut Vec<Quote>) {
    facts.push(fact("From", &asked.sender));
    facts.push(fact("To", asked.target.as_str()));
    facts.push(fact("What", asked.kind.as_str()));
    quotes.push(quote("Summary", &asked.summary));
    let optional = [
        ("Text", Some(asked.body.as_str()).filter(|body| !body.is_empty())),
        ("Reason", asked.reason.as_deref()),
        ("Situation", asked.context.as_deref()),
    ];
    quotes.extend(optional.iter().filter_map(|(label, text)| Some(quote(label, (*text)?))));
    let json = [("Call", &asked.call), ("Requested data", &asked.required_input)];
    quotes.extend(json.iter().filter_map(|(label, value)| Some(quote(label, &pretty(value.as_ref()?)))));
    let options = asked.options.iter().enumerate();
    quotes.extend(options.map(|(n, option)| quote(&format!("Option {}", n.saturating_add(1)), option)));
}

fn of_demands(hold: &Hold, facts: &mut Vec<Fact>) {
    if matches!(hold.subject, Subject::Interaction(_)) {
        return;
    }
    for demand in &hold.demands {
        facts.push(fact("Question of the policy", &format!("{} ({})", demand.question, demand.policy)));
        if demand.quorum > 1 {
            facts.push(fact("Approvals needed", &demand.quorum.to_string()));
        }
        if demand.assurance > Assurance::Low {
            let proof = match demand.assurance {
                Assurance::High => "your client certificate",
                _ => "a signed click or a login",
            };
            facts.push(fact("Proof needed", proof));
        }
    }
}

fn difference(last: &str, canonical: &str) -> Option<Quote> {
    let all = changes(last, canonical);
    let nothing = || "nothing".to_owned();
    let mut lines: Vec<String> = all
        .iter()
        .take(MAX_CHANGES)
        .map(|change| {
            let before = change.before.clone().unwrap_or_else(nothing);
            let after = change.after.clone().unwrap_or_else(nothing);
            format!("{}: {before} -> {after}", change.pointer)
        })
        .collect();
    if let Some(more) = all.len().checked_sub(MAX_CHANGES).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    (!lines.is_empty()).then(|| quote("Changed since the last approved action", &lines.join("\n")))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// A time in UTC.
fn utc(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
    at.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_else(|| seconds.to_string())
}
