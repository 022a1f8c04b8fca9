//! Policies about writers at an authority: who may publish, revoke or override which lines and versions. Their schema is fixed. They narrow
//! the permissions of its configuration and certificates, and never widen them.

mod load;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid,
    PolicySet, Request, RestrictedExpression,
};
use semgate_contexts::{Digest, Line, Version};

use crate::agents::Agents;
use crate::check::Former;
use crate::{PolicyFault, PolicyLimits, PolicySource};

/// The schema that policies of publishers are held against, in Cedar's own syntax.
pub(crate) const SCHEMA: &str = r#"entity Group;
entity Agent in [Group] = { credentials: Set<String> };
entity Line in [Line];
entity Version in [Line] = { line: String, major: Long, minor: Long };
action "publish", "revoke", "suspend", "resume", "retire", "floor", "override"
  appliesTo { principal: [Agent], resource: [Version], context: {} };
"#;
/// The entity types of it.
const TYPES: [&str; 4] = ["Agent", "Group", "Line", "Version"];

/// An act that somebody asks of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PublisherAct {
    /// To publish a version.
    Publish,
    /// To revoke one, for ever.
    Revoke,
    /// To suspend one.
    Suspend,
    /// To lift a suspension.
    Resume,
    /// To mark one as deprecated.
    Retire,
    /// To raise the floor of a line to a version.
    Floor,
    /// To permit a version that breaks or is not proven.
    Override,
}

impl PublisherAct {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Publish, Self::Revoke, Self::Suspend, Self::Resume, Self::Retire, Self::Floor, Self::Override];

    /// The name of the Cedar action: `publish`, `revoke`, `suspend`, `resume`, `retire`, `floor` or `override`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Revoke => "revoke",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Retire => "retire",
            Self::Floor => "floor",
            Self::Override => "override",
        }
    }

    /// The act of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == name)
    }
}

/// The ruling on one act. Each names the policies that decided, `file#id`, for the operator's records only.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Ruling {
    /// It may be done.
    Permitted(Vec<String>),
    /// It may be done once a second, different person who may do it too agrees: a policy that permits it has `@four_eyes`.
    FourEyes(Vec<String>),
    /// It may not: no policy permits it, one forbids it, or `entities.json` does not have the person, or has disabled them.
    Denied(Vec<String>),
    /// A policy could not be evaluated, so it may not.
    Errored(Vec<String>),
}

/// One generation of policies about publishers; never changes once loaded.
#[derive(Debug)]
pub struct PublisherPolicies {
    digest: Digest,
    set: PolicySet,
    agents: Agents,
    /// Persons that conditions name, whose credentials they may look at.
    named: Vec<String>,
    /// Lines that policies name.
    lines: Vec<String>,
    four_eyes: HashSet<Arc<str>>,
    names: Names,
    warnings: Vec<PolicyFault>,
}

/// The names of the schema, parsed once.
#[derive(Debug)]
struct Names {
    agent: EntityTypeName,
    group: EntityTypeName,
    line: EntityTypeName,
    version: EntityTypeName,
    action: EntityTypeName,
}

impl Names {
    fn parse() -> Result<Self, PolicyFault> {
        let parse = |name: &str| {
            name.parse().map_err(|e: cedar_policy::ParseErrors| PolicyFault::Schema { why: e.to_string() })
        };
        Ok(Self {
            agent: parse("Agent")?,
            group: parse("Group")?,
            line: parse("Line")?,
            version: parse("Version")?,
            action: parse("Action")?,
        })
    }
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

/// The policy that could not be evaluated.
fn failed(error: &AuthorizationError) -> String {
    match error {
        AuthorizationError::PolicyEvaluationError(error) => error.policy_id().to_string(),
    }
}

impl PublisherPolicies {
    /// Loads a directory of `*.cedar` and `entities.json` as a whole, or says everything that is wrong with it.
    ///
    /// # Errors
    /// Every fault found, at least one: no policy, syntax, an annotation that is not `@id` or `@four_eyes`, `@four_eyes` on a `forbid`
    /// or on what publishes, a name or a line that cannot be, a comparison of the wrong types, a policy that can never match, a
    /// `limits.json`, an `entities.json` that is not of its form.
    pub fn load(source: &PolicySource, limits: &PolicyLimits) -> Result<Self, Vec<PolicyFault>> {
        load::load(source, None, limits)
    }

    /// Loads the next generation. A name that this one knew and `entities.json` no longer declares is one of
    /// [`PublisherPolicies::warnings`], and its bearer is denied everything: taking somebody's entry away works at once.
    ///
    /// # Errors
    /// As [`PublisherPolicies::load`].
    pub fn reload(&self, source: &PolicySource, limits: &PolicyLimits) -> Result<Self, Vec<PolicyFault>> {
        let unchanged = self.digest == source.digest();
        load::load(source, Some(Former { agents: &self.agents, unchanged }), limits)
    }

    /// Names of policies that nobody has any more: in effect, and told.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyFault] {
        &self.warnings
    }

    /// The [`PolicySource::digest`] of the loaded directory.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Policies in all files together.
    #[must_use]
    pub fn count(&self) -> usize {
        self.set.policies().count()
    }

    /// The schema that policies are held against, for `policy check --schema` and editors.
    #[must_use]
    pub const fn schema() -> &'static str {
        SCHEMA
    }

    /// Rules on an act on a version of a line. `who` is the SPIFFE id of a verified certificate; a floor counts with the version that it
    /// is raised to.
    pub fn decide(&self, who: &str, act: PublisherAct, line: &Line, version: Version) -> Ruling {
        let known = self.agents.position(who).and_then(|at| self.agents.at(at));
        if known.is_none_or(|entry| entry.disabled) {
            return Ruling::Denied(Vec::new());
        }
        let (Ok(request), Ok(entities)) =
            (self.request(who, act, line, version), self.entities(who, line, version))
        else {
            return Ruling::Errored(Vec::new());
        };
        let answer = Authorizer::new().is_authorized(&request, &self.set, &entities);
        let mut decided: BTreeSet<String> = answer.diagnostics().reason().map(ToString::to_string).collect();
        if answer.diagnostics().errors().next().is_some() {
            decided.extend(answer.diagnostics().errors().map(failed));
            return Ruling::Errored(decided.into_iter().collect());
        }
        let four_eyes = decided.iter().any(|id| self.four_eyes.contains(id.as_str()));
        let decided = decided.into_iter().collect();
        match answer.decision() {
            Decision::Allow if four_eyes => Ruling::FourEyes(decided),
            Decision::Allow => Ruling::Permitted(decided),
            Decision::Deny => Ruling::Denied(decided),
        }
    }

    /// A line that a policy names and that this one, or a tree that it is in, differs from only in case: the policy would not be asked about
    /// it, while DNS, which delegates the names, takes the two for one.
    #[must_use]
    pub fn spelt_otherwise(&self, line: &Line) -> Option<&str> {
        let differs = |named: &&str| {
            let mut pairs = named.split('.').zip(line.labels());
            pairs
                .find(|(named, own)| named != own)
                .is_some_and(|(named, own)| named.eq_ignore_ascii_case(own))
        };
        self.lines.iter().map(String::as_str).find(differs)
    }

    fn request(&self, who: &str, act: PublisherAct, line: &Line, version: Version) -> Result<Request, ()> {
        let resource = self.version(line, version);
        let (principal, action) = (uid(&self.names.agent, who), uid(&self.names.action, act.as_str()));
        Request::new(principal, action, resource, Context::empty(), None).map_err(drop)
    }

    fn version(&self, line: &Line, version: Version) -> EntityUid {
        uid(&self.names.version, &format!("{}:{version}", line.as_str()))
    }

    fn entities(&self, who: &str, line: &Line, version: Version) -> Result<Entities, ()> {
        let mut all = self.lines(line);
        let number = |n: u32| RestrictedExpression::new_long(i64::from(n));
        let attributes = HashMap::from([
            ("line".to_owned(), RestrictedExpression::new_string(line.as_str().to_owned())),
            ("major".to_owned(), number(version.major)),
            ("minor".to_owned(), number(version.minor)),
        ]);
        let parents = HashSet::from([uid(&self.names.line, line.as_str())]);
        all.push(Entity::new(self.version(line, version), attributes, parents).map_err(drop)?);
        let others = self.named.iter().map(String::as_str).filter(|other| *other != who);
        for id in std::iter::once(who).chain(others) {
            all.extend(self.agent(id)?);
        }
        Entities::from_entities(all, None).map_err(drop)
    }

    /// The line and those above it: `acme.logistics` is in `acme`.
    fn lines(&self, line: &Line) -> Vec<Entity> {
        let mut all = Vec::new();
        let mut text = line.as_str();
        loop {
            let above = text.rsplit_once('.').map(|(above, _)| above);
            let parents = above.iter().map(|above| uid(&self.names.line, above)).collect();
            all.push(Entity::new_no_attrs(uid(&self.names.line, text), parents));
            match above {
                Some(above) => text = above,
                None => return all,
            }
        }
    }

    fn agent(&self, id: &str) -> Result<Option<Entity>, ()> {
        let Some(entry) = self.agents.position(id).and_then(|at| self.agents.at(at)) else { return Ok(None) };
        let held = entry.credentials.iter().cloned().map(RestrictedExpression::new_string);
        let attributes = HashMap::from([("credentials".to_owned(), RestrictedExpression::new_set(held))]);
        let groups = entry.groups.iter().map(|group| uid(&self.names.group, group)).collect();
        Entity::new(uid(&self.names.agent, id), attributes, groups).map(Some).map_err(drop)
    }
}
