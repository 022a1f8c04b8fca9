//! Agents as `entities.json` describes them, when gateways last heard of each, and the certificates of gateways.

use std::collections::BTreeMap;

use askama::Template;
use semgate_policies::AgentEntry;

use crate::answer::{Answer, Frame, html};
use crate::clock::now;
use crate::gateways::{Certificate, Status, ask_all, read};
use crate::guard::Visit;
use crate::pages::policies::set;
use crate::ring::last_seen;
use crate::visible::filters;

/// Seconds before the end of a certificate from which on the page warns: the alerts use the same.
const SOON: u64 = 7 * 86_400;

/// An agent with the time of its last message.
struct AgentRow {
    entry: AgentEntry,
    seen: Option<String>,
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
    /// True if any gateway told its ring.
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
    let asked = ask_all(&visit.app, |app, at| async move {
        let ring = match app.config.gateways.get(at) {
            Some(gateway) => last_seen(&app.admin(gateway)).await.ok(),
            None => None,
        };
        (read::<Status>(&app, at, "/status").await.ok(), ring)
    });
    let (mut own, mut seen, mut rings) = (Vec::new(), BTreeMap::<String, String>::new(), false);
    for (gateway, (status, ring)) in visit.app.config.gateways.iter().zip(asked.await) {
        let certificates = status.map(|status| status.certificates).unwrap_or_default();
        own.push(Own { gateway: gateway.name.clone(), certificates });
        rings |= ring.is_some();
        for (sender, time) in ring.into_iter().flatten() {
            let last = seen.entry(sender).or_default();
            *last = time.max(std::mem::take(last));
        }
    }
    let agents = agents(&visit, &seen).await;
    html(&Page { frame: visit.frame("/agents"), agents, rings, own, now: now() })
}

async fn agents(visit: &Visit, seen: &BTreeMap<String, String>) -> Result<Vec<AgentRow>, String> {
    let directory = visit.app.config.policies.as_deref();
    let directory = directory.ok_or("no policy directory is configured: set `policies` of `console.toml`")?;
    let set = set(&visit.app, directory).await.map_err(|trouble| trouble.text)?;
    let analysed =
        set.outcome.as_ref().map_err(|faults| format!("the policy set has {} faults", faults.len()))?;
    let row = |entry: &AgentEntry| AgentRow { seen: seen.get(&entry.id).cloned(), entry: entry.clone() };
    Ok(analysed.explainer.policies().agents().iter().map(row).collect())
}
