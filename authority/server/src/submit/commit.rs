//! The group commit: one batch to disk, one new head, then the answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use semgate_certs::{Chain, Usage};
use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::{Entry, ListedContext, Statement};

use super::check::Judgement;
use super::{Done, Job, RecordedJob, Request, Sequencer, VerifiedLeaves, index_of};
use crate::http::problem::{Code, Problem};
use crate::index::Reason;
use crate::keys::Role;
use crate::publish::Published;
use crate::store::{AppendFault, CommitFiles, LogState};
use crate::{RunFault, disk};

/// The least bytes of a trial write after the disk failed: a few entries with their tiles.
const MIN_PROBE: usize = 64 * 1024;

/// The end of a batch.
enum Committed {
    /// Every request was answered; `published` is true if there is a new head.
    Answered { published: bool },
    /// The disk has no room. Requests with reserved room should be tried once more.
    NoRoom { reserved: Vec<RecordedJob> },
}

/// The end of a batch without a new head.
const NOTHING: Committed = Committed::Answered { published: false };

/// A judged request, waiting for its head.
struct PendingJob {
    one: RecordedJob,
    verdict: Result<(bool, u64), Problem>,
}

impl PendingJob {
    /// Returns true if an entry is appended for it.
    fn is_fresh(&self) -> bool {
        matches!(self.verdict, Ok((true, _)))
    }

    fn document_bytes(&self) -> usize {
        match &self.one.job.request {
            Request::Publish { document, .. } => document.len(),
            _ => 0,
        }
    }
}

impl Sequencer {
    /// Commits a batch and answers it. Returns `true` if a new head was published. If the disk has no room for all of it, commits only the
    /// requests with reserved room.
    pub(super) fn commit(&mut self, batch: Vec<RecordedJob>) -> Result<bool, RunFault> {
        let reserved = match self.try_commit(batch)? {
            Committed::Answered { published } => return Ok(published),
            Committed::NoRoom { reserved } => reserved,
        };
        match self.try_commit(reserved)? {
            Committed::Answered { published } => Ok(published),
            Committed::NoRoom { reserved } => {
                refuse_batch(reserved.into_iter().map(|one| one.job), Code::StorageFull);
                Ok(false)
            }
        }
    }

    fn try_commit(&mut self, batch: Vec<RecordedJob>) -> Result<Committed, RunFault> {
        let began = Instant::now();
        let batch = self.writable(batch);
        {
            let public = self.public.borrow();
            self.room.begin(public.trust.bytes.len(), public.floors.bytes.len());
        }
        let before = self.log.size();
        let mut entries: Vec<Vec<u8>> = Vec::new();
        let mut changed: Vec<ContextUrn> = Vec::new();
        let mut waiting = Vec::with_capacity(batch.len());
        for one in batch {
            let job = &one.job;
            let verdict = self.judge(&job.request, job.consent).and_then(|judged| match judged {
                Judgement::Known(index) => self.restore(&job.request).map(|()| (false, index)),
                Judgement::New(entry) => {
                    self.ledger.introduce(signers(&job.request, self.keys.status().as_deref()).into_iter());
                    let index = before + entries.len() as u64;
                    changed.extend(self.take(index, &entry)?);
                    entries.push(entry.bytes().to_vec());
                    Ok((true, index))
                }
            });
            self.keep_evidence(job, &verdict);
            waiting.push(PendingJob { one, verdict });
        }
        if entries.is_empty() {
            self.answer(waiting);
            return Ok(NOTHING);
        }
        let made = match self.append(&entries, &mut waiting) {
            Ok(made) => made,
            Err(AppendFault::Before(fault)) => return self.undo(&entries, waiting, &fault),
            Err(AppendFault::Commit(fault)) => {
                refuse_unknown(waiting);
                return Err(fault);
            }
        };
        self.unsigned = None;
        self.room.charge(&self.quota);
        self.index(&changed);
        if self.cosigners.is_none() {
            self.make_public(made);
        } else {
            // Witnesses cosign the durable checkpoint: the published head has their lines, the one on the disk until then has none.
            let renewed = self.renew_if_signed();
            if !matches!(renewed, Ok(true)) {
                // if the key of the head failed, the entry is logged, and its head comes later
                refuse_unknown(waiting);
                return renewed.map(|_| NOTHING);
            }
        }
        self.metrics.count("semgate_authority_batches_total", &[]);
        self.metrics.add("semgate_authority_entries_total", &[], entries.len() as u64);
        self.metrics.took("semgate_authority_commit_seconds", began.elapsed().as_secs_f64());
        self.answer(waiting);
        Ok(Committed::Answered { published: true })
    }

    /// Goes back to the state before a batch that failed before its commit point.
    fn undo(
        &mut self,
        entries: &[Vec<u8>],
        waiting: Vec<PendingJob>,
        fault: &RunFault,
    ) -> Result<Committed, RunFault> {
        tracing::error!("nothing of a batch was committed: {fault}");
        if matches!(fault, RunFault::Signer { .. }) {
            self.metrics.count("semgate_authority_unsigned_total", &[]);
            self.unsigned = Some(Instant::now());
        } else {
            let documents = waiting.iter().map(PendingJob::document_bytes);
            let bytes: usize = entries.iter().map(Vec::len).chain(documents).sum();
            self.doubt = bytes + self.log.edge_bytes() + MIN_PROBE;
        }
        let reserved = refuse(waiting, fault);
        self.recover()?;
        Ok(if reserved.is_empty() { NOTHING } else { Committed::NoRoom { reserved } })
    }

    /// Folds an entry that is to be appended; returns the contexts whose record changes with it.
    fn take(&mut self, index: u64, entry: &Entry) -> Result<Vec<ContextUrn>, Problem> {
        let internal = |fault: &dyn std::fmt::Display| Problem::new(Code::Internal, fault);
        if !matches!(entry.unverified(), Statement::Root(_)) {
            self.ledger.apply_entry(entry).map_err(|fault| internal(&fault))?;
            return Ok(urn_of(entry).into_iter().collect());
        }
        let mut anchors = self.anchors.clone();
        anchors.accept(index, entry).map_err(|fault| internal(&fault))?;
        let before = self.ledger.replay().statuses().clone();
        self.ledger.apply_entry(entry).map_err(|fault| internal(&fault))?;
        self.anchors = anchors;
        // chains verified under the root's earlier statements
        self.verified = VerifiedLeaves::default();
        let replay = self.ledger.replay();
        let differs = |index: u64| before.get(index) != replay.statuses().get(index);
        let changed = replay.contexts().filter(|(_, published)| differs(published.index));
        Ok(changed.map(|(urn, _)| urn.clone()).collect())
    }

    /// Takes up the root's statements of this batch from the next head on; keys that count under them sign that head.
    pub(super) fn adopt_anchors(&mut self) {
        if self.anchors.number() == self.keys.anchors().number() {
            return;
        }
        self.trust.set_root(self.ledger.root().to_vec());
        if self.keys.adopt_anchors(self.anchors.clone(), self.clock.now()).contains(&Usage::Feed) {
            // status tokens are signed by the key of the head
            self.heads.new_feed();
            self.feed_changed = true;
        }
    }

    /// Writes a published document again if its file is missing or damaged. Only under the signer that its statement names: every reader
    /// would refuse another one.
    fn restore(&self, request: &Request) -> Result<(), Problem> {
        let Request::Publish { statement, document, chains, .. } = request else { return Ok(()) };
        let Statement::Publish { urn, digest, signer } = statement.signed().unverified() else {
            return Ok(());
        };
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
                "the document is published, but its file is damaged here and another key signed the offered document",
            ));
        }
        self.documents.write(&[(*digest, document)], &chains.iter().collect::<Vec<_>>()).map_err(
            |fault| {
                tracing::error!("{fault}");
                Problem::from(Code::of_write(&fault))
            },
        )?;
        tracing::warn!("wrote the document of `{}` again: its file was missing or damaged", urn.as_str());
        Ok(())
    }

    /// Brings a batch to disk: documents and chains before their statements, tiles, checkpoint, head, and the checkpoint to its store
    /// apart. The head is signed first, so that it lies on the disk before anything changes there. Nobody sees it before the checkpoint is
    /// durable.
    fn append(&mut self, entries: &[Vec<u8>], waiting: &mut [PendingJob]) -> Result<Published, AppendFault> {
        let status = self.keys.status();
        for one in waiting.iter().filter(|one| one.is_fresh()) {
            let signers = signers(&one.one.job.request, status.as_deref());
            signers.into_iter().for_each(|chain| self.trust.insert(chain.clone()));
        }
        self.adopt_anchors();
        let append = self.log.extend(entries).map_err(AppendFault::Before)?;
        let now = self.clock.now();
        let made = self.heads.make(append.state(), &self.ledger, &self.trust, &self.keys, now);
        let made = made.map_err(AppendFault::Before)?;
        let status = self.keys.status();
        let fresh = || waiting.iter().filter(|one| one.is_fresh()).map(|one| &one.one.job.request);
        let signers: Vec<_> = fresh().flat_map(|request| signers(request, status.as_deref())).collect();
        let mut first = self.documents.files(&[], &signers);
        first.extend(minted(fresh()));
        let published: Vec<(Digest, u64)> = fresh().filter_map(published).collect();
        let begun = waiting.iter_mut().filter(|one| one.is_fresh()).filter_map(|one| one.one.begun.take());
        let files = vec![(self.head_file.clone(), made.head.bytes.to_vec())];
        let after = CommitFiles { files, pinned: self.pinned.as_mut(), reserve: Some(&self.reserve) };
        self.log.commit(append, begun.collect(), first, after)?;
        self.documents.written(published.iter().map(|(digest, _)| digest));
        published.into_iter().for_each(|(digest, bytes)| self.compiled.take(digest, bytes));
        self.feed_changed = false;
        Ok(made)
    }

    /// Makes a new head of the log as it is, because the last one grows old or witnesses answered, and swaps it in.
    pub(crate) fn renew(&mut self) -> Result<(), RunFault> {
        let note = match &mut self.cosigners {
            Some(cosigners) => cosigners.cosigned(&self.log, false)?,
            None => self.log.checkpoint().to_owned(),
        };
        let log = LogState { checkpoint: &note, ..self.log.state() };
        let made = self.heads.make(log, &self.ledger, &self.trust, &self.keys, self.clock.now())?;
        if let Err(fault) = self.reserve.lend(|| disk::write(&self.head_file, &made.head.bytes)) {
            tracing::warn!("{fault}");
        }
        self.make_public(made);
        Ok(())
    }

    /// Brings the index up to date, or rebuilds it if that fails.
    fn index(&mut self, changed: &[ContextUrn]) {
        let replay = self.ledger.replay();
        let listed: Vec<ListedContext> = changed
            .iter()
            .filter_map(|urn| {
                let p = replay.published(urn)?;
                let status = replay.statuses().get(p.index)?;
                Some(ListedContext { urn: urn.clone(), digest: p.digest, index: p.index, status })
            })
            .collect();
        if let Err(fault) = index_of(&self.index).update(self.position(), &listed) {
            self.rebuild_index(&Reason::Damaged(fault.to_string()));
        }
    }

    /// Makes a head public.
    fn make_public(&self, made: Published) {
        for (name, value) in [
            ("semgate_authority_log_size", made.size),
            ("semgate_authority_contexts", made.contexts),
            ("semgate_authority_head_issued_seconds", made.issued_at),
            ("semgate_authority_head_next_update_seconds", made.next_update),
        ] {
            self.metrics.gauge(name, &[], value);
        }
        self.public.send_replace(Arc::new(made));
    }

    fn answer(&self, waiting: Vec<PendingJob>) {
        let seq = self.log.size();
        for PendingJob { one, verdict } in waiting {
            // The caller may have gone away; its act is done all the same.
            let _ = one.job.answer.send(verdict.map(|(fresh, index)| Done { fresh, index, seq }));
        }
    }
}

pub(super) fn refuse_batch(batch: impl IntoIterator<Item = Job>, code: Code) {
    for job in batch {
        let _ = job.answer.send(Err(code.into()));
    }
}

/// Answers an uncommitted batch. If room was missing, returns the requests with reserved room instead.
fn refuse(waiting: Vec<PendingJob>, fault: &RunFault) -> Vec<RecordedJob> {
    let mut reserved = Vec::new();
    for PendingJob { one, verdict } in waiting {
        let problem = match verdict {
            Err(problem) => problem,
            Ok(_) if fault.is_no_room() && one.job.request.is_reserved() => {
                reserved.push(one);
                continue;
            }
            Ok(_) => Problem::from(Code::of_write(fault)),
        };
        let _ = one.job.answer.send(Err(problem));
    }
    reserved
}

/// The document of a request, with its compiled size.
fn published(request: &Request) -> Option<(Digest, u64)> {
    match request {
        Request::Publish { compiled, .. } => request.published().map(|(digest, _)| (digest, *compiled)),
        _ => None,
    }
}

/// The files of new signers, each once.
fn minted<'a>(requests: impl Iterator<Item = &'a Request>) -> BTreeMap<PathBuf, Vec<u8>> {
    let minted = requests.filter_map(|request| match request {
        Request::Publish { minted, .. } => minted.as_ref(),
        _ => None,
    });
    minted.flat_map(|minted| minted.files().iter().cloned()).collect()
}

/// The chains behind the statement of a request.
fn signers<'a>(request: &'a Request, status: Option<&'a Role>) -> Vec<&'a Chain> {
    match request {
        Request::Publish { chains, .. } => chains.iter().collect(),
        Request::Change { .. }
        | Request::Floor { .. }
        | Request::Withdraw { .. }
        | Request::Override { .. } => status.map(|role| &role.identity.chain).into_iter().collect(),
        Request::Conflict { .. } | Request::Root(_) => Vec::new(),
    }
}

fn refuse_unknown(waiting: Vec<PendingJob>) {
    for PendingJob { one, .. } in waiting {
        let _ = one.job.answer.send(Err(Code::Unfinished.into()));
    }
}

fn urn_of(entry: &Entry) -> Option<ContextUrn> {
    match entry.unverified() {
        Statement::Publish { urn, .. } | Statement::Change { urn, .. } => Some(urn.clone()),
        Statement::Floor { .. }
        | Statement::Withdraw { .. }
        | Statement::Override { .. }
        | Statement::Root(_) => None,
    }
}
