//! Periodic fetch of a trust domain's certificate revocation lists from its configured authority. The follower thread only
//! sends the requests. Other threads parse, verify and store the answers, one list at a time. Unchanged lists are not sent
//! again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use semgate_certs::{ChainLimits, CrlFault, CrlOutcome, MAX_CRL_BYTES};
use semgate_statement::Answer;
use semgate_statement::follower::Request;

use super::Publisher;
use super::fetch::Fetcher;
use crate::clock::unix_now;
use crate::config::{Config, CrlSource};
use crate::control::crls::Lists;
use crate::server::pem_files;

/// Delay before another request for an unavailable list.
const AGAIN: Duration = Duration::from_secs(5);
/// Maximum bytes of a remembered entity tag. Those of an authority have 66.
const MAX_ETAG_BYTES: usize = 128;

/// Lists of one trust domain, with their source.
pub(super) struct Task {
    pub(super) domain: String,
    pub(super) roots: PathBuf,
    pub(super) source: CrlSource,
    pub(super) config: Arc<Config>,
    pub(super) publisher: Rc<Publisher>,
}

/// Entity tags of earlier answers, by path.
type Tags = BTreeMap<String, String>;

impl Task {
    /// Requests every shard for ever. A failed request keeps the held list, which expires by itself.
    pub(super) async fn run(self, mut fetcher: Fetcher, mut lists: Lists) {
        let mut tags = Tags::new();
        loop {
            let mut failed = false;
            for set in &self.source.sets {
                let below = if set.is_empty() { "/v1/crl".to_owned() } else { format!("/v1/crl/{set}") };
                let Some(back) = self.issuers(&below, &mut fetcher, lists, &mut tags).await else { return };
                lists = back;
                for shard in 0..self.source.shards {
                    let path = format!("{below}/{}/{shard}.crl", self.source.shards);
                    let answer = self.get(&path, MAX_CRL_BYTES, &mut fetcher, &tags).await;
                    let Some((outcome, back)) = take(answer, &path, lists, &mut tags).await else { return };
                    lists = back;
                    let good = matches!(outcome, "taken" | "known");
                    if !good {
                        failed = true;
                        tracing::warn!(domain = self.domain, path, outcome, "cannot fetch a revocation list");
                    }
                    let labels = [("domain", self.domain.clone()), ("outcome", outcome.to_owned())];
                    self.publisher.metrics.counter("semgate_crl_fetches_total", &labels).increment(1);
                }
            }
            let every = self.source.every;
            tokio::time::sleep(if failed { every.min(AGAIN) } else { every }).await;
        }
    }

    async fn get(&self, path: &str, most: usize, fetcher: &mut Fetcher, tags: &Tags) -> Option<Answer> {
        let wanted =
            Request { path: path.to_owned(), if_none_match: tags.get(path).cloned(), max_bytes: most as u64 };
        fetcher.get(&wanted).await.ok()
    }

    /// Fetches the issuers, which need no trust, and reloads the roots. `None` if the process ends.
    async fn issuers(
        &self,
        below: &str,
        fetcher: &mut Fetcher,
        mut lists: Lists,
        tags: &mut Tags,
    ) -> Option<Lists> {
        let path = format!("{below}/issuer.pem");
        let answer = self.get(&path, ChainLimits::default().max_pem_bytes, fetcher, &Tags::new()).await;
        let offered = answer.filter(|answer| answer.status == 200);
        let offered = offered.and_then(|answer| String::from_utf8(answer.body).ok()).unwrap_or_default();
        let (config, roots) = (Arc::clone(&self.config), self.roots.clone());
        let done = tokio::task::spawn_blocking(move || {
            let roots = pem_files::roots(&roots, &config).ok();
            let dropped = lists.set_issuers(roots, &offered, unix_now());
            (dropped, lists)
        });
        let (dropped, lists) = done.await.ok()?;
        if dropped {
            tags.clear();
        }
        Some(lists)
    }
}

/// Handles an answer. `None` if the process ends.
async fn take(
    answer: Option<Answer>,
    path: &str,
    mut lists: Lists,
    tags: &mut Tags,
) -> Option<(&'static str, Lists)> {
    let Some(answer) = answer else { return Some(("unreachable", lists)) };
    match answer.status {
        200 => {}
        304 if tags.contains_key(path) => return Some(("known", lists)),
        _ => return Some(("refused", lists)),
    }
    let done = tokio::task::spawn_blocking(move || {
        let taken = lists.offer(&answer.body, unix_now());
        (taken, answer.etag, lists)
    });
    let (taken, etag, lists) = done.await.ok()?;
    let outcome = match taken {
        Ok(CrlOutcome::Newer(_)) => "taken",
        Ok(CrlOutcome::Known | CrlOutcome::Early) => "known",
        Err(CrlFault::Issuer | CrlFault::Signature) => "unverified",
        Err(CrlFault::Full) => "full",
        Err(_) => "malformed",
    };
    tags.remove(path);
    // a list that is not valid yet is requested until it is
    let held = matches!(taken, Ok(CrlOutcome::Newer(_) | CrlOutcome::Known));
    if let Some(etag) = etag.filter(|etag| held && etag.len() <= MAX_ETAG_BYTES) {
        tags.insert(path.to_owned(), etag);
    }
    Some((outcome, lists))
}
