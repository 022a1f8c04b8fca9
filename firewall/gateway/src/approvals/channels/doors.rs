//! The addresses at which people answer without a client certificate.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio::sync::mpsc;

use super::super::Desk;
use super::courier::Errand;
use super::link_door::{self, Forms};
use super::slack_door::{self, Clicks};
use crate::config::ApprovalsConfig;
use crate::fault::RunFault;

/// State of the doors.
#[derive(Clone)]
pub(crate) struct Doors {
    pub(super) desk: Desk,
    pub(super) config: Arc<ApprovalsConfig>,
    pub(super) forms: Arc<Forms>,
    pub(super) clicks: Option<Arc<Clicks>>,
    pub(super) errands: mpsc::Sender<Errand>,
}

impl Doors {
    /// # Errors
    /// An unreadable signing secret.
    pub(crate) fn open(
        desk: Desk,
        config: Arc<ApprovalsConfig>,
        errands: mpsc::Sender<Errand>,
    ) -> Result<Self, RunFault> {
        let clicks = config.slack.as_ref().map(Clicks::open).transpose()?.map(Arc::new);
        Ok(Self { desk, config, forms: Arc::new(Forms::default()), clicks, errands })
    }

    /// The pages: `/decide/{token}`, and `/slack/actions` with `[approvals.slack]`.
    pub(crate) fn router(&self) -> Router {
        let mut router = Router::new().route("/decide/{token}", get(link_door::show).post(link_door::decide));
        if self.clicks.is_some() {
            router = router.route("/slack/actions", post(slack_door::clicked));
        }
        router.with_state(self.clone())
    }
}
