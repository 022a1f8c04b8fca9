//! What would have to be otherwise: said only where it follows from the policies as they are written.

use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};
use cedar_policy::{ActionConstraint, PrincipalConstraint};

use super::Against;
use super::scene::Scene;
use super::scope::Fit;
use super::supposed::Seen;
use super::truth::{self, Truth};
use crate::parse::Written;
use crate::reads::Reads;

/// What a message that was denied would need: all of `all`, and one of `one_of` where there is any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToPass {
    /// Needed together.
    pub all: Vec<String>,
    /// Alternatives, each enough by itself. Never one alone, which would be one of `all`.
    pub one_of: Vec<String>,
}

impl ToPass {
    /// True where nothing is said: it passes, or no single policy is near.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty() && self.one_of.is_empty()
    }

    /// This alone.
    pub(super) fn just(what: &str) -> Self {
        Self { all: vec![what.to_owned()], one_of: Vec::new() }
    }

    /// What is needed beside any of these permits, each with what it needs to apply; those that need the same are told together.
    pub(super) fn with_permits<'w>(mut self, permits: impl Iterator<Item = (&'w Written, String)>) -> Self {
        let ways = folded(permits);
        if ways.is_empty() {
            self.all.push("a permit for it would have to be written: none is near".to_owned());
        }
        let mut told: Vec<String> = ways
            .iter()
            .map(|(ids, needs)| format!("so that {} applies: {needs}", listed(ids, "or")))
            .collect();
        if told.len() == 1 {
            self.all.append(&mut told);
        } else {
            self.one_of = told;
        }
        self
    }
}

/// What a denied message would need: every forbid that applies passed by, and one permit.
pub(super) fn to_pass(against: &[Against<'_>], scene: &Scene) -> ToPass {
    let seen = &Seen { scene, against };
    let of = |permits: bool| against.iter().filter(move |one| one.written.permits() == permits);
    let forbids = of(false).filter(|one| one.truth == Truth::True);
    let (bare, conditional): (Vec<_>, Vec<_>) = forbids.partition(|one| one.clauses.is_empty());
    let mut all: Vec<String> = bare.iter().map(|one| unconditional(one.written)).collect();
    let ways = conditional.iter().map(|one| (one.written, avoid(&one.clauses, seen)));
    all.extend(folded(ways).iter().map(|(ids, ways)| {
        let does = if ids.len() == 1 { "does not apply" } else { "do not apply" };
        format!("so that {} {does}: {ways}", listed(ids, "and"))
    }));
    let needed = ToPass { all, one_of: Vec::new() };
    if of(true).any(|one| one.truth == Truth::True) {
        return needed;
    }
    let needs = |one: &Against<'_>| {
        let scope = one.scope.iter().filter_map(Fit::wish).map(str::to_owned);
        scope.chain(conditions(&one.clauses, Some(seen))).collect::<Vec<_>>().join("; and ")
    };
    // what a forbid would then refuse is no way, unless there is no other: then it is told with the forbid
    let (ways, refused): (Vec<_>, Vec<_>) =
        of(true).map(|one| (one, refusing(one, seen))).partition(|(_, by)| by.is_none());
    let told = if ways.is_empty() { refused } else { ways };
    needed.with_permits(told.into_iter().map(|(one, by)| {
        let but = by.map(|by| format!("; but `{}` would then forbid it", by.id)).unwrap_or_default();
        (one.written, needs(one) + &but)
    }))
}

/// A forbid that would apply once the conditions of a permit are met; none where that cannot be said, as of another sender.
fn refusing<'w>(permit: &Against<'_>, seen: &Seen<'_, 'w>) -> Option<&'w Written> {
    if !permit.in_scope() {
        return None;
    }
    let mut needs = Vec::new();
    permit.clauses.iter().map(must_hold).for_each(|need| flat(need, Split::All, &mut needs));
    let mut sure = Vec::new();
    for need in needs {
        let mut ways = Vec::new();
        flat(need, Split::Any, &mut ways);
        if let [way] = open_ways(ways, Some(seen)).as_slice() {
            flat(*way, Split::All, &mut sure);
        }
    }
    seen.refusing(&sure)
}

/// Of several ways those that no forbid would then refuse; all of them if there is no other.
fn open_ways<'e>(ways: Vec<Need<'e>>, seen: Option<&Seen<'_, '_>>) -> Vec<Need<'e>> {
    let refused = |way: &Need<'_>| {
        let mut parts = Vec::new();
        flat(*way, Split::All, &mut parts);
        seen.is_some_and(|seen| seen.refusing(&parts).is_some())
    };
    let open: Vec<Need<'e>> = ways.iter().filter(|way| ways.len() > 1 && !refused(way)).copied().collect();
    if open.is_empty() { ways } else { open }
}

/// What the conditions of a policy ask for to be met, all of it; of what is so already, only what mending the rest could break. Without
/// a scene nothing is known to be so.
pub(super) fn conditions(clauses: &[Clause], seen: Option<&Seen<'_, '_>>) -> Vec<String> {
    let mut needs = Vec::new();
    clauses.iter().map(must_hold).for_each(|need| flat(need, Split::All, &mut needs));
    all_of(&needs, seen)
}

/// The ways in which the conditions of a forbid come out false, each of which is enough.
fn avoid(clauses: &[Clause], seen: &Seen<'_, '_>) -> String {
    let mut ways = Vec::new();
    let fails = |clause| {
        let (expr, wanted) = must_hold(clause);
        (expr, !wanted)
    };
    clauses.iter().map(fails).for_each(|need| flat(need, Split::Any, &mut ways));
    let ways = open_ways(ways, Some(seen));
    ways.iter().map(|way| wish(*way, Some(seen)).0).collect::<Vec<_>>().join("; or ")
}

/// A forbid that asks nothing of a message.
fn unconditional(written: &Written) -> String {
    let mut others = Vec::new();
    if !matches!(written.policy.principal_constraint(), PrincipalConstraint::Any) {
        others.push("come from another sender");
    }
    if !matches!(written.policy.action_constraint(), ActionConstraint::Any) {
        others.push("have another performative");
    }
    let others = match others.as_slice() {
        [] => String::new(),
        ways => format!("it would have to {}, or ", ways.join(", or to ")),
    };
    format!("`{}` forbids this whatever is in it: {others}the policy would have to be another", written.id)
}

/// Policies of which the same is to be said, in the order in which they come first.
fn folded<'w>(each: impl Iterator<Item = (&'w Written, String)>) -> Vec<(Vec<&'w str>, String)> {
    let mut all: Vec<(Vec<&str>, String)> = Vec::new();
    for (written, said) in each {
        match all.iter_mut().find(|(_, same)| *same == said) {
            Some((ids, _)) => ids.push(&written.id),
            None => all.push((vec![&*written.id], said)),
        }
    }
    all
}

fn listed(ids: &[&str], word: &str) -> String {
    let quoted: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    match quoted.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} {word} {last}", before.join(", ")),
        _ => quoted.concat(),
    }
}

/// An expression, and how it would have to come out.
pub(super) type Need<'e> = (&'e Arc<Expr>, bool);

const fn must_hold(clause: &Clause) -> Need<'_> {
    match clause {
        Clause::When(expr) => (expr, true),
        Clause::Unless(expr) => (expr, false),
    }
}

/// What a need is taken apart into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    /// Needs of which all are needed.
    All,
    /// Needs of which one is enough.
    Any,
}

fn flat<'e>((expr, wanted): Need<'e>, split: Split, into: &mut Vec<Need<'e>>) {
    match &**expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => flat((expr, !wanted), split, into),
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right }
            if ((*op == BinaryOp::And) == wanted) == (split == Split::All) =>
        {
            flat((left, wanted), split, into);
            flat((right, wanted), split, into);
        }
        _ => into.push((expr, wanted)),
    }
}

fn is_so((expr, wanted): Need<'_>, seen: Option<&Seen<'_, '_>>) -> bool {
    let so = if wanted { Truth::True } else { Truth::False };
    seen.is_some_and(|seen| truth::truth(expr, seen.scene) == so)
}

/// Those that are not met, and of the others those that speak of the same members: a range is told whole.
fn all_of(needs: &[Need<'_>], seen: Option<&Seen<'_, '_>>) -> Vec<String> {
    let unmet = || needs.iter().filter(|need| !is_so(**need, seen));
    let open: BTreeSet<String> = unmet().flat_map(|(expr, _)| members(expr)).collect();
    let told = |need: &&Need<'_>| !is_so(**need, seen) || members(need.0).any(|one| open.contains(&one));
    let several = needs.iter().filter(told).count() > 1;
    let said = |need: &Need<'_>| match wish(*need, seen) {
        (words, Words::Several) if several => format!("({words})"),
        (words, _) => words,
    };
    needs.iter().filter(told).map(said).collect()
}

/// The members of the instance and of the context record that an expression looks at.
pub(super) fn members(expr: &Arc<Expr>) -> impl Iterator<Item = String> {
    let reads = Reads::of(from_ref(&Clause::When(Arc::clone(expr))));
    let of = |whose: &'static str, names: BTreeSet<String>| {
        names.into_iter().map(move |name| format!("{whose}.{name}"))
    };
    of("resource", reads.resource.names).chain(of("context", reads.context.names))
}

/// Whether words are one thing or several with `and` or `or` between.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    One,
    Several,
}

/// In words, what makes an expression come out as wanted.
fn wish(need: Need<'_>, seen: Option<&Seen<'_, '_>>) -> (String, Words) {
    let (mut ways, mut parts) = (Vec::new(), Vec::new());
    flat(need, Split::Any, &mut ways);
    if ways.len() > 1 {
        ways = open_ways(ways, seen);
        if let [only] = ways.as_slice() {
            return wish(*only, seen);
        }
        let grouped = |way: &Need<'_>| match wish(*way, seen) {
            (words, Words::Several) => format!("({words})"),
            (words, Words::One) => words,
        };
        return (ways.iter().map(grouped).collect::<Vec<_>>().join(" or "), Words::Several);
    }
    flat(need, Split::All, &mut parts);
    if parts.len() > 1 {
        let said = all_of(&parts, seen);
        let words = if said.len() > 1 { Words::Several } else { Words::One };
        return (said.join(" and "), words);
    }
    let (expr, wanted) = ways.first().copied().unwrap_or(need);
    let be = if is_so((expr, wanted), seen) { "stay" } else { "be" };
    let said = match &**expr {
        Expr::BinaryOp { op, left, right } => compared(*op, left, right, (wanted, be)),
        Expr::Is { expr: of, in_expr: Some(group), .. } => member(of, group, wanted),
        _ => None,
    };
    (said.unwrap_or_else(|| format!("`{expr}` would have to {be} {wanted}")), Words::One)
}

fn compared(op: BinaryOp, left: &Expr, right: &Expr, (wanted, be): (bool, &str)) -> Option<String> {
    match op {
        BinaryOp::Contains => {
            let (whose, Expr::Literal(Literal::String(name))) = (credentials_of(left)?, right) else {
                return None;
            };
            let would = if wanted { "would have to hold" } else { "must not hold" };
            return Some(format!("{whose} {would} the credential `{name}`"));
        }
        BinaryOp::In => return member(left, right, wanted),
        _ => {}
    }
    let (what, than) = (named(left)?, literal(right)?);
    let relation = match (op, wanted) {
        (BinaryOp::Eq, true) | (BinaryOp::NotEq, false) => "",
        (BinaryOp::Eq, false) | (BinaryOp::NotEq, true) => "other than ",
        (BinaryOp::Greater | BinaryOp::DecimalGreater, true)
        | (BinaryOp::LessEq | BinaryOp::DecimalLessEq, false) => "more than ",
        (BinaryOp::Greater | BinaryOp::DecimalGreater, false)
        | (BinaryOp::LessEq | BinaryOp::DecimalLessEq, true) => "at most ",
        (BinaryOp::Less | BinaryOp::DecimalLessThan, true)
        | (BinaryOp::GreaterEq | BinaryOp::DecimalGreaterEq, false) => "less than ",
        (BinaryOp::Less | BinaryOp::DecimalLessThan, false)
        | (BinaryOp::GreaterEq | BinaryOp::DecimalGreaterEq, true) => "at least ",
        _ => return None,
    };
    Some(format!("`{what}` would have to {be} {relation}{than}"))
}

fn member(left: &Expr, right: &Expr, wanted: bool) -> Option<String> {
    let who = agent(left)?;
    let Expr::Literal(Literal::EntityUID(EntityUID { ty, eid })) = right else { return None };
    let would = if wanted { "would have to be" } else { "must not be" };
    Some(match ty.to_string().as_str() {
        "Group" => format!("{who} {would} in the group `{eid}`"),
        _ => format!("{who} {would} `{eid}`"),
    })
}

fn agent(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Var(Var::Principal) => Some("the sender"),
        Expr::GetAttr { expr, attr } if attr == "receiver" && matches!(&**expr, Expr::Var(Var::Context)) => {
            Some("the receiver")
        }
        _ => None,
    }
}

fn credentials_of(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::GetAttr { expr, attr } if attr == "credentials" => agent(expr),
        _ => None,
    }
}

/// A member as policies write it.
fn named(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Var(Var::Resource) => Some("resource".to_owned()),
        Expr::Var(Var::Context) => Some("context".to_owned()),
        Expr::GetAttr { expr, attr } => Some(format!("{}.{attr}", named(expr)?)),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(Literal::Long(number)) => Some(number.to_string()),
        Expr::Literal(Literal::String(text)) => Some(format!("`{text}`")),
        Expr::Literal(Literal::Bool(value)) => Some(value.to_string()),
        Expr::UnaryOp { op: UnaryOp::Decimal | UnaryOp::Datetime | UnaryOp::Duration, expr } => match &**expr
        {
            Expr::Literal(Literal::String(text)) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}
