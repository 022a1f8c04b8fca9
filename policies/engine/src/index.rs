//! The policies that can apply to a question: [`Scopes`] over agents and the types of the catalogue.
//!
//! An agent is the keys that hold for it, and agents of the same keys share them; so memory grows with the policies, the agents and
//! their groups, each by itself, and never with a product of them.

use std::collections::{HashMap, HashSet};

use cedar_policy::{EntityId, EntityTypeName, EntityUid};
use semgate_contexts::Performative;

use crate::agents::Agents;
use crate::catalogue::{Catalogue, TypeInfo};
use crate::pace;
use crate::rule::Rule;
use crate::scope::{Action, Key, Lot, Scopes};
use crate::wants::Wants;

/// The concepts that the scope of some permit lets an agent use.
#[derive(Debug, Clone, Default)]
struct Reach {
    /// A permit without a constraint on the resource: any line, known or not.
    any: bool,
    lines: HashSet<Box<str>>,
}

/// The index of one policy set over one catalogue.
#[derive(Debug)]
pub(crate) struct Index {
    rules: Box<[Rule]>,
    scopes: Scopes,
    /// Principal keys, one list for all agents that have the same; the first is that of agents without an entry.
    classes: Vec<Box<[u32]>>,
    /// Class of each agent, by position.
    of_agent: Vec<u32>,
    /// Resource keys of each type.
    of_type: Vec<Box<[u32]>>,
    /// By principal key.
    reach: HashMap<u32, Reach>,
    /// True if some policy looks at a score of text.
    pub reads_text: bool,
}

/// The policies whose scope holds for a question.
pub(crate) struct Chosen<'i> {
    index: &'i Index,
    lots: Vec<&'i Lot>,
    /// The inputs of their conditions, together.
    pub wants: Wants,
}

impl<'i> Chosen<'i> {
    /// The policies.
    pub fn rules(&self) -> impl Iterator<Item = &'i Rule> + Clone {
        let index = self.index;
        self.lots.iter().flat_map(|lot| &lot.rules).filter_map(|at| index.rules.get(*at as usize))
    }
}

impl Drop for Index {
    /// Nearly all of a set is in its rules.
    fn drop(&mut self) {
        for rule in std::mem::take(&mut self.rules) {
            drop(rule);
            pace::rest();
        }
    }
}

impl Index {
    /// Builds the index; the error is a name that Cedar does not take, which reading the agents has excluded.
    pub fn build(
        rules: Vec<Rule>,
        catalogue: &Catalogue,
        agents: &Agents,
        actions: &[EntityUid],
    ) -> Result<Self, String> {
        let actions: Vec<Action> =
            actions.iter().map(|uid| Action { uid: uid.clone(), ancestors: Vec::new() }).collect();
        let entries = rules.iter().map(|rule| (&rule.scope, rule.wants, unsigned(rule)));
        let scopes = Scopes::build(entries, &actions);
        let name = |name: &str| name.parse().map_err(|e: cedar_policy::ParseErrors| e.to_string());
        let (agent, group): (EntityTypeName, EntityTypeName) = (name("Agent")?, name("Group")?);
        let uid =
            |of: &EntityTypeName, id: &str| EntityUid::from_type_name_and_id(of.clone(), EntityId::new(id));
        // Policies name no agent without an entry, so the two keys that hold for every agent are all that hold for it.
        let strangers = scopes.principal_keys(&[Key::Open, Key::Is(agent.clone())]);
        let mut classes: Vec<Box<[u32]>> = vec![strangers.clone()];
        let mut numbers: HashMap<Box<[u32]>, u32> = HashMap::from([(strangers, 0)]);
        let mut of_agent = Vec::with_capacity(agents.entries().len());
        for entry in agents.entries() {
            let groups = entry.groups.iter().map(|id| uid(&group, id));
            let keys = scopes.principal_keys(&Key::holding(&uid(&agent, &entry.id), groups));
            let next = u32::try_from(classes.len()).map_err(|e| e.to_string())?;
            of_agent.push(*numbers.entry(keys).or_insert_with_key(|keys| {
                classes.push(keys.clone());
                next
            }));
        }
        let keys = |info| scopes.resource_keys(&held(info));
        let of_type = catalogue.types.iter().map(keys).collect();
        let mut index = Self {
            reach: reach(&rules, catalogue, &scopes, &actions),
            reads_text: rules.iter().any(|rule| rule.wants.text().any()),
            rules: rules.into(),
            scopes,
            classes,
            of_agent,
            of_type,
        };
        index.classes.shrink_to_fit();
        Ok(index)
    }

    fn class(&self, agent: Option<u32>) -> Option<&[u32]> {
        let class = match agent {
            None => 0,
            Some(position) => *self.of_agent.get(position as usize)?,
        };
        self.classes.get(class as usize).map(AsRef::as_ref)
    }

    /// The policies to ask; `None` if there is none, which denies.
    pub fn choose(
        &self,
        agent: Option<u32>,
        of_type: usize,
        info: &TypeInfo,
        action: Performative,
    ) -> Option<Chosen<'_>> {
        if !info.performatives.contains(action) {
            return None;
        }
        let mut lots = Vec::with_capacity(8);
        self.scopes.find(self.class(agent)?, action as usize, self.of_type.get(of_type)?, &mut lots);
        let wants = lots.iter().fold(Wants::default(), |wants, lot| wants.and(lot.wants));
        (!lots.is_empty()).then_some(Chosen { index: self, lots, wants })
    }

    /// `Some` if a permit's scope could let this agent use some concept of the line.
    pub fn reaches(&self, agent: Option<u32>, line: &str) -> Option<()> {
        let mut reaches = self.class(agent)?.iter().filter_map(|key| self.reach.get(key));
        reaches.any(|reach| reach.any || reach.lines.contains(line)).then_some(())
    }
}

/// The keys that hold for the instances of a type: all have one name, and they are in nothing.
fn held(info: &TypeInfo) -> Vec<Key> {
    let mut keys = Key::holding(&info.uid, []);
    if info.is_learnt() {
        keys.retain(|key| *key != Key::Open);
        keys.push(Key::Unsigned);
    }
    keys
}

/// Unsigned concepts pass only by a permit that names them; every forbid holds for them.
fn unsigned(rule: &Rule) -> &'static [Key] {
    let open_forbid = rule.scope.resource == Key::Open && rule.effect == cedar_policy::Effect::Forbid;
    if open_forbid { &[Key::Unsigned] } else { &[] }
}

fn reach(rules: &[Rule], catalogue: &Catalogue, scopes: &Scopes, actions: &[Action]) -> HashMap<u32, Reach> {
    let by_name: HashMap<&EntityTypeName, &TypeInfo> =
        catalogue.types.iter().map(|info| (info.uid.type_name(), info)).collect();
    let mut all: HashMap<u32, Reach> = HashMap::new();
    for rule in rules.iter().filter(|rule| rule.effect == cedar_policy::Effect::Permit) {
        pace::rest();
        for key in scopes.principal_keys(std::slice::from_ref(&rule.scope.principal)) {
            let reach = all.entry(key).or_default();
            match &rule.scope.resource {
                Key::Open => reach.any = true,
                Key::Is(name) => {
                    let info = by_name.get(name).filter(|info| !info.is_learnt());
                    let takes = |performative: Performative| {
                        actions.get(performative as usize).is_some_and(|action| rule.scope.takes(action))
                    };
                    let taken = |info: &&&TypeInfo| info.performatives.iter().any(takes);
                    reach.lines.extend(info.filter(taken).map(|info| info.line.as_str().into()));
                }
                _ => {}
            }
        }
    }
    all
}
