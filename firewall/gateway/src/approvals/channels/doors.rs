//! The addresses at which people answer without a client certificate.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::super::Desk;
use super::clicks::Clicks;
use super::courier::Errand;
use super::forms::Forms;
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
}
