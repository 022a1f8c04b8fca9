//! The loaded policies: loading as a whole or not at all, and asking.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cedar_policy::SchemaFragment;
use semgate_contexts::{Context, Digest, Line, Performative, Shape, Version, json::Object};

use crate::agents::Agents;
use crate::ask::Asker;
use crate::budgets;
use crate::catalogue::Catalogue;
use crate::check::{Texts as Checked, closest, place_in, policy_in, told_once};
use crate::fit::fit;
use crate::index::Index;
use crate::lived::{Said, agents_gone};
use crate::may::unsaid;
use crate::memory::Memory;
use crate::pace;
use crate::parse::{self, Written};
use crate::rule::Rule;
use crate::sense::World;
use crate::spaces;
use crate::told::{beside_left_out, no_permit, told};
use crate::{
    AgentEntry, Budget, Budgets, Circumstances, LeftOut, LineUse, Lived, MaySay, NoPolicy, PolicyFault,
    PolicyLimits, PolicySource, Question, Verdict,
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
    /// What the next set is held against.
    lived: Lived,
    warnings: Vec<PolicyFault>,
    advice: Vec<PolicyFault>,
    redacts: bool,
    /// Issuers of tokens that policies ask for, each with the first policy that does.
    issuers: BTreeMap<String, String>,
}

/// The lowest version of each line of which messages come to be judged: the highest of its authority's and the operator's floor.
pub type Floors = BTreeMap<Line, Version>;

/// What a set is loaded after.
#[derive(Clone, Copy)]
struct After<'a> {
    /// The set that is live.
    live: Option<&'a Policies>,
    /// What was live last: that of the same set, or none is live any more.
    lived: &'a Lived,
}

impl Policies {
    /// Whether a directory is one by itself, beside whatever contexts: its policies parse, and `entities.json` and `limits.json` are of
    /// the documented form.
    ///
    /// # Errors
    /// Every fault found, at least one.
    pub fn parse(source: &PolicySource, limits: &PolicyLimits) -> Result<(), Vec<PolicyFault>> {
        let (written, agents) = parsed(source, limits)?;
        if let Some(bytes) = &source.limits {
            budgets::read(bytes, &agents, (&Lived::default(), None), limits)?;
        }
        no_permit(Checked { files: &source.files, written: &written })
            .map_or(Ok(()), |fault| Err(vec![fault]))
    }

    /// Loads a policy directory as a whole, or says everything that is wrong with it.
    ///
    /// `contexts` are all documents that are held, also those that are revoked or below a floor: policies may still
    /// speak of them. Their order does not matter. A context that cannot be typed beside the others, or that would make
    /// a policy invalid, is left out alone, reported by [`Policies::left_out`], and every question about it is
    /// [`Verdict::Errored`].
    ///
    /// # Errors
    /// Every fault found, at least one: an empty set, one without a `permit`, syntax, a name that does not exist, a comparison of the wrong
    /// types, a policy that can never match, an `entities.json` that is not of the documented form.
    pub fn load(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        Self::load_above(source, contexts, &Floors::new(), limits)
    }

    /// Like [`Policies::load`], where only versions at or above these floors count: a policy that could match none of them is a fault
    /// ([`PolicyFault::BelowFloor`]).
    ///
    /// # Errors
    /// As [`Policies::load`].
    pub fn load_above(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        floors: &Floors,
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        Self::load_after(source, contexts, (limits, floors), After { live: None, lived: &Lived::default() })
    }

    /// Like [`Policies::load`] where this was live before, and is not any more: after a restart. What is wrong with a policy that it had
    /// is no fault but one of [`Policies::warnings`], as in [`Policies::reload_above`]; which contexts go is judged as at a first load.
    ///
    /// # Errors
    /// As [`Policies::load`].
    pub fn load_again(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        lived: &Lived,
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        Self::load_again_above(source, contexts, (lived, &Floors::new()), limits)
    }

    /// Like [`Policies::load_again`] above these floors: a policy that could match no version from there on is one of
    /// [`Policies::warnings`] where it was live, since a floor that rose must keep no gateway from starting, and a fault where it was not.
    ///
    /// # Errors
    /// As [`Policies::load_above`].
    pub fn load_again_above(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        (lived, floors): (&Lived, &Floors),
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        Self::load_after(source, contexts, (limits, floors), After { live: None, lived })
    }

    /// Like [`Policies::load_above`] for those who only explain a set that may be live: what keeps a set out only where it was not live before
    /// is one of [`Policies::warnings`], as in a gateway in which it is. No gateway goes live by this.
    ///
    /// # Errors
    /// As [`Policies::load`], of what no running gateway only warns of.
    pub fn load_as_live(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        floors: &Floors,
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        let lived = Lived::whatever();
        Self::load_after(source, contexts, (limits, floors), After { live: None, lived: &lived })
    }

    /// Like [`Policies::load`] for the next generation after this one: a context that this one knows is not left out to
    /// make a policy valid. So a new context that would invalidate a policy is left out, and a new policy that does not
    /// fit the contexts is a fault, whichever of the two came last.
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

    /// Like [`Policies::reload`] above these floors. Neither a floor that rises nor an entry, a group, a credential or a policy that is
    /// taken away, nor a context that comes, keeps a set out by what it leaves others to do: what is wrong with a policy that this
    /// generation has, under whatever id, is not a fault but one of [`Policies::warnings`]. Whoever has no entry any more, and whom such
    /// a policy or `limits.json` names, is denied everything, as one who is disabled.
    ///
    /// # Errors
    /// As [`Policies::load_above`]; this generation stays what it is.
    pub fn reload_above(
        &self,
        source: &PolicySource,
        contexts: &[Arc<Context>],
        floors: &Floors,
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        let after = After { live: Some(self), lived: &self.lived };
        Self::load_after(source, contexts, (limits, floors), after)
    }

    fn load_after(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        (limits, floors): (&PolicyLimits, &Floors),
        after: After<'_>,
    ) -> Result<Self, Vec<PolicyFault>> {
        let live: HashSet<Digest> =
            after.live.into_iter().flat_map(|live| live.asker.catalogue.digests()).copied().collect();
        let held = after.lived.held().clone();
        let (written, mut agents) = parsed(source, limits)?;
        let mut spent = match &source.limits {
            Some(bytes) => {
                let before = (after.lived, after.live.map(|live| &live.asker.agents.list));
                budgets::read(bytes, &agents, before, limits)?
            }
            None => budgets::Read::default(),
        };
        let texts = Checked { files: &source.files, written: &written };
        let mut said = Said::default();
        for policy in texts.each() {
            said.add(&policy.id, &policy.policy, texts.file(policy).1);
        }
        let same = |fault: &PolicyFault| said.lived(fault, after.lived);
        let (gone, mut faults) = said.gone(texts.unknown_names(&agents), after.lived);
        agents.keep_out(agents_gone(&gone));
        agents.keep_out(std::mem::take(&mut spent.gone).into_iter());
        faults.extend(no_permit(texts));
        if let Some(issuers) = &limits.token_issuers {
            faults.extend(texts.unknown_issuers(issuers));
        }
        let (catalogue, unfit) =
            fit(texts, contexts, spaces::After { live, held, ..spaces::After::default() }, limits)?;
        let mut warnings = std::mem::take(&mut spent.warnings);
        let again = || World::new(&catalogue, &agents, floors, limits).reading(&source.entities);
        let world = again();
        let unfit =
            if unfit.is_empty() { unfit } else { told(unfit, texts.unknown_members(&world), &catalogue) };
        if unfit.is_empty() {
            let (sure, today) = by_today(texts, &world, again);
            for fault in sure {
                let fault = beside_left_out(fault, texts, &catalogue);
                if same(&fault) { warnings.push(fault) } else { faults.push(fault) }
            }
            warnings.extend(today);
            warnings.extend(gone);
            // what a policy matches nothing for already is its cause
            let told = |fault: &PolicyFault| {
                let mut all = faults.iter().chain(&warnings);
                policy_in(fault).is_some() && all.any(|one| policy_in(one) == policy_in(fault))
            };
            let idle: Vec<PolicyFault> =
                texts.about_nobody(&world).into_iter().filter(|fault| !told(fault)).collect();
            warnings.extend(idle);
            let bytes = source.limits.as_deref().unwrap_or_default();
            warnings.extend(budgets::unspent(&spent, bytes, &texts, &world));
            warnings.extend(agents.elsewhere(world.met().map(|met| &**met), &source.entities));
            let named = texts.groups().into_iter().chain(spent.named.groups().cloned()).collect();
            warnings.extend(agents.misspelt(&named, &texts.literals(), &source.entities));
        }
        told_once(&mut faults, unfit);
        faults.extend(budgets::known(&spent, source.limits.as_deref().unwrap_or_default(), contexts));
        if !faults.is_empty() {
            faults.sort_by(|a, b| place_in(a).cmp(&place_in(b)));
            return Err(faults);
        }
        let mut advice = texts.past_by_version(&world);
        advice.extend(texts.waiting());
        advice.extend(texts.plain_signs());
        advice.extend(texts.no_parameters(contexts));
        let mut idle = texts.before_tools(&world);
        if let Some(routes) = &limits.routes {
            idle.extend(texts.off_routes(&world, routes, limits.max_route_looks));
        }
        idle.retain(|fault| !warnings.iter().any(|one| policy_in(one) == policy_in(fault)));
        advice.extend(idle);
        let schema_fault = |why| vec![PolicyFault::Schema { why }];
        let actions = crate::ask::actions().map_err(schema_fault)?;
        let rules: Result<Vec<Rule>, String> = texts.each().map(Rule::new).collect();
        let rules = rules.map_err(schema_fault)?;
        let index = Index::build(rules, &catalogue, &agents, &actions).map_err(schema_fault)?;
        let redacts = written.iter().filter_map(|policy| policy.obligation.as_ref());
        let redacts = redacts.into_iter().any(|obligation| !obligation.redact.is_empty());
        let ids = written.iter().map(|policy| Arc::clone(&policy.id)).collect();
        drop(world);
        pace::rest();
        let asker = Asker {
            agents: crate::ask::Known::new(agents).map_err(schema_fault)?,
            catalogue,
            index,
            memory: Memory::new(limits.remembered_verdicts),
            actions,
        };
        let (digest, budgets, issuers) = (source.digest(), spent.budgets, texts.issuers());
        let lived = spent.named.saying(&said).holding(&asker.catalogue.held);
        pace::scatter(written);
        Ok(Self { digest, asker, ids, budgets, lived, warnings, advice, redacts, issuers })
    }

    /// What the next set is held against, for whoever keeps it over a restart ([`Policies::load_again`]).
    #[must_use]
    pub const fn lived(&self) -> &Lived {
        &self.lived
    }

    /// What is live: SHA-256 over name, length and bytes of every policy file, of `entities.json` and of `limits.json` if there
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

    /// All agents, in the order of `entities.json`; then, disabled, those whom it has no more and whom [`Policies::reload_above`] keeps out.
    #[must_use]
    pub fn agents(&self) -> &[AgentEntry] {
        self.asker.agents.list.entries()
    }

    /// Whether any policy takes members out of replies.
    #[must_use]
    pub const fn redacts(&self) -> bool {
        self.redacts
    }

    /// What `limits.json` says that messages cost.
    #[must_use]
    pub const fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// What `limits.json` lets this sender spend, known or not; empty without the file.
    #[must_use]
    pub fn budgets_of(&self, sender: &str) -> &[Arc<Budget>] {
        if self.budgets.is_empty() {
            return &[];
        }
        self.budgets.of(self.asker.agents.list.position(sender))
    }

    /// Policies that are live and do nothing at present: a floor rose above all that they can match, all whom they are about never come
    /// (disabled, or of a trust domain that is not configured), or those who are in a group today, or the clock, leave them nothing to decide; and those
    /// of the generation before that would be refused as new ones. Also the agents of such trust domains, budgets that nobody spends, and names in `limits.json` that
    /// nobody has any more.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyFault] {
        &self.warnings
    }

    /// What may be meant and is told all the same: forbids that name majors of a concept, past which another one gets, now or once it is
    /// published ([`PolicyFault::OtherMajor`]), and what does nothing beside `@approve` yet ([`PolicyFault::Waiting`]). No reason for `policy check` to end otherwise.
    #[must_use]
    pub fn advice(&self) -> &[PolicyFault] {
        &self.advice
    }

    /// Issuers whose tokens policies ask about (`token:ISSUER:NAME`), each with the id of the first policy that does. Whether a gateway
    /// takes tokens of theirs its configuration says ([`PolicyLimits::token_issuers`]).
    pub fn token_issuers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.issuers.iter().map(|(issuer, policy)| (issuer.as_str(), policy.as_str()))
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
                format!("no context has the line `{line}`, so that its floor keeps nothing away{hint}")
            })
            .collect()
    }

    /// Contexts that could not be typed beside the others, or would have made a policy invalid.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.asker.catalogue.left_out
    }

    /// Whether this context was not there when these policies were compiled: it is neither typed nor left out, and every question about it
    /// is [`Verdict::Errored`] until they are compiled beside it.
    #[must_use]
    pub fn awaits(&self, context: &Context) -> bool {
        let catalogue = &self.asker.catalogue;
        !catalogue.has(context.digest()) && !catalogue.left_out.iter().any(|left| left.urn == *context.urn())
    }

    /// Could any policy let this sender use any concept of this line, by the scopes of the permits alone?
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

    /// Could any policy let this sender say something of this shape to this receiver, by all that is known before it is said?
    /// What policies ask of the instance itself, its time, session and scores counts as if they were what is permitted; of
    /// `circumstances` count what the two show and the version of the protocol.
    ///
    /// # Errors
    /// [`NoPolicy`] if every instance would be denied.
    pub fn may_say(
        &self,
        (sender, receiver): (&str, &str),
        action: Performative,
        (context, shape): (&Context, &Shape),
        (binding, circumstances): (&str, Circumstances<'_>),
    ) -> Result<MaySay, NoPolicy> {
        let nothing = Object::default();
        let around = (binding, circumstances);
        self.asker.may(&unsaid((sender, receiver), action, (context, shape), around, &nothing))
    }

    /// Whether some permit names `learnt::NAME`, so that a concept of that name could pass once two agents settled it.
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

    /// What answers, for those who explain it.
    pub(crate) const fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Whether the answer could be another one if the instance said something else: false only where no policy that would be asked looks at
    /// a member of it, or at a score. That there is free text in it at all is not counted.
    #[must_use]
    pub fn looks_at_instance(&self, question: &Question<'_>) -> bool {
        self.asker.looks_at_instance(question)
    }

    /// Answers one question; denies unless a policy permits, and refuses whenever a policy cannot be evaluated.
    #[must_use]
    pub fn decide(&self, question: &Question<'_>) -> Verdict {
        self.asker.decide(question)
    }
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

/// What could do nothing whoever is in whichever group or has whichever credential, whenever it is and whatever a gateway lets pass, and what does
/// nothing by who is in which and has which today, by the clock, or by a gateway's limits. The second is no reason to keep a set out: whoever is
/// put into the group of the suspended, or taken out of that of the trusted, or loses a credential, must be so at once, what is over was meant to
/// be, and one set may be for gateways with several limits.
fn by_today<'w>(
    texts: Checked<'_>,
    world: &World<'_>,
    again: impl Fn() -> World<'w>,
) -> (Vec<PolicyFault>, Vec<PolicyFault>) {
    let (mut stopped, found) = split(texts.senseless(world));
    if found.is_empty() {
        return (found, stopped);
    }
    let (_, sure) = split(texts.senseless(&again().whoever_is_in_groups().at_any_time().within_any_limits()));
    let policies: HashSet<&str> = sure.iter().filter_map(policy_in).collect();
    let today = found.into_iter().filter(|fault| policy_in(fault).is_none_or(|id| !policies.contains(id)));
    let mut today: Vec<PolicyFault> = today.collect();
    let by_groups = if today.is_empty() { Vec::new() } else { texts.senseless(&again().at_any_time()) };
    let same = |fault: &PolicyFault| by_groups.iter().any(|other| is_same(fault, other));
    for fault in today.iter_mut().filter(|fault| !same(fault)) {
        if let PolicyFault::Invalid { hint, .. } = fault {
            let clock = "by the clock, as it stood when this was loaded";
            *hint = Some(hint.take().map_or_else(|| clock.to_owned(), |hint| format!("{hint}, {clock}")));
        }
    }
    today.append(&mut stopped);
    (sure, today)
}

/// Whether both say the same of a policy, for whatever reason.
fn is_same(one: &PolicyFault, other: &PolicyFault) -> bool {
    match (one, other) {
        (PolicyFault::Invalid { policy, why, .. }, PolicyFault::Invalid { policy: of, why: says, .. }) => {
            (policy, why) == (of, says)
        }
        _ => one == other,
    }
}

/// What a stop of everything leaves nothing to do, which was meant, and the rest.
fn split(faults: Vec<PolicyFault>) -> (Vec<PolicyFault>, Vec<PolicyFault>) {
    faults.into_iter().partition(|fault| matches!(fault, PolicyFault::Stopped { .. }))
}
