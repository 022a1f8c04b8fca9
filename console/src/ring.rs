//! Records of a gateway's ring, read once from its stream.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use serde::Deserialize;

use crate::client::{CallFault, Server, read_json};

/// Bytes read of a ring: 1,024 records of 4 KiB.
const MAX_BYTES: usize = 4 << 20;
/// Time for the whole ring.
const WHOLE: Duration = Duration::from_secs(3);
/// Silence after which the ring was read: the stream goes on with what happens next.
const SILENCE: Duration = Duration::from_millis(250);

/// The members of an audit record that the pages of agents need.
#[derive(Debug, Clone, Deserialize)]
struct Record {
    time: String,
    sender: Option<String>,
}

/// The time of the last message of each sender in the ring of a gateway, in RFC 3339.
///
/// # Errors
/// The gateway has no ring, or does not answer.
pub(crate) async fn last_seen(admin: &Server) -> Result<BTreeMap<String, String>, CallFault> {
    let opened = tokio::time::timeout(WHOLE, admin.open(Method::GET, "/verdicts?after=0", None)).await;
    let response = opened.map_err(|_| CallFault::Silent("nothing in time".to_owned()))??;
    if !response.status().is_success() {
        return Err(CallFault::Silent(format!("status {}", response.status())));
    }
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    let reading = async {
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, body.frame()).await {
            if let Ok(data) = frame.into_data() {
                bytes.extend_from_slice(&data);
            }
            if bytes.len() > MAX_BYTES {
                return;
            }
        }
    };
    // what was read by then counts
    let _ = tokio::time::timeout(WHOLE, reading).await;
    Ok(seen(&String::from_utf8_lossy(&bytes)))
}

/// The senders of events, each with its last time; records come in order.
fn seen(stream: &str) -> BTreeMap<String, String> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    let records = data.filter_map(|data| read_json::<Record>(data.trim().as_bytes()).ok());
    records.filter_map(|record| Some((record.sender?, record.time))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_of_each_sender_counts_and_a_cut_event_does_not() {
        let stream = "id: 1\ndata: {\"time\":\"T1\",\"sender\":\"a\"}\n\nid: 2\ndata: {\"time\":\"T2\",\"sender\":\"a\"}\n\nevent: gap\ndata: {\"missed\":3}\n\ndata: {\"time\":\"T3\",\"sen";
        let seen = seen(stream);
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [("a".to_owned(), "T2".to_owned())]);
    }
}
