//! Groups and credentials of today, as facts about sender and receiver.
//!
//! A question cannot tell apart two agents that no policy names and that have the same groups, credentials and domain as far as policies
//! name these. Two of each such class stand for all of them: two, because a message has a sender and a receiver.

use std::collections::BTreeMap;

use semgate_policies::AgentEntry;

use super::{Fact, Lasting};
use crate::expression::{Mentions, quoted};

/// Agents of one class that are kept.
const OF_A_CLASS: usize = 2;
/// The two sides of a message.
const SIDES: [&str; 2] = ["principal", "context.receiver"];
/// Names of credentials that a token or a certificate shows.
const TOKEN: &str = "token:";
const CERTIFICATE: &str = "cert:";

/// The agents that stand for all.
#[derive(Debug, Default)]
pub struct Crowd {
    agents: Vec<AgentEntry>,
}

impl Crowd {
    /// Chooses them. `named` holds the mentions of the whole set.
    pub fn of(agents: &[AgentEntry], named: &Mentions) -> Self {
        let mut classes: BTreeMap<_, usize> = BTreeMap::new();
        let mut kept = Vec::new();
        for agent in agents {
            let groups: Vec<&String> =
                agent.groups.iter().filter(|one| named.groups.contains(*one)).collect();
            let held: Vec<&String> =
                agent.credentials.iter().filter(|one| named.texts.contains(*one)).collect();
            let known = classes.entry((groups, held, domain(&agent.id), agent.disabled)).or_default();
            if named.agents.contains(&agent.id) || *known < OF_A_CLASS {
                *known += usize::from(!named.agents.contains(&agent.id));
                kept.push(agent.clone());
            }
        }
        Self { agents: kept }
    }

    /// The facts about the groups, credentials and agents that a question names.
    pub fn facts(&self, asked: &Mentions) -> Vec<Fact> {
        let mut all = Vec::new();
        for side in SIDES {
            for group in &asked.groups {
                let key = format!("Group::{}", quoted(group));
                let members = self.list(side, |agent| agent.groups.contains(group));
                all.extend(members.map(|list| {
                    let text = format!("({side} in {key}) == ([{list}].contains({side}))");
                    Fact::about(Lasting::Today, text, [])
                }));
            }
            for text in asked.texts.iter().filter(|text| !is_shown(text)) {
                let holders = self.list(side, |agent| agent.credentials.contains(text));
                all.extend(holders.map(|list| {
                    let has = format!("{side}.credentials.contains({})", quoted(text));
                    let text = format!("{has} == ([{list}].contains({side}))");
                    Fact::about(Lasting::Today, text, [format!("{side}.credentials")])
                }));
            }
            if asked.keys.contains(&format!("{side}.trust_domain")) {
                all.extend(self.agents.iter().map(|agent| {
                    let (id, domain) = (quoted(&agent.id), quoted(domain(&agent.id)));
                    let text =
                        format!("(if {side} == Agent::{id} then {side}.trust_domain == {domain} else true)");
                    Fact::about(Lasting::Always, text, [])
                }));
            }
        }
        for agent in self.agents.iter().filter(|agent| agent.disabled && asked.agents.contains(&agent.id)) {
            let text = format!("principal != Agent::{}", quoted(&agent.id));
            all.push(Fact::about(Lasting::Today, text, []));
        }
        all.extend(asked.texts.iter().flat_map(|text| shown(text)));
        all
    }

    /// The agents that are so, as a Cedar list; a sender that is disabled reaches no policy. Nothing of nobody: a group may be empty today,
    /// and policies about it are meant for those to come.
    fn list(&self, side: &str, is: impl Fn(&AgentEntry) -> bool) -> Option<String> {
        let counts = |agent: &&AgentEntry| is(agent) && !(agent.disabled && side == "principal");
        let all: Vec<String> =
            self.agents.iter().filter(counts).map(|agent| format!("Agent::{}", quoted(&agent.id))).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// True for a credential that comes with a message and not from `entities.json`.
fn is_shown(credential: &str) -> bool {
    credential.starts_with(TOKEN) || credential.starts_with(CERTIFICATE)
}

/// When a shown credential can be there. A token comes with a request. The receiver of a request has shown nothing yet.
fn shown(credential: &str) -> Vec<Fact> {
    let mut all = Vec::new();
    let has = |side: &str| format!("{side}.credentials.contains({})", quoted(credential));
    let mut say = |side: &str, direction: &str| {
        let text = format!("context.direction == \"{direction}\" || !{}", has(side));
        all.push(Fact::about(
            Lasting::Always,
            text,
            [format!("{side}.credentials"), "context.direction".to_owned()],
        ));
    };
    if credential.starts_with(TOKEN) {
        say("principal", "request");
    }
    if is_shown(credential) {
        say("context.receiver", "reply");
    }
    all
}

/// The trust domain of a SPIFFE id.
fn domain(id: &str) -> &str {
    id.strip_prefix("spiffe://").and_then(|rest| rest.split('/').next()).unwrap_or_default()
}
