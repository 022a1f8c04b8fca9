//! Policies that fit the schema and yet could do nothing: an action that is never taken, a value that never occurs, a credential
//! that nobody has, a version below its floor, a permit that a forbid covers.

mod facts;
mod owners;
mod pieces;
mod possible;
mod shadow;
mod tokens;
mod values;
mod walk;
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{Clause, Expr};
use cedar_policy::{ActionConstraint, EntityUid, PrincipalConstraint};
use semgate_contexts::{Performative, PerformativeSet, Version};

pub(crate) use world::World;

use crate::check::{Texts, closest};
use crate::credentials::is_shown;
use crate::parse::{Written, place};
use crate::{Place, PolicyFault};
use facts::Where;
use possible::{Looking, Never, before};

/// Values that a hint lists; of more it names the nearest.
const MAX_LISTED: usize = 16;

/// What the scope of a policy leaves open.
#[derive(Debug, Clone)]
struct Scope {
    /// The type, if the scope names one that is there.
    of_type: Option<usize>,
    /// Those that it names and its type takes.
    actions: PerformativeSet,
    /// The agents that the sender can be, if it can only be one with an entry.
    who: Option<Arc<BTreeSet<u32>>>,
}

impl Texts<'_> {
    /// Actions that the concept of the scope never takes, and members that are asked for and that policies do not see.
    pub fn unseen(&self, chosen: impl Fn(&Written) -> bool, world: &World<'_>) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for written in self.written.iter().filter(|written| chosen(written)) {
            faults.extend(self.never_taken(written, world));
            if world.may_ask_unseen(&written.reads.resource) {
                let here = scope(written, world).here();
                let mut looking = Looking::new(world);
                for clause in written.clauses.iter() {
                    looking.clause(clause, &here);
                }
                let hidden = looking.never.into_iter().filter(|never| matches!(never, Never::Hidden { .. }));
                faults.extend(hidden.map(|never| self.never(written, never, world)));
            }
        }
        faults.dedup();
        faults
    }

    /// What can never apply although it fits the schema; `world` knows the agents and the floors.
    pub fn senseless(&self, world: &World<'_>) -> Vec<PolicyFault> {
        let mut faults = shadow::shadowed(self, world);
        for written in self.written {
            faults.extend(self.condition(written, world));
        }
        faults
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
        let scope = scope(written, world).here();
        let found = &written.clauses;
        let broken = found.iter().position(|clause| !Looking::new(world).clause(clause, &scope));
        let at = broken.or((found.len() == 1).then_some(0));
        let why = match (at, found.len()) {
            (Some(_), _) => "its condition is true for no message",
            (None, 0) => "its scope holds for no message",
            (None, _) => "its conditions together are true for no message",
        };
        let place = self.place_of_clause(written, at);
        let policy = written.id.to_string();
        match group_for_agent(written) {
            Some(uid) => {
                let quoted = format!("\"{}\"", uid.id().unescaped());
                let place = self.place_of_words(written, &["Group", "::", &quoted]);
                let why = "its scope holds for no message: no sender is a group".to_owned();
                let hint = (!quoted.contains("://")).then(|| format!("write `principal in {uid}`"));
                PolicyFault::Invalid { place, policy, why, hint }
            }
            None => PolicyFault::Invalid { place, policy, why: why.to_owned(), hint: None },
        }
    }

    /// Members that nothing has of what they are asked of, wherever in a condition they stand.
    pub fn unknown_members(&self, world: &World<'_>) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        for written in self.written {
            let here = scope(written, world).here();
            let mut looking = Looking::new(world);
            looking.clauses_all(&written.clauses, &here);
            let never = once_each(looking.never).into_iter();
            let unknown = never.filter(|never| matches!(never, Never::Unknown { .. }));
            faults.extend(unknown.map(|never| self.never(written, never, world)));
        }
        faults
    }

    fn condition(&self, written: &Written, world: &World<'_>) -> Vec<PolicyFault> {
        let found = &written.clauses;
        let scope = scope(written, world);
        let here = scope.here();
        let mut looking = Looking::new(world);
        let each = looking.clauses_all(found, &here);
        let mut faults: Vec<PolicyFault> = Vec::new();
        for never in once_each(looking.never) {
            let fault = self.never(written, never, world);
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        if !faults.is_empty() {
            return faults;
        }
        let holds = |here: Where| Looking::new(world).clauses(found, &here);
        let can = |version: Option<&Version>| {
            let here =
                Where { version: version.map(|version| (version.major, version.minor)), ..here.clone() };
            around(written, &here).into_iter().any(holds)
        };
        let broken = || each.iter().position(|can| !can).or((found.len() == 1).then_some(0));
        let asked = match scope.of_type {
            Some(of_type) => {
                let all = world.versions(of_type);
                let asked: Vec<Version> = all.iter().filter(|version| can(Some(version))).copied().collect();
                if asked.is_empty() { None } else { Some(asked) }
            }
            None => can(None).then(Vec::new),
        };
        let Some(asked) = asked else { return vec![self.never_true(written, broken())] };
        let idle = pieces::idle(found, &here, world);
        if !idle.is_empty() {
            return idle.iter().map(|idle| self.idle(written, idle)).collect();
        }
        match scope.of_type {
            Some(of_type) => {
                let floor = world.floor(of_type).filter(|floor| asked.iter().all(|version| version < floor));
                floor
                    .map(|floor| self.below_floor(written, of_type, (&asked, floor), world))
                    .into_iter()
                    .collect()
            }
            None => self.all_below(written, &here, world).into_iter().collect(),
        }
    }

    /// Of a policy about every type: what it can match, where all of that is below the floors.
    fn all_below(&self, written: &Written, here: &Where, world: &World<'_>) -> Option<PolicyFault> {
        let reads = ["line", "major", "minor"].iter().any(|name| written.reads.context.wants(name));
        if !world.has_floors() || (!reads && written.reads.types.is_empty()) {
            return None;
        }
        let can = |here: Where| {
            around(written, &here)
                .into_iter()
                .any(|here| Looking::new(world).clauses(&written.clauses, &here))
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

    fn idle(&self, written: &Written, idle: &pieces::Idle<'_>) -> PolicyFault {
        let shown = pieces::shown(idle.piece);
        let (why, hint) = if idle.always {
            (
                format!("`{shown}` is true for every message"),
                "what is true of every message asks for nothing: leave it out",
            )
        } else {
            (
                format!("`{shown}` is true for no message that comes to it"),
                "a part that is never true does nothing: leave it out, or say what was meant",
            )
        };
        PolicyFault::Invalid {
            place: self.place_of_variable(written, pieces::first_variable(idle.piece)),
            policy: written.id.to_string(),
            why,
            hint: Some(hint.to_owned()),
        }
    }

    /// Where a variable of the conditions stands.
    fn place_of_variable(&self, written: &Written, variable: Option<*const Expr>) -> Place {
        let mut all = Vec::new();
        for clause in written.clauses.iter() {
            let (Clause::When(condition) | Clause::Unless(condition)) = clause;
            pieces::variables(condition, &mut all);
        }
        let number = variable.and_then(|one| all.iter().position(|other| std::ptr::eq(*other, one)));
        let words = self.words(written);
        let at = number.and_then(|number| tokens::variables(&words).get(number).copied());
        match at {
            Some(at) => self.place_at(written, at),
            None => self.place_of_clause(written, Some(0)),
        }
    }

    fn never_true(&self, written: &Written, clause: Option<usize>) -> PolicyFault {
        let why = if clause.is_some() {
            "its condition is true for no message"
        } else {
            "its conditions together are true for no message"
        };
        PolicyFault::Invalid {
            place: self.place_of_clause(written, clause),
            policy: written.id.to_string(),
            why: why.to_owned(),
            hint: None,
        }
    }

    fn below_floor(
        &self,
        written: &Written,
        of_type: usize,
        (asked, floor): (&[Version], Version),
        world: &World<'_>,
    ) -> PolicyFault {
        let line = world.catalogue.types.get(of_type).map_or("", |info| info.line.as_str());
        let asked: Vec<String> = asked.iter().map(|version| format!("`{version}`")).collect();
        let at = ["major", "minor"]
            .into_iter()
            .find_map(|member| self.offset_of(written, &["context", ".", member]));
        PolicyFault::BelowFloor {
            place: self.place_at(written, at.unwrap_or_default()),
            policy: written.id.to_string(),
            why: format!(
                "of `{line}` it can match {} only, and the floor lets nothing below `{floor}` through",
                asked.join(", ")
            ),
        }
    }

    fn never(&self, written: &Written, never: Never, world: &World<'_>) -> PolicyFault {
        let literal = |literal: &possible::Literally| {
            let words = self.words(written);
            let at = tokens::literal(&words, &literal.text, before(&written.clauses, literal));
            self.place_at(written, at.unwrap_or_default())
        };
        let (place, why, hint) = match never {
            Never::Text { member, literal: text, values } => {
                let folded =
                    values.iter().map(String::as_str).find(|value| value.eq_ignore_ascii_case(&text.text));
                let near = folded.or_else(|| closest(&text.text, values.iter().map(String::as_str)));
                let hint = match near {
                    Some(near) => format!("did you mean `\"{near}\"`?"),
                    None if values.len() <= MAX_LISTED => {
                        let listed: Vec<String> =
                            values.iter().map(|value| format!("`\"{value}\"`")).collect();
                        format!("it is one of {}", listed.join(", "))
                    }
                    None => format!("it is one of {} values", values.len()),
                };
                (literal(&text), format!("`{member}` is never `\"{}\"`", text.text), hint)
            }
            Never::Number { path, literal, places, numbers } => {
                let mut words = vec!["resource"];
                path.iter().for_each(|name| words.extend([".", name]));
                let place = self.place_of_words(written, &words);
                let number = crate::numbers::Shown { number: literal, places };
                let why = format!("`resource.{}` is never `{number}`", path.join("."));
                (place, why, numbers.described(places))
            }
            Never::Credential { literal: text } => {
                let near = closest(&text.text, world.credentials());
                let hint = near.map_or_else(
                    || {
                        if is_shown(&text.text) {
                            return "what agents show is named `cert:eku:OID`, `cert:policy:OID` or `token:ISSUER:NAME`"
                                .to_owned();
                        }
                        "a credential is there once an agent has it, or the list `credentials` names it"
                            .to_owned()
                    },
                    |near| format!("did you mean `\"{near}\"`?"),
                );
                (literal(&text), format!("nobody has the credential `{}`", text.text), hint)
            }
            Never::Unknown { member, of, near, at } => {
                let why = format!("attribute `{member}` {of} not found");
                let place = self.place_of_variable(written, Some(at));
                return PolicyFault::Invalid { place, policy: written.id.to_string(), why, hint: near };
            }
            Never::Hidden { member, of_type } => {
                let name = world.catalogue.types.get(of_type).map_or("", |info| &info.name);
                let at = [["has", &member], [".", &member]]
                    .into_iter()
                    .find_map(|words| Some(self.offset_of(written, &words)? + words[0].len()));
                let why = format!("`{member}` of `{name}` is not visible to policies");
                let hint = "a number needs a `multipleOf` that is a multiple of 0.0001, and any other member one type";
                (self.place_at(written, self.blank(written, at.unwrap_or_default())), why, hint.to_owned())
            }
        };
        PolicyFault::Invalid { place, policy: written.id.to_string(), why, hint: Some(hint) }
    }

    /// Past the blanks at an offset.
    fn blank(&self, written: &Written, at: usize) -> usize {
        let rest = self.text(written).get(at..).unwrap_or_default();
        at + (rest.len() - rest.trim_start().len())
    }

    fn text(&self, written: &Written) -> &str {
        self.file(written).1.get(written.start..).unwrap_or_default()
    }

    fn words(&self, written: &Written) -> Vec<tokens::Token<'_>> {
        tokens::of(self.text(written))
    }

    fn offset_of(&self, written: &Written, words: &[&str]) -> Option<usize> {
        tokens::sequence(&self.words(written), words)
    }

    fn place_of_words(&self, written: &Written, words: &[&str]) -> Place {
        self.place_at(written, self.offset_of(written, words).unwrap_or_default())
    }

    fn place_of_clause(&self, written: &Written, clause: Option<usize>) -> Place {
        let all = tokens::clauses(&self.words(written));
        self.place_at(written, clause.and_then(|at| all.get(at)).copied().unwrap_or_default())
    }

    fn place_at(&self, written: &Written, within: usize) -> Place {
        let (file, text) = self.file(written);
        place(file, text, written.start + within)
    }
}

impl Scope {
    fn here(&self) -> Where {
        Where {
            of_type: self.of_type,
            actions: self.actions,
            version: None,
            direction: None,
            binding: None,
            above: false,
            who: self.who.clone(),
            facts: None,
        }
    }
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
    let takes = takes.unwrap_or_else(|| Performative::ALL.into_iter().collect());
    let parsed = |uid: &EntityUid| uid.id().unescaped().parse::<Performative>().ok();
    let listed: PerformativeSet = match written.policy.action_constraint() {
        ActionConstraint::Any => takes,
        ActionConstraint::Eq(uid) => parsed(&uid).into_iter().collect(),
        ActionConstraint::In(uids) => uids.iter().filter_map(parsed).collect(),
    };
    Scope { of_type, actions: listed.and(takes), who: who(written, world) }
}

/// The agents whom the scope names, where it is known who they are.
fn who(written: &Written, world: &World<'_>) -> Option<Arc<BTreeSet<u32>>> {
    match written.policy.principal_constraint() {
        PrincipalConstraint::Eq(uid) | PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid) => {
            // only what asks for the sender itself needs to know
            let asks = written.reads.types.iter().any(|name| name == "Group" || name == "Agent");
            asks.then(|| world.agents_named(&uid.type_name().to_string(), uid.id().unescaped()))?
        }
        _ => None,
    }
}

/// The same with each direction and each binding by itself, as far as the policy reads them.
fn around(written: &Written, here: &Where) -> Vec<Where> {
    fn each(all: &[&'static str], read: bool) -> Vec<Option<&'static str>> {
        if read { all.iter().copied().map(Some).collect() } else { vec![None] }
    }
    let reads = |name: &str| written.reads.context.wants(name);
    let bindings = each(&world::BINDINGS, reads("binding") || reads("binding_version"));
    let of = |direction| {
        bindings.iter().map(move |binding| Where { direction, binding: *binding, ..here.clone() })
    };
    each(&world::DIRECTIONS, reads("direction")).into_iter().flat_map(of).collect()
}

/// A group is no agent; who is in it is asked with `in`.
fn group_for_agent(written: &Written) -> Option<EntityUid> {
    match written.policy.principal_constraint() {
        cedar_policy::PrincipalConstraint::Eq(uid) if uid.type_name().to_string() == "Group" => Some(uid),
        _ => None,
    }
}
