//! Checks of a policy set at load: Cedar's strict validation, declared names, visible members and literals.

mod former;
mod hidden;
mod literals;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::{EntityUid, ResourceConstraint, ValidationError, ValidationResult};
use miette::Diagnostic;
use semgate_contexts::Performative;

use crate::catalogue::{Catalogue, TypeInfo};
use crate::parse::{Written, help, location, offset, words};
use crate::partial::Known;
use crate::policy_text;
use crate::suggest::{closest, did_you_mean, is_near};
use crate::{Location, PolicyFault};
pub(crate) use former::Former;
pub(crate) use literals::Literals;
pub(crate) use names::{Undeclared, narrows_without};

/// Policies and the files that they stand in.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    pub files: &'a [(String, String)],
    pub written: &'a [Written],
}

impl<'a> Texts<'a> {
    /// Name and text of the file of a policy.
    pub fn file(&self, written: &Written) -> (&'a str, &'a str) {
        self.files.get(written.file).map_or(("", ""), |(name, text)| (name, text))
    }

    /// The text of the file from the policy on; Cedar counts offsets from there.
    pub fn text(&self, written: &Written) -> &'a str {
        self.file(written).1.get(written.start..).unwrap_or_default()
    }

    /// The location of an offset that is counted from the beginning of the policy.
    pub fn location_at(&self, written: &Written, offset: usize) -> Location {
        let (file, text) = self.file(written);
        location(file, text, written.start + offset)
    }

    /// The first location of these words in a policy, or the beginning of the policy.
    fn location_of(&self, written: &Written, words: &[&str]) -> Location {
        let at = policy_text::sequence(&policy_text::of(self.text(written)), words);
        self.location_at(written, at.unwrap_or_default())
    }

    fn invalid(&self, written: &Written, at: Location, why: String, hint: Option<String>) -> PolicyFault {
        PolicyFault::Invalid { location: at, policy: written.id.to_string(), why, hint }
    }

    /// The faults of one policy by Cedar's strict validation, the first at each location. Warnings of Cedar, such as that a policy is
    /// impossible, are faults too; they are reported only for a policy without errors, since they mostly follow from those.
    pub fn validated(
        &self,
        written: &Written,
        result: &ValidationResult,
        catalogue: &Catalogue,
    ) -> Vec<PolicyFault> {
        let prefix = format!("for policy `{}`, ", written.id);
        let message = |diagnostic: &dyn Diagnostic| {
            let text = words(diagnostic).replace("__cedar::internal::", "");
            text.strip_prefix(&prefix).map_or_else(|| text.clone(), str::to_owned)
        };
        let mut first: BTreeMap<Option<usize>, (String, Option<String>)> = BTreeMap::new();
        let mut add = |at: Option<usize>, why: String, hint: Option<String>| {
            let known = first.get(&at).is_some_and(|(known, _)| *known <= why);
            if !known {
                first.insert(at, (why, hint));
            }
        };
        let mut failed = false;
        for error in result.validation_errors() {
            failed = true;
            let why = message(error);
            let suggested =
                || help(error).map(|help| help.replace(&prefix, "")).filter(|help| is_near(&why, help));
            let hint = suggestion(error, &why, catalogue).or_else(suggested);
            add(offset(error), why, hint);
        }
        if !failed {
            for warning in result.validation_warnings() {
                add(offset(warning), message(warning), help(warning));
            }
        }
        let fault = |(at, (why, hint)): (Option<usize>, (String, Option<String>))| {
            self.invalid(written, self.location_at(written, at.unwrap_or_default()), why, hint)
        };
        first.into_iter().map(fault).collect()
    }
}

/// The types that a policy can be about, by its scope and by what its conditions say of type and line.
fn candidates<'c>(written: &Written, catalogue: &'c Catalogue) -> Vec<&'c TypeInfo> {
    let named = match written.policy.resource_constraint() {
        ResourceConstraint::Is(name) => Some(name.to_string()),
        _ => None,
    };
    let may_be = |info: &&TypeInfo| match &named {
        Some(name) => info.name == *name,
        None => !Known { info: Some(info), ..Known::default() }.excludes(&written.clauses),
    };
    catalogue.types.iter().filter(may_be).collect()
}

/// A suggestion of ours where Cedar has none, or one that differs from run to run.
fn suggestion(error: &ValidationError, why: &str, catalogue: &Catalogue) -> Option<String> {
    match error {
        ValidationError::UnrecognizedEntityType(_) => {
            let name = why.split('`').nth(1)?;
            unknown_type(name, catalogue)
                .or_else(|| did_you_mean(name, ["Agent", "Group", "Action"].into_iter()))
        }
        ValidationError::UnrecognizedActionId(_) => {
            let name = why.split('"').nth(1)?;
            let all = || Performative::ALL.iter().map(|known| known.as_str());
            let listed = || all().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ");
            let near = closest(name, all()).map(|near| format!("did you mean `Action::\"{near}\"`?"));
            near.or_else(|| Some(format!("there are {}", listed())))
        }
        ValidationError::UnsafeAttributeAccess(_) => {
            let (member, of) = why.strip_prefix("attribute `")?.split_once("` on entity type `")?;
            let name = of.split('`').next()?;
            let info = catalogue.types.iter().find(|info| info.name == name)?;
            let visible = |(name, member): (&'_ String, &crate::kinds::Attribute)| {
                member.kind.is_some().then(|| name.clone())
            };
            if info.attributes.members.get(member).is_some_and(|attribute| attribute.kind.is_none()) {
                return Some(format!("`{member}` is not visible to policies: {}", hidden::HINT));
            }
            let members: Vec<String> =
                info.attributes.members.iter().filter_map(|(name, member)| visible((name, member))).collect();
            did_you_mean(member, members.iter().map(String::as_str))
        }
        _ => None,
    }
}

/// The type that was probably meant by a name that no type has.
pub(crate) fn unknown_type(name: &str, catalogue: &Catalogue) -> Option<String> {
    let concept = name.rsplit("::").next()?;
    let same = catalogue.types.iter().filter(|info| info.name.rsplit("::").next() == Some(concept));
    let same: Vec<String> = same.map(|info| format!("`{}`", info.name)).collect();
    if !same.is_empty() {
        return Some(format!("`{concept}` is known as {}", same.join(" and ")));
    }
    did_you_mean(name, catalogue.types.iter().map(|info| info.name.as_str()))
}

/// Replaces the faults of policies about lines that no context has by one fault for each line.
pub(crate) fn by_unknown_line(faults: Vec<PolicyFault>, catalogue: &Catalogue) -> Vec<PolicyFault> {
    let mut lines: BTreeMap<String, (Location, BTreeSet<String>)> = BTreeMap::new();
    for fault in &faults {
        if let PolicyFault::Invalid { location, policy, why, .. } = fault
            && let Some(space) = unknown_space(why, catalogue)
        {
            let (first, policies) = lines.entry(space).or_insert_with(|| (location.clone(), BTreeSet::new()));
            *first = location.clone().min(first.clone());
            policies.insert(policy.clone());
        }
    }
    if lines.is_empty() {
        return faults;
    }
    let about: BTreeSet<&String> = lines.values().flat_map(|(_, policies)| policies).collect();
    // beside no type at all every other policy is impossible
    let follows = |fault: &PolicyFault| match fault {
        PolicyFault::Invalid { policy, why, .. } => {
            about.contains(policy) || (catalogue.types.is_empty() && is_impossible(why))
        }
        _ => false,
    };
    let mut rest: Vec<PolicyFault> = faults.iter().filter(|fault| !follows(fault)).cloned().collect();
    let unknown = |(space, (location, policies)): (String, (Location, BTreeSet<String>))| {
        PolicyFault::UnknownLine { location, space, policies: policies.len() }
    };
    rest.extend(lines.into_iter().map(unknown));
    rest
}

/// The name space of an unknown type, if no context has a type in it and no other type was probably meant.
fn unknown_space(why: &str, catalogue: &Catalogue) -> Option<String> {
    let name = why.strip_prefix("unrecognized entity type `")?.split('`').next()?;
    let (mut space, _) = name.rsplit_once("::")?;
    if let Some((line, version)) = space.rsplit_once("::")
        && version.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok())
    {
        space = line;
    }
    let within = format!("{space}::");
    let known = catalogue.types.iter().any(|info| info.name.starts_with(&within));
    (!known && unknown_type(name, catalogue).is_none()).then(|| space.to_owned())
}

/// Returns true for Cedar's finding that a policy can never apply.
pub(crate) fn is_impossible(why: &str) -> bool {
    why.starts_with("policy is impossible") || why.starts_with("unable to find an applicable action")
}

/// The offset of the first literal of this entity in the text of a policy, or 0.
pub(crate) fn entity_offset(text: &str, uid: &EntityUid) -> usize {
    let (kind, quoted) = (uid.type_name().to_string(), format!("\"{}\"", uid.id().unescaped()));
    let mut words: Vec<&str> = kind.split("::").flat_map(|name| [name, "::"]).collect();
    words.push(&quoted);
    policy_text::sequence(&policy_text::of(text), &words).unwrap_or_default()
}

/// Sorts faults by location and text: Cedar finds them in another order each time.
pub(crate) fn in_order(faults: &mut [PolicyFault]) {
    faults.sort_by_cached_key(|fault| (location_in(fault).cloned(), fault.to_string()));
}

/// The location of a fault.
pub(crate) const fn location_in(fault: &PolicyFault) -> Option<&Location> {
    match fault {
        PolicyFault::Invalid { location, .. }
        | PolicyFault::UnknownLine { location, .. }
        | PolicyFault::UnknownToContexts { location, .. }
        | PolicyFault::Json { location, .. }
        | PolicyFault::Syntax { location, .. }
        | PolicyFault::UnknownEntity { location, .. } => Some(location),
        _ => None,
    }
}

/// The policy of a fault.
pub(crate) fn policy_in(fault: &PolicyFault) -> Option<&str> {
    match fault {
        PolicyFault::Invalid { policy, .. } | PolicyFault::UnknownEntity { policy, .. } => Some(policy),
        _ => None,
    }
}
