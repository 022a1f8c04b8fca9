//! Knowledge about requests as Cedar expressions. The solver receives them as further conditions.

mod agents;
mod literals;
mod members;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::Policy;
use semgate_contexts::{Context, Performative, PerformativeSet, Version};
use semgate_policies::{AgentEntry, ContextTypes, Floors};

use crate::expression::{Mentions, quoted};
use literals::Checks;

use agents::Crowd;

/// The line whose concepts ask for the meaning of an ambiguous parameter.
const QUESTION: &str = "snl::ambiguous_parameter";
/// The line that every binding speaks.
const HANDSHAKE: &str = "snl";
/// The binding that says signed contexts as tools alone, and beside each of them text of client and server.
const MCP: &str = "mcp";
/// The first word of the `$comment` of a tool.
const TOOL_MARK: &str = "mcp-tool ";
/// The namespace of concepts that two agents settle between themselves.
const LEARNT: &str = "learnt::";

/// How long a fact stays true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lasting {
    /// Always: by Cedar, by the gateway.
    Always,
    /// With these contexts and floors.
    Contexts,
    /// Until agents, groups, credentials or the day change.
    Today,
}

/// One expression that is true of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub lasting: Lasting,
    /// Cedar text.
    pub text: String,
    /// The keys that make it worth saying ([`Mentions::keys`]); none where it is always worth it.
    pub about: BTreeSet<String>,
    /// A theorem of Cedar: it helps the solver, and is no reason to tell.
    pub theorem: bool,
}

impl Fact {
    /// A fact about these keys.
    pub fn about(lasting: Lasting, text: String, about: impl IntoIterator<Item = String>) -> Self {
        Self { lasting, text, about: about.into_iter().collect(), theorem: false }
    }

    /// A fact about the members that its text mentions.
    fn read(lasting: Lasting, text: impl Into<String>) -> Self {
        let text = text.into();
        let policy = format!("permit (principal, action, resource) when {{ {text} }};");
        let keys = Policy::parse(None, policy).map(|policy| Mentions::of(&policy).keys).unwrap_or_default();
        let about = keys.into_iter().filter(|key| key.contains('.') && !key.contains('"')).collect();
        Self { lasting, text, about, theorem: false }
    }
}

/// Facts about every request that reaches the policies.
#[derive(Debug)]
pub struct Setting<'s> {
    /// All contexts that are held.
    pub contexts: &'s [Arc<Context>],
    /// The Cedar types of them.
    pub types: &'s ContextTypes,
    /// The lowest version of a line that passes.
    pub floors: &'s Floors,
    /// The agents of `entities.json`.
    pub agents: &'s [AgentEntry],
    /// Each binding, with the versions of its protocol as `context.binding_version` has them.
    pub bindings: &'s [(&'static str, Vec<&'static str>)],
    /// The clock, in seconds since the Unix epoch.
    pub now: u64,
}

/// One version of a type.
#[derive(Debug)]
struct VersionFacts {
    version: Version,
    takes: PerformativeSet,
    facts: Vec<Fact>,
    checks: Checks,
}

/// One type.
#[derive(Debug, Default)]
struct TypeFacts {
    own: Vec<Fact>,
    versions: Vec<VersionFacts>,
}

/// All facts.
#[derive(Debug)]
pub(crate) struct World {
    general: Vec<Fact>,
    types: BTreeMap<String, TypeFacts>,
    agents: Vec<AgentEntry>,
    crowd: Crowd,
    now: u64,
}

impl World {
    /// Collects what is known, whatever the policies are.
    pub fn of(setting: &Setting<'_>) -> Self {
        let mut types: BTreeMap<String, TypeFacts> = BTreeMap::new();
        for context in setting.contexts {
            let urn = context.urn();
            let below = setting.floors.get(urn.line()).is_some_and(|floor| urn.version() < *floor);
            let document = context.bundled();
            for shape in context.shapes() {
                let Some(name) = setting.types.name(context, shape.name()) else { continue };
                let of_type = types.entry(name.to_owned()).or_default();
                if of_type.own.is_empty() {
                    of_type.own.push(Fact::read(
                        Lasting::Always,
                        format!("context.line == {}", quoted(urn.line().as_str())),
                    ));
                }
                if !below {
                    let (facts, checks) = members::of(&document, shape, name, setting.types.schema());
                    let version = urn.version();
                    of_type.versions.push(VersionFacts {
                        version,
                        takes: shape.performatives(),
                        facts,
                        checks,
                    });
                }
            }
        }
        let protocols = protocols(setting);
        for (name, of_type) in &mut types {
            of_type.versions.sort_by_key(|one| one.version);
            of_type
                .own
                .extend(protocols.get(name.as_str()).into_iter().flat_map(|one| one.facts(name, setting)));
        }
        let agents = setting.agents.to_vec();
        Self { general: general(setting), types, agents, crowd: Crowd::default(), now: setting.now }
    }

    /// Chooses the agents that stand for all, by the mentions of a whole set.
    pub fn choose(&mut self, named: &Mentions) {
        self.crowd = Crowd::of(&self.agents, named);
    }

    /// The facts that share a member or a name with a question about a type and an action, up to this kind.
    pub fn about(&self, of_type: &str, action: &str, asked: &Mentions, most: Lasting) -> Vec<Fact> {
        let none = TypeFacts::default();
        let known = self.types.get(of_type);
        let TypeFacts { own, versions } = known.unwrap_or(&none);
        let (mut keys, mut taken) = (asked.keys.clone(), Vec::new());
        let asked_facts = self.crowd.facts(asked).into_iter().chain(moments(asked, self.now));
        let learnt = of_type.starts_with(LEARNT).then(|| Fact::read(Lasting::Always, "context.locked"));
        let mut open: Vec<Fact> =
            self.general.iter().chain(own).cloned().chain(asked_facts).chain(learnt).collect();
        open.retain(|fact| fact.lasting <= most);
        loop {
            let (near, far): (Vec<Fact>, Vec<Fact>) = open
                .into_iter()
                .partition(|fact| fact.about.is_empty() || fact.about.iter().any(|key| keys.contains(key)));
            if near.is_empty() {
                break;
            }
            keys.extend(near.iter().flat_map(|fact| fact.about.iter().cloned()));
            taken.extend(near);
            open = far;
        }
        if most >= Lasting::Contexts && known.is_some() {
            taken.extend(by_version(versions, action, asked, &keys));
        }
        taken
    }
}

/// The facts of the versions that take an action: one expression if they agree, else one alternative for each.
fn by_version(
    versions: &[VersionFacts],
    action: &str,
    asked: &Mentions,
    keys: &BTreeSet<String>,
) -> Vec<Fact> {
    let takes = |one: &&VersionFacts| {
        one.takes.iter().any(|performative: Performative| performative.as_str() == action)
    };
    let kept: Vec<(Version, Vec<Fact>)> = versions
        .iter()
        .filter(takes)
        .map(|one| {
            let own =
                one.facts.iter().filter(|fact| fact.about.iter().any(|key| keys.contains(key))).cloned();
            (one.version, own.chain(one.checks.facts(asked)).collect())
        })
        .collect();
    let Some((_, first)) = kept.first() else {
        return vec![Fact::about(Lasting::Contexts, "false".to_owned(), [])];
    };
    let versioned = keys.contains("context.major") || keys.contains("context.minor");
    if !versioned && kept.iter().all(|(_, facts)| facts == first) {
        return first.clone();
    }
    let alternative = |(version, facts): &(Version, Vec<Fact>)| {
        let number = format!("context.major == {} && context.minor == {}", version.major, version.minor);
        let all: Vec<String> =
            std::iter::once(number).chain(facts.iter().map(|fact| format!("({})", fact.text))).collect();
        format!("({})", all.join(" && "))
    };
    let all: Vec<String> = kept.iter().map(alternative).collect();
    vec![Fact::about(Lasting::Contexts, all.join(" || "), [])]
}

/// Facts that hold for every request.
fn general(setting: &Setting<'_>) -> Vec<Fact> {
    let list = |all: &[&str]| all.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ");
    let bindings: Vec<String> = setting
        .bindings
        .iter()
        .map(|(binding, versions)| {
            format!(
                "context.binding == {} && [{}].contains(context.binding_version)",
                quoted(binding),
                list(versions)
            )
        })
        .collect();
    let mut all = vec![
        "[\"request\", \"reply\"].contains(context.direction)".to_owned(),
        "context.locked == (context has session)".to_owned(),
        "(if context has session then context.session.expires > context.now else true)".to_owned(),
        "context.scores.text_length >= 0".to_owned(),
        "context.scores.message_bytes >= 1".to_owned(),
        "context.scores.concepts >= 1".to_owned(),
        "context.scores.ambiguous >= 0".to_owned(),
        "context.scores.ambiguous <= context.scores.concepts".to_owned(),
        "context.scores.hidden >= 0".to_owned(),
        "context.scores.markers >= 0 && context.scores.markers <= 8".to_owned(),
        "context.scores.injection >= 0 && context.scores.injection <= 100".to_owned(),
        "(if context.scores has unusual then context.scores.unusual >= 0 && context.scores.unusual <= 1000 else true)"
            .to_owned(),
        "context.free_text == (context.scores.text_length > 0)".to_owned(),
    ];
    if !bindings.is_empty() {
        all.push(bindings.join(" || "));
    }
    all.into_iter().map(|text| Fact::read(Lasting::Always, text)).collect()
}

/// The common parts of all versions of a type that matter to a binding.
#[derive(Debug)]
struct Protocol<'s> {
    line: &'s str,
    /// True where each version is the first one, as that of a line that a binding alone says.
    first: bool,
    tool: bool,
    prose: bool,
}

/// The types, with what bindings care for.
fn protocols<'s>(setting: &Setting<'s>) -> BTreeMap<&'s str, Protocol<'s>> {
    let mut all: BTreeMap<&str, Protocol<'_>> = BTreeMap::new();
    for context in setting.contexts {
        let urn = context.urn();
        for term in context.terms() {
            let tool = term.shapes().any(|shape| {
                let comment = shape.schema().get("$comment").and_then(serde_json::Value::as_str);
                comment.is_some_and(|comment| comment.starts_with(TOOL_MARK))
            });
            for shape in term.shapes() {
                let Some(name) = setting.types.name(context, shape.name()) else { continue };
                let line = urn.line().as_str();
                let one =
                    all.entry(name).or_insert(Protocol { line, first: true, tool: false, prose: false });
                one.first &= urn.version() == Version::new(1, 0);
                one.tool |= tool;
                one.prose |= shape.may_have_free_text();
            }
        }
    }
    all
}

impl Protocol<'_> {
    /// The bindings that say a type, and where free text can stand in it or beside it.
    fn facts(&self, name: &str, setting: &Setting<'_>) -> Vec<Fact> {
        let mut all = Vec::new();
        let own = setting.bindings.iter().any(|(binding, _)| *binding == self.line);
        if own && self.first {
            all.push(Fact::read(Lasting::Always, format!("context.binding == {}", quoted(self.line))));
        } else if self.line != HANDSHAKE && !self.tool {
            all.push(Fact::read(Lasting::Contexts, format!("context.binding != {}", quoted(MCP))));
        }
        if name == QUESTION {
            all.push(Fact::read(Lasting::Always, "context.scores.ambiguous >= 1"));
        }
        if self.line != MCP && !self.prose {
            let exception =
                if own { String::new() } else { format!(" || context.binding == {}", quoted(MCP)) };
            all.push(Fact::read(Lasting::Contexts, format!("!context.free_text{exception}")));
        }
        all
    }
}

/// The clock, and theorems about times of day that a solver needs seconds to find.
fn moments(asked: &Mentions, now: u64) -> Vec<Fact> {
    let mut all: Vec<Fact> = Vec::new();
    for (moment, method) in &asked.moments {
        let text = match *method {
            "toTime" => {
                // the clock of a gateway has whole seconds
                let whole = moment.starts_with("context.now") && !moment.contains("ms\"");
                let last = if whole { "23h59m59s" } else { "23h59m59s999ms" };
                format!("{moment}.toTime() >= duration(\"0s\") && {moment}.toTime() <= duration(\"{last}\")")
            }
            _ => format!(
                "{moment}.toDate() <= {moment} && {moment}.toDate().offset(duration(\"1d\")) > {moment}"
            ),
        };
        all.push(Fact { theorem: true, ..Fact::about(Lasting::Always, text, []) });
    }
    let milliseconds = now.saturating_mul(1000);
    let clock = format!("context.now >= datetime(\"1970-01-01\").offset(duration(\"{milliseconds}ms\"))");
    all.push(Fact::read(Lasting::Today, clock));
    all
}
