//! Lists of tasks. Each task is judged under its own context, and the gateway rewrites the list without the
//! withheld ones. The result is judged as a new message.

use crate::{
    Code, Direction, Facts, Kind, Refusal, ReplyPermit, Sent,
    arrived::Answered,
    effects::taken,
    inspection::{Inspection, Look},
    meter::{Spent, meter},
    owners::About,
    ownership::{by_default, is_own, list_bounded},
    parse::{read, reply},
    permit::Written,
    resolve::still_stands,
    stages::judged,
    state::State,
};
use bytes::Bytes;
use semgate_protocol::{
    Message, Reply,
    a2a::{Operation, Paging, TaskList},
};
use std::{collections::BTreeMap, sync::Arc};

/// Page size of a list that was requested without one (A2A 1.0, `ListTasksRequest.page_size`). The agent's
/// own number could reveal the tasks that were withheld.
const PAGE_SIZE: i64 = 50;

/// Judges the answer to a list request.
///
/// A task is withheld if it is unknown or another agent's, if its context is not usable, or if schema or
/// policy forbids it alone. A list therefore never reveals more than its tasks read one by one. The caller is
/// not told about withheld tasks; the record counts them.
///
/// # Errors
/// `upstream_invalid` or `reply_refused`, if the rewritten list does not pass as a whole.
pub(crate) fn judge(
    case: &Inspection<'_>,
    sent: &Sent,
    status: u16,
    answered: &Answered,
    list: &TaskList<'_>,
) -> Result<ReplyPermit, Refusal> {
    still_stands(case, sent).map_err(|refusal| refusal.with_facts(case.facts()))?;
    let mut withheld: BTreeMap<Code, usize> = BTreeMap::new();
    let mut kept = Vec::with_capacity(list.tasks.len());
    for (n, task) in list.tasks.iter().enumerate() {
        match passes(case, sent, task) {
            Ok(()) => kept.push(n),
            Err(code) => *withheld.entry(code).or_default() += 1,
        }
    }
    // withheld tasks are not counted: other agents' tasks fill the same page
    list_bounded(case, kept.iter().filter_map(|n| list.tasks.get(*n)))
        .map_err(|refusal| refusal.with_facts(case.facts()))?;
    let withheld: Vec<(Code, usize)> = withheld.into_iter().collect();
    if case.route.options.keeps_callers_apart && withheld.is_empty() {
        let facts = tell(case, sent, &list.tasks)?;
        return Ok(ReplyPermit::listed(facts, status, answered.body.clone(), Written::ByAgent));
    }
    let rewritten = Bytes::from(list.keeping(&kept, paging(case, sent, list, &kept)));
    let strict = read(case, &rewritten)?;
    match reply(case, &strict)? {
        Reply::Tasks(again) => {
            let facts = Facts { withheld, ..tell(case, sent, &again.tasks)? };
            Ok(ReplyPermit::listed(facts, status, rewritten.clone(), Written::ByGateway))
        }
        _ => Err(Refusal::new(Code::Malformed, "the value is no longer a list")),
    }
}

/// Checks that the caller may read a task. The error says why not.
fn passes(case: &Inspection<'_>, sent: &Sent, task: &Message<'_>) -> Result<(), Code> {
    let about = about(case, sent, task).ok_or(Code::NotFound)?;
    let case = Inspection { about: Some(&about), ..*case };
    let beforehand = Inspection { look: Look::Beforehand, ..case };
    if judged(&beforehand, task.clone()).is_ok() {
        return Ok(());
    }
    // the task goes no further, so this judgement decides
    judged(&case, task.clone()).map(drop).map_err(|refusal| refusal.code())
}

/// The paging members of the list.
///
/// The caller gets the next page token only while a task of its own can follow. A token would otherwise
/// reveal the tasks of others.
///
/// The total counts the caller's own tasks: those already shown, and until the end of the listing all that
/// may follow. A filter may still drop some of the latter.
fn paging<'j>(case: &Inspection<'_>, sent: &Sent, list: &TaskList<'j>, kept: &[usize]) -> Paging<'j> {
    let page_size = sent.page.size.unwrap_or(PAGE_SIZE);
    if case.route.options.keeps_callers_apart {
        // the agent counts the caller's tasks only, so just these are withheld
        let withheld = list.tasks.len().saturating_sub(kept.len());
        let total = list.total().map_or(kept.len(), |total| total.saturating_sub(withheld).max(kept.len()));
        return Paging { next: list.next(), page_size, total };
    }
    let (scope, owner) = (&case.route.scope(), sent.caller.key());
    let before = sent.page.token.as_deref().and_then(|token| case.state.owners.listing(scope, owner, token));
    let listing = before.unwrap_or_default();
    let ids = list.tasks.iter().map(|task| task.message_id).enumerate();
    let own = ids.filter(|(_, id)| case.state.owners.of(scope, owner, Kind::Task, id).is_ok());
    listing.saw(own.map(|(n, id)| (id, kept.contains(&n))));
    // a next page of a foreign conversation would reveal it
    let asked = list.next().filter(|_| is_own(case, owner, conversations(sent)));
    let goes_on = asked.and_then(|token| case.state.owners.next_page(scope, owner, &listing, token));
    let (next, more) = goes_on.unzip();
    Paging { next, page_size, total: listing.shown().saturating_add(more.unwrap_or_default()) }
}

/// The conversations that a request names.
fn conversations(sent: &Sent) -> impl Iterator<Item = &str> {
    sent.threads.iter().filter(|(kind, _)| *kind == Kind::Conversation).map(|(_, id)| id.as_str())
}

/// The empty answer to a listing of a conversation that is not the caller's; `None` for every other request.
///
/// The agent is not asked, since nothing in its answer would pass. Neither its error nor its response time
/// can reveal the conversation.
pub(crate) fn of_nobody(state: &State, sent: &Sent) -> Option<Bytes> {
    if sent.operation() != Some(Operation::ListTasks) || sent.route.options.keeps_callers_apart {
        return None;
    }
    let (scope, caller) = (&sent.route.scope(), sent.caller.id());
    let own = |id: &str| state.owners.of(scope, caller, Kind::Conversation, id).is_ok();
    if conversations(sent).all(own) {
        return None;
    }
    let list = r#"{"tasks":[],"nextPageToken":""}"#;
    Some(match &sent.rpc_id {
        Some(id) => Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{list}}}"#, id.to_json())),
        None => Bytes::from_static(list.as_bytes()),
    })
}

/// The context of a task, if the task is the caller's.
pub(crate) fn about(case: &Inspection<'_>, sent: &Sent, task: &Message<'_>) -> Option<Arc<About>> {
    let scope = &case.route.scope();
    if case.route.options.keeps_callers_apart {
        let known = case.state.owners.about(scope, Kind::Task, task.message_id);
        return Some(known.or_else(|| by_default(case)).unwrap_or_else(|| Arc::clone(&sent.about)));
    }
    case.state.owners.of(scope, sent.caller.id(), Kind::Task, task.message_id).ok()
}

fn tell_one(
    case: &Inspection<'_>,
    sent: &Sent,
    task: &Message<'_>,
    spent: &mut Vec<Spent>,
) -> Result<Facts, Refusal> {
    let metered = meter(judged(case, task.clone())?, None)?;
    spent.push(metered.spent().clone());
    taken(case, sent, &metered)?;
    Ok(metered.facts())
}

/// Judges, counts and records every returned task like a single reply.
fn tell(case: &Inspection<'_>, sent: &Sent, tasks: &[Message<'_>]) -> Result<Facts, Refusal> {
    let mut all = Facts {
        direction: Direction::Reply,
        context: Some(sent.about.urn.to_string()),
        digest: Some(sent.about.digest),
        performative: Some(semgate_contexts::Performative::Inform),
        ..case.facts()
    };
    let mut spent = Vec::new();
    for task in tasks {
        let about = about(case, sent, task).unwrap_or_else(|| Arc::clone(&sent.about));
        let case = Inspection { about: Some(&about), ..*case };
        let facts = match tell_one(&case, sent, task, &mut spent) {
            Ok(facts) => facts,
            Err(refusal) => {
                // a refused list costs nothing
                spent.iter().for_each(|spent| case.state.meters.give_back(spent));
                return Err(refusal);
            }
        };
        all.concepts.extend(facts.concepts);
        all.policies.extend(facts.policies);
        all.shadow = all.shadow.or(facts.shadow);
    }
    Ok(all)
}
