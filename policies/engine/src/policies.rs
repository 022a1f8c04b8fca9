//! The loaded policies: loaded as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::SchemaFragment;
use semgate_contexts::{Context, Digest, Line, Performative, Shape, Version, json::Object};

use crate::agents::Agents;
use crate::ask::Asker;
use crate::budgets;
use crate::catalogue::Catalogue;
use crate::check::{Former, Literals, Texts, by_unknown_line, in_order};
use crate::confidence_members::ConfidenceMembers;
use crate::fit::fit;
use crate::index::Index;
use crate::memory::Memory;
use crate::pace;
use crate::parse::{self, Written};
use crate::rule::Rule;
use crate::spaces;
use crate::suggest::closest;
use crate::{
    AgentEntry, Budget, Budgets, Circumstances, LeftOut, LineUse, MaySay, NoPolicy, Parties, PolicyFault,
    PolicyLimits, PolicySource, Question, TextWants, Verdict,
};

/// One generation of policies, agents and typed contexts; never changes once loaded.
///
/// Share it by `Arc`; all questions can be asked from any number of threads at the same time.
#[derive(Debug)]
pub struct Policies {
    digest: Digest,
    asker: Asker,
    ids: Vec<Arc<str>>,
    budgets: Budgets,
    warnings: Vec<PolicyFault>,
    redacts: bool,
    floors: ConfidenceMembers,
}

/// The lowest version of each line of which messages come to be judged: the highest of its authority's and the operator's floor.
pub type Floors = BTreeMap<Line, Version>;

impl Policies {
    /// Checks a directory by itself, without contexts: its policies parse, and `entities.json` and `limits.json` are of the documented
    /// form.
    ///
    /// # Errors
    /// Every fault, at least one.
    pub fn parse(source: &PolicySource, limits: &PolicyLimits) -> Result<(), Vec<PolicyFault>> {
        let (_, agents) = parsed(source, limits)?;
        match &source.limits {
            Some(bytes) => budgets::read(bytes, &agents, None, limits).map(drop),
            None => Ok(()),
        }
    }

    /// Loads a policy directory as a whole, or reports everything that is wrong with it.
    ///
    /// `contexts` are all documents that are held, also those that are revoked or below a floor: policies may still speak of them. Their
    /// order does not matter. A context that cannot be typed with the others, or that would make a policy invalid, is left out alone and
    /// reported by [`Policies::left_out`]. Every question about it is [`Verdict::Errored`].
    ///
    /// # Errors
    /// Every fault, at least one: an empty set, syntax, a name that `entities.json` does not declare, a policy that is not valid by Cedar's
    /// strict validation or can never apply, a literal that no version of its member takes, an annotation that is not known.
    pub fn load(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        Self::load_above(source, contexts, &Floors::new(), limits)
    }

    /// Loads like [`Policies::load`] above these floors. A literal that only versions below a floor take is one of
    /// [`Policies::warnings`], since a floor that rises must keep no gateway from starting.
    ///
    /// # Errors
    /// As [`Policies::load`].
    pub fn load_above(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        floors: &Floors,
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        Self::load_after(source, contexts, limits, floors, None)
    }

    /// Loads the next generation: a context that this one knows is not left out to make a policy valid. A new context that would
    /// invalidate a policy is left out, and a new policy that does not fit the contexts is a fault, whichever of the two came last.
    ///
    /// # Errors
    /// As [`Policies::load`]; this generation stays what it is.
    pub fn reload(
        &self,
        source: &PolicySource,
        contexts: &[Arc<Context>],
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        self.reload_above(source, contexts, &Floors::new(), limits)
    }

    /// Loads like [`Policies::reload`] above these floors. A name that this generation knew and `entities.json` no longer declares is
    /// one of [`Policies::warnings`] where nobody is permitted more for it, so that taking an agent, a group or a credential away works at
    /// once. An agent without an entry that the set still names is denied everything. The next start refuses such a set.
    ///
    /// # Errors
    /// As [`Policies::load`]; this generation stays what it is.
    pub fn reload_above(
        &self,
        source: &PolicySource,
        contexts: &[Arc<Context>],
        floors: &Floors,
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        Self::load_after(source, contexts, limits, floors, Some(self))
    }

    fn load_after(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        limits: &PolicyLimits,
        floors: &Floors,
        live: Option<&Self>,
    ) -> Result<Self, Vec<PolicyFault>> {
        let unchanged = live.is_some_and(|live| live.digest == source.digest());
        let former = live.map(|live| Former { agents: &live.asker.agents.list, unchanged });
        let (written, mut agents) = parsed(source, limits)?;
        let read = match &source.limits {
            Some(bytes) => budgets::read(bytes, &agents, former, limits)?,
            None => budgets::Read::default(),
        };
        let texts = Texts { files: &source.files, written: &written };
        let names = texts.undeclared(&agents, former);
        let (mut faults, mut warnings) = (names.faults, names.warnings);
        agents.keep_former(names.former.into_iter().chain(read.names.former));
        warnings.extend(read.names.warnings);
        let (catalogue, invalid) = fit(texts, contexts, spaces_after(live), limits)?;
        if invalid.is_empty() {
            let (unfit, below) = Literals::new(&catalogue, contexts, floors).faults(texts);
            // contexts that come and go take down no set that is live
            if unchanged { &mut warnings } else { &mut faults }.extend(unfit);
            warnings.extend(below);
        }
        faults.extend(by_unknown_line(invalid, &catalogue));
        let bytes = source.limits.as_deref().unwrap_or_default();
        faults.extend(budgets::unknown_to_contexts(&read.selectors, bytes, contexts));
        if !faults.is_empty() {
            in_order(&mut faults);
            return Err(faults);
        }
        let redacting = |written: &Written| {
            written.obligation.as_ref().is_some_and(|obligation| !obligation.redact.is_empty())
        };
        let (redacts, digest) = (written.iter().any(redacting), source.digest());
        let floors = ConfidenceMembers::of(&written);
        let (ids, index) = indexed(written, &catalogue, &agents)?;
        let asker = Asker::new(agents, catalogue, index, Memory::new(limits.remembered_verdicts))?;
        Ok(Self { digest, asker, ids, budgets: read.budgets, warnings, redacts, floors })
    }

    /// The digest of the set: SHA-256 over name, length and bytes of every policy file, of `entities.json` and of `limits.json` if there
    /// is one, as `docs/reference/policy.md` says.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Ids of all policies, `file#id`, in the order of the files.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(|id| &**id)
    }

    /// The agent with this SPIFFE id.
    #[must_use]
    pub fn agent(&self, id: &str) -> Option<&AgentEntry> {
        let agents = &self.asker.agents.list;
        agents.at(agents.position(id)?)
    }

    /// The agent with this alias.
    #[must_use]
    pub fn by_alias(&self, alias: &str) -> Option<&AgentEntry> {
        self.asker.agents.list.by_alias(alias)
    }

    /// The agent with this name in this binding.
    #[must_use]
    pub fn by_name(&self, binding: &str, name: &str) -> Option<&AgentEntry> {
        self.asker.agents.list.by_name(binding, name)
    }

    /// The agent with this key in this binding, whether the key still counts or not.
    #[must_use]
    pub fn by_key(&self, binding: &str, key: [u8; 32]) -> Option<&AgentEntry> {
        self.asker.agents.list.by_key(binding, key)
    }

    /// All agents, in the order of `entities.json`; then, disabled, those whom it has no more and whom [`Policies::reload_above`] keeps out.
    #[must_use]
    pub fn agents(&self) -> &[AgentEntry] {
        self.asker.agents.list.entries()
    }

    /// Returns true if any policy takes members out of replies.
    #[must_use]
    pub const fn redacts(&self) -> bool {
        self.redacts
    }

    /// Members that a `@confidence` reads; policies need not see them.
    pub(crate) const fn floors(&self) -> &ConfidenceMembers {
        &self.floors
    }

    /// Costs of messages from `limits.json`.
    #[must_use]
    pub const fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Budgets of this sender from `limits.json`, known or not; empty without the file.
    #[must_use]
    pub fn budgets_of(&self, sender: &str) -> &[Arc<Budget>] {
        if self.budgets.is_empty() {
            return &[];
        }
        self.budgets.of(self.asker.agents.list.position(sender))
    }

    /// Warnings about a loaded set: names that `entities.json` no longer declares, and literals that only versions below a floor take.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyFault] {
        &self.warnings
    }

    /// Floors of lines that no context has, which keep nothing away: each with what was probably meant, in words for the operator.
    #[must_use]
    pub fn floors_of_nothing(&self, floors: &Floors) -> Vec<String> {
        let lines: std::collections::BTreeSet<&str> =
            self.asker.catalogue.types.iter().map(|info| info.line.as_str()).collect();
        let unknown = floors.keys().filter(|line| !lines.contains(line.as_str()));
        unknown
            .map(|line| {
                let near = closest(line.as_str(), lines.iter().copied());
                let hint = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
                format!("no context has the line `{line}`, so its floor has no effect{hint}")
            })
            .collect()
    }

    /// Contexts that could not be typed beside the others, or would have made a policy invalid.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.asker.catalogue.left_out
    }

    /// Returns true if this context was not there when these policies were compiled: it is neither typed nor left out, and every question about it
    /// is [`Verdict::Errored`] until they are compiled beside it.
    #[must_use]
    pub fn awaits(&self, context: &Context) -> bool {
        let catalogue = &self.asker.catalogue;
        !catalogue.has(context.digest()) && !catalogue.left_out.iter().any(|left| left.urn == *context.urn())
    }

    /// Proves that some policy could let this sender use some concept of this line, by the scopes of the permits alone.
    ///
    /// # Errors
    /// [`NoPolicy`]: the same answer for a line that exists and for one that does not, and for a disabled agent.
    pub fn may_use_line(&self, sender: &str, line: &Line) -> Result<LineUse, NoPolicy> {
        let agent = self.asker.agents.list.position(sender);
        if self.asker.agents.disabled(agent) {
            return Err(NoPolicy);
        }
        self.asker.index.reaches(agent, line.as_str()).map(|()| LineUse(())).ok_or(NoPolicy)
    }

    /// Proves that some policy could permit a message of this shape to this receiver, by all that is known before it is
    /// written.
    /// Conditions about the instance, its time, session and scores count as fulfilled. Of `circumstances` the credentials of both agents
    /// and the version of the protocol count.
    ///
    /// # Errors
    /// [`NoPolicy`] if every instance would be denied.
    pub fn may_say(
        &self,
        parties: Parties<'_>,
        action: Performative,
        context: &Context,
        shape: &Shape,
        circumstances: Circumstances<'_>,
    ) -> Result<MaySay, NoPolicy> {
        let Parties { sender, receiver, binding, direction } = parties;
        let value = &Object::default();
        self.asker.may(&Question {
            sender,
            receiver,
            action,
            context,
            shape,
            value,
            without: None,
            binding,
            direction,
            circumstances,
        })
    }

    /// Returns true if some permit names `learnt::NAME`, so that a concept of that name could pass once two agents settled it.
    ///
    /// # Errors
    /// [`NoPolicy`]: it could never pass, and need not be settled.
    pub fn names_learnt(&self, concept: &str) -> Result<(), NoPolicy> {
        self.asker.catalogue.learnt(concept).map(drop).ok_or(NoPolicy)
    }

    /// Answers one question about a concept that the two agents settled between themselves (F0-31), typed `learnt::NAME` with the one
    /// attribute `value`. Only a permit whose scope names that type lets it pass; forbids hold as for any other. `question.context` is
    /// not looked at.
    #[must_use]
    pub fn decide_learnt(&self, question: &Question<'_>) -> Verdict {
        self.asker.decide_learnt(question)
    }

    /// The evaluator, for explanations.
    pub(crate) const fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Returns true if the answer could be another one if the instance said something else: false only where no policy that would be asked looks at
    /// a member of it, or at a score. That there is free text in it at all is not counted.
    #[must_use]
    pub fn looks_at_instance(&self, question: &Question<'_>) -> bool {
        self.asker.looks_at_instance(question)
    }

    /// The scores of the text of an instance that the answer to this question needs in `circumstances.scores.text`; none for most sets, at
    /// the cost of one comparison. `learnt` for a question to [`Policies::decide_learnt`].
    #[must_use]
    pub fn text_wants(&self, question: &Question<'_>, learnt: bool) -> TextWants {
        self.asker.text_wants(question, learnt)
    }

    /// Answers one question; denies unless a policy permits, and refuses whenever a policy cannot be evaluated.
    #[must_use]
    pub fn decide(&self, question: &Question<'_>) -> Verdict {
        self.asker.decide(question)
    }
}

/// The namespaces and the documents of the running generation.
fn spaces_after(live: Option<&Policies>) -> spaces::After {
    let Some(live) = live else { return spaces::After::default() };
    let catalogue = &live.asker.catalogue;
    let digests = catalogue.digests().copied().collect();
    spaces::After { live: digests, held: catalogue.held.clone(), barred: BTreeSet::new() }
}

/// The ids of all policies, and the index over them.
fn indexed(
    written: Vec<Written>,
    catalogue: &Catalogue,
    agents: &Agents,
) -> Result<(Vec<Arc<str>>, Index), Vec<PolicyFault>> {
    let fault = |why| vec![PolicyFault::Schema { why }];
    let (mut ids, mut rules) = (Vec::with_capacity(written.len()), Vec::with_capacity(written.len()));
    for policy in written {
        pace::rest();
        rules.push(Rule::new(&policy).map_err(fault)?);
        ids.push(policy.id);
    }
    let actions = crate::ask::actions().map_err(fault)?;
    let index = Index::build(rules, catalogue, agents, &actions).map_err(fault)?;
    Ok((ids, index))
}

fn parsed(source: &PolicySource, limits: &PolicyLimits) -> Result<(Vec<Written>, Agents), Vec<PolicyFault>> {
    match (parse::parse(&source.files, limits), Agents::read(&source.entities, limits)) {
        (Ok(written), Ok(agents)) => Ok((written, agents)),
        (written, agents) => {
            let mut faults = written.err().unwrap_or_default();
            faults.extend(agents.err().unwrap_or_default());
            Err(faults)
        }
    }
}

/// The Cedar schema that these contexts give, in Cedar's own syntax: for `policy check --schema` and for editors.
///
/// # Errors
/// [`PolicyFault::Schema`] if Cedar does not accept it.
pub fn schema_text(contexts: &[Arc<Context>]) -> Result<String, PolicyFault> {
    let fault = |why: String| PolicyFault::Schema { why };
    SchemaFragment::from_json_value(Catalogue::build(contexts).schema_json())
        .map_err(|e| fault(e.to_string()))?
        .to_cedarschema()
        .map_err(|e| fault(e.to_string()))
}
