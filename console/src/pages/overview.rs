//! The overview: what each gateway says about itself, and its refusals of the last hour.

use askama::Template;

use crate::answer::{Answer, Frame, html};
use crate::client::CallFault;
use crate::clock::now;
use crate::gateways::{Followed, Refusals, Status, ask_all, read};
use crate::guard::Visit;
use crate::visible::filters;

/// A gateway on the page.
struct Shown {
    name: String,
    admin: String,
    status: Result<Status, CallFault>,
    refusals: Option<Minutes>,
}

/// Counts of the last hour, a row for each minute with any.
struct Minutes {
    codes: Vec<String>,
    rows: Vec<Minute>,
}

/// One minute: Unix seconds of its start, the messages that passed, and the refusals in the order of the codes.
struct Minute {
    at: u64,
    allowed: u64,
    counts: Vec<u64>,
}

impl From<Refusals> for Minutes {
    fn from(read: Refusals) -> Self {
        let of = |counts: &Vec<u64>, at: usize| counts.get(at).copied().unwrap_or_default();
        let rows = read.minutes.iter().enumerate().map(|(at, minute)| Minute {
            at: minute.saturating_mul(60),
            allowed: of(&read.allowed, at),
            counts: read.codes.values().map(|counts| of(counts, at)).collect(),
        });
        Self { codes: read.codes.keys().cloned().collect(), rows: rows.collect() }
    }
}

impl Minutes {
    /// True if the hour has nothing to show.
    fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.allowed == 0 && row.counts.iter().all(|count| *count == 0))
    }
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Page {
    frame: Frame,
    gateways: Vec<Shown>,
    now: u64,
}

impl Page {
    /// Seconds until the status of an authority is stale; 0 once it is.
    fn left(&self, followed: &Followed) -> u64 {
        followed.next_update.saturating_sub(self.now)
    }
}

/// `GET /`
pub(crate) async fn page(visit: Visit) -> Answer {
    let asked = ask_all(&visit.app, |app, at| async move {
        let status = read::<Status>(&app, at, "/status").await;
        // a gateway of an earlier version has no such page
        let refusals = read::<Refusals>(&app, at, "/refusals?minutes=60").await.ok();
        (status, refusals.map(Minutes::from))
    });
    let gateways = visit.app.config.gateways.iter().zip(asked.await);
    let shown = gateways.map(|(gateway, (status, refusals))| Shown {
        name: gateway.name.clone(),
        admin: gateway.admin.clone(),
        status,
        refusals: refusals.filter(|minutes| !minutes.is_empty()),
    });
    html(&Page { frame: visit.frame("/"), gateways: shown.collect(), now: now() })
}
