//! Limits: budgets of agents from `limits.json`, and the meters of each gateway that speak of limits.

use askama::Template;

use crate::answer::{Answer, Frame, html};
use crate::client::CallFault;
use crate::gateways::ask_all;
use crate::guard::Visit;
use crate::pages::policies::set;
use crate::visible::filters;

/// Metrics about scarce things (docs/reference/metrics.md), by the beginning of their names.
const ABOUT: [&str; 12] = [
    "semgate_held_bytes",
    "semgate_connections",
    "semgate_handshakes_failed_total",
    "semgate_audit_lost",
    "semgate_audit_ocsf_lost",
    "semgate_spans_lost_total",
    "semgate_log_lines_lost_total",
    "semgate_context_bytes",
    "semgate_contexts_left_out",
    "semgate_memory_reserve",
    "semgate_shadow_",
    "semgate_protocols_total",
];
/// Codes of refusals for lack of something.
const LIMITED: [&str; 6] =
    ["rate_limited", "ambiguity_limited", "too_large", "too_deep", "too_complex", "audit_unavailable"];

/// One sample: its name with labels, and its value.
struct Sample {
    name: String,
    value: String,
}

/// The samples of a gateway.
struct Meters {
    gateway: String,
    samples: Result<Vec<Sample>, CallFault>,
}

/// A budget with the agents that have it.
struct BudgetRow {
    name: String,
    rate: String,
    key: String,
    agents: Vec<String>,
}

#[derive(Template)]
#[template(path = "limits.html")]
struct Page {
    frame: Frame,
    budgets: Result<Vec<BudgetRow>, String>,
    meters: Vec<Meters>,
}

/// `GET /limits`
pub(crate) async fn page(visit: Visit) -> Answer {
    let asked = ask_all(&visit.app, |app, at| async move {
        let gateway =
            app.config.gateways.get(at).ok_or_else(|| CallFault::Silent("no such gateway".to_owned()))?;
        let text = app.admin(gateway).get("/metrics").await?.body;
        Ok(samples(&String::from_utf8_lossy(&text)))
    });
    let gateways = visit.app.config.gateways.iter().zip(asked.await);
    let meters =
        gateways.map(|(gateway, samples)| Meters { gateway: gateway.name.clone(), samples }).collect();
    html(&Page { frame: visit.frame("/limits"), budgets: budgets(&visit).await, meters })
}

/// The samples about limits in Prometheus' text form.
fn samples(text: &str) -> Vec<Sample> {
    let is_about = |name: &str| {
        let refusals = name.starts_with("semgate_protocols_total");
        ABOUT.iter().any(|about| name.starts_with(about))
            && (!refusals || LIMITED.iter().any(|code| name.contains(&format!("verdict=\"{code}\""))))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    let of = |(name, value): (&str, &str)| Sample { name: name.to_owned(), value: value.to_owned() };
    pairs.filter(|(name, _)| is_about(name)).map(of).collect()
}

async fn budgets(visit: &Visit) -> Result<Vec<BudgetRow>, String> {
    let directory = visit.app.config.policies.as_deref();
    let directory = directory.ok_or("no policy directory is configured: set `policies` of `console.toml`")?;
    let set = set(&visit.app, directory).await.map_err(|trouble| trouble.text)?;
    let analysed =
        set.outcome.as_ref().map_err(|faults| format!("the policy set has {} faults", faults.len()))?;
    let policies = analysed.explainer.policies();
    let mut rows: Vec<BudgetRow> = Vec::new();
    for agent in policies.agents() {
        let name = agent.alias.clone().unwrap_or_else(|| agent.id.clone());
        for budget in policies.budgets_of(&agent.id) {
            let rate = budget.rate.to_string();
            match rows.iter_mut().find(|row| *row.name == *budget.name && row.rate == rate) {
                Some(row) => row.agents.push(name.clone()),
                None => {
                    let (key, agents) = (budget.key.whom(), vec![name.clone()]);
                    rows.push(BudgetRow { name: budget.name.to_string(), rate, key, agents });
                }
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_meters_about_limits_are_shown() {
        let text = "# TYPE x\nsemgate_held_bytes 12\nsemgate_generation 3\nsemgate_protocols_total{verdict=\"allowed\"} 9\nsemgate_protocols_total{route=\"l8\",verdict=\"rate_limited\"} 2\n";
        let names: Vec<String> =
            samples(text).into_iter().map(|one| format!("{} {}", one.name, one.value)).collect();
        assert_eq!(
            names,
            ["semgate_held_bytes 12", "semgate_protocols_total{route=\"l8\",verdict=\"rate_limited\"} 2"]
        );
    }
}
