//! Which policies can apply: by resource type and action, then by what the scope says about the sender.
//!
//! A policy whose scope cannot match evaluates to false and can cause no error, so leaving it out of the set that Cedar
//! sees never changes a verdict; it is what keeps the cost of a question independent of how many policies there are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{
    ActionConstraint, EntityTypeName, EntityUid, PolicySet, PrincipalConstraint, ResourceConstraint,
};
use semgate_contexts::Performative;

use crate::agents::Agents;
use crate::catalogue::Catalogue;
use crate::convert::Decimals;
use crate::parse::Written;
use crate::reads::Reads;
use crate::{Texts, Verdict, learnt};

/// What is asked of a bucket for each question, ready to be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wants {
    /// Any member of the instance.
    pub instance: bool,
    /// `context.receiver`, and so on.
    pub receiver: bool,
    pub free_text: bool,
    pub binding: bool,
    pub direction: bool,
}

impl Wants {
    pub(crate) fn of(reads: &Reads) -> Self {
        Self {
            instance: !reads.resource.none(),
            receiver: reads.context.wants("receiver"),
            free_text: reads.context.wants("free_text"),
            binding: reads.context.wants("binding"),
            direction: reads.context.wants("direction"),
        }
    }
}

/// The policies that can apply to one kind of question.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// For Cedar.
    pub set: PolicySet,
    /// What their conditions look at, together.
    pub reads: Reads,
    /// The same, as far as each question needs it.
    pub wants: Wants,
    /// In which form decimals are compared.
    pub decimals: Decimals,
    /// The verdict where there is no policy to ask.
    pub empty: bool,
}

/// What the scope of some permit lets an agent use.
#[derive(Debug, Clone, Default)]
struct Reach {
    /// A permit without a constraint on the resource: any line, known or not.
    any: bool,
    lines: HashSet<Box<str>>,
}

/// Agents that the same policies name in their scope.
#[derive(Debug, Default)]
struct Class {
    reach: Reach,
    /// Only where a policy that names these agents applies; elsewhere `common` holds.
    /// Sorted by place.
    own: Vec<(usize, Arc<Bucket>)>,
}

/// The index of one policy set over one catalogue.
#[derive(Debug)]
pub(crate) struct Index {
    common: Vec<Option<Arc<Bucket>>>,
    classes: Vec<Class>,
    /// Class of each agent, by position.
    of_agent: Vec<u32>,
}

const ACTIONS: usize = Performative::ALL.len();

/// One policy's scope against the catalogue.
struct Scope {
    /// Places (type × action) where it can apply.
    places: Vec<usize>,
    any_resource: bool,
    lines: BTreeSet<Box<str>>,
}

/// Buckets that hold the same policies are one bucket.
struct Builder<'a> {
    written: &'a [Written],
    made: HashMap<Vec<u32>, Arc<Bucket>>,
}

impl Builder<'_> {
    fn bucket(&mut self, mut policies: Vec<u32>) -> Result<Arc<Bucket>, String> {
        policies.sort_unstable();
        policies.dedup();
        if let Some(bucket) = self.made.get(&policies) {
            return Ok(Arc::clone(bucket));
        }
        let members = || policies.iter().filter_map(|index| self.written.get(*index as usize));
        let mut reads = Reads::default();
        members().for_each(|written| reads.join(&written.reads));
        let scaled = PolicySet::from_policies(members().filter_map(|written| written.scaled.clone()));
        let (set, decimals) = match scaled {
            Ok(set) if set.num_of_policies() == policies.len() => (set, Decimals::TenThousandths),
            _ => {
                let set = PolicySet::from_policies(members().map(|written| written.policy.clone()));
                (set.map_err(|e| e.to_string())?, Decimals::Cedar)
            }
        };
        let bucket =
            Arc::new(Bucket { wants: Wants::of(&reads), set, reads, decimals, empty: policies.is_empty() });
        self.made.insert(policies, Arc::clone(&bucket));
        Ok(bucket)
    }
}

impl Index {
    /// Builds the index; the error is Cedar refusing to hold two policies of one id, which loading has excluded.
    pub fn build(written: &[Written], catalogue: &Catalogue, agents: &Agents) -> Result<Self, String> {
        let scopes: Vec<Scope> = written.iter().map(|policy| scope(policy, catalogue)).collect();
        let mut builder = Builder { written, made: HashMap::new() };
        let mut everyone: Vec<u32> = Vec::new();
        let mut named: HashMap<Who, Vec<u32>> = HashMap::new();
        for (position, policy) in (0_u32..).zip(written) {
            match who(policy) {
                Who::Everyone => everyone.push(position),
                someone => named.entry(someone).or_default().push(position),
            }
        }
        let mut at_place: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for position in &everyone {
            for place in places(&scopes, *position) {
                at_place.entry(*place).or_default().push(*position);
            }
        }
        let mut common = vec![None; catalogue.types.len() * ACTIONS];
        for (place, policies) in &at_place {
            let bucket = builder.bucket(policies.clone())?;
            if let Some(slot) = common.get_mut(*place) {
                *slot = Some(bucket);
            }
        }
        let mut index = Self { common, classes: Vec::new(), of_agent: Vec::new() };
        let mut classes: HashMap<Vec<u32>, u32> = HashMap::new();
        // Class 0: senders that no policy names, known or not.
        index.add_class(&[], &everyone, written, &scopes, &at_place, &mut builder)?;
        classes.insert(Vec::new(), 0);
        for agent in agents.entries() {
            let mut own: Vec<u32> = named.get(&Who::Agent(agent.id.clone())).cloned().unwrap_or_default();
            for group in &agent.groups {
                own.extend(named.get(&Who::Group(group.clone())).into_iter().flatten());
            }
            own.sort_unstable();
            let class = match classes.get(&own) {
                Some(class) => *class,
                None => {
                    let class = u32::try_from(index.classes.len()).map_err(|e| e.to_string())?;
                    index.add_class(&own, &everyone, written, &scopes, &at_place, &mut builder)?;
                    classes.insert(own, class);
                    class
                }
            };
            index.of_agent.push(class);
        }
        Ok(index)
    }

    fn add_class(
        &mut self,
        own: &[u32],
        everyone: &[u32],
        written: &[Written],
        scopes: &[Scope],
        at_place: &BTreeMap<usize, Vec<u32>>,
        builder: &mut Builder<'_>,
    ) -> Result<(), String> {
        let mut class = Class::default();
        for position in own.iter().chain(everyone) {
            let permits = written.get(*position as usize).is_some_and(Written::permits);
            if let (true, Some(scope)) = (permits, scopes.get(*position as usize)) {
                class.reach.any |= scope.any_resource;
                class.reach.lines.extend(scope.lines.iter().cloned());
            }
        }
        let mut own_at: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for position in own {
            for place in places(scopes, *position) {
                own_at.entry(*place).or_default().push(*position);
            }
        }
        for (place, mut policies) in own_at {
            policies.extend(at_place.get(&place).into_iter().flatten());
            class.own.push((place, builder.bucket(policies)?));
        }
        self.classes.push(class);
        Ok(())
    }

    fn class(&self, agent: Option<u32>) -> Option<&Class> {
        let class = match agent {
            None => 0,
            Some(position) => *self.of_agent.get(position as usize)?,
        };
        self.classes.get(class as usize)
    }

    /// The policies to ask; `None` is an empty set.
    pub fn bucket(&self, agent: Option<u32>, of_type: usize, action: Performative) -> Option<&Bucket> {
        let place = place(of_type, action);
        let named = &self.class(agent)?.own;
        let found = named.binary_search_by_key(&place, |(at, _)| *at).ok();
        let own = found.and_then(|at| named.get(at)).map(|(_, bucket)| bucket);
        own.or_else(|| self.common.get(place)?.as_ref()).map(Arc::as_ref).filter(|bucket| !bucket.empty)
    }

    /// `Some` if a permit's scope could let this agent use some concept of the line.
    pub fn reaches(&self, agent: Option<u32>, line: &str) -> Option<()> {
        let reach = &self.class(agent)?.reach;
        (reach.any || reach.lines.contains(line)).then_some(())
    }
}

fn place(of_type: usize, action: Performative) -> usize {
    of_type * ACTIONS + action as usize
}

fn places(scopes: &[Scope], position: u32) -> impl Iterator<Item = &usize> {
    scopes.get(position as usize).into_iter().flat_map(|scope| &scope.places)
}

fn scope(written: &Written, catalogue: &Catalogue) -> Scope {
    let resource = written.policy.resource_constraint();
    let action = written.policy.action_constraint();
    let mut found = Scope {
        places: Vec::new(),
        any_resource: matches!(resource, ResourceConstraint::Any),
        lines: BTreeSet::new(),
    };
    for (of_type, info) in catalogue.types.iter().enumerate() {
        let fits = match &resource {
            ResourceConstraint::Is(name) | ResourceConstraint::IsIn(name, _) => is_name(name, &info.name),
            // An instance is in nothing and has no name, so these match nothing; Cedar may find that out by itself.
            ResourceConstraint::Any | ResourceConstraint::In(_) | ResourceConstraint::Eq(_) => true,
        };
        let learnt = learnt::is_learnt(info);
        // what nobody signed passes only by a permit that names it; every forbid holds for it
        let unnamed = learnt && written.permits() && matches!(resource, ResourceConstraint::Any);
        if !fits || unnamed {
            continue;
        }
        for performative in info.performatives.iter().filter(|p| is_action(&action, *p)) {
            found.places.push(place(of_type, performative));
            if !learnt {
                found.lines.insert(info.line.as_str().into());
            }
        }
    }
    found
}

fn is_name(name: &EntityTypeName, other: &str) -> bool {
    name.to_string() == other
}

fn is_action(constraint: &ActionConstraint, performative: Performative) -> bool {
    let equal = |uid: &EntityUid| uid.id().unescaped() == performative.as_str();
    match constraint {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(uid) => equal(uid),
        ActionConstraint::In(uids) => uids.iter().any(equal),
    }
}

/// Whom a scope names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    Everyone,
    Agent(String),
    Group(String),
}

fn who(written: &Written) -> Who {
    match written.policy.principal_constraint() {
        PrincipalConstraint::Any | PrincipalConstraint::Is(_) => Who::Everyone,
        PrincipalConstraint::Eq(uid) => Who::Agent(uid.id().unescaped().to_owned()),
        PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => {
            let id = uid.id().unescaped().to_owned();
            match uid.type_name().to_string().as_str() {
                "Group" => Who::Group(id),
                // An agent is in itself.
                "Agent" => Who::Agent(id),
                _ => Who::Everyone,
            }
        }
    }
}

impl Bucket {
    /// The verdict of an empty set.
    pub fn nothing() -> Verdict {
        Verdict::Denied { policies: Texts::default(), notices: Texts::default() }
    }
}
