//! A question that no memory answers: what is read is handed to Cedar, policy by policy, but for plain comparisons.

use std::borrow::Cow;

use cedar_policy::{Context as CedarContext, Entities, Entity, Request, RestrictedExpression};

use crate::ask::{Asker, Resolved, Shows, internal, untypable};
use crate::context_record;
use crate::convert::{self, Decimals};
use crate::plain;
use crate::reads::Reads;
use crate::rule::{Applies, Rule, Tally};
use crate::wants::Wants;
use crate::{Credentials, Question, Verdict};

impl Asker {
    /// The verdict of these policies, whose scopes hold and whose conditions together look at `wants`.
    pub(crate) fn evaluate<'r>(
        &self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        wants: Wants,
        rules: impl Iterator<Item = &'r Rule> + Clone,
    ) -> Verdict {
        let mut tally = Tally::default();
        match self.each(question, resolved, wants, rules, |rule, applies| tally.add(rule, applies)) {
            Ok(()) => tally.verdict(),
            Err(verdict) => verdict,
        }
    }

    /// Says of each policy whether it applies; the error is the verdict if nothing can be asked at all.
    pub(crate) fn each<'r>(
        &self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        wants: Wants,
        rules: impl Iterator<Item = &'r Rule> + Clone,
        mut then: impl FnMut(&'r Rule, Applies),
    ) -> Result<(), Verdict> {
        let mut asked: Option<(Request, Cow<'_, Entities>)> = None;
        for rule in rules.clone() {
            let plainly = rule.plainly(&resolved.shape.attributes, question.value, question.without);
            if let Some(applies) = plainly {
                then(rule, applies);
                continue;
            }
            let (request, entities) = match &asked {
                Some(asked) => asked,
                None => asked.insert(self.request(question, resolved, wants, rules.clone())?),
            };
            let applies = rule.applies(request, entities, || self.whole(question, resolved, &rule.reads))?;
            then(rule, applies);
        }
        Ok(())
    }

    /// For conditions as [`rewrite`] makes them: members of the instance stand in the context record.
    fn request<'a, 'r>(
        &'a self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        wants: Wants,
        rules: impl Iterator<Item = &'r Rule> + Clone,
    ) -> Result<(Request, Cow<'a, Entities>), Verdict> {
        let mut pairs = Vec::new();
        if wants.instance {
            let shape = &resolved.shape.attributes;
            let mut seen: Vec<&str> = Vec::new();
            for name in rules.clone().flat_map(|rule| &rule.reads.resource.names) {
                if seen.contains(&name.as_str()) {
                    continue;
                }
                seen.push(name);
                let scaled = Decimals::TenThousandths;
                let value = convert::attribute(shape, name, question.value, question.without, scaled);
                pairs.extend(value.map_err(untypable)?.map(|value| (plain::member_name(name), value)));
            }
        }
        pairs.extend(self.members(question, resolved, wants)?);
        let context = if pairs.is_empty() {
            CedarContext::empty()
        } else {
            CedarContext::from_pairs(pairs).map_err(|_| internal("the context record"))?
        };
        let agents = rules.flat_map(|rule| &rule.reads.agents);
        let entities = self.entities(question, resolved, wants, agents)?;
        Ok((self.asked(question, resolved, context)?, entities))
    }

    /// For policies as they are written, which look at this: the instance is an entity, with decimals of Cedar's own.
    pub(crate) fn whole(
        &self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        reads: &Reads,
    ) -> Result<(Request, Entities), Verdict> {
        let (shape, wanted, wants) = (&resolved.shape.attributes, &reads.resource, Wants::of(reads));
        let (value, without) = (question.value, question.without);
        let attributes = convert::attributes(shape, wanted, value, without, Decimals::Cedar);
        let attributes = attributes.map_err(untypable)?;
        let instance = Entity::new_with_tags(resolved.info.uid.clone(), attributes, [], []);
        let instance = instance.map_err(|_| internal("the instance as an entity"))?;
        let entities = self.entities(question, resolved, wants, reads.agents.iter())?.into_owned();
        let entities = entities.add_entities([instance], None).map_err(|_| internal(ENTITIES))?;
        let own = self.members(question, resolved, wants)?;
        let context = CedarContext::from_pairs(own).map_err(|_| internal("the context record"))?;
        Ok((self.asked(question, resolved, context)?, entities))
    }

    fn asked(
        &self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        context: CedarContext,
    ) -> Result<Request, Verdict> {
        let action = self.actions.get(question.action as usize).ok_or_else(|| internal("no such action"))?;
        let principal = self.agents.uid_of(question.sender, resolved.sender);
        Request::new(principal, action.clone(), resolved.info.uid.clone(), context, None)
            .map_err(|_| internal("the question as a request"))
    }

    /// The sender, the receiver if it is looked at, and the agents that conditions name.
    fn entities<'a, 'n>(
        &'a self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        wants: Wants,
        named: impl Iterator<Item = &'n String>,
    ) -> Result<Cow<'a, Entities>, Verdict> {
        let around = &question.circumstances;
        let none = &Credentials::NONE;
        let shows = |id, position, credentials| Shows { id, position, credentials, now: around.now };
        let held = if wants.credentials { around.sender_holds } else { none };
        let alone = self.agents.alone(&shows(question.sender, resolved.sender, held)).map_err(internal)?;
        if !wants.receiver() {
            return Ok(alone);
        }
        let mut more: Vec<Entity> = Vec::new();
        if question.receiver != question.sender {
            let receiver = shows(question.receiver, resolved.receiver, around.receiver_holds);
            more.push(self.agents.of(&receiver).map_err(internal)?);
        }
        let mut seen: Vec<&str> = Vec::new();
        for named in named {
            let known = named == question.sender || named == question.receiver;
            if !known && !seen.contains(&named.as_str()) {
                seen.push(named);
                let named = shows(named, self.agents.list.position(named), none);
                more.push(self.agents.of(&named).map_err(internal)?);
            }
        }
        if more.is_empty() {
            return Ok(alone);
        }
        let all = alone.into_owned().add_entities(more, None).map_err(|_| internal(ENTITIES))?;
        Ok(Cow::Owned(all))
    }

    /// The members of the context record that are looked at, and that there are.
    fn members(
        &self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        wants: Wants,
    ) -> Result<Vec<(String, RestrictedExpression)>, Verdict> {
        let mut pairs = Vec::new();
        for name in wants.members() {
            let receiver = || self.agents.uid(question.receiver);
            let value =
                context_record::member(name, question, resolved, wants, receiver).map_err(internal)?;
            pairs.extend(value.map(|value| (name.to_owned(), value)));
        }
        Ok(pairs)
    }
}

const ENTITIES: &str = "the entities of the question";
