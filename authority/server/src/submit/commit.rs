//! The group commit: one batch to disk, one new head, then the answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use semgate_contexts::{ContextUrn, Prefix};
use semgate_statement::{Checkpoint, Entry, Listed, LogKey, Statement, StatementFault};

use super::check::Judged;
use super::{Done, Job, Request, Sequencer, index_of};
use crate::clock::now;
use crate::http::problem::{Code, Problem};
use crate::index::Reason;
use crate::ledger::Ledger;
use crate::store::{AppendFault, Leftovers, Log, Recovery, Witness};
use crate::{RunFault, disk};

/// A judged request, waiting for its head.
struct Waiting {
    job: Job,
    verdict: Result<(bool, u64), Problem>,
}

impl Waiting {
    /// Whether an entry is appended for it.
    fn is_fresh(&self) -> bool {
        matches!(self.verdict, Ok((true, _)))
    }
}

impl Sequencer {
    /// Commits a batch and answers it. `true` if a new head was published.
    pub(super) fn commit(&mut self, batch: Vec<Job>) -> Result<bool, RunFault> {
        let began = Instant::now();
        let before = self.log.size();
        let mut entries: Vec<Vec<u8>> = Vec::new();
        let mut changed: Vec<ContextUrn> = Vec::new();
        let mut waiting = Vec::with_capacity(batch.len());
        for job in batch {
            let verdict = self.judge(&job.request).and_then(|judged| match judged {
                Judged::Known(index) => self.restore(&job.request).map(|()| (false, index)),
                Judged::New(entry) => {
                    let index = before + entries.len() as u64;
                    self.ledger.apply(&entry).map_err(|fault| Problem::new(Code::Internal, fault))?;
                    changed.extend(urn_of(&entry));
                    entries.push(entry.bytes().to_vec());
                    Ok((true, index))
                }
            });
            self.keep_evidence(&job, &verdict);
            waiting.push(Waiting { job, verdict });
        }
        if entries.is_empty() {
            self.answer(waiting);
            return Ok(false);
        }
        let appended =
            self.store(&waiting).map_err(AppendFault::Before).and_then(|()| self.log.append(&entries));
        match appended {
            Ok(()) => {}
            Err(AppendFault::Before(fault)) => {
                tracing::error!("nothing of a batch was committed: {fault}");
                refuse(waiting);
                self.recover()?;
                return Ok(false);
            }
            Err(AppendFault::Commit(fault)) => {
                refuse_unknown(waiting);
                return Err(fault);
            }
        }
        if let Err(fault) = self.keep_apart() {
            refuse_unknown(waiting);
            return Err(fault);
        }
        for one in waiting.iter().filter(|one| one.is_fresh()) {
            self.take_chains(&one.job.request);
        }
        self.publish(&changed)?;
        self.metrics.count("semgate_authority_batches_total", &[]);
        self.metrics.add("semgate_authority_entries_total", &[], entries.len() as u64);
        self.metrics.took("semgate_authority_commit_seconds", began.elapsed().as_secs_f64());
        self.answer(waiting);
        Ok(true)
    }

    /// The new checkpoint is kept apart before anyone is told of it. Where it cannot be, this process must end: what is told and not kept
    /// could be forked by the next restore.
    fn keep_apart(&mut self) -> Result<(), RunFault> {
        match &mut self.kept {
            Some(kept) => kept.advance(self.log.checkpoint()),
            None => Ok(()),
        }
    }

    /// The chains of a committed request become public with its head.
    fn take_chains(&mut self, request: &Request) {
        let status = self.keys.status.as_ref().map(|role| &role.identity.chain);
        match request {
            Request::Publish { chains, .. } => {
                chains.iter().for_each(|chain| self.trust.insert(chain.clone()))
            }
            Request::Change { .. } | Request::Floor { .. } => {
                status.into_iter().for_each(|c| self.trust.insert(c.clone()))
            }
            Request::Conflict { .. } => {}
        }
    }

    /// Writes a published document again if its file is missing or damaged. Only under the signer that its statement names: with another
    /// one every reader would refuse it.
    fn restore(&self, request: &Request) -> Result<(), Problem> {
        let Request::Publish { statement, document, chains, .. } = request else { return Ok(()) };
        let Statement::Publish { urn, digest, signer } = statement.unverified() else { return Ok(()) };
        // Published in this very batch: its file is not there yet.
        let Some(published) = self.ledger.replay().published(urn).filter(|p| p.index < self.log.size())
        else {
            return Ok(());
        };
        if matches!(self.documents.read(digest), Ok(Some(_))) {
            return Ok(());
        }
        if published.signer != *signer {
            tracing::error!(
                "the document of `{}` cannot be written again: another key signed it",
                urn.as_str()
            );
            return Err(Problem::new(
                Code::Internal,
                "the document is published, but its file is damaged here and another key signed what was offered",
            ));
        }
        self.documents.write(&[(*digest, document)], &chains.iter().collect::<Vec<_>>()).map_err(
            |fault| {
                tracing::error!("{fault}");
                Problem::from(Code::StorageFailed)
            },
        )?;
        tracing::warn!("wrote the document of `{}` again: its file was missing or damaged", urn.as_str());
        Ok(())
    }

    /// Documents and chains of a batch to disk, before any statement that names them.
    fn store(&self, waiting: &[Waiting]) -> Result<(), RunFault> {
        let mut contexts = Vec::new();
        let mut signers = Vec::new();
        for one in waiting.iter().filter(|one| one.is_fresh()) {
            match &one.job.request {
                Request::Publish { statement, document, chains, .. } => {
                    signers.extend(chains);
                    if let Statement::Publish { digest, .. } = statement.unverified() {
                        contexts.push((*digest, document.as_slice()));
                    }
                }
                Request::Change { .. } | Request::Floor { .. } => {
                    signers.extend(self.keys.status.as_ref().map(|role| &role.identity.chain));
                }
                Request::Conflict { .. } => {}
            }
        }
        self.documents.write(&contexts, &signers)
    }

    fn keep_evidence(&mut self, job: &Job, verdict: &Result<(bool, u64), Problem>) {
        if verdict.as_ref().err().map(|p| p.code) != Some(Code::UrnTaken) {
            return;
        }
        let (urn, offered, document) = match &job.request {
            Request::Conflict { urn, digest, document } => (urn, *digest, document),
            Request::Publish { statement, document, .. } => match statement.unverified() {
                Statement::Publish { urn, digest, .. } => (urn, *digest, document),
                _ => return,
            },
            _ => return,
        };
        self.metrics.count("semgate_authority_conflicts_total", &[]);
        let by = &job.by;
        tracing::warn!("`{by}` offered a second digest for the published `{}`", urn.as_str());
        let Some(record) = self.evidence(urn, &offered, by, document) else { return };
        match self.evidence.keep(&offered, &record) {
            Ok(true) => self.metrics.gauge("semgate_authority_evidence", &[], self.evidence.len() as u64),
            Ok(false) => {
                tracing::error!("no evidence is kept: there are {} files already", self.evidence.len())
            }
            Err(fault) => tracing::error!("evidence could not be kept: {fault}"),
        }
    }

    /// Makes the head of the log as it is and swaps it in. The index is brought up to date first; if it cannot be, it is built anew.
    pub(crate) fn publish(&mut self, changed: &[ContextUrn]) -> Result<(), RunFault> {
        let replay = self.ledger.replay();
        let listed: Vec<Listed> = changed
            .iter()
            .filter_map(|urn| {
                let p = replay.published(urn)?;
                let status = replay.statuses().get(p.index)?;
                Some(Listed { urn: urn.clone(), digest: p.digest, index: p.index, status })
            })
            .collect();
        if self.index_is_behind()
            && let Err(fault) = index_of(&self.index).update(self.position(), &listed)
        {
            self.rebuild_index(&Reason::Damaged(fault.to_string()));
        }
        let note = match &mut self.cosigners {
            Some(cosigners) => cosigners.cosigned(&self.log, false)?,
            None => self.log.checkpoint().to_owned(),
        };
        let keys = Arc::clone(&self.keys);
        let made = self
            .heads
            .make((&self.log, &note), &self.ledger, &self.trust, &keys.feed.identity, &keys.random, now())
            .map_err(|fault| RunFault::Stopped(format!("the head could not be made: {fault}")))?;
        // The witness against a rollback: durable before the log is seen to have grown, so that no answer outlives it.
        match disk::write(&self.head_file, &made.head.bytes) {
            Err(fault) if self.index_is_behind() => return Err(fault),
            Err(fault) => tracing::warn!("{fault}"),
            Ok(()) => {}
        }
        for (name, value) in [
            ("semgate_authority_log_size", made.size),
            ("semgate_authority_contexts", made.contexts),
            ("semgate_authority_head_issued_seconds", made.issued_at),
            ("semgate_authority_head_next_update_seconds", made.next_update),
        ] {
            self.metrics.gauge(name, &[], value);
        }
        self.public.send_replace(Arc::new(made));
        Ok(())
    }

    fn index_is_behind(&self) -> bool {
        self.public.borrow().size != self.log.size()
    }

    fn answer(&self, waiting: Vec<Waiting>) {
        let seq = self.log.size();
        for Waiting { job, verdict } in waiting {
            // A caller that went away has nothing to be told; what it asked for is done all the same.
            let _ = job.answer.send(verdict.map(|(fresh, index)| Done { fresh, index, seq }));
        }
    }

    /// After a write that failed before the commit point: back to what is on disk.
    fn recover(&mut self) -> Result<(), RunFault> {
        let seen = Checkpoint::verify(
            self.log.checkpoint().as_bytes(),
            self.log.verifier(),
            self.log.verifier().name(),
        );
        let seen = seen.map_err(|e| RunFault::damaged(self.log.dir(), e))?;
        let witness = Witness { seen: Some(seen), append: self.limits.batch as u64, kept: None };
        let key = self.log.key_again()?;
        let (log, ledger, _) = reopen(self.log.dir(), key, &self.prefix, &witness, &self.leftovers)?;
        self.log = log;
        self.ledger = ledger;
        Ok(())
    }
}

fn refuse(waiting: Vec<Waiting>) {
    for Waiting { job, verdict } in waiting {
        let problem = match verdict {
            Err(problem) => problem,
            Ok(_) => Problem::from(Code::StorageFailed),
        };
        let _ = job.answer.send(Err(problem));
    }
}

fn refuse_unknown(waiting: Vec<Waiting>) {
    for Waiting { job, .. } in waiting {
        let _ = job.answer.send(Err(Code::Unfinished.into()));
    }
}

fn urn_of(entry: &Entry) -> Option<ContextUrn> {
    match entry.unverified() {
        Statement::Publish { urn, .. } | Statement::Change { urn, .. } => Some(urn.clone()),
        Statement::Floor { .. } => None,
    }
}

/// Opens the log and folds it.
pub(crate) fn reopen(
    dir: &Path,
    key: LogKey,
    prefix: &Prefix,
    witness: &Witness,
    leftovers: &Leftovers,
) -> Result<(Log, Ledger, Recovery), RunFault> {
    let mut ledger = Ledger::default();
    let (log, recovery) = Log::open(dir, key, witness, leftovers, &mut |index, bytes| {
        let damaged =
            |what: &dyn std::fmt::Display| RunFault::damaged(dir, format_args!("entry {index}: {what}"));
        let entry = Entry::read(bytes, prefix).map_err(|e: StatementFault| damaged(&e))?;
        ledger.apply(&entry).map_err(|e| damaged(&e))
    })?;
    Ok((log, ledger, recovery))
}
