//! What was live before, as far as the next load asks for it: of a policy that was live as it is now, a fault is no reason to keep a set out.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cedar_policy::{EntityUid, Policy};
use semgate_contexts::Digest;
use semgate_contexts::json::{self, Json};
use serde_json::json;

use crate::check::policy_in;
use crate::{PolicyFault, PolicyLimits, pace};

/// Bytes that one policy takes: a digest in quotation marks and a comma.
const POLICY_BYTES: usize = 80;
/// Bytes of the names of lines that hold a namespace: some thousands of them, and few lines are called `….vN` or have majors that disagree.
const HELD_BYTES: usize = 262_144;
/// What stands around the lists.
const FRAME_BYTES: usize = 1_024;

/// The set that was live last, as the next one is held against it: what each of its policies said, whom its `limits.json` named, and which
/// lines had a namespace that another line could have.
///
/// It decides whether a fault of the next set keeps that out or is told as a warning, and which of two lines keeps such a namespace. It
/// permits nothing and names nobody who is let through, and whoever is named here and has no entry any more is denied everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lived {
    policies: BTreeSet<Digest>,
    agents: BTreeSet<String>,
    groups: BTreeSet<String>,
    /// Who had a namespace that two lines could have: `shop.v2`, or `shop:v2` for a major.
    held: BTreeSet<String>,
    /// That whatever is asked about was live: for those who only explain a set. Never kept.
    whatever: bool,
}

/// Why a text says nothing of what was live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotLived {
    /// It is nothing that [`Lived::text`] wrote.
    Damaged,
    /// It is about a set that was read from another place.
    Elsewhere,
}

impl fmt::Display for NotLived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => "it is damaged",
            Self::Elsewhere => "it is about policies that were read from another place",
        })
    }
}

impl std::error::Error for NotLived {}

impl Lived {
    /// As text, for whoever keeps it over a restart: of the set that is read from this place.
    #[must_use]
    pub fn text(&self, place: &Path) -> String {
        let policies: Vec<String> = self.policies.iter().map(Digest::to_string).collect();
        let of = digest_of(place).to_string();
        let mut members =
            json!({"of": of, "policies": policies, "agents": self.agents, "groups": self.groups});
        if let (false, Some(members)) = (self.held.is_empty(), members.as_object_mut()) {
            // of what is not kept, two that meet after a restart are both left out
            let mut room = HELD_BYTES;
            let fits = |name: &&String| {
                room = room.saturating_sub(name.len() + 3);
                room > 0
            };
            members.insert("held".to_owned(), self.held.iter().take_while(fits).cloned().collect());
        }
        format!("{members}\n")
    }

    /// Reads what [`Lived::text`] wrote of the same place. Which place it is its path says, a relative one from the working directory; a link
    /// is followed by nobody, so that one which is turned stays the same place.
    ///
    /// # Errors
    /// It is anything else, or longer than a set within these limits could have, or of another place.
    pub fn read(bytes: &[u8], place: &Path, limits: &PolicyLimits) -> Result<Self, NotLived> {
        let (of, lived) = Self::read_any(bytes, limits).ok_or(NotLived::Damaged)?;
        if of == digest_of(place) { Ok(lived) } else { Err(NotLived::Elsewhere) }
    }

    fn read_any(bytes: &[u8], limits: &PolicyLimits) -> Option<(Digest, Self)> {
        let max_bytes = Self::max_bytes(limits);
        let bounds =
            json::Limits { max_bytes, max_depth: 2, max_nodes: max_bytes, ..json::Limits::default() };
        let document = json::read(bytes, &bounds).ok()?;
        let root = document.as_object()?;
        let holds = usize::from(root.get("held").is_some());
        if root.len() != 4 + holds {
            return None;
        }
        let texts = |name: &str| -> Option<BTreeSet<String>> {
            let each = root.get(name)?.as_array()?.iter().map(Json::as_str);
            each.map(|text| text.map(str::to_owned)).collect()
        };
        let policies: BTreeSet<Digest> =
            texts("policies")?.iter().map(|text| Digest::parse(text).ok()).collect::<Option<_>>()?;
        if policies.len() > limits.max_policies {
            return None;
        }
        let of = Digest::parse(root.get("of")?.as_str()?).ok()?;
        let (agents, groups) = (texts("agents")?, texts("groups")?);
        let held = if holds == 1 { texts("held")? } else { BTreeSet::new() };
        Some((of, Self { policies, agents, groups, held, whatever: false }))
    }

    /// Whether all of it is in the other: then whoever judges by it warns of nothing of which the other would not.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.policies.is_subset(&other.policies)
            && self.agents.is_subset(&other.agents)
            && self.groups.is_subset(&other.groups)
            && self.held.is_subset(&other.held)
    }

    /// The most bytes that [`Lived::text`] has of a set within these limits.
    #[must_use]
    pub fn max_bytes(limits: &PolicyLimits) -> usize {
        let policies = limits.max_policies.saturating_mul(POLICY_BYTES);
        // a name takes no more here than in `limits.json`
        policies.saturating_add(limits.max_file_bytes).saturating_add(HELD_BYTES).saturating_add(FRAME_BYTES)
    }

    /// What the set itself would be held against if it were live.
    pub(crate) fn whatever() -> Self {
        Self { whatever: true, ..Self::default() }
    }

    /// With what these policies say.
    pub(crate) fn saying(self, said: &Said) -> Self {
        Self { policies: said.0.values().copied().collect(), ..self }
    }

    /// With who has a namespace that two lines could have.
    pub(crate) fn holding(self, held: &BTreeSet<String>) -> Self {
        Self { held: held.clone(), ..self }
    }

    /// Who had a namespace that two lines could have.
    pub(crate) const fn held(&self) -> &BTreeSet<String> {
        &self.held
    }

    /// Notes that `limits.json` names somebody.
    pub(crate) fn name(&mut self, whom: Whom, name: &str) {
        let names = match whom {
            Whom::Agent => &mut self.agents,
            Whom::Group => &mut self.groups,
        };
        names.insert(name.to_owned());
    }

    /// The groups that `limits.json` names.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &String> {
        self.groups.iter()
    }

    /// Whether `limits.json` named this.
    pub(crate) fn names(&self, whom: Whom, name: &str) -> bool {
        match whom {
            _ if self.whatever => true,
            Whom::Agent => self.agents.contains(name),
            Whom::Group => self.groups.contains(name),
        }
    }
}

/// Which place this is.
fn digest_of(place: &Path) -> Digest {
    let whole = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    // however many slashes there are
    let plain: PathBuf = upwards(whole.components().collect());
    Digest::of(plain.as_os_str().as_encoded_bytes())
}

/// The same place without `..`, as it is written where a command runs elsewhere: what stands before the last one is where that leads now. A
/// link behind it is left as it is, since it may be turned to the next revision at any time.
fn upwards(place: PathBuf) -> PathBuf {
    let steps: Vec<Component<'_>> = place.components().collect();
    let Some(last) = steps.iter().rposition(|step| *step == Component::ParentDir) else { return place };
    let (up, down) = steps.split_at(last + 1);
    match up.iter().collect::<PathBuf>().canonicalize() {
        Ok(up) => up.join(down.iter().collect::<PathBuf>()),
        Err(_) => place,
    }
}

/// Whom `limits.json` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    Agent,
    Group,
}

impl Whom {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Group => "group",
        }
    }
}

/// What each policy of a set says, by its id.
#[derive(Debug, Default)]
pub(crate) struct Said(HashMap<Arc<str>, Digest>);

impl Drop for Said {
    fn drop(&mut self) {
        pace::scatter(std::mem::take(&mut self.0));
    }
}

impl Said {
    /// Adds a policy and the text of the file that it stands in.
    pub fn add(&mut self, id: &Arc<str>, policy: &Policy, file: &str) {
        let text = policy.to_cedar();
        let text = text.as_deref().unwrap_or(file);
        let nameless = policy.annotation("id").and_then(|own| without_id(text, own));
        let digest = Digest::of(nameless.as_deref().unwrap_or(text).trim().as_bytes());
        self.0.insert(Arc::clone(id), digest);
    }

    /// Whether a fault is about a policy that was live as it is: by what it says, since the id of one without `@id` is its place, which
    /// another's going moves.
    pub fn lived(&self, fault: &PolicyFault, before: &Lived) -> bool {
        policy_in(fault)
            .and_then(|id| self.0.get(id))
            .is_some_and(|own| before.whatever || before.policies.contains(own))
    }

    /// Names that are gone, of policies that were live, and the other faults.
    pub fn gone(
        &self,
        faults: impl IntoIterator<Item = PolicyFault>,
        before: &Lived,
    ) -> (Vec<PolicyFault>, Vec<PolicyFault>) {
        let unknown = |fault: &PolicyFault| matches!(fault, PolicyFault::UnknownEntity { .. });
        faults.into_iter().partition(|fault| unknown(fault) && self.lived(fault, before))
    }
}

/// What a policy says without its `@id`, which is a name and decides nothing; `None` where that is written in a way that is not found.
fn without_id(text: &str, own: &str) -> Option<String> {
    let cut = |(at, name): (usize, &str)| {
        let value = text.get(at + name.len()..)?.trim_start().strip_prefix('(')?.trim_start();
        let after = value.strip_prefix('"')?.strip_prefix(own)?.strip_prefix('"')?;
        let after = after.trim_start().strip_prefix(')')?;
        Some(format!("{}{}", text.get(..at)?, after.trim_start()))
    };
    text.match_indices("@id").find_map(cut)
}

/// The agents that are named and are not there, of these faults.
pub(crate) fn agents_gone(faults: &[PolicyFault]) -> impl Iterator<Item = String> {
    let agent = |fault: &PolicyFault| {
        let PolicyFault::UnknownEntity { entity, .. } = fault else { return None };
        let uid: EntityUid = entity.parse().ok()?;
        (uid.type_name().to_string() == "Agent").then(|| uid.id().unescaped().to_owned())
    };
    faults.iter().filter_map(agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> &'static Path {
        Path::new("/etc/semgate/policies")
    }

    fn some() -> Lived {
        let policies = [b"a", b"b"].map(|text| Digest::of(text)).into();
        let held = ["shop.v2", "shop:v3"].map(str::to_owned).into();
        let mut lived = Lived { policies, held, ..Lived::default() };
        lived.name(Whom::Agent, "spiffe://semgate.test/agent/a");
        lived.name(Whom::Group, "payers");
        lived
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        let (limits, damage) = (PolicyLimits::default(), Err(NotLived::Damaged));
        let text = some().text(at());
        assert_eq!(Lived::read(text.as_bytes(), at(), &limits), Ok(some()));
        let none = Lived::default();
        assert_eq!(Lived::read(none.text(at()).as_bytes(), at(), &limits), Ok(none));
        for end in 0..text.trim_end().len() {
            assert_eq!(Lived::read(&text.as_bytes()[..end], at(), &limits), damage, "cut at {end}");
        }
        for damaged in [
            text.replace("sha-256", "sha-512"),
            text.replace("groups", "group"),
            text.replace("\"held\"", "\"hold\""),
            text.replace("[\"payers\"]", "\"payers\""),
            text.replace("\"payers\"", "7"),
            text.replace("{\"", "{\"more\":[],\""),
            text.replace("\"of\"", "\"off\""),
        ] {
            assert_ne!(damaged, text);
            assert_eq!(Lived::read(damaged.as_bytes(), at(), &limits), damage, "{damaged}");
        }
        let small = PolicyLimits { max_policies: 1, max_file_bytes: 0, ..limits };
        let many = Lived { policies: (0..99_u8).map(|n| Digest::of(&[n])).collect(), ..Lived::default() };
        assert_eq!(Lived::read(many.text(at()).as_bytes(), at(), &small), damage, "more than such a set has");
    }

    #[test]
    fn the_largest_set_within_the_limits_can_be_read_again() {
        let limits = PolicyLimits { max_policies: 50, max_file_bytes: 400, ..PolicyLimits::default() };
        let policies = (0..50_u8).map(|n| Digest::of(&[n])).collect();
        // names as short as they can be: each takes a letter, two quotation marks and a comma, there as here
        let groups = ('!'..='~').filter(|c| !"\"\\".contains(*c)).map(String::from);
        let lived = Lived { policies, groups: groups.collect(), ..Lived::default() };
        let text = lived.text(at());
        assert!(text.len() <= Lived::max_bytes(&limits), "{}", text.len());
        assert_eq!(Lived::read(text.as_bytes(), at(), &limits), Ok(lived));
    }
    #[test]
    fn what_was_live_at_one_place_says_nothing_of_another() {
        let (limits, text) = (PolicyLimits::default(), some().text(at()));
        for other in ["/etc/semgate/policies2", "/etc/semgate/policies/../policies", "policies", "/"] {
            let read = Lived::read(text.as_bytes(), Path::new(other), &limits);
            assert_eq!(read, Err(NotLived::Elsewhere), "{other}");
        }
        for same in ["/etc/semgate/policies/", "/etc/./semgate//policies"] {
            assert_eq!(Lived::read(text.as_bytes(), Path::new(same), &limits), Ok(some()), "{same}");
        }
        let cwd = std::env::current_dir().unwrap();
        let (up, down) = (cwd.parent().unwrap(), cwd.file_name().unwrap());
        let text = some().text(&cwd.join("policies"));
        for same in [Path::new("../").join(down).join("policies"), up.join(down).join("src/../policies")] {
            assert_eq!(Lived::read(text.as_bytes(), &same, &limits), Ok(some()), "{}", same.display());
        }
        let here = cwd.join("policies");
        let text = some().text(Path::new("./policies"));
        assert_eq!(Lived::read(text.as_bytes(), &here, &limits), Ok(some()));
    }

    #[test]
    fn one_is_within_another_if_all_of_it_is() {
        let (all, none) = (some(), Lived::default());
        assert!(none.is_within(&all) && all.is_within(&all) && !all.is_within(&none));
        for less in [
            Lived { policies: BTreeSet::new(), ..some() },
            Lived { agents: BTreeSet::new(), ..some() },
            Lived { groups: BTreeSet::new(), ..some() },
            Lived { held: BTreeSet::new(), ..some() },
        ] {
            assert!(less.is_within(&all) && !all.is_within(&less), "{less:?}");
        }
    }
}
