//! The interface: what is public, who may write, and what a fault looks like.

pub mod problem;

mod admin;
mod answer;
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

pub(crate) use admin::admin;
pub(crate) use body_drain::{Bounds, drain_body};
pub(crate) use cache::Cache;
pub(crate) use host_check::only_own_hosts;
pub(crate) use router::router;
pub(crate) use serve::{Listening, serve};
pub(crate) use tls::{Files as TlsFiles, ServerIdentity, Tls, renew as renew_tls};

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

/// What every handler may use.
pub(crate) struct App {
    pub config: Config,
    pub layout: Layout,
    pub document_limits: DocumentLimits,
    pub keys: Arc<Keys>,
    /// Policies about publishers, and where two persons are needed.
    pub rules: Arc<Rules>,
    /// What waits for a second person.
    pub proposals: Proposals,
    /// Every attempt to write.
    pub audit: Arc<Audit>,
    /// The refusals of each account that the audit log records one by one.
    pub refusals: Refusals,
    /// The accounts that connections, streams and submissions are charged to.
    pub accounts: Arc<Accounts>,
    /// Room on the disk that publications leave alone.
    pub reserve: Arc<Reserve>,
    /// The compiled size of each document that was asked for.
    pub compiled: Arc<Compiled>,
    /// What connections are answered with.
    pub tls: Arc<Tls>,
    pub signers: Signers,
    pub documents: Documents,
    pub index: SharedIndex,
    pub submit: Submit,
    pub public: watch::Receiver<Arc<Published>>,
    pub stopping: watch::Receiver<bool>,
    /// Followers that ever came.
    pub followed: AtomicU64,
    pub checks: Arc<Semaphore>,
    pub comparisons: Arc<Semaphore>,
    /// Asked when the authority ends: whatever is compared then ends too.
    pub comparing: CancelToken,
    /// Places for signing status list tokens.
    pub tokens: Arc<Semaphore>,
    /// Places for making deltas.
    pub deltas: Arc<Semaphore>,
    /// The one place for making the listing of contexts and its pages.
    pub listings: Arc<Semaphore>,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<Clock>,
    /// Answers that were given before.
    pub cache: Cache,
    /// The verifier key of the log, for showing it.
    pub log_key: String,
    /// What was found at start: the state of the index, and what is missing.
    pub open_report: crate::run::OpenReport,
}

impl App {
    /// What is public now.
    pub fn public(&self) -> Arc<Published> {
        Arc::clone(&self.public.borrow())
    }

    /// Why nothing new may be signed now. A head is never of an earlier time than what is logged.
    pub fn clock_fault(&self) -> Option<ClockFault> {
        self.clock.fault(self.public().issued_at)
    }

    /// Under whose roots persons sign: those of clients, as new connections are judged by now.
    pub fn people(&self) -> Arc<PeerRoots> {
        self.tls.current().peers.clone().unwrap_or_default()
    }
}
