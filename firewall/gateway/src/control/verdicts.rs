//! The operator's view of recent verdicts: `/verdicts`, `/decisions/{id}` and `/refusals`, read from the ring of the audit thread.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use super::admin_slots::{ConnectionSlot, STREAM_TIME};
use crate::clock::unix_now;
use crate::pipeline::record::ring::{MINUTES, Page, RecentRecord, VerdictRing};

/// Interval of comments on a stream without records. Common proxies close a silent connection after 30 s or more.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Request header with the last number that a browser has seen (HTML, server-sent events).
const LAST_EVENT_ID: &str = "last-event-id";

/// Builds the pages. The probe address does not have them, since records name agents.
pub(super) fn router(ring: Arc<VerdictRing>) -> Router {
    let router = Router::new().route("/verdicts", get(verdicts)).route("/decisions/{id}", get(decision));
    router.route("/refusals", get(refusals)).with_state(ring)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    after: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    minutes: Option<u64>,
}

/// `GET /verdicts?after=N`: each record as an event, with its number as id. `Last-Event-ID` counts before `after`, because a
/// browser that connects again repeats the old query.
async fn verdicts(
    State(ring): State<Arc<VerdictRing>>,
    Extension(slot): Extension<ConnectionSlot>,
    headers: HeaderMap,
    query: Result<Query<After>, QueryRejection>,
) -> Response {
    let Ok(Query(After { after })) = query else { return malformed("`after` must be a number") };
    let after = match headers.get(LAST_EVENT_ID) {
        None => after,
        Some(id) => match id.to_str().ok().and_then(|id| id.parse().ok()) {
            Some(id) => Some(id),
            None => return malformed("`Last-Event-ID` must be a number"),
        },
    };
    let Some(permit) = slot.into_stream() else {
        let text = "too_many_streams: every stream of this address is in use (try again later)\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let after = after.unwrap_or_else(|| ring.start());
    Sse::new(Reader::events(ring, after, permit))
        .keep_alive(KeepAlive::new().interval(HEARTBEAT))
        .into_response()
}

/// One reader of the ring. It copies pointers when its connection has taken the events before, so that a slow one holds back
/// nobody and misses records instead.
struct Reader {
    ring: Arc<VerdictRing>,
    changes: watch::Receiver<u64>,
    /// Number of the last record that was taken.
    after: u64,
    waiting: std::vec::IntoIter<RecentRecord>,
    end: Instant,
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    fn events(
        ring: Arc<VerdictRing>,
        after: u64,
        permit: OwnedSemaphorePermit,
    ) -> impl Stream<Item = Result<Event, Infallible>> {
        let (changes, waiting) = (ring.changes(), Vec::new().into_iter());
        let reader =
            Self { ring, changes, after, waiting, end: Instant::now() + STREAM_TIME, _permit: permit };
        stream::unfold(reader, |mut reader| async move {
            let event = reader.next().await?;
            Some((Ok(event), reader))
        })
    }

    /// The next event, or none once the stream has lasted [`STREAM_TIME`].
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(record) = self.waiting.next() {
                self.after = record.n;
                return Some(Event::default().id(record.n.to_string()).data(&*record.line));
            }
            // marks the number as seen before the look, so that no record slips between
            self.changes.mark_unchanged();
            let Page { missed, before, records } = self.ring.after(self.after);
            (self.after, self.waiting) = (before, records.into_iter());
            if missed > 0 {
                let text = json!({"missed": missed}).to_string();
                return Some(Event::default().event("gap").data(text));
            }
            if self.waiting.len() == 0 {
                let changed = tokio::time::timeout_at(self.end, self.changes.changed()).await;
                changed.ok()?.ok()?;
            }
            if Instant::now() >= self.end {
                return None;
            }
        }
    }
}

/// `GET /decisions/{id}`: the records of a decision that are still in the ring.
async fn decision(State(ring): State<Arc<VerdictRing>>, Path(id): Path<String>) -> Response {
    let lines = ring.of_decision(&id);
    if lines.is_empty() {
        let text = "not_found: no recent record has this decision id (the audit file may have it)\n";
        return (StatusCode::NOT_FOUND, text).into_response();
    }
    // each line is JSON that this gateway wrote
    let records: Vec<&RawValue> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Json(json!({"decision_id": id, "records": records})).into_response()
}

/// `GET /refusals?minutes=60`: counts of verdicts by minute.
async fn refusals(
    State(ring): State<Arc<VerdictRing>>,
    query: Result<Query<Span>, QueryRejection>,
) -> Response {
    let minutes = query.ok().map(|Query(span)| span.minutes.unwrap_or(MINUTES));
    let Some(minutes) = minutes.filter(|minutes| (1..=MINUTES).contains(minutes)) else {
        return malformed("`minutes` must be a number from 1 to 60");
    };
    let counts = ring.counts(unix_now(), minutes);
    let answer: Value = json!({"minutes": counts.minutes, "codes": counts.codes, "allowed": counts.allowed});
    Json(answer).into_response()
}

fn malformed(what: &str) -> Response {
    (StatusCode::BAD_REQUEST, format!("malformed: {what}\n")).into_response()
}
