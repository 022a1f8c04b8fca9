//! One question through the index, the memory and Cedar.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use cedar_policy::{Entities, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression};
use semgate_contexts::Performative;

use crate::agents::{Agents, domain_of};
use crate::catalogue::{Catalogue, ShapeInfo, TypeInfo};
use crate::convert::{self, Misfit};
use crate::credentials::Window;
use crate::index::Index;
use crate::memory::{Key, Memory};
use crate::wants::{Wants, bit};
use crate::{AgentEntry, Credentials, PolicyFault, Question, TextWants, Texts, Verdict};

/// Everything that an answer needs, prepared at load.
#[derive(Debug)]
pub(crate) struct Asker {
    pub agents: Known,
    pub catalogue: Catalogue,
    pub index: Index,
    pub memory: Memory,
    pub actions: Vec<EntityUid>,
}

/// Agents with their Cedar entities.
#[derive(Debug)]
pub(crate) struct Known {
    pub list: Agents,
    entities: Vec<(Entity, Entities)>,
    agent_type: EntityTypeName,
    group_type: EntityTypeName,
}

impl Asker {
    /// Prepares the entities of all agents.
    pub fn new(
        agents: Agents,
        catalogue: Catalogue,
        index: Index,
        memory: Memory,
    ) -> Result<Self, Vec<PolicyFault>> {
        let fault = |why| vec![PolicyFault::Schema { why }];
        let agents = Known::new(agents).map_err(fault)?;
        Ok(Self { agents, catalogue, index, memory, actions: actions().map_err(fault)? })
    }
}

/// The actions, by performative.
pub(crate) fn actions() -> Result<Vec<EntityUid>, String> {
    let name: EntityTypeName = "Action".parse().map_err(|e: cedar_policy::ParseErrors| e.to_string())?;
    let uid = |p: Performative| EntityUid::from_type_name_and_id(name.clone(), EntityId::new(p.as_str()));
    Ok(Performative::ALL.into_iter().map(uid).collect())
}

impl Known {
    /// Prepares the entity of every agent.
    pub fn new(list: Agents) -> Result<Self, String> {
        let parse = |name: &str| name.parse().map_err(|e: cedar_policy::ParseErrors| e.to_string());
        let (agent_type, group_type): (EntityTypeName, EntityTypeName) = (parse("Agent")?, parse("Group")?);
        let mut known = Self { list, entities: Vec::new(), agent_type, group_type };
        for entry in known.list.entries() {
            let parents = entry.groups.iter().map(|group| known.group(group)).collect();
            let entity = known.entity(&entry.id, entry.credentials.iter().map(String::as_str), parents)?;
            let alone = Entities::from_entities([entity.clone()], None).map_err(|e| e.to_string())?;
            known.entities.push((entity, alone));
        }
        Ok(known)
    }

    /// The name of an agent, known or not.
    pub fn uid(&self, id: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.agent_type.clone(), EntityId::new(id))
    }

    fn group(&self, name: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.group_type.clone(), EntityId::new(name))
    }

    fn entity<'c>(
        &self,
        id: &str,
        credentials: impl Iterator<Item = &'c str>,
        parents: HashSet<EntityUid>,
    ) -> Result<Entity, String> {
        let credentials = credentials.map(|held| RestrictedExpression::new_string(held.to_owned()));
        let attributes = [
            ("credentials".to_owned(), RestrictedExpression::new_set(credentials)),
            ("trust_domain".to_owned(), RestrictedExpression::new_string(domain_of(id).to_owned())),
        ];
        Entity::new_with_tags(self.uid(id), attributes, parents, []).map_err(|e| e.to_string())
    }

    /// The same, without making it anew for a known one.
    pub fn uid_of(&self, id: &str, position: Option<u32>) -> EntityUid {
        let known = position.and_then(|p| self.entities.get(p as usize));
        known.map_or_else(|| self.uid(id), |(entity, _)| entity.uid())
    }

    /// The entity of an agent, known or not; an unknown one is in no group and holds nothing but what it shows.
    pub fn of(&self, agent: &Shows<'_>) -> Result<Entity, String> {
        let known = agent.position.and_then(|p| self.entities.get(p as usize));
        let mut shown = agent.credentials.held(agent.now).peekable();
        let entry = agent.position.and_then(|p| self.list.at(p));
        match (known, entry) {
            (Some((entity, _)), _) if shown.peek().is_none() => Ok(entity.clone()),
            (_, Some(entry)) => {
                let parents = entry.groups.iter().map(|group| self.group(group)).collect();
                self.entity(agent.id, entry.credentials.iter().map(String::as_str).chain(shown), parents)
            }
            _ => self.entity(agent.id, shown, HashSet::new()),
        }
    }

    /// The entities of a question that looks at no agent but this one.
    pub fn alone(&self, agent: &Shows<'_>) -> Result<Cow<'_, Entities>, String> {
        match agent.position.and_then(|p| self.entities.get(p as usize)) {
            Some((_, alone)) if agent.credentials.is_empty() => Ok(Cow::Borrowed(alone)),
            _ => Entities::from_entities([self.of(agent)?], None).map(Cow::Owned).map_err(|e| e.to_string()),
        }
    }

    /// A disabled agent is denied everything; an unknown one is not disabled.
    pub fn disabled(&self, position: Option<u32>) -> bool {
        position.and_then(|p| self.list.at(p)).is_some_and(|entry: &AgentEntry| entry.disabled)
    }
}

pub(crate) fn untypable(misfit: Misfit) -> Verdict {
    Verdict::Untypable { path: misfit.pointer(), rule: misfit.rule() }
}

pub(crate) fn internal(why: impl Into<Arc<str>>) -> Verdict {
    Verdict::Errored { policies: Texts::default(), why: why.into() }
}

/// The verdict where there is no policy to ask.
pub(crate) fn nothing() -> Verdict {
    Verdict::Denied { policies: Texts::default(), notices: Texts::default() }
}

/// An agent with what it shows at a time.
pub(crate) struct Shows<'a> {
    pub id: &'a str,
    pub position: Option<u32>,
    pub credentials: &'a Credentials,
    pub now: u64,
}

/// A question whose names are looked up.
pub(crate) struct Resolved<'a> {
    pub shape: &'a ShapeInfo,
    pub info: &'a TypeInfo,
    pub sender: Option<u32>,
    pub receiver: Option<u32>,
    pub free_text: bool,
}

impl Asker {
    /// The verdict.
    pub fn decide(&self, question: &Question<'_>) -> Verdict {
        let Some(shape) = self.catalogue.shape(question.context.digest(), question.shape.name()) else {
            return internal("the context is not known to the policies or is left out");
        };
        self.settle(question, shape)
    }

    /// Returns true if a policy that would be asked looks at the instance, or at what is measured of it. True where that cannot be said.
    pub fn looks_at_instance(&self, question: &Question<'_>) -> bool {
        let shape = self.catalogue.shape(question.context.digest(), question.shape.name());
        let of = shape.and_then(|shape| Some((shape.of_type, self.catalogue.types.get(shape.of_type)?)));
        let Some(of) = of else { return true };
        let sender = self.agents.list.position(question.sender);
        let chosen = self.index.choose(sender, of.0, of.1, question.action);
        chosen.is_some_and(|chosen| chosen.wants.instance || chosen.wants.any(const { bit("scores") }))
    }

    /// The scores of text that the policies which would be asked look at.
    pub fn text_wants(&self, question: &Question<'_>, learnt: bool) -> TextWants {
        if !self.index.reads_text {
            return TextWants::default();
        }
        let name = question.shape.name();
        let shape = match learnt {
            true => self.catalogue.learnt(name),
            false => self.catalogue.shape(question.context.digest(), name),
        };
        let of = shape.and_then(|shape| Some((shape.of_type, self.catalogue.types.get(shape.of_type)?)));
        let sender = self.agents.list.position(question.sender);
        // without any, the question is refused as it is
        let chosen = of.and_then(|of| self.index.choose(sender, of.0, of.1, question.action));
        chosen.map_or(TextWants::default(), |chosen| chosen.wants.text())
    }

    /// The verdict about a learnt concept: denied where no policy names it.
    pub fn decide_learnt(&self, question: &Question<'_>) -> Verdict {
        match self.catalogue.learnt(question.shape.name()) {
            Some(shape) => self.settle(question, shape),
            None => nothing(),
        }
    }

    fn settle(&self, question: &Question<'_>, shape: &ShapeInfo) -> Verdict {
        let Some(info) = self.catalogue.types.get(shape.of_type) else {
            return internal("the type of the concept is missing");
        };
        if shape.checked
            && let Err(misfit) = convert::check(&shape.attributes, question.value, question.without)
        {
            return untypable(misfit);
        }
        let sender = self.agents.list.position(question.sender);
        if self.agents.disabled(sender) {
            return Verdict::Denied {
                policies: Texts::default(),
                notices: Texts::from_iter(["the sender is disabled"]),
            };
        }
        // Also who was disabled while a reply to it was on its way hears nothing more.
        let receiver = self.agents.list.position(question.receiver);
        if self.agents.disabled(receiver) {
            return Verdict::Denied {
                policies: Texts::default(),
                notices: Texts::from_iter(["the receiver is disabled"]),
            };
        }
        let Some(chosen) = self.index.choose(sender, shape.of_type, info, question.action) else {
            return nothing();
        };
        let wants = chosen.wants;
        let resolved = Resolved {
            shape,
            info,
            sender,
            receiver: if wants.receiver() { receiver } else { None },
            free_text: wants.any(const { bit("free_text") }) && question.has_free_text(),
        };
        let Some((key, window)) = key(question, wants, &resolved) else {
            return self.evaluate(question, &resolved, wants, chosen.rules());
        };
        if let Some(verdict) = self.memory.get(key, question.circumstances.now) {
            return verdict;
        }
        let verdict = self.evaluate(question, &resolved, wants, chosen.rules());
        if !matches!(verdict, Verdict::Errored { .. }) {
            self.memory.put(key, &verdict, window);
        }
        verdict
    }
}

/// Everything that the verdict depends on, if that can be packed, and while what is shown stays the same: nothing of the instance, the
/// time, the session's end or the scores is read, and binding, version and direction are known ones. All senders without an entry are
/// alike to policies that do not ask for their trust domain, since none can name them; only together with a receiver without an entry
/// could they be told apart (`principal == context.receiver`).
fn key(question: &Question<'_>, wants: Wants, resolved: &Resolved<'_>) -> Option<(Key, Window)> {
    let stranger = resolved.sender.is_none() && wants.trust_domain;
    if wants.instance || wants.passing() || stranger || (wants.receiver() && resolved.receiver.is_none()) {
        return None;
    }
    let circumstances = &question.circumstances;
    let known = |member: u32, text: &str, names: &[&str]| match names.iter().position(|name| *name == text) {
        _ if !wants.any(member) => Some(0),
        Some(position) => Some(position as u128),
        None => None,
    };
    let binding = known(const { bit("binding") }, question.binding, &["l8", "a2a", "mcp"])?;
    let versions = ["", "0.3", "1.0", "2025-06-18", "2025-11-25", "2026-07-28"];
    let version = known(const { bit("binding_version") }, circumstances.protocol_version, &versions)?;
    let direction = known(const { bit("direction") }, question.direction, &["request", "reply"])?;
    let locked = u128::from(wants.any(const { bit("locked") }) && circumstances.locked().is_some());
    let number = |position: Option<u32>| u128::from(position.unwrap_or(u32::MAX));
    let small = (question.action as u128) << 8
        | version << 5
        | binding << 3
        | direction << 2
        | locked << 1
        | u128::from(resolved.free_text);
    let none = &Credentials::NONE;
    let sender = if wants.credentials { circumstances.sender_holds } else { none };
    let receiver = if wants.receiver() { circumstances.receiver_holds } else { none };
    let packed = number(resolved.sender) << 96
        | number(resolved.receiver) << 64
        | u128::from(resolved.shape.number) << 32
        | small;
    let window = sender.window(circumstances.now).and(receiver.window(circumstances.now));
    Some((Key { packed, sender_holds: sender.digest(), receiver_holds: receiver.digest() }, window))
}
