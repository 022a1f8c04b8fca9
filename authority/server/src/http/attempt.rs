//! One attempt to write, from its start to its line in the audit log, whatever its outcome.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::Request as HttpRequest;
use axum::response::Response;
use http::StatusCode;

use super::App;
use super::author::Acting;
use super::problem::{Code, Problem};
use super::serve::Caller;
use crate::RunFault;
use crate::account::RecordedFor;
use crate::audit::{End, Entry, Outcome};
use crate::clock::now;
use crate::proposals::Target;
use crate::rules::{AllowedAct, DeniedAct};
use crate::submit::Consent;

/// An attempt under way. Dropped early, because the caller left, it is recorded as abandoned. A request that the sequencer already has is
/// still carried out, and its intention is on the disk.
pub(super) struct Attempt {
    app: Arc<App>,
    began: Instant,
    pub(super) entry: Entry,
    ended: bool,
}

impl Attempt {
    /// Begins an attempt. The caller is the owner of the verified certificate, or the person for whom a console may call.
    pub(super) fn begin(app: &Arc<App>, act: &'static str, request: &HttpRequest<Body>) -> Self {
        if let Ok(Acting { person, console }) = Acting::of(app, request) {
            let mut attempt = Self::by(app, act, Some(person));
            attempt.entry.console = console;
            return attempt;
        }
        let caller = request.extensions().get::<Caller>().and_then(|caller| caller.peer.clone());
        Self::by(app, act, caller.map(|peer| peer.id().as_str().to_owned()))
    }

    /// Begins an attempt of this caller.
    pub(super) fn by(app: &Arc<App>, act: &'static str, by: Option<String>) -> Self {
        let entry = Entry { by, act, ..Entry::default() };
        Self { app: Arc::clone(app), began: Instant::now(), entry, ended: false }
    }

    /// Checks that the attempt can be recorded and that the clock is plausible. Call it only once the caller is known to hold a right:
    /// nobody else may take from the reserved room.
    pub(super) fn ready(&self) -> Result<(), Problem> {
        if let Some(fault) = self.app.clock_fault() {
            return Err(Problem::new(Code::ClockWrong, fault));
        }
        with_room(&self.app, &self.entry, || self.app.audit.ready()).map_err(|fault| {
            tracing::error!("the authority writes nothing until the audit log accepts lines: {fault}");
            Code::of_write(&fault).into()
        })
    }

    /// Writes down the intention, which is forced to the disk before the sequencer acts on it.
    pub(super) fn intend(&mut self) -> Result<u64, Problem> {
        self.entry.intended = None;
        let end = self.at_end(Outcome::Intended, None);
        let line = || self.app.audit.record(&self.entry, end, false);
        let n = with_room(&self.app, &self.entry, line).map_err(|fault| {
            tracing::error!("refused an act that cannot be recorded: {fault}");
            Problem::from(Code::of_write(&fault))
        })?;
        self.entry.intended = Some(n);
        Ok(n)
    }

    /// Notes the subject of the attempt.
    pub(super) fn about(&mut self, target: &Target) {
        self.entry.act = target.name();
        self.entry.on = Some(target.on().to_owned());
        self.entry.min = target.min().map(|min| min.to_string());
        self.entry.reason = Some(target.reason().to_owned());
        if let Target::Override(permission) = target {
            self.entry.digest = Some(permission.unverified().digest.to_string());
        }
    }

    /// Records the outcome, and passes the answer on.
    pub(super) async fn end(mut self, answer: Result<Response, Problem>) -> Result<Response, Problem> {
        self.ended = true;
        let (outcome, code) = match &answer {
            Ok(answer) if answer.status() == StatusCode::ACCEPTED => (Outcome::Proposed, None),
            Ok(_) if self.entry.proposed_by.is_some() => (Outcome::Approved, None),
            Ok(_) => (Outcome::Allowed, None),
            Err(problem) => (Outcome::Refused, Some(problem.code.as_str())),
        };
        if matches!(outcome, Outcome::Proposed | Outcome::Approved) {
            // lets others' requests go on while this one waits for the disk
            let app = Arc::clone(&self.app);
            let (entry, end) = (self.entry.clone(), self.at_end(outcome, code));
            let _ = tokio::task::spawn_blocking(move || record(&app, &entry, end)).await;
        } else {
            record(&self.app, &self.entry, self.at_end(outcome, code));
        }
        answer
    }

    fn at_end(&self, outcome: Outcome, code: Option<&'static str>) -> End {
        let duration_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        End { time: now(), outcome, code, duration_us }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.ended {
            record(&self.app, &self.entry, self.at_end(Outcome::Abandoned, None));
        }
    }
}

/// Does disk work for an attempt. On a full disk it takes from the reserved room, unless the attempt publishes or permits.
fn with_room<T>(
    app: &App,
    entry: &Entry,
    mut work: impl FnMut() -> Result<T, RunFault>,
) -> Result<T, RunFault> {
    match entry.act {
        "publish" | "override" => work(),
        _ => app.reserve.lend(work),
    }
}

/// The account that a refusal is charged to. None for outcomes that are always recorded: completed acts, and attempts that verified peers
/// abandoned.
fn recorded_for(app: &App, entry: &Entry, end: End) -> Option<RecordedFor> {
    let Some(by) = &entry.by else { return Some(RecordedFor::Strangers) };
    if !matches!(end.outcome, Outcome::Refused) {
        return None;
    }
    if app.config.publishers.iter().any(|one| one.id == *by) {
        return Some(RecordedFor::Publisher(by.clone()));
    }
    app.metrics.count("semgate_authority_strangers_refused_total", &[]);
    Some(RecordedFor::Verified)
}

/// Writes the last line of an attempt. Records the first refusals of an account in each minute, and counts the others
/// ([`Refusals`](crate::account::Refusals)).
fn record(app: &App, entry: &Entry, end: End) {
    let mut entry = Cow::Borrowed(entry);
    let account = recorded_for(app, &entry, end);
    if let Some(account) = account.clone() {
        let is_publisher = matches!(account, RecordedFor::Publisher(_));
        let Some(unrecorded) = app.refusals.record(account, end.time) else { return };
        let unrecorded = (unrecorded > 0).then_some(unrecorded);
        // the text of a stranger is not recorded
        let reason = if is_publisher { entry.reason.clone() } else { None };
        entry = Cow::Owned(Entry { unrecorded, reason, ..entry.into_owned() });
    }
    let durable = matches!(end.outcome, Outcome::Proposed | Outcome::Approved);
    let line = || app.audit.record(&entry, end, durable);
    // a refusal takes nothing from the reserved room
    let recorded = if account.is_none() { with_room(app, &entry, line) } else { line() };
    if let Err(fault) = recorded {
        tracing::error!(
            "an attempt was not recorded, and the authority writes nothing more until it can be: {fault}"
        );
    }
}

/// Notes the decision of the policies about a caller who holds the right.
pub(super) fn note_rules(
    entry: &mut Entry,
    ruled: Result<AllowedAct, DeniedAct>,
) -> Result<Consent, Problem> {
    let (policies, digest, consent) = match ruled {
        Ok(AllowedAct { four_eyes: true, policies, digest }) => {
            (policies, digest, Ok(Consent::SecondMissing))
        }
        Ok(AllowedAct { policies, digest, .. }) => (policies, digest, Ok(Consent::Enough)),
        Err(DeniedAct { problem, policies, digest }) => (policies, digest, Err(problem)),
    };
    entry.policies.extend(policies);
    entry.policy_digest = digest;
    consent
}
