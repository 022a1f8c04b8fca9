//! Agents as `entities.json` describes them, when gateways last heard of each, and the certificates of gateways.

use std::collections::BTreeMap;

use askama::Template;
use semgate_policies::AgentEntry;

use crate::answer::{Answer, Frame, html};
use crate::clock::now;
use crate::gateways::{Certificate, Status, ask_all, read};
use crate::guard::Visit;
use crate::pages::policies::set;
use crate::visible::filters;

/// Seconds before the end of a certificate from which on the page warns: the alerts use the same.
const SOON: u64 = 7 * 86_400;

/// An agent with the time of its last message.
struct AgentRow {
    entry: AgentEntry,
    /// Unix seconds.
    seen: Option<u64>,
}

/// The certificates of a gateway.
struct Own {
    gateway: String,
    certificates: Vec<Certificate>,
}

#[derive(Template)]
#[template(path = "agents.html")]
struct Page {
    frame: Frame,
    /// The agents, or the reason that there is no list.
    agents: Result<Vec<AgentRow>, String>,
    /// True if any gateway tells its verdicts.
    rings: bool,
    own: Vec<Own>,
    now: u64,
}

impl Page {
    /// True if a certificate ends soon.
    fn ends_soon(&self, certificate: &Certificate) -> bool {
        certificate.not_after < self.now.saturating_add(SOON)
    }
}

/// `GET /agents`
pub(crate) async fn page(visit: Visit) -> Answer {
    let asked = ask_all(&visit.app, |app, at| async move { read::<Status>(&app, at, "/status").await.ok() });
    let gateways = visit.app.config.gateways.iter().zip(asked.await);
    let own = gateways.map(|(gateway, status)| Own {
        gateway: gateway.name.clone(),
        certificates: status.map(|status| status.certificates).unwrap_or_default(),
    });
    let own = own.collect();
    let rings = visit.app.feeds.states().iter().any(|feed| feed.fault.is_none());
    let agents = agents(&visit, &visit.app.feeds.last_seen()).await;
    html(&Page { frame: visit.frame("/agents"), agents, rings, own, now: now() })
}

async fn agents(visit: &Visit, seen: &BTreeMap<String, u64>) -> Result<Vec<AgentRow>, String> {
    let directory = visit.app.config.policies.as_deref();
    let directory = directory.ok_or("no policy directory is configured: set `policies` of `console.toml`")?;
    let set = set(&visit.app, directory).await.map_err(|trouble| trouble.text)?;
    let analysed =
        set.outcome.as_ref().map_err(|faults| format!("the policy set has {} faults", faults.len()))?;
    let row = |entry: &AgentEntry| AgentRow { seen: seen.get(&entry.id).copied(), entry: entry.clone() };
    Ok(analysed.explainer.policies().agents().iter().map(row).collect())
}
