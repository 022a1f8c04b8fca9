//! Live verdicts of all gateways: a table that a script keeps up to date, and that reloads itself without one.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use http::{StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use crate::answer::{Answer, Frame, Trouble, html};
use crate::feed::{FeedState, Seen};
use crate::guard::Visit;
use crate::roles::{Page as TablePage, may_read};
use crate::visible::filters;

/// Rows of the page.
const ROWS: usize = 200;
/// Rows of one event of the stream. More than these in [`PACE`] are counted, because nobody could read them.
const ROWS_AT_ONCE: usize = 50;
/// Shortest time between two events of a stream.
const PACE: Duration = Duration::from_millis(250);
/// Interval of comments, and of looks at the session.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time of one stream. The browser opens it again.
const STREAM_TIME: Duration = Duration::from_secs(3_600);
/// Choices that a filter offers.
const CHOICES: usize = 100;

/// The verdicts that a person wants to see. An empty member fits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Filter {
    gateway: String,
    route: String,
    sender: String,
    code: String,
}

impl Filter {
    fn of(visit: &Visit) -> Self {
        let text = |name| visit.query.get(name).unwrap_or_default().to_owned();
        Self { gateway: text("gateway"), route: text("route"), sender: text("sender"), code: text("code") }
    }

    fn fits(&self, seen: &Seen) -> bool {
        let any_or = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        let verdict = &seen.verdict;
        let sender = verdict.sender.as_deref().unwrap_or_default();
        any_or(&self.gateway, &seen.gateway)
            && any_or(&self.route, &route(seen))
            && sender.contains(&self.sender)
            && (any_or(&self.code, verdict.outcome()) || self.code == verdict.verdict)
    }

    /// The query of a link with these members.
    fn query(&self) -> String {
        let members = [
            ("gateway", &self.gateway),
            ("route", &self.route),
            ("sender", &self.sender),
            ("code", &self.code),
        ];
        let given = members.into_iter().filter(|(_, value)| !value.is_empty());
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
    }
}

/// The route of a verdict: its binding and the agent behind it. Counted refusals of an agent have none.
fn route(seen: &Seen) -> String {
    match (seen.verdict.protocol.as_deref(), seen.verdict.agent()) {
        (Some(protocol), agent) if !agent.is_empty() => format!("{protocol} {agent}"),
        _ => String::new(),
    }
}

/// One row. A person who may read records finds a link to the decision.
struct Row {
    seen: Arc<Seen>,
    linked: bool,
}

impl Row {
    /// The class of the outcome. What people did about a request is neither good nor bad.
    fn class(&self) -> &'static str {
        match (self.seen.verdict.verdict.as_str(), &self.seen.verdict.code) {
            ("allowed", None) => "good",
            (_, Some(_)) => "bad",
            (_, None) => "warn",
        }
    }
}

/// A row by itself, as the stream sends it.
#[derive(Template)]
#[template(path = "verdict_row.html")]
struct RowPage {
    row: Row,
}

#[derive(Template)]
#[template(path = "verdicts.html")]
struct Page {
    frame: Frame,
    filter: Filter,
    feeds: Vec<FeedState>,
    rows: Vec<Row>,
    left_out: usize,
    newest: u64,
    routes: BTreeSet<String>,
    senders: BTreeSet<String>,
    codes: BTreeSet<String>,
}

impl Page {
    fn is_chosen(wanted: &str, is: &str) -> bool {
        wanted == is
    }
}

fn is_linked(visit: &Visit) -> bool {
    may_read(TablePage::Decision, &visit.session.person.roles)
}

/// `GET /verdicts`
pub(crate) fn page(visit: &Visit) -> Answer {
    let (feeds, filter) = (&visit.app.feeds, Filter::of(visit));
    let newest = feeds.newest();
    let (rows, left_out) = feeds.after(0, ROWS, |seen| filter.fits(seen));
    let linked = is_linked(visit);
    let mut routes = feeds.distinct(CHOICES, |seen| Some(route(seen)).filter(|route| !route.is_empty()));
    let is_verdict = |code: &str| matches!(code, "" | "allowed" | "refused" | "abandoned");
    let outcome = |seen: &Seen| Some(seen.verdict.outcome().to_owned()).filter(|code| !is_verdict(code));
    let mut codes = feeds.distinct(CHOICES, outcome);
    // a chosen value stays in the list after its last verdict has gone
    routes.extend(Some(filter.route.clone()).filter(|route| !route.is_empty()));
    codes.extend(Some(filter.code.clone()).filter(|code| !is_verdict(code)));
    html(&Page {
        senders: feeds.distinct(CHOICES, |seen| seen.verdict.sender.clone()),
        frame: visit.frame("/verdicts"),
        feeds: feeds.states(),
        filter,
        rows: rows.into_iter().map(|seen| Row { seen, linked }).collect(),
        left_out,
        newest,
        routes,
        codes,
    })
}

/// `GET /verdicts/stream?after=N`: rows as events, until the session ends.
pub(crate) fn stream(visit: Visit) -> Answer {
    let after = match visit.headers.get("last-event-id") {
        Some(id) => id.to_str().ok().map(str::to_owned),
        None => visit.query.get("after").map(str::to_owned),
    };
    let Some(after) = after.and_then(|after| after.parse().ok()) else {
        return Err(Trouble::new(StatusCode::BAD_REQUEST, "Not a number", "`after` must be a number."));
    };
    let slots = [&visit.session.streams, &visit.app.feeds.streams];
    let taken = slots.into_iter().map(|slots| Arc::clone(slots).try_acquire_owned().ok());
    let Some(permits) = taken.collect::<Option<Vec<_>>>() else {
        let text = "You have too many live pages open, or all people together. Reload this page to see newer verdicts.";
        return Err(Trouble::new(StatusCode::SERVICE_UNAVAILABLE, "Too many live pages", text));
    };
    let events = Live::events(visit, after, permits);
    let mut answer = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response();
    answer.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// One live page. It takes rows when its browser has taken those before.
struct Live {
    visit: Visit,
    filter: Filter,
    linked: bool,
    changes: watch::Receiver<u64>,
    after: u64,
    waiting: Vec<Event>,
    end: Instant,
    over: bool,
    /// Slots of the session and of the console.
    _permits: Vec<OwnedSemaphorePermit>,
}

impl Live {
    fn events(
        visit: Visit,
        after: u64,
        permits: Vec<OwnedSemaphorePermit>,
    ) -> impl Stream<Item = Result<Event, Infallible>> {
        let feeds = &visit.app.feeds;
        // a number of an earlier run of the console
        let after = if after > feeds.newest() { 0 } else { after };
        let (filter, linked, changes) = (Filter::of(&visit), is_linked(&visit), feeds.changes());
        let end = Instant::now() + STREAM_TIME;
        let live = Self {
            visit,
            filter,
            linked,
            changes,
            after,
            waiting: Vec::new(),
            end,
            over: false,
            _permits: permits,
        };
        stream::unfold(live, |mut live| async move {
            let event = live.next().await?;
            Some((Ok(event), live))
        })
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop() {
                return Some(event);
            }
            if self.over || Instant::now() >= self.end {
                return None;
            }
            if !self.visit.lasts() {
                self.over = true;
                return Some(Event::default().event("end").data("the session has ended"));
            }
            self.changes.mark_unchanged();
            self.look();
            if self.waiting.is_empty() {
                let _ = tokio::time::timeout(HEARTBEAT, self.changes.changed()).await;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Takes the new events. They wait in reverse order.
    fn look(&mut self) {
        let feeds = &self.visit.app.feeds;
        let newest = feeds.newest();
        let (rows, left_out) =
            feeds.after(self.after, ROWS_AT_ONCE, |seen| seen.number <= newest && self.filter.fits(seen));
        self.after = newest;
        if rows.is_empty() {
            return;
        }
        let linked = self.linked;
        let rendered = rows.into_iter().map(|seen| RowPage { row: Row { seen, linked } }.render());
        let Ok(rows) = rendered.collect::<Result<Vec<_>, _>>() else { return };
        self.waiting.push(Event::default().event("rows").id(newest.to_string()).data(rows.concat()));
        if left_out > 0 {
            self.waiting.push(Event::default().event("gap").data(left_out.to_string()));
        }
    }
}

#[cfg(test)]
mod tests;
