//! The HTTP interface: public reads, writes of publishers, and fault answers.

pub mod problem;
mod prompt;

mod admin;
mod answer;
pub(crate) mod at_start;
mod attempt;
mod author;
mod body;
mod body_drain;
mod cache;
mod compare;
mod crl;
mod host_check;
mod lifecycle_handlers;
mod overrides;
mod pages;
mod read;
mod references;
mod router;
mod segment;
mod sequencer_client;
mod serve;
mod sign;
mod staple;
mod storage;
mod stream;
mod tls;
mod trust;
mod type_conflicts;
mod write;
mod write_timeout;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use semgate_certs::PeerRoots;
use semgate_contexts::DocumentLimits;
use semgate_contexts::compare::CancelToken;
use tokio::sync::{Semaphore, watch};

pub(crate) use admin::{admin, probe};
pub(crate) use body_drain::{Bounds, drain_body};
pub(crate) use cache::Cache;
pub(crate) use host_check::only_own_hosts;
pub(crate) use router::router;
pub(crate) use serve::{Listening, serve};
pub(crate) use tls::{Files as TlsFiles, ServerIdentity, Tls, ending, renew as renew_tls, shown_chain};

use crate::Config;
use crate::account::{Accounts, Refusals};
use crate::audit::Audit;
use crate::clock::{Clock, ClockFault};
use crate::disk::Reserve;
use crate::keys::{Keys, Signers};
use crate::metrics::Metrics;
use crate::proposals::Proposals;
use crate::publish::Published;
use crate::rules::Rules;
use crate::store::{Documents, Layout};
use crate::submit::{Compiled, SharedIndex, Submit};

/// State shared by every handler.
pub(crate) struct App {
    pub config: Config,
    pub layout: Layout,
    pub document_limits: DocumentLimits,
    pub keys: Arc<Keys>,
    /// Policies about publishers, and acts that need two persons.
    pub rules: Arc<Rules>,
    /// Proposals that wait for a second person.
    pub proposals: Proposals,
    /// The record of every attempt to write.
    pub audit: Arc<Audit>,
    /// The refusals of each account that the audit log records one by one.
    pub refusals: Refusals,
    /// The accounts that connections, streams and submissions are charged to.
    pub accounts: Arc<Accounts>,
    /// Reserved room on the disk that publications leave alone.
    pub reserve: Arc<Reserve>,
    /// The compiled size of each document that was asked for.
    pub compiled: Arc<Compiled>,
    /// TLS identity for new connections.
    pub tls: Arc<Tls>,
    pub signers: Signers,
    pub documents: Documents,
    pub index: SharedIndex,
    pub submit: Submit,
    pub public: watch::Receiver<Arc<Published>>,
    pub stopping: watch::Receiver<bool>,
    /// Number of followers since the start.
    pub followed: AtomicU64,
    pub checks: Arc<Semaphore>,
    pub comparisons: Arc<Semaphore>,
    /// Set when the authority ends: running comparisons then end too.
    pub comparing: CancelToken,
    /// Permits for signing status list tokens.
    pub tokens: Arc<Semaphore>,
    /// Permits for making deltas.
    pub deltas: Arc<Semaphore>,
    /// The one permit for making the listing of contexts and its pages.
    pub listings: Arc<Semaphore>,
    /// The one permit for writing prompts.
    pub prompts: Arc<Semaphore>,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<Clock>,
    /// Cached answers.
    pub cache: Cache,
    /// The verifier key of the log, for display.
    pub log_key: String,
    /// Findings at start: the state of the index, and missing documents.
    pub open_report: crate::run::OpenReport,
}

impl App {
    /// The current public state.
    pub fn public(&self) -> Arc<Published> {
        Arc::clone(&self.public.borrow())
    }

    /// The reason not to sign now, if there is one. A head is never dated earlier than a logged entry.
    pub fn clock_fault(&self) -> Option<ClockFault> {
        self.clock.fault(self.public().issued_at)
    }

    /// Roots that persons' signatures verify under: the client roots, as for new connections.
    pub fn people(&self) -> Arc<PeerRoots> {
        self.tls.current().peers.clone().unwrap_or_default()
    }
}
