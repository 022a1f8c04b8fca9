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

/// What a message that does not pass would need: all of `all`, and one of `one_of` where there is any.
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
        let applies =
            |(ids, needs): &(Vec<&str>, String)| format!("so that {} applies: {needs}", listed(ids, "or"));
        self.or_one_of(ways.iter().map(applies).collect());
        self
    }

    /// One of these is needed too.
    fn or_one_of(&mut self, mut ways: Vec<String>) {
        if ways.len() == 1 {
            self.all.append(&mut ways);
        } else {
            self.one_of = ways;
        }
    }
}

/// What a message that does not pass would need: every forbid that applies passed by, and every permit that asks a human, and one permit that
/// asks nobody.
pub(super) fn to_pass(against: &[Against<'_>], scene: &Scene) -> ToPass {
    let nothing = BTreeSet::new();
    let seen = &Seen { scene, against, changed: &nothing };
    let stopping: Vec<&Against<'_>> = against.iter().filter(|one| one.stops()).collect();
    let (bare, conditional): (Vec<&Against<'_>>, Vec<_>) =
        stopping.into_iter().partition(|one| one.clauses.is_empty());
    // what is another so that one does not apply, another one may look at
    let changed = |but: Option<&Written>| -> BTreeSet<String> {
        let others = conditional.iter().filter(|one| but.is_none_or(|but| one.written.id != but.id));
        let ways = others.flat_map(|one| avoiding(&one.clauses, seen));
        ways.flat_map(|(expr, _)| members(expr)).collect()
    };
    let mut all: Vec<String> = bare.iter().map(|one| unconditional(one.written)).collect();
    for asks in [false, true] {
        let of = conditional.iter().filter(|one| one.written.asks() == asks);
        let ways = of.map(|one| {
            let changed = changed(Some(one.written));
            (one.written, avoid(&one.clauses, &Seen { changed: &changed, ..*seen }))
        });
        all.extend(folded(ways).iter().map(|(ids, ways)| {
            let does = if ids.len() == 1 { "does not apply" } else { "do not apply" };
            let why = if asks { " (it asks a human, and nobody can be asked yet)" } else { "" };
            format!("so that {} {does}{why}: {ways}", listed(ids, "and"))
        }));
    }
    let changed = changed(None);
    let seen = &Seen { changed: &changed, ..*seen };
    let plain = || against.iter().filter(|one| one.written.permits() && !one.written.asks());
    let applying: Vec<&Against<'_>> = plain().filter(|one| one.truth == Truth::True).collect();
    if !applying.is_empty() {
        all.extend(seen.staying(None, &[], &changed).map(|one| stays(one, seen)));
        return kept(ToPass { all, one_of: Vec::new() }, &applying, &changed, seen);
    }
    let way = |permit: &Against<'_>| way(permit, seen);
    let ways = || plain().filter(|one| one.is_near()).map(|one| (one.written, way(one)));
    // what a forbid would then refuse is no way, unless there is no other: then it is told with what would have to be another
    let open: Vec<_> = ways().filter(|(_, (_, but))| but.is_none()).collect();
    let asking = || {
        let near = against.iter().filter(|one| one.written.asks() && one.is_near() && !one.stops());
        near.map(|one| (one.written, way(one))).collect()
    };
    let told = match (open.is_empty(), ways().next().is_some()) {
        (false, _) => open,
        (true, true) => ways().collect(),
        (true, false) => asking(),
    };
    let words =
        |(written, (needs, but)): (_, (String, Option<String>))| (written, needs + &but.unwrap_or_default());
    ToPass { all, one_of: Vec::new() }.with_permits(told.into_iter().map(words))
}

/// What a permit needs to apply, with what must stay so that nothing else stops it then; and what stands against it all the same.
fn way(permit: &Against<'_>, seen: &Seen<'_, '_>) -> (String, Option<String>) {
    let mut needs = Vec::new();
    permit.clauses.iter().map(must_hold).for_each(|need| flat(need, Split::All, &mut needs));
    let others: BTreeSet<String> = seen.changed.iter().cloned().chain(moved(permit)).collect();
    let seen = &Seen { changed: &others, ..*seen };
    let (mut sure, mut touched) = (Vec::new(), others.clone());
    for need in needs {
        let mut ways = Vec::new();
        flat(need, Split::Any, &mut ways);
        let ways = open_ways(ways, Some(seen));
        let unmet = ways.iter().filter(|_| !is_so(need, Some(seen)));
        touched.extend(unmet.flat_map(|(expr, _)| members(expr)));
        if let [way] = ways.as_slice() {
            flat(*way, Split::All, &mut sure);
        }
    }
    let scope = permit.scope.iter().filter_map(Fit::wish).map(str::to_owned);
    let mut told: Vec<String> = scope.chain(conditions(&permit.clauses, Some(seen))).collect();
    let by = seen.refusing(Some(permit), &sure, &touched);
    let but = match by {
        Some(by) if by.asks() => {
            Some(format!("; but `{}` would then ask a human, and would have to be another", by.id))
        }
        Some(by) => Some(format!("; but `{}` would then forbid it, and would have to be another", by.id)),
        None => {
            let seen = &Seen { changed: &touched, ..*seen };
            told.extend(seen.staying(Some(permit), &sure, &touched).map(|one| stays(one, seen)));
            permit.written.asks().then(|| ASKS.to_owned())
        }
    };
    (told.join("; and "), but)
}

/// What is said of a permit that would apply and that asks a human.
pub(super) const ASKS: &str =
    "; but it asks a human, and nobody can be asked yet: it would have to be without `@approve`";

/// How a policy that stops what it is about, and does not apply, is kept from that.
fn stays(one: &Against<'_>, seen: &Seen<'_, '_>) -> String {
    if one.clauses.is_empty() {
        return format!("`{}` would have to be another", one.written.id);
    }
    let ways = avoiding(&one.clauses, seen);
    let said = |way: &Need<'_>| match wish(*way, Some(seen)) {
        (words, Words::Several) if ways.len() > 1 => format!("({words})"),
        (words, _) => words,
    };
    let ways = ways.iter().map(said).collect::<Vec<_>>().join(" or ");
    format!("so that `{}` does not apply: {ways}", one.written.id)
}

/// What is needed, with what keeps one of the permits that apply from being lost where these members change.
fn kept(
    mut needed: ToPass,
    applying: &[&Against<'_>],
    changed: &BTreeSet<String>,
    seen: &Seen<'_, '_>,
) -> ToPass {
    let mut told = Vec::new();
    for permit in applying {
        let mut needs = Vec::new();
        permit.clauses.iter().map(must_hold).for_each(|need| flat(need, Split::All, &mut needs));
        needs.retain(|need| looks_at(need.0, changed));
        if needs.is_empty() {
            return needed;
        }
        told.push((permit.written, joined(&needs, Some(seen)).join("; and ")));
    }
    let still =
        |(ids, needs): &(Vec<&str>, String)| format!("so that {} still applies: {needs}", listed(ids, "or"));
    needed.or_one_of(folded(told.into_iter()).iter().map(still).collect());
    needed
}

/// Of several ways those that no forbid would then refuse; all of them if there is no other.
fn open_ways<'e>(ways: Vec<Need<'e>>, seen: Option<&Seen<'_, '_>>) -> Vec<Need<'e>> {
    let refused = |way: &Need<'_>| {
        let mut parts = Vec::new();
        flat(*way, Split::All, &mut parts);
        let touched = parts.iter().flat_map(|(expr, _)| members(expr)).collect();
        seen.is_some_and(|seen| seen.refusing(None, &parts, &touched).is_some())
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

/// The ways in which the conditions of a policy come out false, each of which is enough.
fn avoiding<'e>(clauses: &'e [Clause], seen: &Seen<'_, '_>) -> Vec<Need<'e>> {
    let mut ways = Vec::new();
    let fails = |clause| {
        let (expr, wanted) = must_hold(clause);
        (expr, !wanted)
    };
    clauses.iter().map(fails).for_each(|need| flat(need, Split::Any, &mut ways));
    open_ways(ways, Some(seen))
}

/// The same in words.
fn avoid(clauses: &[Clause], seen: &Seen<'_, '_>) -> String {
    let ways = avoiding(clauses, seen);
    ways.iter().map(|way| wish(*way, Some(seen)).0).collect::<Vec<_>>().join("; or ")
}

/// A policy that stops everything that it is about, whatever is in it.
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
    let does = if written.asks() {
        "asks a human whatever is in it, and nobody can be asked yet"
    } else {
        "forbids this whatever is in it"
    };
    format!("`{}` {does}: {others}the policy would have to be another", written.id)
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

/// Those that are not met, and of the others those that speak of the same members, or of these: a range is told whole.
fn all_of(needs: &[Need<'_>], seen: Option<&Seen<'_, '_>>) -> Vec<String> {
    let unmet = needs.iter().filter(|need| !is_so(**need, seen));
    let mut open = seen.map(|seen| seen.changed.clone()).unwrap_or_default();
    open.extend(unmet.flat_map(|(expr, _)| members(expr)));
    let told = |need: &&Need<'_>| !is_so(**need, seen) || looks_at(need.0, &open);
    joined(&needs.iter().filter(told).copied().collect::<Vec<_>>(), seen)
}

/// Each of these in words, such that they can be joined.
fn joined(needs: &[Need<'_>], seen: Option<&Seen<'_, '_>>) -> Vec<String> {
    let said = |need: &Need<'_>| match wish(*need, seen) {
        (words, Words::Several) if needs.len() > 1 => format!("({words})"),
        (words, _) => words,
    };
    needs.iter().map(said).collect()
}

/// What an expression looks at: members of the instance and of the context record, a credential or a group of the sender, the action.
pub(super) fn members(expr: &Arc<Expr>) -> BTreeSet<String> {
    match &**expr {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => return members(expr),
        Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            return members(left).into_iter().chain(members(right)).collect();
        }
        Expr::BinaryOp { op: BinaryOp::Contains, left, right } => {
            if let (Some("the sender"), Expr::Literal(Literal::String(name))) =
                (credentials_of(left), &**right)
            {
                return BTreeSet::from([format!("{CREDENTIALS} {name}")]);
            }
        }
        Expr::BinaryOp { op: BinaryOp::In, left, right } => match (agent(left), &**right) {
            (Some("the sender"), Expr::Literal(Literal::EntityUID(group))) => {
                return BTreeSet::from([format!("{SENDER} {}", group.eid)]);
            }
            (Some(_), Expr::Literal(_)) => return BTreeSet::from([RECEIVER.to_owned()]),
            _ => {}
        },
        _ => {}
    }
    let reads = Reads::of(from_ref(&Clause::When(Arc::clone(expr))));
    let of = |whose: &'static str, names: BTreeSet<String>| {
        names.into_iter().map(move |name| format!("{whose}.{name}"))
    };
    let agents = ["Agent", "Group"].iter().any(|kind| reads.types.contains(*kind));
    of("resource", reads.resource.names)
        .chain(of("context", reads.context.names))
        .chain(of("principal", reads.principal.names))
        .chain(agents.then(|| SENDER.to_owned()))
        .chain(reads.types.contains("Action").then(|| ACTION.to_owned()))
        .collect()
}

const SENDER: &str = "principal";
const RECEIVER: &str = "context.receiver";
const CREDENTIALS: &str = "principal.credentials";
const ACTION: &str = "action";

/// Whether an expression looks at something that is another; a group or a credential is a part of who the sender is.
pub(super) fn looks_at(expr: &Arc<Expr>, changed: &BTreeSet<String>) -> bool {
    let within =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(' '));
    members(expr)
        .iter()
        .any(|one| changed.iter().any(|other| one == other || within(one, other) || within(other, one)))
}

/// What of a message is another once it is in the scope of a permit.
fn moved(permit: &Against<'_>) -> impl Iterator<Item = String> {
    let [sender, action, _] = &permit.scope;
    let who = match (sender, permit.written.policy.principal_constraint()) {
        (Fit::Yes, _) => Vec::new(),
        (_, PrincipalConstraint::In(group)) => vec![format!("{SENDER} {}", group.id().unescaped())],
        _ => vec![SENDER.to_owned(), CREDENTIALS.to_owned(), "principal.trust_domain".to_owned()],
    };
    who.into_iter().chain((*action != Fit::Yes).then(|| ACTION.to_owned()))
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
        let said = if is_so(need, seen) { joined(&parts, seen) } else { all_of(&parts, seen) };
        let words = if said.len() > 1 { Words::Several } else { Words::One };
        return (said.join(" and "), words);
    }
    let (expr, wanted) = ways.first().copied().unwrap_or(need);
    let be = if is_so((expr, wanted), seen) { "stay" } else { "be" };
    let said = match &**expr {
        Expr::BinaryOp { op, left, right } => compared(*op, left, right, (wanted, be)),
        Expr::Is { expr: of, in_expr: Some(group), .. } => member(of, group, (wanted, be)),
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
        BinaryOp::In => return member(left, right, (wanted, be)),
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

fn member(left: &Expr, right: &Expr, (wanted, be): (bool, &str)) -> Option<String> {
    let who = agent(left)?;
    let Expr::Literal(Literal::EntityUID(EntityUID { ty, eid })) = right else { return None };
    let would = if wanted { format!("would have to {be}") } else { "must not be".to_owned() };
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
