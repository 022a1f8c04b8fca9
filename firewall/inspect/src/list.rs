//! Lists of tasks: each is judged for itself under its own context, and the list is written anew without those that are withheld
//! (DESIGN §2.1: a named transformation, judged as a new message).

use crate::{
    Direction, Facts, Inspector, Kind, Refusal, ReplyPermit, Sent,
    arrived::Answered,
    belongs::by_default,
    case::Case,
    inspector::{judged, taken},
    meter::meter,
    owners::About,
    parse::{Reply, read, reply},
    permit::Written,
    resolve::still_stands,
};
use bytes::Bytes;
use semgate_message::{Message, a2a::TaskList};
use std::sync::Arc;

/// Judges the answer to a list. Withheld, without a word, is a task that is another's or unknown, whose context does not count any
/// more, or that policy or schema would not let pass alone: a list never tells more than reading its tasks one by one.
///
/// # Errors
/// `upstream_invalid`, `reply_refused`, when what is written anew does not pass as a whole.
pub(crate) fn judge(
    inspector: &Inspector,
    case: &Case<'_>,
    sent: &Sent,
    (status, answered): (u16, &Answered),
    list: &TaskList<'_>,
) -> Result<ReplyPermit, Refusal> {
    still_stands(case, sent).map_err(|refusal| refusal.with_facts(case.facts()))?;
    let whole = || list.tasks.iter().enumerate();
    let passes = |task: &Message<'_>| -> Option<()> {
        let about = about(case, sent, task)?;
        let case = Case { about: Some(&about), ..*case };
        judged(&case, task.clone()).ok().map(drop)
    };
    let kept: Vec<usize> = whole().filter(|(_, task)| passes(task).is_some()).map(|(n, _)| n).collect();
    if case.route.options.keeps_callers_apart && kept.len() == list.tasks.len() {
        let facts = tell(inspector, case, sent, &list.tasks)?;
        return Ok(ReplyPermit::listed(facts, status, answered.body.clone(), Written::ByAgent));
    }
    let anew = Bytes::from(list.keeping(&kept, None));
    let strict = read(case, &anew)?;
    match reply(case, &strict)? {
        Reply::Tasks(again) => {
            let facts = tell(inspector, case, sent, &again.tasks)?;
            Ok(ReplyPermit::listed(facts, status, anew.clone(), Written::Anew))
        }
        Reply::Said(_) => Err(Refusal::new(crate::Code::Malformed, "the list is no list any more")),
    }
}

/// What a task is about, if it is the caller's.
fn about(case: &Case<'_>, sent: &Sent, task: &Message<'_>) -> Option<Arc<About>> {
    let route = case.route.name.as_str();
    if case.route.options.keeps_callers_apart {
        let known = case.owners.about(route, Kind::Task, task.message_id);
        return Some(known.or_else(|| by_default(case)).unwrap_or_else(|| Arc::clone(&sent.about)));
    }
    case.owners.of(route, sent.caller.id(), Kind::Task, task.message_id).ok()
}

/// Every task that is handed back is judged, counted and remembered like a reply of its own.
fn tell(
    inspector: &Inspector,
    case: &Case<'_>,
    sent: &Sent,
    tasks: &[Message<'_>],
) -> Result<Facts, Refusal> {
    let mut all = Facts {
        direction: Direction::Reply,
        context: Some(sent.about.urn.to_string()),
        digest: Some(sent.about.digest),
        performative: Some(semgate_contexts::Performative::Inform),
        ..case.facts()
    };
    for task in tasks {
        let about = about(case, sent, task).unwrap_or_else(|| Arc::clone(&sent.about));
        let case = Case { about: Some(&about), ..*case };
        let metered = meter(judged(&case, task.clone())?, inspector.ambiguity())?;
        taken(&case, sent, &metered)?;
        let facts = metered.facts();
        all.concepts.extend(facts.concepts);
        all.policies.extend(facts.policies);
    }
    Ok(all)
}
