//! Asks witnesses to cosign each new checkpoint (C2SP `tlog-witness`), so that followers can demand proof that others saw the same log. An
//! absent witness never delays a statement or a head; a missing cosignature is requested again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use semgate_statement::cosignature::split;
use semgate_statement::head::MAX_AHEAD;
use semgate_statement::tiles::consistency_proof;
use semgate_statement::{ContinuationProof, CosignerVerifier, Quorum};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::clock::now;
use crate::config::WitnessConfig;
use crate::http_client::HttpClient;
use crate::metrics::Metrics;
use crate::store::Log;
use crate::{Config, RunFault};

#[cfg(test)]
mod tests;

/// First pause after a witness failed; each failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause: heads live for minutes, and cosignatures should be there before the next one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// One configured witness.
struct Witness {
    key: CosignerVerifier,
    client: HttpClient,
    /// The size that it cosigned last, as far as known; its refusal corrects this.
    size: u64,
    /// Its signature line for the current checkpoint.
    line: Option<String>,
    /// True once it cosigned since the start; before that it may know a newer log than this one.
    has_cosigned: bool,
    pause: Duration,
    not_before: Instant,
}

/// All witnesses, asked in parallel.
pub(crate) struct Cosigners {
    witnesses: Vec<Witness>,
    quorum: Quorum,
    timeout: Duration,
    /// The timeout at the start.
    patience: Duration,
    runtime: Runtime,
    /// The note that the lines sign.
    note: String,
    metrics: Arc<Metrics>,
}

/// The answer of one witness.
enum Answer {
    /// Its signature line.
    Line(String),
    /// It saw this size last.
    Saw(u64),
    /// The proof does not show that this log continues the size that it saw last.
    Unproved,
    /// No usable answer.
    Failed(String),
}

impl Cosigners {
    /// The witnesses of a configuration; none if it names none.
    pub fn open(config: &Config, metrics: Arc<Metrics>) -> Result<Option<Self>, RunFault> {
        if config.witnesses.is_empty() {
            return Ok(None);
        }
        let wrong = |e: &dyn std::fmt::Display| RunFault::Config(format!("`witness`: {e}"));
        let witnesses =
            config.witnesses.iter().map(|w| Witness::new(w, config)).collect::<Result<Vec<_>, _>>()?;
        let keys = witnesses.iter().map(|w| w.key.clone()).collect();
        let quorum = Quorum::new(keys, config.witness_quorum.unwrap_or(config.witnesses.len()))
            .map_err(|e| wrong(&e))?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| wrong(&e))?;
        for witness in &witnesses {
            // an alert sees a rise only from a value before
            let labels = [("witness", witness.key.name().to_owned())];
            metrics.add("semgate_authority_witness_failures_total", &labels, 0);
            metrics.add("semgate_authority_witness_ahead_total", &labels, 0);
        }
        let (timeout, patience) = (config.limits.witness_timeout, config.limits.witness_patience);
        Ok(Some(Self { witnesses, quorum, timeout, patience, runtime, note: String::new(), metrics }))
    }

    /// The checkpoint of the log with every cosignature that arrives in time. The time is `limits.witness_timeout` for all requests
    /// together, `limits.witness_patience` at the start.
    ///
    /// # Errors
    /// A witness that has not cosigned since the start first answers that it saw a longer log, another log of this size, or a fork. This
    /// state is then older than the published one, and must not go on. The same answer of a witness that cosigned before is only logged and
    /// counted: a lying witness must not stop the authority.
    pub fn cosigned(&mut self, log: &Log, starting: bool) -> Result<String, RunFault> {
        let deadline = Instant::now() + if starting { self.patience } else { self.timeout };
        if self.note != log.checkpoint() {
            log.checkpoint().clone_into(&mut self.note);
            self.witnesses.iter_mut().for_each(|witness| witness.line = None);
        }
        // A second time for witnesses whose last size was not known.
        for again in [false, true] {
            self.ask(log, deadline, again)?;
        }
        let lines: String = self.witnesses.iter().filter_map(|w| w.line.as_deref()).collect();
        self.metrics.gauge("semgate_authority_cosignatures", &[], self.have() as u64);
        Ok(format!("{}{lines}", self.note))
    }

    /// Number of cosignatures on the newest checkpoint.
    fn have(&self) -> usize {
        self.witnesses.iter().filter(|w| w.line.is_some()).count()
    }

    /// Returns true if the quorum is missing and a witness may be asked again.
    pub fn is_due(&self) -> bool {
        let now = Instant::now();
        let waits = |w: &Witness| w.line.is_none() && w.not_before <= now;
        self.have() < self.quorum.need() && self.witnesses.iter().any(waits)
    }

    /// Asks every witness that may be asked; `again` marks the last round for this checkpoint.
    fn ask(&mut self, log: &Log, deadline: Instant, again: bool) -> Result<(), RunFault> {
        let (text, _) = split(&self.note).map_err(|e| RunFault::damaged(log.dir(), e))?;
        let text = text.to_owned();
        let mut requests: JoinSet<(usize, Answer)> = JoinSet::new();
        let now = Instant::now();
        for (at, witness) in self.witnesses.iter().enumerate() {
            if witness.line.is_some() || witness.not_before > now {
                continue;
            }
            let hashes = consistency_proof(witness.size, log.size(), log.root(), log);
            let hashes = hashes.map_err(|e| RunFault::damaged(log.dir(), e))?;
            let request = ContinuationProof { old: witness.size, hashes, checkpoint: self.note.clone() };
            let one = witness.ask(request.to_text(), text.clone());
            let deadline = tokio::time::Instant::from_std(deadline);
            requests.spawn_on(
                async move {
                    let answer = tokio::time::timeout_at(deadline, one).await;
                    (at, answer.unwrap_or_else(|_| Answer::Failed("no answer in time".to_owned())))
                },
                self.runtime.handle(),
            );
        }
        let answers = self.runtime.block_on(async {
            let mut answers = Vec::new();
            while let Some(Ok(answer)) = requests.join_next().await {
                answers.push(answer);
            }
            answers
        });
        for (at, answer) in answers {
            let Some(witness) = self.witnesses.get_mut(at) else { continue };
            match witness.take(answer, log, again, &self.metrics) {
                Some(fault) if !witness.has_cosigned => return Err(RunFault::damaged(log.dir(), fault)),
                Some(fault) => tracing::error!("{fault}"),
                None => {}
            }
        }
        Ok(())
    }
}

impl Witness {
    fn new(settings: &WitnessConfig, config: &Config) -> Result<Self, RunFault> {
        let wrong = |e: &dyn std::fmt::Display| RunFault::Config(format!("`witness.key`: {e}"));
        let key = CosignerVerifier::parse(&settings.key).map_err(|e| wrong(&e))?;
        let url = format!("{}/add-checkpoint", settings.url.trim_end_matches('/'));
        let file = settings.roots.as_ref().unwrap_or(&config.roots);
        let client = HttpClient::new(&url, file, &config.prefix)?;
        Ok(Self {
            key,
            client,
            size: 0,
            line: None,
            has_cosigned: false,
            pause: FIRST_PAUSE,
            not_before: Instant::now(),
        })
    }

    /// One exchange on its own connection: checkpoints are rare and witnesses few.
    fn ask(&self, body: String, text: String) -> impl Future<Output = Answer> + Send + use<> {
        let (client, key) = (self.client.clone(), self.key.clone());
        async move {
            match client.post(body).await {
                Ok((200, answer)) => cosignature(&key, &text, &answer, now()),
                Ok((409, answer)) => match answer.trim_end().parse() {
                    Ok(size) => Answer::Saw(size),
                    Err(_) => Answer::Failed("it refused without a size".to_owned()),
                },
                Ok((422, _)) => Answer::Unproved,
                Ok((status, _)) => Answer::Failed(format!("it answered {status}")),
                Err(what) => Answer::Failed(what),
            }
        }
    }

    /// Takes an answer. Returns a description if the answer says that this log is an older state or a fork. In the last round a changed
    /// size counts as a failure, so that a witness is not asked for ever.
    fn take(&mut self, answer: Answer, log: &Log, last: bool, metrics: &Metrics) -> Option<String> {
        let name = self.key.name().to_owned();
        let mut ahead = None;
        let why = match answer {
            Answer::Line(line) => {
                self.line = Some(line);
                self.size = log.size();
                self.has_cosigned = true;
                self.pause = FIRST_PAUSE;
                return None;
            }
            Answer::Saw(size) if size > log.size() || (size == log.size() && self.size == size) => {
                ahead =
                    Some(format!("saw a log of {size} entries that differs from this log of {}", log.size()));
                "it saw another log".to_owned()
            }
            // The proof began at the size that the witness itself named.
            Answer::Unproved if self.size > 0 => {
                let (saw, has) = (self.size, log.size());
                ahead = Some(format!(
                    "says that this log of {has} entries does not continue the {saw} entries that it saw"
                ));
                "it rejected the proof".to_owned()
            }
            Answer::Saw(size) if size != self.size => {
                self.size = size;
                if !last {
                    return None;
                }
                "it reported another size than before".to_owned()
            }
            Answer::Saw(_) | Answer::Unproved => "it refuses the proof that it asked for".to_owned(),
            Answer::Failed(why) => why,
        };
        tracing::warn!("the witness `{name}` did not cosign {} entries: {why}", log.size());
        metrics.count("semgate_authority_witness_failures_total", &[("witness", name.clone())]);
        self.not_before = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        let ahead = ahead?;
        metrics.count("semgate_authority_witness_ahead_total", &[("witness", name.clone())]);
        Some(format!(
            "the witness `{name}` {ahead}: this is an older state or a fork; restore the newest log (see Restore in \
             docs/how-to/run-an-authority.md)"
        ))
    }
}

/// Checks a cosignature as readers do: by the witness's key, and dated no further ahead than they allow. A line dated further ahead is
/// requested again: it would count for the quorum here, but for no reader.
fn cosignature(key: &CosignerVerifier, text: &str, answer: &str, now: u64) -> Answer {
    let by = |latest| key.line_in(text, answer, latest);
    match by(now.saturating_add(MAX_AHEAD)) {
        Some(line) => Answer::Line(line),
        None if by(u64::MAX).is_some() => Answer::Failed(format!(
            "its cosignature is dated more than {MAX_AHEAD} seconds ahead: its clock or the clock here is wrong"
        )),
        None => Answer::Failed("its answer holds no cosignature by its key".to_owned()),
    }
}
