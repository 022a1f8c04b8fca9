//! Does every policy fit the schema, and does everything that it names exist? In words that say what was meant.

mod meant;
mod once;
mod said;
mod strangers;

use std::collections::BTreeSet;

use cedar_policy::{EntityUid, ValidationError, ValidationResult, ValidationWarning};
use miette::Diagnostic;

use crate::agents::Agents;
use crate::parse::{Written, help, offset, place, words};
use crate::sense::{World, texts, tokens};
use crate::{Place, PolicyFault, pace};
pub(crate) use meant::{kind, member_elsewhere, unknown_type};
pub(crate) use strangers::told_once;

/// Policies and the files that they stand in.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    pub files: &'a [(String, String)],
    pub written: &'a [Written],
}

impl<'a> Texts<'a> {
    /// The policies, with a rest before each.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = &'a Written> + use<'a> {
        self.written.iter().inspect(|_| pace::rest())
    }

    /// Name and text of the file that a policy stands in.
    pub fn file(&self, written: &Written) -> (&'a str, &'a str) {
        self.files.get(written.file).map_or(("", ""), |(name, text)| (name, text))
    }

    /// The text of that file from the policy on, where Cedar counts from.
    fn counted(&self, written: &Written) -> &'a str {
        self.file(written).1.get(written.start..).unwrap_or_default()
    }

    /// Agents and groups that `entities.json` does not have, and instances named as if they had ids.
    pub fn unknown_names(&self, agents: &Agents) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for written in self.each() {
            let mut seen = Vec::new();
            for uid in written.policy.entity_literals() {
                if seen.contains(&uid) {
                    continue;
                }
                faults.extend(self.unknown_name(written, &uid, agents));
                seen.push(uid);
            }
        }
        faults
    }

    /// The groups that policies name.
    pub fn groups(&self) -> BTreeSet<String> {
        let named = self.each().flat_map(|written| written.policy.entity_literals());
        let groups = named.filter(|uid| uid.type_name().to_string() == "Group");
        groups.map(|uid| uid.id().unescaped().to_owned()).collect()
    }

    /// Every text that a condition has.
    pub fn literals(&self) -> BTreeSet<String> {
        texts(self.each().flat_map(|written| written.judged.iter()))
    }

    fn unknown_name(&self, written: &Written, uid: &EntityUid, agents: &Agents) -> Option<PolicyFault> {
        let id = uid.id().unescaped();
        let hint = match uid.type_name().to_string().as_str() {
            "Agent" => match agents.position(id) {
                Some(_) => return None,
                None => agent_hint(id, agents),
            },
            "Group" if agents.groups().contains(id) => return None,
            "Group" if agents.position(id).is_some() => {
                Some(format!("it is an agent: write `Agent::\"{id}\"`"))
            }
            "Group" => closest(id, agents.groups().iter().map(String::as_str))
                .map(|near| format!("did you mean `Group::\"{near}\"`?"))
                .or_else(|| {
                    Some("a group is there once an agent is in it, or the list `groups` names it".to_owned())
                }),
            // The validator knows every action.
            name if name == "Action" || name.ends_with("::Action") => return None,
            // and says of one that is misspelt what was meant
            name if closest(name, ["Agent", "Group", "Action"].into_iter()).is_some() => return None,
            name if strangers::is_one(name) => return Some(self.stranger(written, uid, agents)),
            name => {
                return Some(PolicyFault::Invalid {
                    place: self.place_of_name(written, uid),
                    policy: written.id.to_string(),
                    why: format!("`{uid}` names an instance, and instances have no names"),
                    hint: Some(format!("write `resource is {name}`")),
                });
            }
        };
        Some(PolicyFault::UnknownEntity {
            place: self.place_of_name(written, uid),
            policy: written.id.to_string(),
            entity: uid.to_string(),
            hint,
        })
    }

    pub(crate) fn place_of_name(&self, written: &Written, uid: &EntityUid) -> Place {
        self.place_at(written, name_in(self.text(written), uid))
    }

    /// What Cedar's strict validation found in one policy, and what it does not look for; what Cedar only warns of (a policy that can never
    /// match, confusable characters) is a fault as well.
    pub fn found(&self, written: &Written, result: &ValidationResult, world: &World<'_>) -> Vec<PolicyFault> {
        let mut faults: Vec<PolicyFault> = Vec::new();
        let mut told = once::Told::default();
        let mut errors = self.one_for_a_comparison(written, result.validation_errors());
        once::in_order(&mut errors);
        for error in errors {
            let meant = self.meant(written, error, world.catalogue);
            if !told.again(self.counted(written), error, meant.as_deref()) {
                push_new(&mut faults, self.fault(written, error, meant));
            }
        }
        faults.extend(self.unseen([written], world));
        // That a policy can never match mostly follows from an error in it.
        if faults.is_empty() {
            for warning in result.validation_warnings() {
                let never = matches!(
                    warning,
                    ValidationWarning::ImpossiblePolicy(_) | ValidationWarning::InvalidActionApplication(_)
                );
                let fault =
                    if never { self.impossible(written, world) } else { self.fault(written, warning, None) };
                push_new(&mut faults, fault);
            }
        }
        if faults.is_empty() && !result.validation_passed_without_warnings() {
            faults.push(PolicyFault::Schema { why: result.to_string() });
        }
        in_order(&mut faults);
        faults
    }

    /// These without what is told of the right side of a comparison whose left side is of another type than is asked for: that is one mistake.
    fn one_for_a_comparison<'e>(
        &self,
        written: &Written,
        errors: impl Iterator<Item = &'e ValidationError>,
    ) -> Vec<&'e ValidationError> {
        let mut all: Vec<&ValidationError> = errors.collect();
        let side = |error: &ValidationError| match error {
            ValidationError::UnexpectedType(_) => offset(error),
            _ => None,
        };
        // Cedar looks at a policy many times, and finds the same each time
        let sides: BTreeSet<usize> = all.iter().filter_map(|error| side(error)).collect();
        let text = self.counted(written);
        let compared = |(left, at): &(&usize, &usize)| {
            let between = text.get(**left..**at).unwrap_or_default();
            !between.contains(['&', '|', ';', '{', '}', '('])
        };
        let right: BTreeSet<usize> =
            sides.iter().zip(sides.iter().skip(1)).filter(compared).map(|(_, at)| *at).collect();
        all.retain(|error| side(error).is_none_or(|at| !right.contains(&at)));
        all
    }

    fn fault(&self, written: &Written, diagnostic: &dyn Diagnostic, meant: Option<String>) -> PolicyFault {
        let (file, text) = self.file(written);
        let why = words(diagnostic);
        let prefix = format!("for policy `{}`, ", written.id);
        let why = why.strip_prefix(&prefix).unwrap_or(&why);
        PolicyFault::Invalid {
            place: place(file, text, offset(diagnostic).map_or(written.start, |at| written.start + at)),
            policy: written.id.to_string(),
            why: said::plainly(why),
            hint: meant.or_else(|| {
                let help = help(diagnostic).filter(|help| is_near(why, help))?;
                Some(help.strip_prefix(&prefix).map_or_else(|| help.clone(), str::to_owned))
            }),
        }
    }
}

/// Where an entity is named first in the text of a policy; its beginning if that cannot be told.
pub(crate) fn name_in(text: &str, uid: &EntityUid) -> usize {
    let (kind, quoted) = (uid.type_name().to_string(), format!("\"{}\"", uid.id().unescaped()));
    let mut words: Vec<&str> = kind.split("::").flat_map(|name| [name, "::"]).collect();
    words.push(&quoted);
    tokens::sequence(&tokens::of(text), &words).unwrap_or_default()
}

/// Cedar looks at a policy once for each (action, type), so one mistake is found many times.
fn push_new(faults: &mut Vec<PolicyFault>, fault: PolicyFault) {
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}

/// By place, and at one place by what is said: Cedar tells in another order each time.
pub(crate) fn in_order(faults: &mut [PolicyFault]) {
    faults.sort_by_cached_key(|fault| (place_in(fault).cloned(), fault.to_string()));
}

/// Where a fault is.
pub(crate) fn place_in(fault: &PolicyFault) -> Option<&Place> {
    match fault {
        PolicyFault::Invalid { place, .. }
        | PolicyFault::BelowFloor { place, .. }
        | PolicyFault::NobodyComes { place, .. }
        | PolicyFault::Stopped { place, .. }
        | PolicyFault::OtherMajor { place, .. }
        | PolicyFault::Waiting { place, .. }
        | PolicyFault::OffRoutes { place, .. }
        | PolicyFault::NoTool { place, .. }
        | PolicyFault::PlainSigns { place, .. }
        | PolicyFault::NoParameter { place, .. }
        | PolicyFault::NoPermit { place }
        | PolicyFault::UnknownIssuer { place, .. }
        | PolicyFault::UnknownLine { place, .. }
        | PolicyFault::UnknownToContexts { place, .. }
        | PolicyFault::Entities { place, .. }
        | PolicyFault::Limits { place, .. }
        | PolicyFault::UnknownEntity { place, .. } => Some(place),
        _ => None,
    }
}

/// The policy that a fault is about.
pub(crate) fn policy_in(fault: &PolicyFault) -> Option<&str> {
    match fault {
        PolicyFault::Invalid { policy, .. }
        | PolicyFault::BelowFloor { policy, .. }
        | PolicyFault::UnknownEntity { policy, .. }
        | PolicyFault::NobodyComes { policy, .. }
        | PolicyFault::OtherMajor { policy, .. }
        | PolicyFault::Waiting { policy, .. }
        | PolicyFault::OffRoutes { policy, .. }
        | PolicyFault::NoTool { policy, .. }
        | PolicyFault::PlainSigns { policy, .. }
        | PolicyFault::NoParameter { policy, .. }
        | PolicyFault::Stopped { policy, .. } => Some(policy),
        _ => None,
    }
}

/// Cedar suggests the least distant of all names, however far it is, and of several another one each time: of types and actions that are not
/// known nothing that it suggests is told.
pub(crate) fn is_near(why: &str, help: &str) -> bool {
    if help.starts_with("did you mean") && why.starts_with("unrecognized") {
        return false;
    }
    let quoted = |text: &str| text.split('`').nth(1).map(str::to_owned);
    if !help.starts_with("did you mean") || !why.contains("not found") {
        return true;
    }
    // the name that is wrong is the first that is quoted behind the policy's own
    let wrong = why.split_once("attribute ").and_then(|(_, rest)| quoted(rest));
    match (wrong, quoted(help)) {
        (Some(wrong), Some(near)) => closest(&wrong, std::iter::once(near.as_str())).is_some(),
        _ => true,
    }
}

fn agent_hint(id: &str, agents: &Agents) -> Option<String> {
    if let Some(entry) = agents.by_alias(id) {
        return Some(format!("`{id}` is an alias: write `Agent::\"{}\"`", entry.id));
    }
    let aliases = || agents.entries().iter().filter_map(|entry| Some((entry.alias.as_deref()?, entry)));
    if let Some(near) = closest(id, aliases().map(|(alias, _)| alias))
        && let Some((_, entry)) = aliases().find(|(alias, _)| *alias == near)
    {
        return Some(format!("`{near}` is an alias: write `Agent::\"{}\"`", entry.id));
    }
    let near = closest_agent(id, agents).map(|near| format!("did you mean `Agent::\"{near}\"`?"));
    let form = || format!("{AGENT}, as in `Agent::\"spiffe://…\"`");
    near.or_else(|| (!id.starts_with("spiffe://")).then(form))
}

/// How agents are named.
const AGENT: &str = "an agent is named by the SPIFFE id of its certificate";

/// The same of agents, whose names have most in common anyway: what differs is held against the last part of the name alone.
pub(crate) fn closest_agent<'a>(id: &str, agents: &'a Agents) -> Option<&'a str> {
    let near = closest(id, agents.entries().iter().map(|entry| entry.id.as_str()))?;
    let own = id.trim_end_matches('/').rsplit('/').next().unwrap_or(id);
    (near.eq_ignore_ascii_case(id) || distance(id, near) * 3 <= own.chars().count()).then_some(near)
}

/// The nearest of the known names, if it is near: at most a third of the letters differ, or the case alone.
pub(crate) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let apart =
        |candidate: &str| if candidate.eq_ignore_ascii_case(name) { 0 } else { distance(name, candidate) };
    known
        .map(|candidate| (apart(candidate), candidate))
        .min()
        .filter(|(apart, _)| *apart * 3 <= name.chars().count())
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let here = (diagonal + usize::from(x != *y)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = here;
            left = here;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Agents, closest, closest_agent, distance};

    #[test]
    fn bug_another_agent_was_suggested_for_what_agents_names_have_in_common() {
        let id = |name: &str| format!("spiffe://semgate.test/agent/{name}");
        let entries = ["courier-5", "operator", "retailer-7"]
            .map(|name| format!(r#"{{"id":"{}","groups":[],"credentials":[]}}"#, id(name)));
        let document = format!(r#"{{"agents":[{}]}}"#, entries.join(","));
        let agents = Agents::read(document.as_bytes(), &crate::PolicyLimits::default()).unwrap();
        for (asked, near) in [
            ("retialer-7", Some("retailer-7")),
            ("Operator", Some("operator")),
            ("bank-9", None),
            ("abc", None),
            ("shop-3", None),
        ] {
            assert_eq!(closest_agent(&id(asked), &agents), near.map(id).as_deref(), "{asked}");
        }
        let elsewhere = closest_agent("spiffe://semgate.tset/agent/courier-5", &agents);
        assert_eq!(elsewhere, Some(id("courier-5").as_str()));
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(closest("no-fre-text", ["no-free-text", "repliers"].into_iter()), Some("no-free-text"));
        assert_eq!(closest("admins", ["no-free-text", "repliers"].into_iter()), None);
    }
}
