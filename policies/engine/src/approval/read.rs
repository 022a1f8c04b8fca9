//! The words around `@approve`, read and checked as far as that goes without contexts. Each is one of a closed set.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::{
    Approval, ApproveWhen, Approvers, Assurance, ConfidenceFloor, Escalation, ReasonRule, Reuse, span,
};
use crate::suggest::did_you_mean;

/// The shortest time for people: half a minute, in which somebody can look at a screen.
const SHORTEST: u32 = 30;

/// The longest: a day. An action that waits longer is another one.
const LONGEST: u32 = 24 * 3_600;

/// The most steps of a session before it asks.
const MOST_STEPS: u32 = 1_000_000;

/// Letters of the name of a capability, a group or a person.
const MAX_NAME: usize = 64;

/// The annotations around an `@approve`, as far as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words {
    approvers: Option<Approvers>,
    quorum: Option<u32>,
    within: Option<u32>,
    escalate: Option<Escalation>,
    reuse: Option<Reuse>,
    reason: Option<ReasonRule>,
    assurance: Option<Assurance>,
    /// The triggers.
    pub when: ApproveWhen,
}

impl Words {
    /// Every word.
    pub const ALL: [&str; 9] = [
        "approvers",
        "quorum",
        "approve_within",
        "escalate",
        "reuse",
        "reason",
        "assurance",
        "confidence",
        "steps",
    ];

    /// Reads one word; none if its name is not one of [`Words::ALL`].
    ///
    /// # Errors
    /// A value that the word does not take, in words for the operator.
    pub fn read(&mut self, name: &str, text: &str) -> Option<Result<(), String>> {
        Some(match name {
            "approvers" => approvers(text).map(|read| self.approvers = Some(read)),
            "quorum" => quorum(text).map(|read| self.quorum = Some(read)),
            "approve_within" => seconds(text).map(|read| self.within = Some(read)),
            "escalate" => escalation(text).map(|read| self.escalate = Some(read)),
            "reuse" => reuse(text).map(|read| self.reuse = Some(read)),
            "reason" => one_of(text, &[("deny", ReasonRule::Deny), ("always", ReasonRule::Always)])
                .map(|read| self.reason = Some(read)),
            "assurance" => assurance(text).map(|read| self.assurance = Some(read)),
            "confidence" => ConfidenceFloor::parse(text).map(|read| self.when.confidence = Some(read)),
            "steps" => steps(text).map(|read| self.when.steps = Some(read)),
            _ => return None,
        })
    }

    /// The words that contradict one another: name and reason.
    pub fn contradictions(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        let within = self.within.unwrap_or(Approval::WITHIN);
        if let Some(Escalation { after, .. }) = self.escalate.as_ref().filter(|one| one.after >= within) {
            let why = format!(
                "asks more people after {}, but the time to answer ends after {}: escalate earlier, or give a longer `@approve_within`",
                span(*after),
                span(within)
            );
            all.push(("escalate", why));
        }
        let one = matches!(self.approvers, Some(Approvers::Human(_)));
        if let Some(quorum) = self.quorum.filter(|quorum| one && *quorum > 1 && self.escalate.is_none()) {
            let why =
                format!("`@approvers` names one person, who is not {quorum}: name a group or a capability");
            all.push(("quorum", why));
        }
        all
    }

    /// The demand of the policy with this id.
    pub fn approval(&self, policy: &Arc<str>, question: &Arc<str>) -> Arc<Approval> {
        let plain = Approval::new(Arc::clone(policy), Arc::clone(question));
        Arc::new(Approval {
            approvers: self.approvers.clone(),
            quorum: self.quorum.unwrap_or(plain.quorum),
            within: self.within.unwrap_or(plain.within),
            escalate: self.escalate.clone(),
            reuse: self.reuse.unwrap_or(plain.reuse),
            reason: self.reason.unwrap_or(plain.reason),
            assurance: self.assurance.unwrap_or(plain.assurance),
            ..plain
        })
    }
}

/// A time for people: a number and `s`, `m` or `h`, from 30 seconds to 24 hours.
fn seconds(text: &str) -> Result<u32, String> {
    let fault = || format!("`{text}` is no time from 30s to 24h: write it as in `90s`, `15m` or `2h`");
    let (count, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(fault)?;
    let unit: u32 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(fault()),
    };
    let seconds = plain_number(count).and_then(|count| count.checked_mul(unit));
    seconds.filter(|seconds| (SHORTEST..=LONGEST).contains(seconds)).ok_or_else(fault)
}

pub(super) fn approvers(text: &str) -> Result<Approvers, String> {
    let form = "people are `capability:NAME`, `group:NAME` or `human://NAME`";
    let (kind, name) = text.split_once(':').ok_or(form)?;
    let is_name = |name: &str| {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        plain && (1..=MAX_NAME).contains(&name.len())
    };
    let named = |name: &str| {
        let why = format!("{form}, and a name has 1 to {MAX_NAME} letters, digits, `.`, `_` and `-`");
        if is_name(name) { Ok(Arc::from(name)) } else { Err(why) }
    };
    match kind {
        "capability" => named(name).map(Approvers::Capability),
        "group" => named(name).map(Approvers::Group),
        "human" => named(name.strip_prefix("//").unwrap_or_default()).map(|_| Approvers::Human(text.into())),
        other => Err(with_near(form, other, ["capability", "group", "human"].into_iter())),
    }
}

fn quorum(text: &str) -> Result<u32, String> {
    let most = Approval::MOST_QUORUM;
    let fault = || format!("a quorum is a number of people from 1 to {most}");
    plain_number(text).filter(|count| (1..=most).contains(count)).ok_or_else(fault)
}

fn escalation(text: &str) -> Result<Escalation, String> {
    let form = "an escalation is written as in `10m to group:heads`";
    let (after, to) = text.split_once(" to ").ok_or(form)?;
    Ok(Escalation { after: seconds(after)?, to: approvers(to)? })
}

fn reuse(text: &str) -> Result<Reuse, String> {
    if let Some(time) = text.strip_prefix("same action ") {
        return seconds(time).map(Reuse::SameAction);
    }
    let form = "an approval serves `never` again, for the `same action 10m`, or for the `session`";
    match text {
        "never" => Ok(Reuse::Never),
        "session" => Ok(Reuse::Session),
        "same action" => Err(format!("{form}: name the time, as in `same action 10m`")),
        other => Err(with_near(form, other, ["never", "session", "same action 10m"].into_iter())),
    }
}

fn assurance(text: &str) -> Result<Assurance, String> {
    one_of(text, &[("low", Assurance::Low), ("medium", Assurance::Medium), ("high", Assurance::High)])
}

fn steps(text: &str) -> Result<NonZeroU32, String> {
    let fault = || format!("steps are a number from 1 to {MOST_STEPS}, without sign or leading zero");
    let count = plain_number(text).filter(|count| *count <= MOST_STEPS);
    count.and_then(NonZeroU32::new).ok_or_else(fault)
}

/// The value of one of these words.
fn one_of<T: Copy>(text: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    let names = || known.iter().map(|(name, _)| *name);
    let value = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    value.ok_or_else(|| {
        let all: Vec<String> = names().map(|name| format!("`{name}`")).collect();
        with_near(&format!("it is one of {}", all.join(", ")), text, names())
    })
}

fn with_near<'a>(form: &str, text: &str, known: impl Iterator<Item = &'a str>) -> String {
    match did_you_mean(text, known) {
        Some(near) => format!("{form} ({near})"),
        None => form.to_owned(),
    }
}

/// A number of digits alone, without a leading zero.
fn plain_number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}
