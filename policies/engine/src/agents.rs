//! The agents of `entities.json`, read strictly: closed members, no duplicates, no name that could pass for another.

mod entry;
mod names;

use std::collections::{BTreeSet, HashMap};

use semgate_contexts::json::{self, Json, Object};

use crate::suggest::closest;
use crate::{PolicyFault, PolicyLimits, json_locations};
pub use entry::AgentEntry;
use entry::{entry, list};
use names::NameIndex;
pub use names::{AgentKey, AgentName};

/// The file, as faults name it.
const FILE: &str = "entities.json";

/// The trust domain of a SPIFFE id; empty for what is none.
pub(crate) fn domain_of(id: &str) -> &str {
    id.strip_prefix("spiffe://").and_then(|rest| rest.split('/').next()).unwrap_or_default()
}

/// A kind of name that `entities.json` declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Declared {
    Agent,
    Group,
    Credential,
}

/// All agents, by position, id and alias.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    entries: Vec<AgentEntry>,
    by_id: HashMap<Box<str>, u32>,
    by_alias: HashMap<Box<str>, u32>,
    by_name: NameIndex,
    groups: BTreeSet<String>,
    credentials: BTreeSet<String>,
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
            let (location, why) = (json_locations::of_fault(FILE, bytes, fault), fault.to_string());
            vec![PolicyFault::Json { location, pointer: String::new(), why }]
        })?;
        let mut agents = Self::default();
        let mut faults = Vec::new();
        agents.document(&document, limits, &mut faults);
        agents.names_apart(&mut faults);
        if faults.is_empty() {
            return Ok(agents);
        }
        json_locations::locate(FILE, bytes, &mut faults);
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
            root.get(name).map(|value| list(value, &pointer, usize::MAX, faults))
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
            let pointer = format!("/agents/{position}");
            if let Some(entry) = entry(item, &pointer, limits, faults) {
                for group in &entry.groups {
                    if self.groups.insert(group.clone())
                        && let Some(declared) = &groups
                    {
                        faults.push(undeclared(item, &pointer, "groups", group, declared));
                    }
                }
                for held in &entry.credentials {
                    if self.credentials.insert(held.clone())
                        && let Some(declared) = &credentials
                    {
                        faults.push(undeclared(item, &pointer, "credentials", held, declared));
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
        self.by_name.add(&entry, position, pointer, faults);
        self.entries.push(entry);
    }

    /// Checks that no agent's name in a binding is the id or alias of another: in every binding, these are names too.
    fn names_apart(&self, faults: &mut Vec<PolicyFault>) {
        for (at_agent, entry) in (0_u32..).zip(&self.entries) {
            for AgentName { binding, name } in &entry.names {
                let known = |all: &HashMap<Box<str>, u32>| all.get(name.as_str()).copied();
                let mut other = [known(&self.by_id), known(&self.by_alias)].into_iter().flatten();
                if other.any(|other| other != at_agent) {
                    let pointer = format!("/agents/{at_agent}/names/{binding}");
                    faults.push(at(&pointer, "the id or alias of another agent"));
                }
            }
        }
    }

    /// Takes over names that the running generation knew and that the file no longer declares. An agent among them is as if disabled: as a
    /// stranger it would escape what forbids it, and verdicts that are remembered for all strangers would count for it.
    pub fn keep_former(&mut self, former: impl IntoIterator<Item = (Declared, String)>) {
        for (kind, name) in former {
            match kind {
                Declared::Group => drop(self.groups.insert(name)),
                Declared::Credential => drop(self.credentials.insert(name)),
                Declared::Agent => {
                    let Ok(position) = u32::try_from(self.entries.len()) else { return };
                    if self.position(&name).is_some() {
                        continue;
                    }
                    self.by_id.insert(name.as_str().into(), position);
                    self.entries.push(AgentEntry::gone(name));
                }
            }
        }
    }

    /// Returns true if somebody had this group or credential, and `now` has an entry for none of them.
    pub fn has_only_gone(&self, kind: Declared, name: &str, now: &Agents) -> bool {
        let has = |entry: &&AgentEntry| match kind {
            Declared::Agent => entry.id == name,
            Declared::Group => entry.groups.iter().any(|group| group == name),
            Declared::Credential => entry.credentials.iter().any(|held| held == name),
        };
        let mut holders = self.entries.iter().filter(has).peekable();
        holders.peek().is_some() && holders.all(|entry| now.position(&entry.id).is_none())
    }

    /// Returns true if the file declares a name; a name in a list of an agent is declared too.
    pub fn declares(&self, kind: Declared, name: &str) -> bool {
        match kind {
            Declared::Agent => self.position(name).is_some(),
            Declared::Group => self.groups.contains(name),
            Declared::Credential => self.credentials.contains(name),
        }
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

    /// The agent with this name in this binding.
    pub fn by_name(&self, binding: &str, name: &str) -> Option<&AgentEntry> {
        self.at(self.by_name.by_name(binding, name)?)
    }

    /// The agent with this key in this binding, whether the key still counts or not.
    pub fn by_key(&self, binding: &str, key: [u8; 32]) -> Option<&AgentEntry> {
        self.at(self.by_name.by_key(binding, key)?)
    }

    /// Every credential that is declared or that an agent has.
    pub fn credentials(&self) -> &BTreeSet<String> {
        &self.credentials
    }

    /// Every group that is declared or has a member.
    pub fn groups(&self) -> &BTreeSet<String> {
        &self.groups
    }

    /// The nearest agent. Ids have most letters in common, so the difference is measured against the last path segment alone.
    pub fn closest(&self, id: &str) -> Option<&str> {
        let near = closest(id, self.entries().iter().map(|entry| entry.id.as_str()))?;
        let own = id.trim_end_matches('/').rsplit('/').next().unwrap_or(id);
        let is_near = strsim::osa_distance(id, near) * 3 <= own.chars().count();
        (near.eq_ignore_ascii_case(id) || is_near).then_some(near)
    }
}

/// A fault whose place is sought once all are known.
fn at(pointer: &str, why: impl Into<String>) -> PolicyFault {
    PolicyFault::Json {
        location: json_locations::of_file(FILE),
        pointer: pointer.to_owned(),
        why: why.into(),
    }
}

/// A name of an entry that the list of such names at the top does not have.
fn undeclared(item: &Json<'_>, pointer: &str, list: &str, name: &str, declared: &[String]) -> PolicyFault {
    let own = item.as_object().and_then(|entry| entry.get(list)).and_then(Json::as_array).unwrap_or_default();
    let position = own.iter().position(|one| one.as_str() == Some(name)).unwrap_or_default();
    let near = closest(name, declared.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    let kind = list.trim_end_matches('s');
    at(&format!("{pointer}/{list}/{position}"), format!("{kind} `{name}` is not in the list `{list}`{near}"))
}

fn closed(object: &Object<'_>, members: &[&str], pointer: &str, faults: &mut Vec<PolicyFault>) {
    for (name, _) in object.iter() {
        if !members.contains(&name) {
            let near = closest(name, members.iter().copied());
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            let why = format!("a member that is not one of `{}`{near}", members.join("`, `"));
            faults.push(at(&json_locations::member(pointer, name), why));
        }
    }
}

#[cfg(test)]
mod tests;
