//! One question through the index, the memory and Cedar.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Context as CedarContext, Decision, Effect, Entities, Entity, EntityId,
    EntityTypeName, EntityUid, EvaluationError, Request, Response, RestrictedExpression,
};
use semgate_contexts::Performative;

use crate::agents::Agents;
use crate::annotations::Obligation;
use crate::catalogue::{CONTEXT_MEMBERS, Catalogue, ShapeInfo, TypeInfo};
use crate::convert::{self, Misfit};
use crate::index::{Bucket, Index};
use crate::memory::{Key, Memory};
use crate::parse::Written;
use crate::{AgentEntry, Question, Texts, Verdict};

/// Everything that an answer needs, prepared at load.
#[derive(Debug)]
pub(crate) struct Asker {
    pub agents: Known,
    pub catalogue: Catalogue,
    pub index: Index,
    pub memory: Memory,
    pub answers: Answers,
    pub authorizer: Authorizer,
    pub actions: Vec<EntityUid>,
}

/// Agents with their Cedar entities.
#[derive(Debug)]
pub(crate) struct Known {
    pub list: Agents,
    entities: Vec<(Entity, Entities)>,
    agent_type: EntityTypeName,
}

/// Ids and notices of the policies, as they enter a verdict.
#[derive(Debug)]
pub(crate) struct Answers {
    by_id: HashMap<Arc<str>, Answer>,
}

#[derive(Debug)]
struct Answer {
    id: Arc<str>,
    effect: Effect,
    notice: Option<Arc<str>>,
    obligation: Option<Arc<Obligation>>,
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
        let mut known = Self { list, entities: Vec::new(), agent_type };
        for entry in known.list.entries() {
            let groups = entry.groups.iter();
            let parents: HashSet<EntityUid> = groups
                .map(|group| EntityUid::from_type_name_and_id(group_type.clone(), EntityId::new(group)))
                .collect();
            let entity = known.entity(&entry.id, &entry.credentials, parents)?;
            let alone = Entities::from_entities([entity.clone()], None).map_err(|e| e.to_string())?;
            known.entities.push((entity, alone));
        }
        Ok(known)
    }

    fn uid(&self, id: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(self.agent_type.clone(), EntityId::new(id))
    }

    fn entity(
        &self,
        id: &str,
        credentials: &[String],
        parents: HashSet<EntityUid>,
    ) -> Result<Entity, String> {
        let credentials = credentials.iter().map(|held| RestrictedExpression::new_string(held.clone()));
        let attributes = [("credentials".to_owned(), RestrictedExpression::new_set(credentials))];
        Entity::new_with_tags(self.uid(id), attributes, parents, []).map_err(|e| e.to_string())
    }

    fn uid_of(&self, id: &str, position: Option<u32>) -> EntityUid {
        let known = position.and_then(|p| self.entities.get(p as usize));
        known.map_or_else(|| self.uid(id), |(entity, _)| entity.uid())
    }

    /// The entity of an agent, known or not; an unknown one is in no group and holds nothing.
    fn of(&self, id: &str, position: Option<u32>) -> Result<Entity, String> {
        match position.and_then(|p| self.entities.get(p as usize)) {
            Some((entity, _)) => Ok(entity.clone()),
            None => self.entity(id, &[], HashSet::new()),
        }
    }

    fn alone(&self, id: &str, position: Option<u32>) -> Result<Entities, String> {
        match position.and_then(|p| self.entities.get(p as usize)) {
            Some((_, alone)) => Ok(alone.clone()),
            None => Entities::from_entities([self.of(id, None)?], None).map_err(|e| e.to_string()),
        }
    }

    /// A disabled agent is denied everything; an unknown one is not disabled.
    pub fn disabled(&self, position: Option<u32>) -> bool {
        position.and_then(|p| self.list.at(p)).is_some_and(|entry: &AgentEntry| entry.disabled)
    }
}

impl Answers {
    /// One for each policy.
    pub fn new(written: &[Written]) -> Self {
        let answer = |policy: &Written| {
            let answer = Answer {
                id: Arc::clone(&policy.id),
                effect: policy.policy.effect(),
                notice: policy.notice.clone(),
                obligation: policy.obligation.clone(),
            };
            (Arc::clone(&policy.id), answer)
        };
        Self { by_id: written.iter().map(answer).collect() }
    }

    /// Cedar's response as a verdict: any error is a refusal, whatever Cedar decided without the policy that erred.
    pub fn verdict(&self, response: &Response) -> Verdict {
        if response.diagnostics().errors().next().is_some() {
            return errored(response);
        }
        let reasons =
            || response.diagnostics().reason().filter_map(|id| self.by_id.get(AsRef::<str>::as_ref(id)));
        match response.decision() {
            Decision::Allow => Verdict::Permitted {
                policies: reasons().map(|answer| Arc::clone(&answer.id)).collect(),
                obligations: reasons().filter_map(|answer| answer.obligation.clone()).collect(),
            },
            Decision::Deny => {
                let forbids = || reasons().filter(|answer| answer.effect == Effect::Forbid);
                Verdict::Denied {
                    policies: forbids().map(|answer| Arc::clone(&answer.id)).collect(),
                    notices: forbids().filter_map(|answer| answer.notice.clone()).collect(),
                }
            }
        }
    }
}

/// Cedar's own words for an error hold operands, which may come from the message; so ours name the kind alone.
fn errored(response: &Response) -> Verdict {
    let parts = |error: &AuthorizationError| match error {
        AuthorizationError::PolicyEvaluationError(error) => {
            (error.policy_id().to_string(), kind(error.inner()))
        }
    };
    let why: BTreeSet<&str> = response.diagnostics().errors().map(|error| parts(error).1).collect();
    Verdict::Errored {
        policies: response.diagnostics().errors().map(|error| parts(error).0).collect(),
        why: why.into_iter().collect::<Vec<_>>().join(", ").into(),
    }
}

const fn kind(error: &EvaluationError) -> &'static str {
    match error {
        EvaluationError::IntegerOverflow(_) => "integer overflow",
        EvaluationError::EntityDoesNotExist(_) => "an entity that is not there",
        EvaluationError::EntityAttrDoesNotExist(_) | EvaluationError::RecordAttrDoesNotExist(_) => {
            "a member that is not there"
        }
        EvaluationError::TypeError(_) => "a value of another type",
        EvaluationError::FailedExtensionFunctionExecution(_) => "an extension function that failed",
        EvaluationError::RecursionLimit(_) => "nested too deeply",
        _ => "an evaluation error",
    }
}

fn untypable(misfit: Misfit) -> Verdict {
    Verdict::Untypable { path: misfit.pointer() }
}

fn internal(why: impl Into<Arc<str>>) -> Verdict {
    Verdict::Errored { policies: Texts::default(), why: why.into() }
}

/// What a question comes to once names are looked up.
pub(crate) struct Found<'a> {
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

    /// The verdict about a learnt concept: denied where no policy names it.
    pub fn decide_learnt(&self, question: &Question<'_>) -> Verdict {
        match self.catalogue.learnt(question.shape.name()) {
            Some(shape) => self.settle(question, shape),
            None => Bucket::nothing(),
        }
    }

    fn settle(&self, question: &Question<'_>, shape: &ShapeInfo) -> Verdict {
        let Some(info) = self.catalogue.types.get(shape.of_type) else {
            return internal("the type of the concept is missing");
        };
        if shape.numbers
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
        let Some(bucket) = self.index.bucket(sender, shape.of_type, question.action) else {
            return Bucket::nothing();
        };
        let wants = bucket.wants;
        let found = Found {
            shape,
            info,
            sender,
            receiver: if wants.receiver { receiver } else { None },
            free_text: wants.free_text && question.shape.has_free_text(question.value),
        };
        let Some(key) = key(question, bucket, &found) else {
            return self.evaluate(question, bucket, &found);
        };
        if let Some(verdict) = self.memory.get(key) {
            return verdict;
        }
        let verdict = self.evaluate(question, bucket, &found);
        if !matches!(verdict, Verdict::Errored { .. }) {
            self.memory.put(key, &verdict);
        }
        verdict
    }

    pub(crate) fn evaluate(&self, question: &Question<'_>, bucket: &Bucket, found: &Found<'_>) -> Verdict {
        match self.request(question, bucket, found) {
            Ok((request, entities)) => {
                self.answers.verdict(&self.authorizer.is_authorized(&request, &bucket.set, &entities))
            }
            Err(verdict) => verdict,
        }
    }

    fn request(
        &self,
        question: &Question<'_>,
        bucket: &Bucket,
        found: &Found<'_>,
    ) -> Result<(Request, Entities), Verdict> {
        let reads = &bucket.reads;
        let mut more: Vec<Entity> = Vec::new();
        if bucket.wants.instance {
            let shape = &found.shape.attributes;
            let attributes = convert::attributes(
                shape,
                &reads.resource,
                question.value,
                question.without,
                bucket.decimals,
            )
            .map_err(untypable)?;
            let entity = Entity::new_with_tags(found.info.uid.clone(), attributes, [], []);
            more.push(entity.map_err(|_| internal("the instance as an entity"))?);
        }
        let receiver = bucket.wants.receiver;
        if receiver && question.receiver != question.sender {
            more.push(self.agents.of(question.receiver, found.receiver).map_err(internal)?);
        }
        for named in &reads.agents {
            if named != question.sender && !(receiver && named == question.receiver) {
                more.push(self.agents.of(named, self.agents.list.position(named)).map_err(internal)?);
            }
        }
        let mut entities = self.agents.alone(question.sender, found.sender).map_err(internal)?;
        if !more.is_empty() {
            entities =
                entities.add_entities(more, None).map_err(|_| internal("the entities of the question"))?;
        }
        let action = self.actions.get(question.action as usize).ok_or_else(|| internal("no such action"))?;
        let context = if reads.context.none() {
            CedarContext::empty()
        } else {
            self.context(question, bucket, found).map_err(internal)?
        };
        let principal = self.agents.uid_of(question.sender, found.sender);
        let request = Request::new(principal, action.clone(), found.info.uid.clone(), context, None)
            .map_err(|_| internal("the question as a request"))?;
        Ok((request, entities))
    }

    fn context(
        &self,
        question: &Question<'_>,
        bucket: &Bucket,
        found: &Found<'_>,
    ) -> Result<CedarContext, String> {
        let value = |member: &str| match member {
            "receiver" => RestrictedExpression::new_entity_uid(self.agents.uid(question.receiver)),
            "major" => RestrictedExpression::new_long(i64::from(found.shape.major)),
            "minor" => RestrictedExpression::new_long(i64::from(found.shape.minor)),
            "binding" => RestrictedExpression::new_string(question.binding.to_owned()),
            "direction" => RestrictedExpression::new_string(question.direction.to_owned()),
            _ => RestrictedExpression::new_bool(found.free_text),
        };
        let members = CONTEXT_MEMBERS.into_iter().filter(|member| bucket.reads.context.wants(member));
        CedarContext::from_pairs(members.map(|member| (member.to_owned(), value(member))))
            .map_err(|_| "the context record".to_owned())
    }
}

/// Everything that the verdict depends on, if that can be packed: nothing of the instance is read, and binding and
/// direction are known ones. All senders without an entry are alike to policies, since none can name them; only
/// together with a receiver without an entry could they be told apart (`principal == context.receiver`).
fn key(question: &Question<'_>, bucket: &Bucket, found: &Found<'_>) -> Option<Key> {
    let wants = bucket.wants;
    if wants.instance || (wants.receiver && found.receiver.is_none()) {
        return None;
    }
    let binding = match question.binding {
        "l8" => 0,
        "a2a" => 1,
        _ if wants.binding => return None,
        _ => 2,
    };
    let direction = match question.direction {
        "request" => 0,
        "reply" => 1,
        _ if wants.direction => return None,
        _ => 2,
    };
    let number = |position: Option<u32>| u128::from(position.unwrap_or(u32::MAX));
    let small = (question.action as u128) << 5 | binding << 3 | direction << 1 | u128::from(found.free_text);
    Some(
        number(found.sender) << 96
            | number(found.receiver) << 64
            | u128::from(found.shape.number) << 32
            | small,
    )
}
