//! The agents of `entities.json`, read strictly: closed members, no duplicates, no name that could pass for another.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use semgate_contexts::Digest;
use semgate_contexts::json::{self, Json, Object};

use crate::check::closest;
use crate::credentials::is_shown;
use crate::source::is_near;
use crate::{Place, PolicyFault, PolicyLimits, pace, spots};

/// The file, as faults name it.
const FILE: &str = "entities.json";

/// One agent as `entities.json` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// The SPIFFE id, the value of the verified certificate.
    pub id: String,
    /// The one other name that `sender_id` may use; never looks like a SPIFFE id.
    pub alias: Option<String>,
    /// Groups, sorted.
    pub groups: Vec<String>,
    /// Credentials, sorted.
    pub credentials: Vec<String>,
    /// A disabled agent is denied everything.
    pub disabled: bool,
    /// Digest of the entry's content, so that two states of one agent can be told apart.
    pub digest: Digest,
}

impl AgentEntry {
    /// The trust domain of its id.
    pub(crate) fn trust_domain(&self) -> &str {
        domain_of(&self.id)
    }
}

/// The trust domain of a SPIFFE id; empty for what is none.
pub(crate) fn domain_of(id: &str) -> &str {
    id.strip_prefix("spiffe://").and_then(|rest| rest.split('/').next()).unwrap_or_default()
}

/// All agents, by position, id and alias.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    entries: Vec<AgentEntry>,
    by_id: HashMap<Box<str>, u32>,
    by_alias: HashMap<Box<str>, u32>,
    groups: BTreeSet<String>,
    credentials: BTreeSet<String>,
    /// Where groups first stand that no list `groups` names, since there is none.
    unlisted: BTreeMap<String, String>,
    /// The same of credentials.
    undeclared: BTreeMap<String, String>,
    /// How many of the entries, the last ones, are not in the file.
    kept_out: usize,
}

impl Drop for Agents {
    fn drop(&mut self) {
        pace::scatter(std::mem::take(&mut self.entries));
        pace::scatter(std::mem::take(&mut self.by_id));
        pace::scatter(std::mem::take(&mut self.by_alias));
    }
}

impl Agents {
    /// Reads `entities.json`; every fault in it is reported, the first of each member.
    pub fn read(bytes: &[u8], limits: &PolicyLimits) -> Result<Self, Vec<PolicyFault>> {
        if bytes.len() > limits.max_entities_bytes {
            return Err(vec![PolicyFault::TooLarge {
                what: "bytes of `entities.json`".to_owned(),
                limit: limits.max_entities_bytes,
            }]);
        }
        // Nodes: an agent is an object with two lists and their items.
        let bounds = json::Limits {
            max_bytes: limits.max_entities_bytes,
            max_depth: 8,
            max_nodes: limits.max_entities_bytes,
            ..json::Limits::default()
        };
        let document = json::read(bytes, &bounds).map_err(|fault| {
            let (place, why) = (spots::of_fault(FILE, bytes, fault), fault.to_string());
            vec![PolicyFault::Entities { place, pointer: String::new(), why }]
        })?;
        let mut agents = Self::default();
        let mut faults = Vec::new();
        agents.document(&document, limits, &mut faults);
        if faults.is_empty() {
            return Ok(agents);
        }
        spots::placed(FILE, bytes, &mut faults);
        Err(faults)
    }

    fn document(&mut self, document: &Json<'_>, limits: &PolicyLimits, faults: &mut Vec<PolicyFault>) {
        let Json::Object(root) = document else {
            faults.push(at("", "not an object"));
            return;
        };
        closed(root, &["agents", "credentials", "groups"], "", faults);
        let mut declared = |name: &str| {
            let pointer = format!("/{name}");
            root.get(name).map(|list| names(list, &pointer, usize::MAX, faults))
        };
        let (groups, credentials) = (declared("groups"), declared("credentials"));
        self.groups.extend(groups.iter().flatten().cloned());
        self.credentials.extend(credentials.iter().flatten().cloned());
        let Some(Json::Array(list)) = root.get("agents") else {
            faults.push(at("/agents", "missing, or not a list"));
            return;
        };
        if list.len() > limits.max_agents {
            faults.push(PolicyFault::TooLarge { what: "agents".to_owned(), limit: limits.max_agents });
            return;
        }
        for (position, item) in list.iter().enumerate() {
            pace::rest();
            let pointer = format!("/agents/{position}");
            if let Some(entry) = entry(item, &pointer, limits, faults) {
                for (place, group) in entry.groups.iter().enumerate() {
                    if !self.groups.insert(group.clone()) {
                        continue;
                    }
                    match &groups {
                        Some(declared) => {
                            faults.push(undeclared(item, &pointer, ("group", "groups"), group, declared));
                        }
                        None => {
                            drop(self.unlisted.insert(group.clone(), format!("{pointer}/groups/{place}")));
                        }
                    }
                }
                for (place, held) in entry.credentials.iter().enumerate() {
                    if !self.credentials.insert(held.clone()) {
                        continue;
                    }
                    match &credentials {
                        Some(declared) => {
                            let of = ("credential", "credentials");
                            faults.push(undeclared(item, &pointer, of, held, declared));
                        }
                        None => {
                            let at = format!("{pointer}/credentials/{place}");
                            drop(self.undeclared.insert(held.clone(), at));
                        }
                    }
                }
                self.add(entry, &pointer, faults);
            }
        }
    }

    fn add(&mut self, entry: AgentEntry, pointer: &str, faults: &mut Vec<PolicyFault>) {
        let Ok(position) = u32::try_from(self.entries.len()) else {
            return;
        };
        if self.by_id.insert(entry.id.as_str().into(), position).is_some() {
            faults.push(at(&format!("{pointer}/id"), "a second agent with this id"));
        }
        if let Some(alias) = &entry.alias
            && self.by_alias.insert(alias.as_str().into(), position).is_some()
        {
            faults.push(at(&format!("{pointer}/alias"), "a second agent with this alias"));
        }
        self.entries.push(entry);
    }

    /// Adds those who have no entry any more although something names them, each as if it were disabled: as strangers they would lose what
    /// forbids them, and what is remembered of all strangers would count for them.
    pub fn keep_out(&mut self, gone: impl Iterator<Item = String>) {
        for id in gone {
            let Ok(position) = u32::try_from(self.entries.len()) else { return };
            if self.position(&id).is_none() {
                let digest = entry_digest(&id, None, &[], &[], true);
                self.by_id.insert(id.as_str().into(), position);
                let (groups, credentials) = (Vec::new(), Vec::new());
                self.entries.push(AgentEntry {
                    id,
                    alias: None,
                    groups,
                    credentials,
                    disabled: true,
                    digest,
                });
                self.kept_out += 1;
            }
        }
    }

    /// The agents of trust domains that are none of these, so that none of them ever comes.
    pub fn elsewhere(&self, domains: Option<&BTreeSet<String>>, bytes: &[u8]) -> Vec<PolicyFault> {
        let Some(domains) = domains else { return Vec::new() };
        let listed = self.entries.len().saturating_sub(self.kept_out);
        let own = self.entries.iter().take(listed).enumerate();
        let strange = own.filter(|(_, entry)| !domains.contains(entry.trust_domain()));
        let told = |(position, entry): (usize, &AgentEntry)| {
            let near = closest(entry.trust_domain(), domains.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            let why = format!(
                "nobody of the trust domain `{}` is met: it is not configured{near}",
                entry.trust_domain()
            );
            at(&format!("/agents/{position}/id"), why)
        };
        let mut faults: Vec<PolicyFault> = strange.map(told).collect();
        spots::placed(FILE, bytes, &mut faults);
        faults
    }

    /// The groups and credentials of agents that nothing names and that are one slip of typing away from one that something names, or typed
    /// otherwise in case, hyphens and underscores alone: what is asked of that one is not asked of them. Only where there is no list `groups`,
    /// or `credentials`, which says what is meant.
    pub fn misspelt(
        &self,
        groups: &BTreeSet<String>,
        credentials: &BTreeSet<String>,
        bytes: &[u8],
    ) -> Vec<PolicyFault> {
        // a text of a policy is the name of a credential where somebody has that
        let credentials = credentials.intersection(&self.credentials).cloned().collect();
        let mut faults = near_misses(&self.unlisted, groups, ("group", "groups"));
        faults.extend(near_misses(&self.undeclared, &credentials, ("credential", "credentials")));
        spots::placed(FILE, bytes, &mut faults);
        faults
    }

    /// Where the credentials of each agent of the file stand in it; none where the file is not there.
    pub fn places(&self, bytes: &[u8]) -> Vec<Place> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let listed = self.entries.len().saturating_sub(self.kept_out);
        let pointers: Vec<String> = (0..listed).map(|at| format!("/agents/{at}/credentials")).collect();
        let all: Vec<&str> = pointers.iter().map(String::as_str).collect();
        let spots = spots::Spots::of(FILE, bytes, &all);
        all.iter().map(|pointer| spots.at(pointer)).collect()
    }

    /// All agents in the order of the file, and behind them those who are kept out.
    pub fn entries(&self) -> &[AgentEntry] {
        &self.entries
    }

    /// Position of the agent with this id.
    pub fn position(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// The agent at a position.
    pub fn at(&self, position: u32) -> Option<&AgentEntry> {
        self.entries.get(usize::try_from(position).ok()?)
    }

    /// The agent with this alias.
    pub fn by_alias(&self, alias: &str) -> Option<&AgentEntry> {
        self.at(*self.by_alias.get(alias)?)
    }

    /// Every credential that is declared or that an agent has.
    pub fn credentials(&self) -> &BTreeSet<String> {
        &self.credentials
    }

    /// Every group that is declared or has a member.
    pub fn groups(&self) -> &BTreeSet<String> {
        &self.groups
    }
}

/// Of these names with their places those that are not among the named ones, and one slip away from one or the same but for its writing.
fn near_misses(
    all: &BTreeMap<String, String>,
    named: &BTreeSet<String>,
    (kind, list): (&str, &str),
) -> Vec<PolicyFault> {
    // two names one slip apart are the same without one letter of each: the work grows with the names, not with their pairs
    let mut shorter: HashMap<String, &str> = HashMap::new();
    let mut alike: HashMap<String, &str> = HashMap::new();
    for name in named {
        pace::rest();
        shorter.extend(without_one(name).map(|less| (less, name.as_str())));
        alike.entry(unwritten(name)).or_insert(name);
    }
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    // `team-1` and `team-2` are two names
    let slip = |name: &str, meant: &str| is_near(name, meant) && letters(name) != letters(meant);
    let told = |(name, pointer): (&String, &String)| {
        pace::rest();
        if named.contains(name) {
            return None;
        }
        let mut near = without_one(name).filter_map(|less| shorter.get(&less).copied());
        let same = alike.get(&unwritten(name)).copied();
        let meant = same.or_else(|| near.find(|meant| slip(name, meant)))?;
        let why = format!(
            "nothing names the {kind} `{name}`: did you mean `{meant}`? if not, list all {kind}s in `{list}`"
        );
        Some(at(pointer, why))
    };
    all.iter().filter_map(told).collect()
}

/// A name without what people write in different ways: `No-Free-Text`, `no_free_text` and `nofreetext` are one. Between two digits a hyphen
/// stays, since `v1-2` and `v12` are two.
fn unwritten(name: &str) -> String {
    let mut all = String::new();
    for part in name.split(['-', '_']).filter(|part| !part.is_empty()) {
        let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if digits(all.chars().next_back()) && digits(part.chars().next()) {
            all.push('-');
        }
        all.extend(part.chars().flat_map(char::to_lowercase));
    }
    all
}

/// A name, and the name without each of its letters in turn.
fn without_one(name: &str) -> impl Iterator<Item = String> {
    let less = name.char_indices().map(|(at, c)| {
        let (before, rest) = name.split_at(at);
        format!("{before}{}", rest.strip_prefix(c).unwrap_or(rest))
    });
    std::iter::once(name.to_owned()).chain(less)
}

/// A fault whose place is sought once all are known.
fn at(pointer: &str, why: impl Into<String>) -> PolicyFault {
    PolicyFault::Entities { place: spots::unplaced(FILE), pointer: pointer.to_owned(), why: why.into() }
}

/// A name of an entry that the list of such names at the top does not have.
fn undeclared(
    item: &Json<'_>,
    pointer: &str,
    (kind, list): (&str, &str),
    name: &str,
    declared: &[String],
) -> PolicyFault {
    let own = item.as_object().and_then(|entry| entry.get(list)).and_then(Json::as_array).unwrap_or_default();
    let position = own.iter().position(|one| one.as_str() == Some(name)).unwrap_or_default();
    let near = closest(name, declared.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    at(&format!("{pointer}/{list}/{position}"), format!("{kind} `{name}` is not in the list `{list}`{near}"))
}

fn closed(object: &Object<'_>, members: &[&str], pointer: &str, faults: &mut Vec<PolicyFault>) {
    for (name, _) in object.iter() {
        if !members.contains(&name) {
            let near = closest(name, members.iter().copied());
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            let why = format!("a member that is not one of `{}`{near}", members.join("`, `"));
            faults.push(at(&spots::member(pointer, name), why));
        }
    }
}

fn entry(
    item: &Json<'_>,
    pointer: &str,
    limits: &PolicyLimits,
    faults: &mut Vec<PolicyFault>,
) -> Option<AgentEntry> {
    let Json::Object(object) = item else {
        faults.push(at(pointer, "not an object"));
        return None;
    };
    let before = faults.len();
    closed(object, &["id", "alias", "groups", "credentials", "disabled"], pointer, faults);
    let id = match object.get("id") {
        Some(Json::String(id)) if is_spiffe_id(id) => id.to_string(),
        _ => {
            faults.push(at(
                &format!("{pointer}/id"),
                "not a SPIFFE id such as `spiffe://trust.domain/agent/name`",
            ));
            String::new()
        }
    };
    let alias = match object.get("alias") {
        None => None,
        Some(Json::String(alias)) if is_alias(alias) => Some(alias.to_string()),
        Some(_) => {
            faults.push(at(
                &format!("{pointer}/alias"),
                "an alias is 1 to 128 letters, digits, `.`, `_` and `-`, so that it never looks like a SPIFFE id",
            ));
            None
        }
    };
    let mut list = |name: &str| {
        let pointer = format!("{pointer}/{name}");
        if let Some(list) = object.get(name) {
            names(list, &pointer, limits.max_memberships, faults)
        } else {
            faults.push(at(&pointer, "missing: write `[]` for none"));
            Vec::new()
        }
    };
    let groups = list("groups");
    let credentials = list("credentials");
    for name in credentials.iter().filter(|name| is_shown(name)) {
        let why = format!("`{name}` is a name of what agents show, and no entry gives that");
        faults.push(at(&format!("{pointer}/credentials"), why));
    }
    let disabled = match object.get("disabled") {
        None => false,
        Some(Json::Bool(disabled)) => *disabled,
        Some(_) => {
            faults.push(at(&format!("{pointer}/disabled"), "not `true` or `false`"));
            true
        }
    };
    if faults.len() > before {
        return None;
    }
    let digest = entry_digest(&id, alias.as_deref(), &groups, &credentials, disabled);
    Some(AgentEntry { id, alias, groups, credentials, disabled, digest })
}

fn entry_digest(
    id: &str,
    alias: Option<&str>,
    groups: &[String],
    credentials: &[String],
    disabled: bool,
) -> Digest {
    Digest::of(
        serde_json::json!({"alias": alias, "credentials": credentials, "disabled": disabled, "groups": groups, "id": id})
            .to_string()
            .as_bytes(),
    )
}

/// A list of distinct names, sorted.
fn names(list: &Json<'_>, pointer: &str, limit: usize, faults: &mut Vec<PolicyFault>) -> Vec<String> {
    let Json::Array(items) = list else {
        faults.push(at(pointer, "not a list"));
        return Vec::new();
    };
    if items.len() > limit {
        faults.push(at(pointer, format!("more than {limit} items")));
        return Vec::new();
    }
    let mut found = BTreeSet::new();
    for (position, item) in items.iter().enumerate() {
        match item {
            Json::String(name) if is_name(name) => {
                if !found.insert(name.to_string()) {
                    faults.push(at(&format!("{pointer}/{position}"), "the same name a second time"));
                }
            }
            _ => faults.push(at(
                &format!("{pointer}/{position}"),
                "a name is 1 to 128 printable ASCII characters without quotation mark or backslash",
            )),
        }
    }
    found.into_iter().collect()
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|b| (b.is_ascii_graphic() || b == b' ') && b != b'"' && b != b'\\')
        && name.trim() == name
}

fn is_alias(alias: &str) -> bool {
    (1..=128).contains(&alias.len())
        && alias.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// SPIFFE-ID §2: scheme, a trust domain of lower-case letters, digits, `.`, `-`, `_`, and a path of plain segments.
fn is_spiffe_id(id: &str) -> bool {
    let Some((domain, path)) = id.strip_prefix("spiffe://").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    id.len() <= 2048
        && (1..=255).contains(&domain.len())
        && domain.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
        && path.split('/').all(|segment| {
            !matches!(segment, "" | "." | "..")
                && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        })
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
