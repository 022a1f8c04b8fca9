//! Policies that fit the schema and yet could do nothing: an action that is never taken, a value that never occurs, a credential
//! that nobody has, a version below its floor, a permit that a forbid covers.

mod absent;
mod again;
mod around;
mod cases;
mod compared;
mod derived;
mod facts;
mod implied;
mod issuers;
mod majors;
mod members;
mod never;
mod no_parameter;
mod obscured;
mod owners;
mod pieces;
mod plain_signs;
mod possible;
pub(crate) mod protocols;
mod ranges;
mod records;
mod relative;
mod replies;
mod routes;
mod sets;
mod shadow;
mod spenders;
mod steps;
mod sums;
mod together;
pub(crate) mod tokens;
mod tools;
mod values;
mod versions;
mod waiting;
mod walk;
mod why;
mod words;
mod world;

use cedar_policy::pst::Clause;
use cedar_policy::{ActionConstraint, EntityUid, PrincipalConstraint};
use semgate_contexts::{Performative, PerformativeSet, Version};

pub(crate) use around::may_have_beside;
pub(crate) use never::texts;
pub(crate) use replies::may_be_asked;
pub(crate) use together::{Together, condition};
pub(crate) use world::World;

use crate::PolicyFault;
use crate::check::Texts;
use crate::fields::dotted;
use crate::parse::{Written, annotated, clauses};
use facts::{End, Where};
use never::Never;
use possible::Looking;
use versions::Found;
use why::Why;

/// What the scope of a policy leaves open.
#[derive(Debug, Clone)]
struct Scope {
    /// The type, if the scope names one that is there.
    of_type: Option<usize>,
    /// Those that it names, or all.
    asked: PerformativeSet,
    /// Those of them that its type takes today.
    actions: PerformativeSet,
    /// Who the sender can be.
    sender: End,
    /// Whether it forbids.
    guards: bool,
}

impl Texts<'_> {
    /// Actions that the concept of the scope never takes, and members that are asked for and that policies do not see.
    pub fn unseen<'w>(
        &self,
        policies: impl IntoIterator<Item = &'w Written>,
        world: &World<'_>,
    ) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for written in policies {
            world.steps().begin();
            faults.extend(self.never_taken(written, world));
            if world.may_ask_unseen(&written.reads.resource) {
                let here = scope(written, world).here();
                let mut looking = Looking::new(world);
                for clause in written.judged.iter() {
                    looking.clause(clause, &here);
                }
                let mut hidden = std::mem::take(&mut looking.never);
                hidden.retain(|never| matches!(never, Never::Hidden { .. }));
                hidden.extend(obscured::hidden(&written.judged, (&here, world), &looking.asked));
                faults.extend(hidden.into_iter().map(|never| self.never(written, never, world)));
            }
        }
        faults.dedup();
        faults
    }

    /// What can never apply although it fits the schema; `world` knows the agents and the floors.
    pub fn senseless(&self, world: &World<'_>) -> Vec<PolicyFault> {
        let mut faults = shadow::shadowed(self, world);
        for written in self.written {
            world.steps().begin();
            let found = self.condition(written, world);
            // what was not looked at may be anything
            faults.extend(if world.steps().are_spent() { vec![self.too_much(written)] } else { found });
        }
        faults
    }

    fn too_much(&self, written: &Written) -> PolicyFault {
        PolicyFault::Invalid {
            place: self.place_of_clause(written, Some(0)),
            policy: written.id.to_string(),
            why: "its condition is too long to be judged: nobody could tell whether it can hold".to_owned(),
            hint: Some("write a long list of values as a set, or several policies".to_owned()),
        }
    }

    fn never_taken(&self, written: &Written, world: &World<'_>) -> Vec<PolicyFault> {
        let scope = scope(written, world);
        let Some(info) = scope.of_type.and_then(|at| world.catalogue.types.get(at)) else {
            return Vec::new();
        };
        let listed = match written.policy.action_constraint() {
            ActionConstraint::Any => return Vec::new(),
            ActionConstraint::Eq(uid) => vec![uid],
            ActionConstraint::In(uids) => uids,
        };
        let known = listed.iter().filter_map(|uid| uid.id().unescaped().parse::<Performative>().ok());
        known
            .filter(|action| !info.performatives.contains(*action))
            .map(|action| {
                let words = ["Action", "::", &format!("\"{action}\"")].map(str::to_owned);
                let takes: Vec<String> = info.performatives.iter().map(|one| format!("`{one}`")).collect();
                PolicyFault::Invalid {
                    place: self.place_of_words(written, &words.each_ref().map(String::as_str)),
                    policy: written.id.to_string(),
                    why: format!("`{}` never takes `{action}`", info.name),
                    hint: Some(format!("it takes {}", takes.join(", "))),
                }
            })
            .collect()
    }

    /// Why Cedar found that a policy can never match: place, what is wrong, what was meant.
    pub fn impossible(&self, written: &Written, world: &World<'_>) -> PolicyFault {
        world.steps().begin();
        let scope = scope(written, world).here();
        let found = &written.judged;
        let policy = written.id.to_string();
        if let Some(uid) = group_for_agent(written) {
            let quoted = format!("\"{}\"", uid.id().unescaped());
            let place = self.place_of_words(written, &["Group", "::", &quoted]);
            let why = "its scope holds for no message: no sender is a group".to_owned();
            let hint = (!quoted.contains("://")).then(|| format!("write `principal in {uid}`"));
            return PolicyFault::Invalid { place, policy, why, hint };
        }
        let broken = found.iter().position(|clause| !Looking::new(world).clause(clause, &scope));
        let at = broken.or((found.len() == 1).then_some(0));
        match self.action_as_text(written).or_else(|| self.is_group(written)) {
            Some((place, hint)) => {
                let why = "its condition is true for no message".to_owned();
                PolicyFault::Invalid { place, policy, why, hint: Some(hint) }
            }
            None if found.is_empty() => {
                let (place, hint) = match self.no_message(written) {
                    Some((place, hint)) => (place, Some(hint)),
                    None => (self.place_of_clause(written, None), None),
                };
                PolicyFault::Invalid { place, policy, why: "its scope holds for no message".to_owned(), hint }
            }
            None => self.never_true(written, at, self.why_never(written, world), None),
        }
    }

    /// Which parts of its conditions are why a policy is true for no message.
    fn why_never(&self, written: &Written, world: &World<'_>) -> Option<Why> {
        let scope = scope(written, world);
        let here = scope.here();
        let can = |clauses: &[Clause]| {
            let found = versions::of(clauses, (written, &here), world);
            !matches!(found, Found::Nothing) && !implied::contradict(clauses, world)
        };
        // whoever the scope names
        let here = Where { sender: named(written, world), ..scope.here() };
        why::why(&written.judged, (&here, world), can)
    }

    /// An action that is compared with a text, which it never is.
    fn action_as_text(&self, written: &Written) -> Option<(crate::Place, String)> {
        let words = self.words(written);
        let found = words.windows(4).find(|four| {
            let [action, one, two, text] = four else { return false };
            (action.text, one.text, two.text) == ("action", "=", "=") && text.text.starts_with('"')
        })?;
        let text = found.last()?;
        Some((self.place_at(written, text.at), format!("did you mean `Action::{}`?", text.text)))
    }

    /// Members that nothing has of what they are asked of, wherever in a condition they stand.
    pub fn unknown_members(&self, world: &World<'_>) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for written in self.written {
            world.steps().begin();
            let here = scope(written, world).here();
            let mut looking = Looking::new(world);
            looking.clauses_all(&written.judged, &here);
            let never = once_each(looking.never).into_iter();
            let unknown = never.filter(|never| matches!(never, Never::Unknown { .. }));
            faults.extend(unknown.map(|never| self.never(written, never, world)));
        }
        faults
    }

    fn nevers(&self, written: &Written, all: Vec<Never>, world: &World<'_>) -> Vec<PolicyFault> {
        let mut faults: Vec<PolicyFault> = Vec::new();
        for never in once_each(all) {
            let fault = self.never(written, never, world);
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        faults
    }

    fn condition(&self, written: &Written, world: &World<'_>) -> Vec<PolicyFault> {
        let found = &written.judged;
        let scope = scope(written, world);
        if let Some(fault) = self.never_learnt(written, &scope, world) {
            return vec![fault];
        }
        let here = scope.here();
        let mut looking = Looking::new(world);
        let each = looking.clauses_all(found, &here);
        let faults = self.nevers(written, looking.never, world);
        if !faults.is_empty() {
            return faults;
        }
        let holds = |here: Where| Looking::new(world).clauses(found, &here);
        let broken = || each.iter().position(|can| !can).or((found.len() == 1).then_some(0));
        let asked = versions::of(found, (written, &here), world);
        let never_true = || {
            let behind = self.behind(written, &here, world);
            vec![self.never_true(written, broken(), self.why_never(written, world), behind)]
        };
        if matches!(asked, Found::Nothing) || implied::contradict(found, world) {
            return never_true();
        }
        if let Some(fault) = self.never_there(written, world).or_else(|| self.needless_key(written, world)) {
            return vec![fault];
        }
        // a part may stand before a version makes a tool of what it is about
        let open = Where { guards: true, ..here.clone() };
        let idle = pieces::idle(found, &open, scope.asked, world);
        if !idle.is_empty() {
            return idle.iter().map(|idle| self.idle(written, idle)).collect();
        }
        if written.notice.is_some() && only_replies(written, (&here, world), holds) {
            return vec![self.notice_of_replies(written)];
        }
        let below = match asked {
            Found::Below { of_type, asked, floor } => {
                Some(self.below_floor(written, of_type, (&asked, floor), world))
            }
            _ if scope.of_type.is_none() => self.all_below(written, &here, world),
            _ => None,
        };
        below.into_iter().collect()
    }

    /// A learnt concept of a name that the control vocabulary has: in a message it is always that.
    fn never_learnt(&self, written: &Written, scope: &Scope, world: &World<'_>) -> Option<PolicyFault> {
        let info = world.catalogue.types.get(scope.of_type?)?;
        let own = info.name.rsplit("::").next().filter(|_| crate::learnt::is_learnt(info))?;
        let signed = format!("snl::{own}");
        // names mean what the first version has
        world.versions(world.of_name(&signed)?).contains(&Version::new(1, 0)).then_some(())?;
        Some(PolicyFault::Invalid {
            place: self.place_of_clause(written, None),
            policy: written.id.to_string(),
            why: format!("`{}` is never learnt: the name is that of `{signed}`", info.name),
            hint: Some(format!("did you mean `resource is {signed}`?")),
        })
    }

    /// A `@limit_key` that counts apart what the scope and the conditions leave one of.
    fn needless_key(&self, written: &Written, world: &World<'_>) -> Option<PolicyFault> {
        let (_, key) = written.obligation.as_ref()?.limit.as_ref()?;
        if !key.concept && !key.line {
            return None;
        }
        let mut looking = Looking::new(world);
        let mut clauses = written.judged.iter();
        let there =
            clauses.try_fold(scope(written, world).here(), |here, clause| looking.behind(clause, &here))?;
        let (word, about) = match written.policy.resource_constraint() {
            cedar_policy::ResourceConstraint::Is(name) => (key.word(), format!("`{name}`")),
            _ => match (there.of_type.and_then(|at| world.catalogue.types.get(at)), there.only_line()) {
                (Some(info), _) => (key.word(), format!("`{}`", info.name)),
                (None, Some(line)) if key.line => ("line", format!("the line `{line}`")),
                _ => return None,
            },
        };
        Some(PolicyFault::Invalid {
            place: self.place_at(written, annotated(self.text(written), "limit_key")),
            policy: written.id.to_string(),
            why: format!(
                "`@limit_key`: `{word}` counts nothing apart, since this policy is about {about} alone"
            ),
            hint: Some(format!("leave `{word}` out")),
        })
    }

    /// A member that is taken out of replies, where the conditions ask that it is not there, or that what holds it is not.
    fn never_there(&self, written: &Written, world: &World<'_>) -> Option<PolicyFault> {
        let mut taken = written.obligation.as_ref()?.redact.iter();
        let each = versions::each(&scope(written, world).here(), world).into_iter();
        let here: Vec<Where> = each.flat_map(|here| around(written, &here, world)).collect();
        let path = taken.find(|path| {
            let is_there = there(path);
            let with = |there: &[Clause]| [&*written.judged, there].concat();
            let all = with(&is_there.concat());
            let can = |here: &&Where| Looking::new(world).case_by_case(&again::parts(&all), here);
            // nor has any version the member that the conditions leave
            let first: Vec<String> = path.iter().take(1).map(ToString::to_string).collect();
            let has = |here: &Where| {
                !world.absent(&first, here) && Looking::new(world).clauses(&written.judged, here)
            };
            is_there.iter().any(|there| implied::contradict(&with(there), world))
                || !here.iter().filter(can).any(has)
        })?;
        Some(PolicyFault::Invalid {
            place: self.place_at(written, annotated(self.text(written), "redact")),
            policy: written.id.to_string(),
            why: format!(
                "`@redact`: this permit lets replies pass only where `{}` is not there",
                dotted(path)
            ),
            hint: Some("take it out of the condition, or out of `@redact`".to_owned()),
        })
    }

    /// Of a policy about every type: what it can match, where all of that is below the floors.
    fn all_below(&self, written: &Written, here: &Where, world: &World<'_>) -> Option<PolicyFault> {
        let reads = ["line", "major", "minor"].iter().any(|name| written.reads.context.wants(name));
        if !world.has_floors() || (!reads && written.reads.types.is_empty()) {
            return None;
        }
        let can = |here: Where| {
            around(written, &here, world)
                .into_iter()
                .any(|here| Looking::new(world).clauses(&written.judged, &here))
        };
        if can(Where { above: true, ..here.clone() }) {
            return None;
        }
        let with_floor = (0..world.catalogue.types.len()).filter_map(|at| Some((at, world.floor(at)?)));
        with_floor
            .map(|(at, floor)| {
                let of = |version: &&Version| {
                    let version = Some((version.major, version.minor));
                    can(Where { of_type: Some(at), version, ..here.clone() })
                };
                let below = world.versions(at).iter().filter(|version| **version < floor);
                (at, floor, below.filter(of).copied().collect::<Vec<_>>())
            })
            .find(|(_, _, asked)| !asked.is_empty())
            .map(|(at, floor, asked)| self.below_floor(written, at, (&asked, floor), world))
    }
}

impl Scope {
    fn here(&self) -> Where {
        Where {
            of_type: self.of_type,
            actions: self.actions,
            version: None,
            apart: false,
            direction: None,
            binding: None,
            above: false,
            coming: false,
            guards: self.guards,
            sender: self.sender.clone(),
            receiver: End::default(),
            facts: None,
        }
    }
}

/// What is so wherever a member is there, as conditions may write it: `resource has a`, `resource.a has b`, `resource has a.b`.
fn there(path: &[Box<str>]) -> Vec<std::sync::Arc<[cedar_policy::pst::Clause]>> {
    let (mut asked, mut of, mut names) = (Vec::new(), "resource".to_owned(), String::new());
    for name in path {
        asked.push(format!("{of} has {name:?}"));
        names = if names.is_empty() { name.to_string() } else { format!("{names}.{name}") };
        asked.push(format!("resource has {names}"));
        of = format!("{of}[{name:?}]");
    }
    let parsed = asked.iter().filter_map(|asked| {
        let policy = format!("permit (principal, action, resource) when {{ {asked} }};");
        clauses(&policy.parse::<cedar_policy::Policy>().ok()?).ok()
    });
    parsed.collect()
}

/// A member that is not there is told where it stands first.
fn once_each(all: Vec<Never>) -> Vec<Never> {
    let mut kept: Vec<Never> = Vec::new();
    for never in all {
        let same = |other: &Never| match (other, &never) {
            (Never::Unknown { member: a, of: b, .. }, Never::Unknown { member: c, of: d, .. }) => {
                (a, b) == (c, d)
            }
            (a, b) => a == b,
        };
        if !kept.iter().any(same) {
            kept.push(never);
        }
    }
    kept
}

fn scope(written: &Written, world: &World<'_>) -> Scope {
    use cedar_policy::ResourceConstraint::{Is, IsIn};
    let of_type = match written.policy.resource_constraint() {
        Is(name) | IsIn(name, _) => world.of_name(&name.to_string()),
        _ => None,
    };
    let takes = of_type.and_then(|at| world.catalogue.types.get(at)).map(|info| info.performatives);
    let all: PerformativeSet = Performative::ALL.into_iter().collect();
    let takes = takes.unwrap_or(all);
    let parsed = |uid: &EntityUid| uid.id().unescaped().parse::<Performative>().ok();
    let asked: PerformativeSet = match written.policy.action_constraint() {
        ActionConstraint::Any => all,
        ActionConstraint::Eq(uid) => parsed(&uid).into_iter().collect(),
        ActionConstraint::In(uids) => uids.iter().filter_map(parsed).collect(),
    };
    let guards = !written.permits();
    Scope { of_type, asked, actions: asked.and(takes), sender: sender(written, world), guards }
}

/// The agents whom the scope names, where it is known who they are and the conditions ask.
fn sender(written: &Written, world: &World<'_>) -> End {
    // only what asks for the sender itself needs to know
    let asks = written.reads.types.iter().any(|name| name == "Group" || name == "Agent");
    let wants = |name: &str| written.reads.principal.wants(name);
    if asks || wants("trust_domain") || wants("credentials") { named(written, world) } else { End::default() }
}

/// The agents whom the scope names, where it is known who they are.
fn named(written: &Written, world: &World<'_>) -> End {
    match written.policy.principal_constraint() {
        PrincipalConstraint::Eq(uid) | PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => {
            let kind = uid.type_name().to_string();
            End { can_be: world.agents_named(&kind, uid.id().unescaped()), named: kind == "Agent" }
        }
        _ => End::default(),
    }
}

/// The same with each direction and each binding by itself, as far as the policy reads them.
fn around(written: &Written, here: &Where, world: &World<'_>) -> Vec<Where> {
    each_way(|name| written.reads.context.wants(name), here, world)
}

/// The same, as far as what reads these members of the context record does.
fn each_way(reads: impl Fn(&str) -> bool, here: &Where, world: &World<'_>) -> Vec<Where> {
    fn each(all: &[&'static str], read: bool) -> Vec<Option<&'static str>> {
        if read { all.iter().copied().map(Some).collect() } else { vec![None] }
    }
    let bindings = each(&world.bindings(here, false), reads("binding") || reads("binding_version"));
    let of = |direction| {
        bindings.iter().map(move |binding| Where { direction, binding: *binding, ..here.clone() })
    };
    each(&world.directions(here), reads("direction")).into_iter().flat_map(of).collect()
}

/// Whether a policy that asks for the direction decides no request.
fn only_replies(
    written: &Written,
    (here, world): (&Where, &World<'_>),
    holds: impl Fn(Where) -> bool,
) -> bool {
    let mut asked = around(written, here, world).into_iter().filter(|here| here.direction != Some("reply"));
    written.reads.context.wants("direction") && !asked.any(holds)
}

/// A group is no agent; who is in it is asked with `in`.
fn group_for_agent(written: &Written) -> Option<EntityUid> {
    match written.policy.principal_constraint() {
        cedar_policy::PrincipalConstraint::Eq(uid) if uid.type_name().to_string() == "Group" => Some(uid),
        _ => None,
    }
}
