//! Members that policies take out of replies (`@redact`), a named transformation (`docs/design/firewall.md` §1): what is left is parsed, conformed and
//! decided again as a new message, and only its bytes pass.
//!
//! Two things hold it: the reply is written anew here where a policy asks for it, and [`meter`](crate::meter) refuses whatever still
//! holds such a member, on whichever path it came.

mod write;

use crate::{
    Answered, Facts, Refusal, Sent,
    case::{Case, Look},
    conform::{Conformed, Said},
    decide::{Decided, unmet},
    inspector::judged,
    list,
    parse::{self, Reply, Strict, read, said_by_server},
    shadow::{Answer, Before, beforehand, beside_uncut},
};
use bytes::Bytes;
use semgate_message::{Binding, Instance, Vocabulary, mcp};
use semgate_policies::{FieldPath, Obligation, Obligations, has_field};
use std::{collections::BTreeSet, sync::Arc};
pub(crate) use write::leaving_out;
use write::{Cut, without};

/// A reply without what policies take out of it.
pub(crate) struct Redacted {
    /// The bytes that are judged, and pass.
    pub bytes: Bytes,
    /// What is gone: `concept.member`, names of the schema, sorted.
    pub members: Vec<String>,
    /// Each message of it that something is gone of, as it was.
    pub before: Vec<Before>,
}

impl Redacted {
    pub(crate) fn answered(&self) -> Answered {
        Answered::from(self.bytes.clone())
    }
}

/// The members that obligations take out of an instance which holds them, each with the policy that does.
fn held<'o>(
    instance: &Instance<'_>,
    obligations: &'o Obligations,
) -> Vec<(&'o Arc<Obligation>, &'o FieldPath)> {
    let asked = obligations.iter().flat_map(|one| one.redact.iter().map(move |path| (one, path)));
    asked.filter(|(_, path)| has_field(instance.object, path)).collect()
}

/// As records name it.
fn named(said: &Said<'_>, path: &FieldPath) -> String {
    format!("{}.{}", said.term.name(), path.join("."))
}

/// What obligations would take out of a message, if that can be done.
pub(crate) fn would_cut(
    conformed: &Conformed<'_, '_>,
    obliged: &[(usize, Obligations)],
) -> Option<BTreeSet<String>> {
    let mut members = BTreeSet::new();
    for (at, obligations) in obliged {
        let (said, instance) = conformed.said().nth(*at)?;
        let held = held(instance, obligations);
        if !held.is_empty() && !may_cut(conformed, instance) {
            return None;
        }
        members.extend(held.iter().map(|(_, path)| named(said, path)));
    }
    Some(members)
}

/// A reply, event or notification of native L8 or A2A without what policies take out of it; `None` where they take nothing, or where it
/// may not pass anyway, which its own judgement says.
///
/// # Errors
/// `policy_error` for what cannot be written anew.
pub(crate) fn reply(case: &Case<'_>, sent: &Sent, answered: &Answered) -> Result<Option<Redacted>, Refusal> {
    if !case.generation.policies().redacts() {
        return Ok(None);
    }
    let Ok(strict) = read(case, &answered.judged) else { return Ok(None) };
    let (look, case) = (case.look, &Case { look: Look::Beforehand, ..*case });
    match parse::reply(case, &strict) {
        Ok(Reply::Said(message)) => match judged(case, *message) {
            Ok(decided) => anew(&strict, &[decided], look),
            Err(_) => Ok(None),
        },
        Ok(Reply::Tasks(tasks)) => {
            let abouts: Vec<_> = tasks.tasks.iter().map(|task| list::about(case, sent, task)).collect();
            let known =
                tasks.tasks.iter().zip(&abouts).filter_map(|(task, about)| Some((task, about.as_deref()?)));
            let cases: Vec<_> =
                known.map(|(task, about)| (task, Case { about: Some(about), ..*case })).collect();
            let decided: Vec<_> =
                cases.iter().filter_map(|(task, case)| judged(case, (*task).clone()).ok()).collect();
            anew(&strict, &decided, look)
        }
        Err(_) => Ok(None),
    }
}

/// The same of a message of a server of MCP.
///
/// # Errors
/// As [`reply`].
pub(crate) fn of_server(
    case: &Case<'_>,
    asked: &mcp::Asked,
    body: &Bytes,
    in_stream: bool,
) -> Result<Option<Redacted>, Refusal> {
    if !case.generation.policies().redacts() {
        return Ok(None);
    }
    let Ok(strict) = read(case, body) else { return Ok(None) };
    let Ok(said) = said_by_server(case, &strict, asked, in_stream) else { return Ok(None) };
    let (look, case) = (case.look, &Case { look: Look::Beforehand, ..*case });
    match judged(case, said.message) {
        Ok(decided) => anew(&strict, &[decided], look),
        Err(_) => Ok(None),
    }
}

/// `look` says what the judgement of what is written anew is for.
fn anew(strict: &Strict<'_>, all: &[Decided<'_, '_>], look: Look) -> Result<Option<Redacted>, Refusal> {
    let (mut cuts, mut before): (_, Vec<Before>) = (Vec::new(), Vec::new());
    let (mut mirrored, mut cut) = (false, None);
    let asked = |of: &Decided<'_, '_>| (look == Look::Decides).then(|| beforehand(of.conformed())).flatten();
    for decided in all {
        let (mut gone, mut cut_here) = (BTreeSet::new(), Vec::new());
        for ((said, instance), obligations) in decided.obliged() {
            let held = held(instance, obligations);
            let Some((first, _)) = held.first() else { continue };
            if !may_cut(decided.conformed(), instance) {
                return Err(uncut(unmet(first), decided, asked(decided)));
            }
            mirrored |= decided.resolved().message().binding == Binding::Mcp;
            gone.extend(held.iter().map(|(_, path)| named(said, path)));
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
        let refusal = Refusal::new(refusal, "a policy asks for what cannot be done to this reply")
            .with_hint("ask the operator; the decision id finds the full record")
            .with_detail("what is to be taken out is not found in the bytes that would pass");
        uncut(refusal, first, before.first().and_then(|one| one.shadow.clone()))
    })?;
    let members: BTreeSet<String> = before.iter().flat_map(|one| one.redacted.iter().cloned()).collect();
    Ok(Some(Redacted { bytes: Bytes::from(written), members: members.into_iter().collect(), before }))
}

/// The refusal of a reply that cannot be written anew, beside what the shadow set says of it as its agent wrote it.
fn uncut(refusal: Refusal, decided: &Decided<'_, '_>, answer: Option<Answer>) -> Refusal {
    let shadow = beside_uncut(decided.case(), answer);
    refusal.with_facts(Facts { shadow, ..decided.facts() })
}

/// What a protocol says of itself is not cut: others build on it. And in MCP a text beside the result may say again what is cut of it,
/// unless it only repeats the result, which is then no instance of its own and is written anew with it.
fn may_cut(conformed: &Conformed<'_, '_>, instance: &Instance<'_>) -> bool {
    let alone = || conformed.said().count() == 1;
    let mcp = conformed.resolved().message().binding == Binding::Mcp;
    instance.of == Vocabulary::Context && (!mcp || alone())
}
