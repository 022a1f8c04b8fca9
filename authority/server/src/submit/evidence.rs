//! Second documents offered for a published URN: kept, within the bounds of the caller's account.

use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::Statement;

use super::quota::Charged;
use super::{Job, Request, Sequencer, blocks};
use crate::http::problem::{Code, Problem};
use crate::store::NewEvidence;

impl Sequencer {
    /// Keeps a document that was refused because another one has its URN.
    pub(super) fn keep_evidence(&mut self, job: &Job, verdict: &Result<(bool, u64), Problem>) {
        if verdict.as_ref().err().map(|p| p.code) != Some(Code::UrnTaken) {
            return;
        }
        let (urn, offered, document) = match &job.request {
            Request::Conflict { urn, digest, document } => (urn, *digest, document),
            Request::Publish { statement, document, .. } => match statement.signed().unverified() {
                Statement::Publish { urn, digest, .. } => (urn, *digest, document),
                _ => return,
            },
            _ => return,
        };
        self.metrics.count("semgate_authority_conflicts_total", &[]);
        let by = &job.by;
        tracing::warn!("`{by}` offered a second digest for the published `{}`", urn.as_str());
        let Some(record) = self.evidence(urn, &offered, by, document) else { return };
        let bytes = blocks(record.len());
        if let Err(problem) = self.quota.allows(urn.line(), Charged::Growth, bytes) {
            tracing::error!("no evidence is kept: {}", problem.detail);
            return;
        }
        match self.evidence.keep(&offered, by, &record) {
            Ok(NewEvidence::Known) => {}
            Ok(NewEvidence::Full) => tracing::error!(
                "no evidence is kept: there are already {} files, or `{by}` has reached the limit of one account",
                self.evidence.len()
            ),
            Ok(NewEvidence::New) => {
                self.quota.charge(urn.line(), bytes);
                self.metrics.gauge("semgate_authority_evidence", &[], self.evidence.len() as u64);
            }
            Err(fault) => tracing::error!("evidence could not be kept: {fault}"),
        }
    }

    /// The record of a second digest for a published URN.
    fn evidence(&self, urn: &ContextUrn, offered: &Digest, by: &str, document: &[u8]) -> Option<Vec<u8>> {
        let published = self.ledger.replay().published(urn)?;
        let record = serde_json::json!({
            "kind": "second_digest",
            "at": self.clock.now(),
            "by": by,
            "urn": urn.as_str(),
            "index": published.index,
            "published": published.digest.to_string(),
            "offered": offered.to_string(),
            "document": String::from_utf8_lossy(document),
        });
        serde_json::to_vec(&record).ok()
    }
}
