//! State of gateways, as their admin addresses tell it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::app::App;
use crate::client::CallFault;

/// `GET /status` of a gateway. Unknown members are left out.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Status {
    pub(crate) ready: bool,
    #[serde(default)]
    pub(crate) obstacles: Vec<String>,
    pub(crate) generation: u64,
    pub(crate) config: ConfigState,
    pub(crate) policies: PolicyState,
    pub(crate) shadow: Option<PolicyState>,
    #[serde(default)]
    pub(crate) authorities: Vec<Followed>,
    pub(crate) audit: AuditState,
    #[serde(default)]
    pub(crate) certificates: Vec<Certificate>,
    #[serde(default)]
    pub(crate) routes: Vec<Route>,
}

/// The configuration of a gateway.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ConfigState {
    pub(crate) current: bool,
    pub(crate) fault: Option<String>,
}

/// A policy set of a gateway.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PolicyState {
    pub(crate) digest: Option<String>,
    pub(crate) current: bool,
    pub(crate) rejected: Option<String>,
    #[serde(default)]
    pub(crate) faults: Vec<String>,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

/// An authority that a gateway follows.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Followed {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) issued_at: u64,
    pub(crate) next_update: u64,
    pub(crate) fresh: bool,
    pub(crate) distrusted: bool,
    pub(crate) obstacle: Option<Obstacle>,
    #[serde(default)]
    pub(crate) contexts: u64,
}

/// The reason that a gateway cannot follow.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Obstacle {
    pub(crate) cause: String,
    pub(crate) detail: String,
}

/// The audit log of a gateway.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AuditState {
    pub(crate) written: u64,
    pub(crate) lost: u64,
    pub(crate) working: bool,
}

/// A certificate of a gateway.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Certificate {
    pub(crate) file: String,
    pub(crate) subject: String,
    pub(crate) not_after: u64,
    pub(crate) days_left: u64,
}

/// A route of a gateway.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) url: String,
}

/// `GET /refusals` of a gateway: counts for each minute, by code.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Refusals {
    /// Minutes since the epoch.
    pub(crate) minutes: Vec<u64>,
    pub(crate) codes: BTreeMap<String, Vec<u64>>,
    pub(crate) allowed: Vec<u64>,
}

/// Asks every gateway at once. Answers stand in the order of the configuration.
pub(crate) async fn ask_all<T, F>(app: &Arc<App>, ask: impl Fn(Arc<App>, usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let asked: Vec<_> =
        (0..app.config.gateways.len()).map(|at| tokio::spawn(ask(Arc::clone(app), at))).collect();
    let mut all = Vec::with_capacity(asked.len());
    for one in asked {
        // a task ends without its value only if it panicked, and none does
        all.extend(one.await.ok());
    }
    all
}

/// Reads JSON from the admin address of the gateway at this position.
///
/// # Errors
/// No answer in time, or none of this form.
pub(crate) async fn read<T: serde::de::DeserializeOwned>(
    app: &App,
    at: usize,
    path: &str,
) -> Result<T, CallFault> {
    let gateway = app.config.gateways.get(at);
    let gateway = gateway.ok_or_else(|| CallFault::Silent("no such gateway".to_owned()))?;
    app.admin(gateway).get(path).await?.json()
}
