//! The loaded policies: loading as a whole or not at all, and asking.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{Authorizer, PolicySet, SchemaFragment};
use semgate_contexts::{Context, Digest, Line};

use crate::agents::Agents;
use crate::ask::{Answers, Asker};
use crate::catalogue::Catalogue;
use crate::check::{Texts as Checked, policy_in};
use crate::index::Index;
use crate::memory::Memory;
use crate::parse::{self, Written};
use crate::{
    AgentEntry, LeftOut, LineUse, NoPolicy, PolicyFault, PolicyLimits, PolicySource, Question, Verdict,
};

/// One generation of policies, agents and typed contexts; never changes once loaded.
///
/// Share it by `Arc`; all questions can be asked from any number of threads at the same time.
#[derive(Debug)]
pub struct Policies {
    digest: Digest,
    asker: Asker,
    ids: Vec<Arc<str>>,
}

impl Policies {
    /// Loads a policy directory as a whole, or says everything that is wrong with it.
    ///
    /// `contexts` are all documents that are held, also those that are revoked or below a floor: policies may still
    /// speak of them. Their order does not matter. A context that cannot be typed beside the others, or that would make
    /// a policy invalid, is left out alone, reported by [`Policies::left_out`], and every question about it is
    /// [`Verdict::Errored`].
    ///
    /// # Errors
    /// Every fault found, at least one: an empty set, syntax, a name that does not exist, a comparison of the wrong
    /// types, a policy that can never match, an `entities.json` that is not of the documented form.
    pub fn load(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        let (written, agents) =
            match (parse::parse(&source.files, limits), Agents::read(&source.entities, limits)) {
                (Ok(written), Ok(agents)) => (written, agents),
                (written, agents) => {
                    let mut faults = written.err().unwrap_or_default();
                    faults.extend(agents.err().unwrap_or_default());
                    return Err(faults);
                }
            };
        let texts = Checked { files: &source.files, written: &written };
        let unknown = texts.unknown_names(&agents);
        let (catalogue, unfit) = fit(texts, contexts, limits)?;
        let mut faults = unknown;
        faults.extend(unfit);
        if !faults.is_empty() {
            return Err(faults);
        }
        let schema_fault = |why| vec![PolicyFault::Schema { why }];
        let index = Index::build(&written, &catalogue, &agents).map_err(schema_fault)?;
        let ids = written.iter().map(|policy| Arc::clone(&policy.id)).collect();
        let asker = Asker {
            answers: Answers::new(&written),
            agents: crate::ask::Known::new(agents).map_err(schema_fault)?,
            catalogue,
            index,
            memory: Memory::new(limits.remembered_verdicts),
            authorizer: Authorizer::new(),
            actions: crate::ask::actions().map_err(schema_fault)?,
        };
        Ok(Self { digest: digest_of(source), asker, ids })
    }

    /// What is live: SHA-256 over name, length and bytes of every policy file and of `entities.json`, as
    /// `docs/policy.md` says.
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

    /// All agents, in the order of `entities.json`.
    #[must_use]
    pub fn agents(&self) -> &[AgentEntry] {
        self.asker.agents.list.entries()
    }

    /// Contexts that could not be typed beside the others, or would have made a policy invalid.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.asker.catalogue.left_out
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

    /// Answers one question; denies unless a policy permits, and refuses whenever a policy cannot be evaluated.
    #[must_use]
    pub fn decide(&self, question: &Question<'_>) -> Verdict {
        self.asker.decide(question)
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

fn digest_of(source: &PolicySource) -> Digest {
    let mut bytes = Vec::new();
    let entities = ("entities.json", source.entities.as_slice());
    for (name, content) in source.files.iter().map(|(n, t)| (n.as_str(), t.as_bytes())).chain([entities]) {
        bytes.extend_from_slice(format!("{name}\n{}\n", content.len()).as_bytes());
        bytes.extend_from_slice(content);
    }
    Digest::of(&bytes)
}

/// Types the contexts so that the policies validate, leaving out as few as can be told: first none, then each alone,
/// then one after the other. The second value holds the faults that remain, as seen beside all contexts.
fn fit(
    texts: Checked<'_>,
    contexts: &[Arc<Context>],
    limits: &PolicyLimits,
) -> Result<(Catalogue, Vec<PolicyFault>), Vec<PolicyFault>> {
    let set = PolicySet::from_policies(texts.written.iter().map(|written: &Written| written.policy.clone()))
        .map_err(|e| vec![PolicyFault::Schema { why: e.to_string() }])?;
    let mut tries = 0;
    let mut attempt = |chosen: &[Arc<Context>]| -> Result<(Catalogue, Vec<PolicyFault>), Vec<PolicyFault>> {
        tries += 1;
        let catalogue = Catalogue::build(chosen);
        let schema = catalogue.schema().map_err(|fault| vec![fault])?;
        let faults = texts.validate(&set, schema, &catalogue);
        Ok((catalogue, faults))
    };
    let (all, at_first) = attempt(contexts)?;
    if at_first.is_empty() {
        return Ok((all, at_first));
    }
    let invalid = |faults: &[PolicyFault]| {
        faults.iter().filter_map(policy_in).map(str::to_owned).collect::<HashSet<_>>()
    };
    let mut sorted: Vec<Arc<Context>> = contexts.to_vec();
    sorted.sort_by(|a, b| (a.urn().line(), a.urn().version()).cmp(&(b.urn().line(), b.urn().version())));
    // The highest version first: it is the one that came last.
    for out in (0..sorted.len()).rev().take(limits.max_left_out_tries) {
        let mut chosen = sorted.clone();
        let gone = chosen.remove(out);
        let (mut catalogue, faults) = attempt(&chosen)?;
        if faults.is_empty() {
            catalogue.left_out.push(invalidates(&gone, &at_first));
            return Ok((catalogue, faults));
        }
    }
    let mut kept: Vec<Arc<Context>> = Vec::new();
    let mut before: HashSet<String> = texts.written.iter().map(|written| written.id.to_string()).collect();
    let mut gone: HashMap<usize, LeftOut> = HashMap::new();
    for (position, context) in sorted.iter().enumerate().take(limits.max_left_out_tries) {
        kept.push(Arc::clone(context));
        let (_, faults) = attempt(&kept)?;
        let now = invalid(&faults);
        if now.is_subset(&before) {
            before = now;
        } else {
            kept.pop();
            gone.insert(position, invalidates(context, &faults));
        }
    }
    if !before.is_empty() || gone.is_empty() {
        return Ok((all, at_first));
    }
    let (mut catalogue, faults) = attempt(&kept)?;
    catalogue.left_out.extend(gone.into_values());
    catalogue.left_out.sort_by(|a, b| a.urn.cmp(&b.urn));
    Ok((catalogue, faults))
}

fn invalidates(context: &Context, faults: &[PolicyFault]) -> LeftOut {
    LeftOut {
        urn: context.urn().clone(),
        why: faults
            .first()
            .map_or_else(String::new, |fault| format!("it would make a policy invalid: {fault}")),
    }
}
