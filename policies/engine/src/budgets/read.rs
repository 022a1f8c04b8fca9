//! Reading `limits.json`, strictly: closed members, no name that nobody has, no budget that can never pay.

use std::collections::HashMap;
use std::sync::Arc;

use semgate_contexts::Performative;
use semgate_contexts::json::{self, Json, Object};

use super::{Budget, Budgets, Selector};
use crate::agents::{Agents, Declared};
use crate::check::{Former, Undeclared};
use crate::suggest::closest;
use crate::{PolicyFault, PolicyLimits, Rate, RateKey, json_locations};

/// The file, as faults name it.
pub(super) const FILE: &str = "limits.json";

/// The most that one message can cost: as much as the largest budget holds.
const MAX_COST: u32 = 1_000_000;

/// Names of limits that callers read too: those that are not of this file.
const TAKEN: [&str; 2] = ["messages", "ambiguity"];
/// How the names of limits by annotation begin.
const BY_POLICY: &str = "policy-";

/// A budget, whom it is for (`None`: everybody), and where it is written.
struct Entry {
    budget: Arc<Budget>,
    whom: Option<Vec<bool>>,
    at: String,
}

/// Messages that the file names, with the pointer to where it does.
pub(crate) type Named = Vec<(String, Selector)>;

/// The content of the file, and the messages that it names, each with its location.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub budgets: Budgets,
    /// The selectors of costs and budgets.
    pub selectors: Named,
    /// Names that `entities.json` no longer declares.
    pub names: Undeclared,
}

/// Reads the file against the agents. A name that only the running generation knew (`former`) means nobody.
///
/// # Errors
/// Every fault in it.
pub(crate) fn read(
    bytes: &[u8],
    agents: &Agents,
    former: Option<Former<'_>>,
    limits: &PolicyLimits,
) -> Result<Read, Vec<PolicyFault>> {
    if bytes.len() > limits.max_file_bytes {
        return Err(vec![PolicyFault::TooLarge {
            what: "bytes of `limits.json`".to_owned(),
            limit: limits.max_file_bytes,
        }]);
    }
    let bounds = json::Limits { max_bytes: limits.max_file_bytes, max_depth: 8, ..json::Limits::default() };
    let document = json::read(bytes, &bounds).map_err(|fault| {
        let (location, why) = (json_locations::of_fault(FILE, bytes, fault), fault.to_string());
        vec![PolicyFault::Json { location, pointer: String::new(), why }]
    })?;
    let mut reader = Reader { agents, former, limits, faults: Vec::new(), read: Read::default() };
    let budgets = reader.document(&document);
    match budgets {
        Some(budgets) if reader.faults.is_empty() => {
            json_locations::locate(FILE, bytes, &mut reader.read.names.warnings);
            Ok(Read { budgets, ..reader.read })
        }
        _ => {
            json_locations::locate(FILE, bytes, &mut reader.faults);
            Err(reader.faults)
        }
    }
}

struct Reader<'a> {
    agents: &'a Agents,
    former: Option<Former<'a>>,
    limits: &'a PolicyLimits,
    faults: Vec<PolicyFault>,
    /// As far as it is read.
    read: Read,
}

impl Reader<'_> {
    fn fault(&mut self, pointer: &str, why: impl Into<String>) {
        self.faults.push(fault_at(pointer, why));
    }

    fn document(&mut self, document: &Json<'_>) -> Option<Budgets> {
        let Json::Object(root) = document else {
            self.fault("", "not an object");
            return None;
        };
        self.closed(root, &["costs", "budgets"], "");
        let costs = self.costs(root.get("costs"));
        let entries = self.budgets(root.get("budgets"));
        self.payable(&costs, &entries);
        if entries.is_empty() && self.faults.is_empty() {
            self.fault("/budgets", "no budget: costs alone limit nothing");
        }
        Some(self.by_agent(costs, &entries))
    }

    fn closed(&mut self, object: &Object<'_>, members: &[&str], pointer: &str) {
        for (name, _) in object.iter().filter(|(name, _)| !members.contains(name)) {
            let known = format!("a member that is not one of `{}`", members.join("`, `"));
            let near = closest(name, members.iter().copied());
            self.fault(
                &json_locations::member(pointer, name),
                near.map_or(known.clone(), |near| format!("{known} (did you mean `{near}`?)")),
            );
        }
    }

    fn list<'j>(&mut self, list: Option<&'j Json<'j>>, pointer: &str) -> &'j [Json<'j>] {
        match list {
            None => &[],
            Some(Json::Array(items)) if items.len() <= self.limits.max_budgets => items,
            Some(Json::Array(_)) => {
                let most = self.limits.max_budgets;
                self.fault(pointer, format!("more than {most} items"));
                &[]
            }
            Some(_) => {
                self.fault(pointer, "not a list");
                &[]
            }
        }
    }

    fn costs(&mut self, list: Option<&Json<'_>>) -> Vec<(Selector, u32)> {
        let mut all: Vec<(Selector, u32)> = Vec::new();
        for (position, item) in self.list(list, "/costs").iter().enumerate() {
            let pointer = format!("/costs/{position}");
            let Json::Object(object) = item else {
                self.fault(&pointer, "not an object");
                continue;
            };
            self.closed(object, &["line", "concept", "performative", "cost"], &pointer);
            let cost = object.get("cost").and_then(Json::as_number).and_then(|number| number.as_i64_exact());
            let cost = cost.and_then(|cost| u32::try_from(cost).ok()).filter(|cost| *cost <= MAX_COST);
            if cost.is_none() {
                self.fault(&format!("{pointer}/cost"), format!("not an integer from 0 to {MAX_COST}"));
            }
            if let (Some(selector), Some(cost)) = (self.selector(object, &pointer), cost) {
                if all.iter().any(|(other, _)| *other == selector) {
                    self.fault(&pointer, "the same messages a second time");
                }
                self.read.selectors.push((pointer, selector.clone()));
                all.push((selector, cost));
            }
        }
        all.sort_by_key(|(selector, _)| std::cmp::Reverse(selector.weight()));
        all
    }

    fn selector(&mut self, object: &Object<'_>, pointer: &str) -> Option<Selector> {
        let before = self.faults.len();
        let (line, concept) = (self.text(object, "line", pointer), self.text(object, "concept", pointer));
        let performative = self.text(object, "performative", pointer).and_then(|name| {
            let resolved = Performative::ALL.into_iter().find(|known| known.as_str() == &*name);
            if resolved.is_none() {
                let near = closest(&name, Performative::ALL.iter().map(|known| known.as_str()));
                let why = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
                self.fault(&format!("{pointer}/performative"), format!("no performative of this name{why}"));
            }
            resolved
        });
        if concept.is_some() && line.is_none() {
            self.fault(pointer, "a `concept` needs its `line`");
        }
        let selector = Selector { line, concept, performative };
        if self.faults.len() == before && selector.weight() == 0 {
            self.fault(pointer, "names no `line`, `concept` or `performative`");
        }
        (self.faults.len() == before).then_some(selector)
    }

    fn text(&mut self, object: &Object<'_>, name: &str, pointer: &str) -> Option<Box<str>> {
        match object.get(name)? {
            Json::String(text) if !text.is_empty() => Some((&**text).into()),
            _ => {
                self.fault(&format!("{pointer}/{name}"), "not a text");
                None
            }
        }
    }

    fn budgets(&mut self, list: Option<&Json<'_>>) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::new();
        for (position, item) in self.list(list, "/budgets").iter().enumerate() {
            let pointer = format!("/budgets/{position}");
            let Json::Object(object) = item else {
                self.fault(&pointer, "not an object");
                continue;
            };
            self.closed(object, &["name", "limit", "per", "of", "agents", "groups"], &pointer);
            let before = self.faults.len();
            let name = self.name(object, &pointer);
            let rate = self.parsed(object, "limit", &pointer, Rate::parse, None);
            let key = self.parsed(object, "per", &pointer, RateKey::parse, Some(RateKey::default()));
            let mut of: Named = Vec::new();
            for (n, item) in self.list(object.get("of"), &format!("{pointer}/of")).iter().enumerate() {
                let pointer = format!("{pointer}/of/{n}");
                match item {
                    Json::Object(object) => {
                        self.closed(object, &["line", "concept", "performative"], &pointer);
                        let Some(selector) = self.selector(object, &pointer) else { continue };
                        if of.iter().any(|(_, other)| *other == selector) {
                            self.fault(&pointer, "the same messages a second time");
                        }
                        of.push((pointer, selector));
                    }
                    _ => self.fault(&pointer, "not an object"),
                }
            }
            if object.get("of").is_some() && of.is_empty() && self.faults.len() == before {
                self.fault(&format!("{pointer}/of"), "names no message: leave it out to mean all");
            }
            let whom = self.whom(object, &pointer);
            if let (Some(name), Some(rate), Some(key)) = (name, rate, key) {
                if all.iter().any(|other| other.budget.name == name) {
                    self.fault(&format!("{pointer}/name"), "a second budget of this name");
                }
                let selectors = of.iter().map(|(_, selector)| selector.clone()).collect();
                self.read.selectors.extend(of);
                let budget = Arc::new(Budget { name, rate, key, of: selectors });
                all.push(Entry { budget, whom, at: pointer });
            }
        }
        all
    }

    fn name(&mut self, object: &Object<'_>, pointer: &str) -> Option<Arc<str>> {
        let name = object.get("name").and_then(Json::as_str).unwrap_or_default();
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if !plain || !(1..=64).contains(&name.len()) {
            self.fault(&format!("{pointer}/name"), "a name is 1 to 64 letters, digits, `.`, `_` and `-`");
            return None;
        }
        if TAKEN.contains(&name) || name.starts_with(BY_POLICY) {
            self.fault(&format!("{pointer}/name"), "another limit has this name");
            return None;
        }
        Some(name.into())
    }

    fn parsed<T>(
        &mut self,
        object: &Object<'_>,
        name: &str,
        pointer: &str,
        parse: impl Fn(&str) -> Result<T, String>,
        absent: Option<T>,
    ) -> Option<T> {
        if absent.is_some() && object.get(name).is_none() {
            return absent;
        }
        match parse(object.get(name).and_then(Json::as_str).unwrap_or_default()) {
            Ok(read) => Some(read),
            Err(why) => {
                self.fault(&format!("{pointer}/{name}"), why);
                None
            }
        }
    }

    /// The agents of a budget, by position; `None` where it names none and so counts for all.
    fn whom(&mut self, object: &Object<'_>, pointer: &str) -> Option<Vec<bool>> {
        if object.get("agents").is_none() && object.get("groups").is_none() {
            return None;
        }
        let mut whom = vec![false; self.agents.entries().len()];
        let mut named = false;
        for (n, item) in self.list(object.get("agents"), &format!("{pointer}/agents")).iter().enumerate() {
            let id = item.as_str().unwrap_or_default();
            self.second(object.get("agents"), n, &format!("{pointer}/agents/{n}"));
            named = true;
            match self.agents.position(id) {
                Some(position) => whom.iter_mut().skip(position as usize).take(1).for_each(|one| *one = true),
                None if self.is_former(Declared::Agent, id, &format!("{pointer}/agents/{n}")) => {}
                None => {
                    let near = self.agents.by_alias(id).map(|entry| entry.id.as_str());
                    let near = near.or_else(|| self.agents.closest(id));
                    let why = unknown_name("agent", near);
                    self.fault(&format!("{pointer}/agents/{n}"), why);
                }
            }
        }
        for (n, item) in self.list(object.get("groups"), &format!("{pointer}/groups")).iter().enumerate() {
            let group = item.as_str().unwrap_or_default();
            self.second(object.get("groups"), n, &format!("{pointer}/groups/{n}"));
            named = true;
            if !self.agents.groups().contains(group) {
                if self.is_former(Declared::Group, group, &format!("{pointer}/groups/{n}")) {
                    continue;
                }
                let why =
                    unknown_name("group", closest(group, self.agents.groups().iter().map(String::as_str)));
                self.fault(&format!("{pointer}/groups/{n}"), why);
                continue;
            }
            for (one, entry) in whom.iter_mut().zip(self.agents.entries()) {
                *one |= entry.groups.iter().any(|own| own == group);
            }
        }
        if !named {
            self.fault(pointer, "applies to no agent: leave `agents` and `groups` out to mean all agents");
        }
        Some(whom)
    }

    /// A name of a list that stands before in it.
    fn second(&mut self, list: Option<&Json<'_>>, at: usize, pointer: &str) {
        let all = list.and_then(Json::as_array).unwrap_or_default();
        let name = |at: usize| all.get(at).and_then(Json::as_str);
        if (0..at).any(|before| name(before) == name(at)) {
            self.fault(pointer, "the same name a second time");
        }
    }

    /// Returns true for a name that only the running generation knew: a warning where all who had it are gone, else a fault.
    fn is_former(&mut self, kind: Declared, name: &str, pointer: &str) -> bool {
        let Some(former) = self.former.filter(|former| former.agents.declares(kind, name)) else {
            return false;
        };
        let why = "entities.json no longer declares this name, so it matches no agent";
        let tolerated = former.tolerates(kind, name, self.agents, false);
        if tolerated {
            self.read.names.add(kind, name, tolerated, fault_at(pointer, why));
        } else {
            self.fault(pointer, why);
        }
        true
    }

    /// A budget that holds less than one message costs would refuse it for ever.
    fn payable(&mut self, costs: &[(Selector, u32)], entries: &[Entry]) {
        let everything = [Selector::default()];
        for Entry { budget, at, .. } in entries {
            let of = if budget.of.is_empty() { &everything[..] } else { &budget.of };
            // what says more about all of these messages is what they cost
            let other = |selector: &Selector, both: &Selector| {
                costs.iter().any(|(other, _)| other.weight() > selector.weight() && other.covers(both))
            };
            let concerns = |selector: &Selector| {
                of.iter().any(|of| of.meets(selector) && !other(selector, &selector.and(of)))
            };
            let dear =
                costs.iter().filter(|(selector, cost)| *cost > budget.rate.burst && concerns(selector));
            if let Some((_, cost)) = dear.max_by_key(|(_, cost)| *cost) {
                let (name, burst) = (&budget.name, budget.rate.burst);
                self.fault(
                    &format!("{at}/limit"),
                    format!("`{name}` holds {burst} and can never pay for a message that costs {cost}"),
                );
            }
        }
    }

    fn by_agent(&self, costs: Vec<(Selector, u32)>, entries: &[Entry]) -> Budgets {
        let mut alike: HashMap<Vec<bool>, Arc<[Arc<Budget>]>> = HashMap::new();
        let mut of = |has: Vec<bool>| {
            let made = || {
                let own = entries.iter().zip(&has).filter(|(_, has)| **has);
                own.map(|(entry, _)| Arc::clone(&entry.budget)).collect()
            };
            let list: Arc<[Arc<Budget>]> = alike.get(&has).cloned().unwrap_or_else(made);
            alike.insert(has, Arc::clone(&list));
            list
        };
        let has = |position: usize| {
            let one = |entry: &Entry| {
                entry.whom.as_ref().is_none_or(|whom| whom.get(position).copied().unwrap_or(false))
            };
            entries.iter().map(one).collect()
        };
        let of_agent = (0..self.agents.entries().len()).map(|position| of(has(position))).collect();
        Budgets { costs, of_agent, of_others: of(has(usize::MAX)) }
    }
}

fn fault_at(pointer: &str, why: impl Into<String>) -> PolicyFault {
    PolicyFault::Json {
        location: json_locations::of_file(FILE),
        pointer: pointer.to_owned(),
        why: why.into(),
    }
}

fn unknown_name(what: &str, near: Option<&str>) -> String {
    let known = format!("no {what} of this name is in entities.json");
    near.map_or(known.clone(), |near| format!("{known} (did you mean `{near}`?)"))
}
