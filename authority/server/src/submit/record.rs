//! Records each intention before the act: forced to the disk while the previous commit is under way. A volume that hangs delays no head.
//! Documents are written beside their place meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use super::commit::refuse_batch;
use super::{Job, Message};
use crate::audit::Audit;
use crate::config::BATCH;
use crate::disk::TempFile;
use crate::http::problem::Code;
use crate::store::Documents;
use crate::{Limits, RunFault};

/// A job with its line on the disk, or one that needs none. Only [`Recorder`] makes one, and the sequencer takes nothing else.
pub(crate) struct RecordedJob {
    /// The job.
    pub job: Job,
    /// Its document, beside its place until published; removed if it is not.
    pub begun: Option<TempFile>,
    _recorded: Recorded,
}

/// Proof that a line is on the disk.
struct Recorded;

/// Lines that are being forced to the disk.
type Forcing = Receiver<Result<(), RunFault>>;

/// Records the intentions of all waiting jobs at once.
pub(crate) struct Recorder {
    audit: Arc<Audit>,
    documents: Documents,
    /// Lines whose disk did not answer in time. Their acts do not happen, even if the lines arrive later.
    hanging: Option<Forcing>,
    timeout: Duration,
}

impl Recorder {
    /// For this audit log, and for documents below these paths.
    pub fn new(audit: Arc<Audit>, documents: Documents, limits: &Limits) -> Self {
        Self { audit, documents, hanging: None, timeout: limits.audit_timeout }
    }

    /// Runs until it is asked to stop or the sequencer ends. Jobs without an answer by then hear that the authority stops.
    pub fn run(mut self, jobs: &Receiver<Message<Job>>, to: &SyncSender<Message<RecordedJob>>) {
        loop {
            let mut batch = Vec::new();
            let mut other = None;
            match jobs.recv() {
                Ok(Message::Job(job)) => batch.push(*job),
                Ok(Message::Reindex) => other = Some(Message::Reindex),
                Ok(Message::Stop) | Err(_) => other = Some(Message::Stop),
            }
            while other.is_none() && batch.len() < BATCH {
                match jobs.try_recv() {
                    Ok(Message::Job(job)) => batch.push(*job),
                    Ok(Message::Reindex) => other = Some(Message::Reindex),
                    Ok(Message::Stop) => other = Some(Message::Stop),
                    Err(_) => break,
                }
            }
            let stops = matches!(other, Some(Message::Stop));
            let recorded = self.recorded(batch).into_iter().map(|job| Message::Job(Box::new(job)));
            if recorded.chain(other).try_for_each(|next| to.send(next)).is_err() || stops {
                return;
            }
        }
    }

    /// The jobs of a batch that are on record, with their documents beside their places. If the lines fail, all jobs are refused; if the
    /// documents fail, the publications are.
    fn recorded(&mut self, batch: Vec<Job>) -> Vec<RecordedJob> {
        let begun = match self.stage_documents(&batch) {
            Ok(begun) => begun,
            Err(fault) => {
                tracing::error!("nothing of a batch was committed: {fault}");
                refuse_batch(batch, Code::of_write(&fault));
                return Vec::new();
            }
        };
        match begun {
            Ok(begun) => {
                let both = batch.into_iter().zip(begun);
                both.map(|(job, begun)| RecordedJob { job, begun, _recorded: Recorded }).collect()
            }
            Err(fault) => {
                tracing::error!("nothing of a batch was published: {fault}");
                let (publications, others): (Vec<_>, Vec<_>) =
                    batch.into_iter().partition(|job| job.request.published().is_some());
                refuse_batch(publications, Code::of_write(&fault));
                others.into_iter().map(|job| RecordedJob { job, begun: None, _recorded: Recorded }).collect()
            }
        }
    }

    /// Forces the lines of a batch to the disk. Meanwhile writes its documents beside their place, where they count for nothing.
    ///
    /// # Errors
    /// The lines are not on the disk. The inner error: the documents are not.
    fn stage_documents(
        &mut self,
        batch: &[Job],
    ) -> Result<Result<Vec<Option<TempFile>>, RunFault>, RunFault> {
        let lines = || batch.iter().filter_map(|job| job.intended);
        let forcing = match (lines().min(), lines().max()) {
            (Some(first), Some(last)) => Some(self.force(first, last)?),
            _ => None,
        };
        let published = batch.iter().filter_map(|job| job.request.published());
        let files: Vec<_> =
            published.map(|(digest, document)| (self.documents.path(&digest), document)).collect();
        let begun = TempFile::write_all(&files);
        if let Some(forcing) = forcing {
            self.forced(forcing)?;
        }
        Ok(begun.map(|begun| {
            let mut begun = begun.into_iter();
            batch.iter().map(|job| job.request.published().and_then(|_| begun.next())).collect()
        }))
    }

    /// Begins to force lines of the audit log to the disk, on a thread of its own. Begins nothing while an earlier one hangs.
    fn force(&mut self, first: u64, last: u64) -> Result<Forcing, RunFault> {
        if let Some(before) = &self.hanging
            && matches!(before.try_recv(), Err(TryRecvError::Empty))
        {
            return Err(self.audit.hangs());
        }
        self.hanging = None;
        let (to, from) = sync_channel(1);
        let audit = Arc::clone(&self.audit);
        let forcing = move || {
            // the caller may have given up
            let _ = to.send(audit.force(first, last));
        };
        thread::Builder::new()
            .name("audit".to_owned())
            .spawn(forcing)
            .map_err(|e| RunFault::Stopped(format!("a thread for the audit log: {e}")))?;
        Ok(from)
    }

    /// Waits for the lines, at most `limits.audit_timeout`.
    fn forced(&mut self, forcing: Forcing) -> Result<(), RunFault> {
        match forcing.recv_timeout(self.timeout) {
            Ok(forced) => forced,
            Err(RecvTimeoutError::Timeout) => {
                self.hanging = Some(forcing);
                Err(self.audit.hangs())
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.audit.hangs()),
        }
    }
}
