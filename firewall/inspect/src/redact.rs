//! Redaction: policies remove members from replies (`@redact`). The rest is parsed, conformed and decided
//! again as a new message, and only its bytes pass.
//!
//! Two places enforce it. This module rewrites the reply, and [`meter`](crate::meter) refuses any reply that
//! still holds such a member.

mod write;

use crate::{
    Answered, Facts, Refusal, Sent,
    conform::{Conformed, Definition},
    decide::{Decided, unmet},
    inspection::{Inspection, Look},
    list,
    parse::{self, Strict, read},
    shadow::{Answer, Before, beforehand, beside_uncut},
    stages::judged,
};
use bytes::Bytes;
use semgate_policies::{FieldPath, Obligation, Obligations, has_field};
use semgate_protocol::{Instance, Reply, Vocabulary};
use std::{collections::BTreeSet, sync::Arc};
pub(crate) use write::leaving_out;
use write::{Cut, without};

/// A reply without its redacted members.
pub(crate) struct Redacted {
    /// Rewritten bytes, which are judged and pass.
    pub bytes: Bytes,
    /// Redacted members as `concept.member` in schema names, sorted.
    pub members: Vec<String>,
    /// Redacted messages in their original form.
    pub before: Vec<Before>,
}

impl Redacted {
    pub(crate) fn answered(&self) -> Answered {
        Answered::from(self.bytes.clone())
    }
}

/// Members of an instance that obligations redact and that are present, each with its policy.
fn held<'o>(
    instance: &Instance<'_>,
    obligations: &'o Obligations,
) -> Vec<(&'o Arc<Obligation>, &'o FieldPath)> {
    let asked = obligations.iter().flat_map(|one| one.redact.iter().map(move |path| (one, path)));
    asked.filter(|(_, path)| has_field(instance.object, path)).collect()
}

/// Name of a member in records.
fn named(definition: &Definition<'_>, path: &FieldPath) -> String {
    format!("{}.{}", definition.term.name(), path.join("."))
}

/// Members that obligations would redact; `None` if that is impossible.
pub(crate) fn would_cut(
    conformed: &Conformed<'_, '_>,
    obliged: &[(usize, Obligations)],
) -> Option<BTreeSet<String>> {
    let mut members = BTreeSet::new();
    for (at, obligations) in obliged {
        let (definition, instance) = conformed.instances().nth(*at)?;
        let held = held(instance, obligations);
        if !held.is_empty() && !may_cut(conformed, instance) {
            return None;
        }
        members.extend(held.iter().map(|(_, path)| named(definition, path)));
    }
    Some(members)
}

/// Redacts a reply, event or notification. `None` if nothing is redacted, or if the reply
/// may not pass anyway.
///
/// # Errors
/// `policy_error` if the reply cannot be rewritten.
pub(crate) fn reply(case: &Inspection<'_>, sent: &Sent, body: &Bytes) -> Result<Option<Redacted>, Refusal> {
    if !case.generation.policies().redacts() {
        return Ok(None);
    }
    let Ok(strict) = read(case, body) else { return Ok(None) };
    let (look, case) = (case.look, &Inspection { look: Look::Beforehand, ..*case });
    match parse::reply(case, &strict) {
        Ok(Reply::Message(message)) => match judged(case, *message) {
            Ok(decided) => rewrite(&strict, &[decided], look),
            Err(_) => Ok(None),
        },
        Ok(Reply::Tasks(tasks)) => {
            let abouts: Vec<_> = tasks.tasks.iter().map(|task| list::about(case, sent, task)).collect();
            let known =
                tasks.tasks.iter().zip(&abouts).filter_map(|(task, about)| Some((task, about.as_deref()?)));
            let cases: Vec<_> =
                known.map(|(task, about)| (task, Inspection { about: Some(about), ..*case })).collect();
            let decided: Vec<_> =
                cases.iter().filter_map(|(task, case)| judged(case, (*task).clone()).ok()).collect();
            rewrite(&strict, &decided, look)
        }
        _ => Ok(None),
    }
}

/// Rewrites a reply. `look` is the purpose of the judgement that follows.
fn rewrite(strict: &Strict<'_>, all: &[Decided<'_, '_>], look: Look) -> Result<Option<Redacted>, Refusal> {
    let (mut cuts, mut before): (_, Vec<Before>) = (Vec::new(), Vec::new());
    let (mut mirrored, mut cut) = (false, None);
    let asked = |of: &Decided<'_, '_>| (look == Look::Decides).then(|| beforehand(of.conformed())).flatten();
    for decided in all {
        let (mut gone, mut cut_here) = (BTreeSet::new(), Vec::new());
        for ((definition, instance), obligations) in decided.obliged() {
            let held = held(instance, obligations);
            let Some((first, _)) = held.first() else { continue };
            if !may_cut(decided.conformed(), instance) {
                return Err(uncut(unmet(first), decided, asked(decided)));
            }
            mirrored |= decided.case().protocol().traits().calls_tools;
            gone.extend(held.iter().map(|(_, path)| named(definition, path)));
            let paths: Vec<_> = held.into_iter().map(|(_, path)| path).collect();
            cut_here.push((instance.pointer.to_string(), paths.iter().map(|path| path.join(".")).collect()));
            cuts.push(Cut { object: instance.object, paths });
        }
        if !gone.is_empty() {
            let message_id = decided.resolved().message().message_id.to_owned();
            before.push(Before { message_id, redacted: gone, cut: cut_here, shadow: asked(decided) });
            cut.get_or_insert(decided);
        }
    }
    let Some(first) = cut else { return Ok(None) };
    let written = without(strict.json(), &cuts, mirrored).ok_or_else(|| {
        let refusal = crate::Code::PolicyError;
        let refusal =
            Refusal::new(refusal, "a policy demands a redaction that is not possible in this reply")
                .with_hint("ask the operator and quote the decision id")
                .with_detail("the members to redact are not in the bytes that would pass");
        uncut(refusal, first, before.first().and_then(|one| one.shadow.clone()))
    })?;
    let members: BTreeSet<String> = before.iter().flat_map(|one| one.redacted.iter().cloned()).collect();
    Ok(Some(Redacted { bytes: Bytes::from(written), members: members.into_iter().collect(), before }))
}

/// The refusal of a reply that cannot be rewritten, with the shadow set's decision on the original.
fn uncut(refusal: Refusal, decided: &Decided<'_, '_>, answer: Option<Answer>) -> Refusal {
    let shadow = beside_uncut(decided.case(), answer);
    refusal.with_facts(Facts { shadow, ..decided.facts() })
}

/// Returns true if an instance may be redacted.
///
/// Nothing may in a message that its sender signed. Protocol content may not, since other parts build on it. In MCP a text beside the result could repeat the
/// redacted member. A text that only repeats the result is no instance, and is rewritten with it.
fn may_cut(conformed: &Conformed<'_, '_>, instance: &Instance<'_>) -> bool {
    let alone = || conformed.instances().count() == 1;
    let traits = conformed.case().protocol().traits();
    instance.of == Vocabulary::Context && !traits.signs_messages && (!traits.calls_tools || alone())
}
