//! Members that policies take out of replies (`@redact`), a named transformation (DESIGN §2.1): what is left is parsed, conformed and
//! decided again as a new message, and only its bytes pass.
//!
//! Two things hold it: the reply is written anew here where a policy asks for it, and [`meter`](crate::meter) refuses whatever still
//! holds such a member, on whichever path it came.

mod write;

use crate::{
    Answered, Refusal, Sent,
    case::{Case, Look},
    decide::{Decided, unmet},
    inspector::judged,
    list,
    parse::{self, Reply, Strict, read, said_by_server},
};
use bytes::Bytes;
use semgate_contexts::json::{Json, Object};
use semgate_message::{Binding, Instance, Vocabulary, mcp};
use semgate_policies::FieldPath;
use std::collections::BTreeSet;
use write::Cut;

/// A reply without what policies take out of it.
pub(crate) struct Redacted {
    /// The bytes that are judged, and pass.
    pub bytes: Bytes,
    /// What is gone: `concept.member`, names of the schema, sorted.
    pub members: Vec<String>,
}

impl Redacted {
    pub(crate) fn answered(&self) -> Answered {
        Answered::from(self.bytes.clone())
    }
}

/// Whether the object holds the member that a path leads to; arrays on the way stand for all their items.
pub(crate) fn holds(object: &Object<'_>, path: &[Box<str>]) -> bool {
    let Some((name, rest)) = path.split_first() else { return false };
    object.get(name).is_some_and(|value| rest.is_empty() || within(value, rest))
}

fn within(value: &Json<'_>, path: &[Box<str>]) -> bool {
    match value {
        Json::Object(object) => holds(object, path),
        Json::Array(items) => items.iter().any(|item| within(item, path)),
        _ => false,
    }
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
    let case = &Case { look: Look::Beforehand, ..*case };
    match parse::reply(case, &strict) {
        Ok(Reply::Said(message)) => match judged(case, *message) {
            Ok(decided) => anew(&strict, &[decided]),
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
            anew(&strict, &decided)
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
    let case = &Case { look: Look::Beforehand, ..*case };
    match judged(case, said.message) {
        Ok(decided) => anew(&strict, &[decided]),
        Err(_) => Ok(None),
    }
}

fn anew(strict: &Strict<'_>, all: &[Decided<'_, '_>]) -> Result<Option<Redacted>, Refusal> {
    let (mut cuts, mut members) = (Vec::new(), BTreeSet::new());
    let mut mirrored = false;
    for decided in all {
        for ((said, instance), obligations) in decided.obliged() {
            let asked = obligations.iter().flat_map(|one| one.redact.iter().map(move |path| (one, path)));
            let held: Vec<_> = asked.filter(|(_, path)| holds(instance.object, path)).collect();
            let Some((first, _)) = held.first() else { continue };
            let refused = || unmet(first).with_facts(decided.facts());
            if !may_cut(decided, instance) {
                return Err(refused());
            }
            mirrored |= decided.resolved().message().binding == Binding::Mcp;
            let paths: Vec<&FieldPath> = held.iter().map(|(_, path)| *path).collect();
            members.extend(paths.iter().map(|path| format!("{}.{}", said.term.name(), path.join("."))));
            cuts.push(Cut { object: instance.object, paths });
        }
    }
    let Some(first) = all.first().filter(|_| !cuts.is_empty()) else { return Ok(None) };
    let written = write::without(strict.json(), &cuts, mirrored).ok_or_else(|| {
        let refusal = crate::Code::PolicyError;
        Refusal::new(refusal, "a policy asks for what cannot be done to this reply")
            .with_hint("ask the operator; the decision id finds the full record")
            .with_detail("what is to be taken out is not found in the bytes that would pass")
            .with_facts(first.facts())
    })?;
    Ok(Some(Redacted { bytes: Bytes::from(written), members: members.into_iter().collect() }))
}

/// What a protocol says of itself is not cut: others build on it. And in MCP a text beside the result may say again what is cut of it,
/// unless it only repeats the result, which is then no instance of its own and is written anew with it.
fn may_cut(decided: &Decided<'_, '_>, instance: &Instance<'_>) -> bool {
    let alone = || decided.said().count() == 1;
    let mcp = decided.resolved().message().binding == Binding::Mcp;
    instance.of == Vocabulary::Context && (!mcp || alone())
}
