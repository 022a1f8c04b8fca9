//! `policy check --humans DIR`: can the people whom policies ask answer at all?

use std::path::Path;

use semgate_approvals::HumanCard;
use semgate_policies::{Approval, Approvers, ParsedPolicy, PolicyLimits, PolicySource, closest, parse_set};

use crate::fault::{Doing, Fault};
use crate::system::{read_bytes, unreadable};

/// Warnings about demands that nobody, or not enough people, can answer. They keep no set from loading: people come and go.
///
/// # Errors
/// The directory cannot be read, or a file in it is no Human Card.
pub fn warnings(source: &PolicySource, dir: &Path) -> Result<Vec<String>, Fault> {
    let cards = cards(dir)?;
    // the set was loaded before
    let (parsed, _) = parse_set(source, &PolicyLimits::default()).unwrap_or_default();
    Ok(parsed.iter().flat_map(|policy| of_policy(policy, &cards)).collect())
}

/// The cards of a directory, one in each `*.json`.
fn cards(dir: &Path) -> Result<Vec<HumanCard>, Fault> {
    let reading = |why| unreadable(dir, &why);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(reading)? {
        let path = entry.map_err(reading)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let card = |path: &std::path::PathBuf| {
        serde_json::from_slice(&read_bytes(path)?)
            .hinted(format_args!("`{}`", path.display()), "a Human Card is one person, in a file of its own")
    };
    paths.iter().map(card).collect()
}

fn of_policy(policy: &ParsedPolicy, cards: &[HumanCard]) -> Vec<String> {
    let approval = policy.obligation.as_ref().and_then(|one| one.approve.as_deref());
    let faults = approval.map(|approval| unanswerable(approval, cards)).unwrap_or_default();
    faults.into_iter().map(|why| format!("{}: policy `{}`: {why}", policy.location, policy.id)).collect()
}

/// The reasons that a demand cannot be answered.
fn unanswerable(approval: &Approval, cards: &[HumanCard]) -> Vec<String> {
    let named = [
        ("approvers", approval.approvers.as_ref()),
        ("escalate", approval.escalate.as_ref().map(|escalation| &escalation.to)),
    ];
    let named = named.into_iter().filter_map(|(word, who)| Some((word, who?)));
    let nobody = named.clone().filter(|(_, who)| !cards.iter().any(|card| card.is_in(who)));
    let mut faults: Vec<String> = nobody
        .map(|(word, who)| {
            let near = near(who, cards).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            format!("`@{word}` names `{who}`, and no Human Card is in it{near}")
        })
        .collect();
    let sets: Vec<&Approvers> = named.map(|(_, who)| who).collect();
    // without approvers the gateway's configuration names them
    let asked = |card: &&HumanCard| approval.approvers.is_none() || sets.iter().any(|who| card.is_in(who));
    let people = cards.iter().filter(asked).count();
    if faults.is_empty() && people < approval.quorum as usize {
        faults.push(format!("`@quorum` needs {} people, and only {people} can be asked", approval.quorum));
    }
    faults
}

/// The nearest set that has somebody in it.
fn near(who: &Approvers, cards: &[HumanCard]) -> Option<String> {
    let known: Vec<String> = match who {
        Approvers::Capability(_) => cards
            .iter()
            .flat_map(|card| &card.capabilities)
            .map(|name| format!("capability:{name}"))
            .collect(),
        Approvers::Group(_) => {
            cards.iter().flat_map(|card| &card.groups).map(|name| format!("group:{name}")).collect()
        }
        Approvers::Human(_) => cards.iter().map(|card| card.id.as_str().to_owned()).collect(),
    };
    closest(&who.to_string(), known.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests;
