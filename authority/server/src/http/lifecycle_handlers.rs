//! Acts that are done at once, and acts that wait until a second person approves.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request as HttpRequest;
use axum::response::Response;
use http::StatusCode;
use semgate_certs::SpiffeId;
use semgate_contexts::{ContextUrn, Version};
use semgate_policies::PublisherAct;
use semgate_statement::Recognition;
use serde_json::{Value, json};

use super::App;
use super::answer;
use super::attempt::{Attempt, note_rules};
use super::author::{Author, Right, holds};
use super::problem::{Code, Problem};
use super::segment::Segment;
use super::sequencer_client::{charge_submission, hand_over, status_of, submit_and_wait, wait_for_answer};
use crate::audit::Entry;
use crate::clock::now;
use crate::proposals::{Proposal, Target};
use crate::submit::{Consent, Done, Request, SUSPENSION, recognised_again};

type Answer = Result<Response, Problem>;

/// The right that an act requires.
fn right(act: PublisherAct) -> Right {
    match act {
        PublisherAct::Publish => Right::Publish,
        PublisherAct::Revoke | PublisherAct::Suspend | PublisherAct::Resume | PublisherAct::Retire => {
            Right::Revoke
        }
        PublisherAct::Floor => Right::Floor,
        PublisherAct::Override => Right::Override,
    }
}

/// Does an act for a caller who holds the right, or keeps it for a second person. The caller becomes the proposer: a permission that
/// another person signed is kept only if that person submits it.
pub(super) async fn carry_out(app: &App, attempt: &mut Attempt, by: &str, target: Target) -> Answer {
    attempt.about(&target);
    let mut consent = Consent::Enough;
    for (line, version) in target.versions() {
        let ruled = app.rules.rule(by, target.act(), line, version);
        if note_rules(&mut attempt.entry, ruled)? == Consent::SecondMissing {
            consent = Consent::SecondMissing;
        }
    }
    clear_proposal(&mut attempt.entry);
    match submit_and_wait(app, attempt, request(&target, by)?, by.to_owned(), consent).await {
        Ok(done) => {
            attempt.entry.index = Some(done.index);
            Ok(answer::json(status_of(&done), &result_json(&target, by, &done)))
        }
        // it would be a new entry: everything that needs no second look was answered before
        Err(problem) if problem.code == Code::SecondPersonRequired => {
            if attempt.entry.by.as_deref() != Some(by) {
                let detail = format!("it needs a second person; then `{by}`, who signed it, must submit it");
                return Err(Problem::new(Code::NotPermitted, detail));
            }
            let ends = problem.more.and_then(|more| (more.0 == SUSPENSION).then(|| more.1.as_u64())?);
            let target = target.ending(ends);
            let stands = |known: &Proposal| check_still_valid(app, &mut Entry::default(), known).is_ok();
            let proposal = app.proposals.propose(by, target, now(), &app.keys.random, stands);
            let proposal = proposal.inspect_err(|problem| note(attempt, problem))?;
            attempt.entry.proposal = Some(proposal.id.clone());
            Ok(answer::json(StatusCode::ACCEPTED, &proposal_json(&proposal)))
        }
        Err(problem) => Err(problem),
    }
}

/// Notes the proposal that a refusal names.
fn note(attempt: &mut Attempt, problem: &Problem) {
    if let Some(more) = &problem.more {
        attempt.entry.proposal = more.1.as_str().map(str::to_owned);
    }
}

fn request(target: &Target, by: &str) -> Result<Request, Problem> {
    Ok(match target.clone() {
        Target::Change { act, urn, reason, ends } => Request::Change { act, urn, reason, ends },
        Target::Floor { line, min, reason } => Request::Floor { line, min, reason },
        Target::Override(permission) => {
            let by = SpiffeId::parse(by).map_err(|fault| Problem::new(Code::Internal, fault))?;
            Request::Override { by, permission }
        }
        Target::Withdraw { recognised, index, lines, reason } => {
            let lines = lines.into_iter().map(|(line, _)| line).collect();
            Request::Withdraw { recognised, index, lines, reason }
        }
    })
}

/// The answer for an act that was done.
fn result_json(target: &Target, by: &str, done: &Done) -> Value {
    let (index, seq) = (done.index, done.seq);
    match target {
        Target::Change { act, urn, .. } => {
            json!({"urn": urn.as_str(), "kind": act.as_str(), "index": index, "seq": seq})
        }
        Target::Floor { line, min, .. } => {
            json!({"line": line.as_str(), "min": min.to_string(), "index": index, "seq": seq})
        }
        Target::Override(permission) => {
            let permitted = permission.unverified();
            json!({
                "urn": permitted.urn.as_str(), "digest": permitted.digest.to_string(), "kind": "override",
                "by": by, "index": index, "seq": seq,
            })
        }
        Target::Withdraw { recognised, .. } => {
            json!({"recognised": recognised, "kind": "withdraw", "index": index, "seq": seq})
        }
    }
}

/// A proposal as JSON, for those who may see it.
fn proposal_json(proposal: &Proposal) -> Value {
    let target = &proposal.target;
    let mut shown = json!({
        "proposal": proposal.id, "by": proposal.by, "act": target.name(), "on": target.on(),
        "min": target.min().map(|min| min.to_string()), "reason": target.reason(), "at": proposal.at,
        "until": proposal.until,
    });
    if let (Target::Override(permission), Some(members)) = (target, shown.as_object_mut()) {
        let permitted = permission.unverified();
        let siblings: Vec<&str> = permitted.siblings.keys().map(ContextUrn::as_str).collect();
        members.insert("digest".to_owned(), permitted.digest.to_string().into());
        members.insert("beside".to_owned(), siblings.into());
        members.insert("name".to_owned(), permitted.name.as_str().into());
        members.insert("permission".to_owned(), permission.as_str().into());
    }
    shown
}

/// `GET /v1/proposals`: for publishers only.
pub(super) async fn list(State(app): State<Arc<App>>, request: HttpRequest<Body>) -> Answer {
    Author::of_any_right(&app, &request)?;
    let waiting: Vec<Value> = app.proposals.all(now()).iter().map(proposal_json).collect();
    Ok(answer::json(StatusCode::OK, &json!({ "proposals": waiting })))
}

/// `POST /v1/proposals/{id}/approve`
pub(super) async fn approve(
    State(app): State<Arc<App>>,
    id: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    let mut attempt = Attempt::begin(&app, "approve", &request);
    let author = Author::of_any_right(&app, &request);
    // a body has no meaning here: the act does not wait for it
    drop(request);
    // in a task of its own: a caller who leaves changes neither the act nor its record
    let task = tokio::spawn(async move {
        let answer = approved(&app, &mut attempt, id, author).await;
        attempt.end(answer).await
    });
    task.await.unwrap_or_else(|_| Err(Code::Internal.into()))
}

async fn approved(
    app: &App,
    attempt: &mut Attempt,
    id: Result<Segment, Problem>,
    author: Result<Author, Problem>,
) -> Answer {
    let author = author?;
    attempt.ready()?;
    let _waiting = charge_submission(app, &author)?;
    let Segment(id) = id?;
    let proposal = app.proposals.find(&id, author.id(), now());
    let proposal = proposal.inspect_err(|problem| note(attempt, problem))?;
    attempt.about(&proposal.target);
    attempt.entry.proposal = Some(proposal.id.clone());
    attempt.entry.proposed_by = Some(proposal.by.clone());
    check_both_rights(app, attempt, &author, &proposal)?;
    let by = author.id().to_owned();
    let request = self::request(&proposal.target, &proposal.by)?;
    // an attempt that cannot be recorded uses up nobody's approval
    let intended = attempt.intend()?;
    // spent in any case: a request handed to the sequencer may still be done after the timeout answer
    app.proposals.spend(&proposal.id)?;
    let handed = hand_over(app, request, by, Consent::Enough, Some(intended));
    // except if nobody took it
    let handed = handed.inspect_err(|_| app.proposals.put_back(&proposal))?;
    let done = wait_for_answer(app, handed).await?;
    attempt.entry.index = Some(done.index);
    let mut body = result_json(&proposal.target, &proposal.by, &done);
    if let Some(members) = body.as_object_mut() {
        members.insert("proposed_by".to_owned(), proposal.by.into());
        members.insert("approved_by".to_owned(), author.id().into());
    }
    Ok(answer::json(status_of(&done), &body))
}

/// Checks that both persons hold right and permission now, whatever they held at the time of the proposal. A proposal whose maker lost the
/// right is forgotten.
fn check_both_rights(
    app: &App,
    attempt: &mut Attempt,
    author: &Author,
    proposal: &Proposal,
) -> Result<(), Problem> {
    check_right(app, &mut attempt.entry, author.id(), &proposal.target)?;
    check_still_valid(app, &mut attempt.entry, proposal)
        .inspect_err(|_| app.proposals.forget(&proposal.id))?;
    clear_proposal(&mut attempt.entry);
    Ok(())
}

/// Removes duplicates: one policy may decide several lines, or both persons.
fn clear_proposal(entry: &mut Entry) {
    entry.policies.sort();
    entry.policies.dedup();
}

/// Checks that a person holds right and permission now.
fn check_right(app: &App, entry: &mut Entry, who: &str, target: &Target) -> Result<(), Problem> {
    let act = target.act();
    target.versions().into_iter().try_for_each(|(line, version)| {
        holds(app, who, right(act), line)?;
        note_rules(entry, app.rules.rule(who, act, line, version)).map(drop)
    })
}

/// Checks that the persons needed to withdraw a recognition exist. A recognition that nobody could withdraw is not logged.
///
/// # Errors
/// [`Code::WithdrawalImpossible`], with the number of such persons.
pub(super) fn check_withdrawable(app: &App, recognition: &Recognition) -> Result<(), Problem> {
    let target = withdrawal(recognition, 0, String::new());
    let mut needed = 1;
    let may = app.config.publishers.iter().filter(|one| {
        target.versions().into_iter().all(|(line, version)| {
            let ruled = holds(app, &one.id, Right::Revoke, line).and_then(|()| {
                app.rules.rule(&one.id, target.act(), line, version).map_err(|why| why.problem)
            });
            if ruled.as_ref().is_ok_and(|ruled| ruled.four_eyes) {
                needed = 2;
            }
            ruled.is_ok()
        })
    });
    let count = may.count();
    if count >= needed {
        return Ok(());
    }
    let detail =
        format!("{count} publishers may revoke on every line of it, but its withdrawal needs {needed}");
    Err(Problem::new(Code::WithdrawalImpossible, detail))
}

/// The withdrawal of the recognition at this index of the log: each line with its floor there.
pub(super) fn withdrawal(recognition: &Recognition, index: u64, reason: String) -> Target {
    let lines = recognition.lines.iter().map(|scoped| {
        let version = scoped.min.unwrap_or(Version::new(0, 0));
        (scoped.line.clone(), version)
    });
    Target::Withdraw { recognised: recognition.recognised.clone(), index, lines: lines.collect(), reason }
}

/// Checks that the proposer may do it now. Also checks the signature of a permission, and that a withdrawal still means the recognition in
/// force.
fn check_still_valid(app: &App, entry: &mut Entry, proposal: &Proposal) -> Result<(), Problem> {
    check_right(app, entry, &proposal.by, &proposal.target)?;
    if let Target::Withdraw { recognised, index, .. } = &proposal.target {
        let anchors = app.keys.anchors();
        let known = anchors.recognised().find(|one| one.recognition.recognised == *recognised);
        if known.is_none_or(|known| known.index != *index) {
            return Err(recognised_again());
        }
    }
    if let Target::Override(permission) = &proposal.target {
        entry.signed_by = Some(proposal.by.clone());
        permission
            .verify(&app.people(), now())
            .map_err(|fault| Problem::new(Code::SignatureInvalid, fault))?;
    }
    Ok(())
}
