//! A shadow policy set, asked beside the live one and never obeyed. Only its differences are reported.
//!
//! It gets the same questions after the live set. Its answers change no verdict, no error and no meter. Its
//! cost is its evaluation, which [`Shadow::new`] can limit to a sample of messages.

use crate::{
    Code, Direction, Refusal,
    conform::Conformed,
    decide::{Asked, ask},
    inspection::Inspection,
    redact,
    resolve::Resolved,
};
use semgate_contexts::ContextUrn;
use semgate_policies::{Policies, Texts};
use semgate_protocol::Instance;
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Decision of the shadow set that differs from the live one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Would {
    /// Permit every concept.
    Permit,
    /// Permit every concept of a reply, as the live set does, but redact other members.
    Redact,
    /// Deny some concept, or refuse its line.
    Deny,
    /// Ask a human for approval.
    Approve,
    /// Fail to evaluate a policy, or to represent a number.
    Error,
    /// Admit a line that the live set refuses as a whole. The message was not read further.
    UseLine,
}

impl Would {
    const ALL: [Self; 6] =
        [Self::Permit, Self::Redact, Self::Deny, Self::Approve, Self::Error, Self::UseLine];

    /// The value in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Redact => "redact",
            Self::Deny => "deny",
            Self::Approve => "approve",
            Self::Error => "error",
            Self::UseLine => "use_line",
        }
    }

    fn of(asked: &Asked) -> Self {
        match asked {
            Ok(_) => Self::Permit,
            Err((refusal, _)) => match refusal.code() {
                Code::PolicyDenied => Self::Deny,
                Code::ApprovalRequired => Self::Approve,
                _ => Self::Error,
            },
        }
    }
}

/// A difference from the live set, for the audit record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs {
    /// Decision of the shadow set.
    pub would: Would,
    /// Deciding policies of the shadow set, as [`Facts::policies`](crate::Facts::policies).
    pub policies: Vec<Texts>,
    /// Members that the shadow set would redact, as [`Facts::redacted`](crate::Facts::redacted).
    pub redacted: BTreeSet<String>,
}

/// Decision of the shadow set on a message.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    would: Would,
    policies: Vec<Texts>,
    redacted: BTreeSet<String>,
}

/// A message of a reply in its original form, before the live set redacted it.
#[derive(Debug)]
pub(crate) struct Before {
    /// Message id.
    pub message_id: String,
    /// Members that the live set redacts, as `concept.member`.
    pub redacted: BTreeSet<String>,
    /// Redacted members by instance: its pointer, and the members with dots between levels.
    pub cut: Vec<(String, BTreeSet<String>)>,
    /// Decision of the shadow set, if it was asked.
    pub shadow: Option<Answer>,
}

/// Members that the live set redacted from this instance; none if the message was not redacted.
///
/// Redaction does not move an instance. An agent may give several messages of a list one id.
pub(crate) fn cut_of(before: &[Before], message: &str, instance: &Instance<'_>) -> Option<BTreeSet<String>> {
    let mut same = before.iter().filter(|one| one.message_id == message).peekable();
    same.peek()?;
    let at = instance.pointer.to_string();
    let own = same.flat_map(|one| &one.cut).filter(|(stands, _)| *stands == at);
    Some(own.flat_map(|(_, members)| members.iter().cloned()).collect())
}

/// Counts of questions to the shadow set and of its differences, over all generations.
#[derive(Debug, Default)]
pub struct ShadowCounts {
    passed: AtomicU64,
    asked: AtomicU64,
    differed: [[AtomicU64; Would::ALL.len()]; 2],
}

impl ShadowCounts {
    /// Messages on which the shadow set was asked.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Differences by direction and decision, with their number.
    pub fn differed(&self) -> impl Iterator<Item = (Direction, Would, u64)> {
        [Direction::Request, Direction::Reply].into_iter().zip(&self.differed).flat_map(|(direction, row)| {
            let counted =
                move |(would, count): (Would, &AtomicU64)| (direction, would, count.load(Ordering::Relaxed));
            Would::ALL.into_iter().zip(row).map(counted)
        })
    }

    fn count(&self, direction: Direction, would: Would) {
        let row = match direction {
            Direction::Request => self.differed.first(),
            Direction::Reply => self.differed.last(),
        };
        if let Some(count) = row.and_then(|row| row.get(would as usize)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Shadow set of a generation.
#[derive(Clone, Debug)]
pub struct Shadow {
    policies: Arc<Policies>,
    one_in: u64,
    counts: Arc<ShadowCounts>,
}

impl Shadow {
    /// A shadow set asked about every `one_in`-th message, beginning with the first. 0 means 1.
    pub fn new(policies: Arc<Policies>, one_in: u64, counts: Arc<ShadowCounts>) -> Self {
        Self { policies, one_in: one_in.max(1), counts }
    }

    /// Returns the policies if this message is in the sample.
    fn turn(&self) -> Option<&Policies> {
        let before = self.counts.passed.fetch_add(1, Ordering::Relaxed);
        if !before.is_multiple_of(self.one_in) {
            return None;
        }
        self.counts.asked.fetch_add(1, Ordering::Relaxed);
        Some(&self.policies)
    }

    /// Decision of this set on a message as it stands.
    fn says(policies: &Policies, conformed: &Conformed<'_, '_>) -> Answer {
        let nothing = |would, policies| Answer { would, policies, redacted: BTreeSet::new() };
        let (case, line) = (conformed.case(), conformed.resolved().named().urn().line());
        if policies.may_use_line(case.sender.id(), line).is_err() {
            return nothing(Would::Deny, Vec::new());
        }
        let asked = ask(conformed, policies);
        let would = Would::of(&asked);
        match asked {
            Err((_, policies)) => nothing(would, policies),
            // its obligations are never carried out: it counts and redacts nothing
            Ok((policies, obliged)) => match redact::would_cut(conformed, &obliged) {
                Some(redacted) => Answer { would, policies, redacted },
                None => nothing(Would::Error, policies),
            },
        }
    }

    fn report(
        &self,
        case: &Inspection<'_>,
        live: Would,
        redacted: &BTreeSet<String>,
        answer: Answer,
    ) -> Option<Box<Differs>> {
        let would = match answer.would {
            Would::Permit if live == Would::Permit && answer.redacted != *redacted => Would::Redact,
            would if would == live => return None,
            would => would,
        };
        self.counts.count(case.direction, would);
        Some(Box::new(Differs { would, policies: answer.policies, redacted: answer.redacted }))
    }
}

/// Asks the shadow set about a reply in its original form, which the live set redacts.
///
/// [`compare`] asks about the rest and compares. If nothing can be left, [`beside_uncut`] compares.
pub(crate) fn beforehand(conformed: &Conformed<'_, '_>) -> Option<Answer> {
    let shadow = conformed.case().generation.shadow()?;
    Some(Shadow::says(shadow.turn()?, conformed))
}

/// Asks the shadow set the questions of the live set.
pub(crate) fn compare(conformed: &Conformed<'_, '_>, live: &Asked) -> Option<Box<Differs>> {
    let case = conformed.case();
    let shadow = case.generation.shadow()?;
    let id = conformed.resolved().message().message_id;
    let would = match live {
        // redacted members are gone by now, or the reply is refused
        Ok((_, obliged)) if redact::would_cut(conformed, obliged).is_none_or(|left| !left.is_empty()) => {
            Would::Error
        }
        live => Would::of(live),
    };
    let Some(before) = case.before.iter().find(|before| before.message_id == id) else {
        let answer = Shadow::says(shadow.turn()?, conformed);
        return shadow.report(case, would, &BTreeSet::new(), answer);
    };
    let answer = before.shadow.clone()?;
    // equal redactions leave equal messages
    let answer = if answer.would == Would::Permit && answer.redacted == before.redacted {
        Answer { redacted: answer.redacted, ..Shadow::says(&shadow.policies, conformed) }
    } else {
        answer
    };
    shadow.report(case, would, &before.redacted, answer)
}

/// Compares the shadow set's decision with the live refusal of a reply that cannot be redacted.
pub(crate) fn beside_uncut(case: &Inspection<'_>, answer: Option<Answer>) -> Option<Box<Differs>> {
    case.generation.shadow()?.report(case, Would::Error, &BTreeSet::new(), answer?)
}

/// Compares the decisions for a reply that fits no schema after redaction.
pub(crate) fn beside_unfit(resolved: &Resolved<'_, '_>) -> Option<Box<Differs>> {
    let (case, id) = (resolved.case(), resolved.message().message_id);
    let before = case.before.iter().find(|before| before.message_id == id)?;
    // with equal redactions, neither set passes the reply
    let other = |answer: &Answer| answer.would != Would::Permit || answer.redacted != before.redacted;
    beside_uncut(case, before.shadow.clone().filter(other))
}

/// Asks the shadow set about a line that the live set refused as a whole.
pub(crate) fn beside_line(
    case: &Inspection<'_>,
    urn: &ContextUrn,
    refusal: &Refusal,
) -> Option<Box<Differs>> {
    if refusal.code() != Code::PolicyDenied {
        return None;
    }
    let shadow = case.generation.shadow()?;
    let refused = |policies: &Policies| policies.may_use_line(case.sender.id(), urn.line()).is_err();
    if !refused(case.generation.policies()) {
        return None;
    }
    let would = if refused(shadow.turn()?) { Would::Deny } else { Would::UseLine };
    let nothing = BTreeSet::new();
    let answer = Answer { would, policies: Vec::new(), redacted: nothing.clone() };
    shadow.report(case, Would::Deny, &nothing, answer)
}

#[cfg(test)]
mod tests;
