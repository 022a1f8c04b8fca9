//! Periodic reads of other gateways' accepted checkpoints.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use semgate_statement::follower::Request;

use super::Publisher;
use super::exchange::{Exchange, MAX_LIST_BYTES};
use super::fetch::Fetcher;

/// Path on another gateway's admin address.
const PATH: &str = "/checkpoints";

/// Polls one peer for ever. A peer that does not answer is counted and asked again; the failure proves nothing.
pub(super) async fn look(
    name: String,
    mut fetcher: Fetcher,
    interval: Duration,
    exchange: Arc<Exchange>,
    publisher: Rc<Publisher>,
) {
    let random = SystemRandom::new();
    let wanted = Request { path: PATH.to_owned(), if_none_match: None, max_bytes: MAX_LIST_BYTES as u64 };
    loop {
        let outcome = match fetcher.get(&wanted).await {
            Ok(answer) if answer.status == 200 => match exchange.offer(&name, &answer.body) {
                Some(_) => "taken",
                None => "malformed",
            },
            Ok(_) => "refused",
            Err(why) => {
                tracing::debug!(peer = name, %why, "a peer was not reached");
                "unreachable"
            }
        };
        let labels = [("peer", name.clone()), ("outcome", outcome.to_owned())];
        publisher.metrics.counter("semgate_peer_looks_total", &labels).increment(1);
        // Up to a quarter later, so that gateways started together do not poll together.
        let mut byte = [0_u8; 1];
        let _ = random.fill(&mut byte);
        tokio::time::sleep(interval.mul_f64(1.0 + f64::from(byte[0]) / 1024.0)).await;
    }
}
