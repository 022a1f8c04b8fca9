//! Fetches the revocation lists of a trust domain's certificates from the authority that is configured for them, again and again.

use std::rc::Rc;
use std::time::Duration;

use semgate_certs::MAX_CRL_BYTES;
use semgate_statement::follower::Request;

use super::Publisher;
use super::fetch::Fetcher;
use crate::clock::unix_now;
use crate::config::CrlSource;
use crate::crls::{Lists, Taken};

/// How soon a list that could not be had is asked for again.
const AGAIN: Duration = Duration::from_secs(5);

/// Asks for every shard, for ever. What cannot be had leaves what is held, which ends by its own time.
pub(super) async fn fetch(
    domain: String,
    source: CrlSource,
    mut fetcher: Fetcher,
    mut lists: Lists,
    publisher: Rc<Publisher>,
) {
    loop {
        let mut failed = 0_u32;
        for shard in 0..source.shards {
            let path = format!("/v1/crl/{}/{shard}.crl", source.shards);
            let wanted = Request { path, if_none_match: None, max_bytes: MAX_CRL_BYTES as u64 };
            let outcome = match fetcher.get(&wanted).await {
                Ok(answer) if answer.status == 200 => match lists.offer(shard, &answer.body, unix_now()) {
                    Ok(Taken::Newer) => "taken",
                    Ok(Taken::Known) => "known",
                    Err(_) => "malformed",
                },
                Ok(_) => "refused",
                Err(_) => "unreachable",
            };
            if !matches!(outcome, "taken" | "known") {
                failed += 1;
                tracing::warn!(domain, shard, outcome, "a revocation list was not had");
            }
            let labels = [("domain", domain.clone()), ("outcome", outcome.to_owned())];
            publisher.metrics.counter("semgate_crl_fetches_total", &labels).increment(1);
        }
        tokio::time::sleep(if failed > 0 { source.every.min(AGAIN) } else { source.every }).await;
    }
}
