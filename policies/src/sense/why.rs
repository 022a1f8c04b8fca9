//! Why conditions are true for no message: the fewest of their parts that are never true together, and what is known of the members that
//! one of them asks for.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp, Var};
use semgate_contexts::{Performative, PerformativeSet};

use super::again::{Part, parts, split};
use super::around::bound_of;
use super::compared::{is_credentials, written};
use super::derived::letter;
use super::facts::{Side, Where};
use super::members::path_of;
use super::pieces::{Begin, Standing, begin, shown};
use super::possible::{Looking, is_same_member};
use super::sums::moved_by;
use super::values::Values;
use super::words::listed;
use super::{World, versions, walk};
use crate::catalogue::TypeInfo;
use crate::moments::{DAY, SECOND};
use crate::numbers::{DECIMAL_PLACES, Numbers};

/// Steps of finding it for one policy, on top of those of judging it: some ten milliseconds, and some fifty with what is left for looking once
/// more. Past them more parts are named than need be.
const MAX_STEPS: u64 = 50_000;

/// Parts that are looked at one by one: of a longer condition the whole is meant.
const MAX_PARTS: usize = 32;

/// Parts that are named, and agents.
const MAX_NAMED: usize = 3;

/// What the end of a session is beside the clock.
const UNTIL: &str = "a session is there until it expires";

/// What the day of an instant is, and a date.
const MIDNIGHT: &str = "a day begins at `0h` of UTC";

/// Why a concept does not come by MCP.
const NO_TOOL: &str = ": MCP says tools of signed contexts alone, and this is none";

/// Parts that are never true together.
pub(super) struct Why {
    /// Where the last of them begins.
    pub at: Option<Begin>,
    /// Which they are, and what is known of what they ask for.
    pub text: String,
}

/// Which parts of conditions are never true together, by what can hold and what is known `here`.
pub(super) fn why(
    clauses: &[Clause],
    (here, world): (&Where, &World<'_>),
    can: impl Fn(&[Clause]) -> bool,
) -> Option<Why> {
    let parts = parts(clauses);
    let finding = Finding { here, world, can: &can };
    world.steps().apart(MAX_STEPS, || finding.told(parts))
}

/// Why a part of a condition is true for no message that comes to it, by what is known where it stands, and what stands before it.
pub(super) fn of_piece(piece: &Arc<Expr>, here: &Where, standing: &Standing<'_, '_, '_>) -> Option<String> {
    let Standing { world, start, .. } = standing;
    let can = |clauses: &[Clause], here: &Where| standing.can(clauses, here);
    let mut own = Vec::new();
    split(piece, true, &mut own);
    let clauses: Vec<Clause> = own.iter().map(Part::clause).collect();
    world.steps().apart(MAX_STEPS, || {
        let told = |parts: &[Part<'_>], here: &Where| {
            let can = |clauses: &[Clause]| can(clauses, here);
            Finding { here, world, can: &can }.told(parts.to_vec()).map(|why| why.text)
        };
        let alone = !can(&clauses, start);
        let text = told(&own, if alone { start } else { here });
        let shown = format!("`{}`", shown(piece));
        let reason = text.as_ref().map(|text| match text.strip_prefix(&shown) {
            Some(" is never true") => None,
            Some(rest) if rest.starts_with(": ") => Some(rest.trim_start_matches(": ").to_owned()),
            _ => Some(text.clone()),
        });
        if alone {
            return reason?;
        }
        // of a member that is asked for as it is, it is told what it is there
        if let Some(reason) = reason.flatten().filter(|_| is_plain(piece)) {
            return Some(reason);
        }
        let mut all = standing.sure();
        all.extend(own.iter().cloned());
        let nothing = || "what stands before it leaves nothing of that".to_owned();
        // what is known there of the members that it asks for, where not even several parts together say it
        let known = || match &own[..] {
            [one] => Finding { here, world, can: &|_| false }.reason(one),
            _ => None,
        };
        Some(told(&all, start).or_else(known).unwrap_or_else(nothing))
    })
}

/// Whether it compares members as they are.
fn is_plain(piece: &Expr) -> bool {
    let plain = |expr: &Expr| {
        matches!(expr, Expr::GetAttr { .. } | Expr::Var(_) | Expr::Literal(_))
            || matches!(
                expr,
                Expr::UnaryOp {
                    op: UnaryOp::Decimal | UnaryOp::Datetime | UnaryOp::Duration | UnaryOp::Ip,
                    ..
                }
            )
    };
    match piece {
        Expr::UnaryOp { op: UnaryOp::Not, expr } => is_plain(expr),
        Expr::BinaryOp { left, right, .. } => plain(left) && plain(right),
        other => plain(other) || matches!(other, Expr::HasAttr { .. } | Expr::Is { .. }),
    }
}

/// What it is found by.
#[derive(Clone, Copy)]
struct Finding<'f, 'w> {
    here: &'f Where,
    world: &'f World<'w>,
    can: &'f dyn Fn(&[Clause]) -> bool,
}

impl Finding<'_, '_> {
    fn told(&self, parts: Vec<Part<'_>>) -> Option<Why> {
        let left = self.fewest(parts)?;
        let by_version = || versions::told(&left, self.here, self.world);
        let text = match &left[..] {
            [one] => match by_version().or_else(|| self.reason(one)) {
                // of a truth the reason says all
                Some(reason) if reason.starts_with(&format!("`{}` ", one.shown())) => reason,
                Some(reason) => format!("`{}`: {reason}", one.shown()),
                None => self.sides(one).unwrap_or_else(|| format!("`{}` is never true", one.shown())),
            },
            parts => match self.given(parts).or_else(by_version) {
                Some(known) => format!("{}: {known}", together(parts)),
                None => together(parts),
            },
        };
        Some(Why { at: begin(left.last()?.expr), text })
    }

    /// These without what can be left out; none where they can hold, or are too many.
    fn fewest<'e>(&self, mut parts: Vec<Part<'e>>) -> Option<Vec<Part<'e>>> {
        let holds = |parts: &[Part<'_>]| (self.can)(&parts.iter().map(Part::clause).collect::<Vec<_>>());
        if parts.len() > MAX_PARTS || holds(&parts) {
            return None;
        }
        for at in (0..parts.len()).rev() {
            let mut without = parts.clone();
            without.remove(at);
            if !without.is_empty() && !holds(&without) {
                parts = without;
            }
        }
        Some(parts)
    }

    /// Why neither of several that are joined by `||` is ever so.
    fn sides(&self, one: &Part<'_>) -> Option<String> {
        let Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } = &**one.expr else {
            return None;
        };
        if (*op == BinaryOp::Or) != one.truth {
            return None;
        }
        let each = [left, right].map(|side| {
            let mut parts = Vec::new();
            split(side, one.truth, &mut parts);
            self.told(parts).map(|why| why.text)
        });
        let [Some(left), Some(right)] = each else { return None };
        Some(format!("{left}; {right}"))
    }

    /// What is known of what a part asks for, where that is why it is never so.
    fn reason(&self, part: &Part<'_>) -> Option<String> {
        if matches!(
            &**part.expr,
            Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, .. } | Expr::IfThenElse { .. }
        ) {
            return None;
        }
        if let Some(whole) = self.of_part(part.expr) {
            return Some(whole);
        }
        let mut known: Vec<String> = Vec::new();
        // of a time of day it does not matter whose it is
        let mut within: Vec<*const Expr> = Vec::new();
        walk::each(part.expr, &mut |part| {
            if within.contains(&Arc::as_ptr(part)) {
                return;
            }
            if let Expr::UnaryOp { op: UnaryOp::ToTime, expr } = &**part {
                walk::each(expr, &mut |part| within.push(Arc::as_ptr(part)));
            }
            if let Some(one) = self.of_part(part).filter(|one| !known.contains(one)) {
                known.push(one);
            }
        });
        // of the end of a session beside something else than the clock that is no reason
        if !asks_the_clock(part.expr)
            && let Some(until) = known.iter_mut().find(|one| *one == UNTIL)
        {
            "`context.session.expires` is in whole seconds".clone_into(until);
            if known.len() > 1 {
                known.retain(|one| !one.ends_with("is in whole seconds"));
            }
        }
        known.truncate(MAX_NAMED);
        (!known.is_empty()).then(|| known.join(", "))
    }

    /// What is known of one part of an expression.
    fn of_part(&self, part: &Expr) -> Option<String> {
        match part {
            Expr::BinaryOp { left, right, .. } => match self.beside_itself(left, right) {
                Some(member) => Some(format!("`{}` is compared with itself", shown(member))),
                None => self.of_question(part),
            },
            _ => self.of_question(part),
        }
    }

    /// The member that both sides of a comparison are, or are moved from.
    fn beside_itself<'e>(&self, left: &'e Expr, right: &Expr) -> Option<&'e Expr> {
        if is_same_member(left, right) {
            return Some(left);
        }
        Looking::new(self.world).beside_itself(left, right, self.here)?;
        let mut of = left;
        loop {
            of = match of {
                Expr::UnaryOp { op: UnaryOp::ToDate, expr } => expr,
                other => match moved_by(other) {
                    Some((of, _)) => of,
                    None => return Some(of),
                },
            };
        }
    }

    /// The same of what asks for something else.
    fn of_question(&self, part: &Expr) -> Option<String> {
        match part {
            Expr::BinaryOp {
                op: BinaryOp::Contains | BinaryOp::ContainsAll | BinaryOp::ContainsAny | BinaryOp::Eq,
                left,
                ..
            } if is_credentials(left) => self.entry(left),
            Expr::BinaryOp { op: BinaryOp::Eq, left, right } if self.line(left, right).is_some() => {
                self.line(left, right)
            }
            Expr::BinaryOp { op: BinaryOp::Eq, left, right }
                if self.is_no_day(left, right) || self.is_no_day(right, left) =>
            {
                Some(MIDNIGHT.to_owned())
            }
            Expr::BinaryOp { op: BinaryOp::In | BinaryOp::Eq | BinaryOp::NotEq, left, .. } => {
                let all = self.here.end(Side::of(left)?).can_be.as_ref()?;
                Some(format!("`{}` is {}", written(left), self.agents(all.iter().copied())?))
            }
            Expr::Is { expr, entity_type, .. } if matches!(**expr, Expr::Var(Var::Resource)) => {
                match self.here.of_type.and_then(|at| self.world.catalogue.types.get(at)) {
                    Some(info) => Some(format!("`resource` is `{}`", info.name)),
                    None => {
                        let name = entity_type.to_string();
                        let info = self.world.catalogue.types.get(self.world.of_name(&name)?)?;
                        self.untaken(std::iter::once(info), &name)
                    }
                }
            }
            Expr::Like { expr, pattern } => {
                let (var, path) = path_of(expr)?;
                let Values::Ruled(rules) = Looking::new(self.world).known_of(&var, &path, self.here) else {
                    return None;
                };
                let (rule, text) = (rules.first()?, pattern.iter().filter_map(letter).collect::<String>());
                let wild = pattern.iter().any(|part| letter(part).is_none());
                let asks = if wild { rule.asks_having(&text) } else { rule.asks(&text) };
                Some(format!("of `{}` {asks}", written(expr)))
            }
            Expr::HasAttr { expr, attrs }
                if matches!(**expr, Expr::Var(Var::Context)) && attrs.first() == "session" =>
            {
                Some("a session is there where `context.locked` is true, and nowhere else".to_owned())
            }
            Expr::Var(Var::Action) => {
                let all: Vec<String> = self.here.actions.iter().map(|action| format!("`{action}`")).collect();
                (all.len() < Performative::ALL.len()).then(|| format!("`action` is {}", one_of(&all)))
            }
            Expr::UnaryOp { op: UnaryOp::ToTime, .. } => Some(self.time_of_day(part)),
            Expr::UnaryOp { op: UnaryOp::IsEmpty, expr } => {
                let (var, path) = path_of(part)?;
                let is = match Looking::new(self.world).known_of(&var, &path, self.here).truth() {
                    (false, true) => "never",
                    (true, false) => "always",
                    _ => return None,
                };
                Some(format!("`{}` is {is} empty", written(expr)))
            }
            Expr::GetAttr { .. } => {
                let (var, path) = path_of(part)?;
                if var == Var::Context && path.iter().eq(["session", "expires"]) {
                    return Some(UNTIL.to_owned());
                }
                let family = match self.world.family(&path, self.here).truth() {
                    (true, false) => Some("4"),
                    (false, true) => Some("6"),
                    _ => None,
                };
                if let Some(family) = family.filter(|_| var == Var::Resource) {
                    return Some(format!("`{}` is an IPv{family} address", written(part)));
                }
                let values = Looking::new(self.world).known_of(&var, &path, self.here);
                let is = described(&values, var == Var::Resource)?;
                if self.here.said(&var, &path).is_some() {
                    let is = is.trim_start_matches("always ");
                    return Some(format!("`{}` is {is} by what stands before it", written(part)));
                }
                let by = if self.lacks_tools(&var, &path) { NO_TOOL } else { &self.by_limits(&var, &path) };
                Some(format!("`{}` is {is}{by}", written(part)))
            }
            _ => None,
        }
    }

    /// Whether that is what is known of the binding, or of its version: nothing that the resource can be is a tool, or said by one protocol alone.
    fn lacks_tools(&self, var: &Var, path: &[String]) -> bool {
        let asked = matches!(path, [one] if matches!(one.as_str(), "binding" | "binding_version"));
        let bare = Where { facts: None, binding: None, ..self.here.clone() };
        *var == Var::Context && asked && self.world.bindings(&bare, false) == ["a2a", "l8"]
    }

    /// What a time of day can be, whatever stands before it.
    fn time_of_day(&self, time: &Expr) -> String {
        let bare = Where { facts: None, ..self.here.clone() };
        match Looking::new(self.world).values(time, &bare) {
            Values::Moments(times) if times.ends() == (0, 0) => MIDNIGHT.to_owned(),
            Values::Moments(times) if times.are_multiples(SECOND) => {
                "a time of day is in whole seconds, from `0h` on and below `24h`".to_owned()
            }
            _ => "a time of day is from `0h` on and below `24h`".to_owned(),
        }
    }

    /// Whether the day of something is compared with an instant that begins none.
    fn is_no_day(&self, day: &Expr, instant: &Expr) -> bool {
        matches!(day, Expr::UnaryOp { op: UnaryOp::ToDate, .. })
            && matches!(
                Looking::new(self.world).values(instant, self.here),
                Values::Moments(one) if one.ends().0 == one.ends().1 && !one.are_multiples(DAY)
            )
    }

    /// Of a comparison of the line: whether no concept of it takes an action of the scope.
    fn line(&self, left: &Expr, right: &Expr) -> Option<String> {
        let is_line = |expr: &Expr| {
            path_of(expr).is_some_and(|(var, path)| var == Var::Context && path.iter().eq(["line"]))
        };
        let line = match (left, right) {
            (member, Expr::Literal(Literal::String(line)))
            | (Expr::Literal(Literal::String(line)), member)
                if is_line(member) && self.here.of_type.is_none() =>
            {
                line.as_str()
            }
            _ => return None,
        };
        let types = self.world.catalogue.types.iter().filter(|info| info.line.as_str() == line);
        self.untaken(types, line)
    }

    /// Which actions of the scope none of these types takes.
    fn untaken<'t>(&self, types: impl Iterator<Item = &'t TypeInfo>, name: &str) -> Option<String> {
        let taken: PerformativeSet = types.flat_map(|info| info.performatives.iter()).collect();
        let asked: Vec<String> = self.here.actions.iter().map(|action| format!("`{action}`")).collect();
        (!taken.is_empty() && taken.and(self.here.actions).is_empty())
            .then(|| format!("nothing of `{name}` takes {}", asked.join(", ")))
    }

    /// Which bounds of the gateway say so of a score.
    fn by_limits(&self, var: &Var, path: &[String]) -> String {
        let (Var::Context, [scores, score], Some(most)) = (var, path, self.world.most()) else {
            return String::new();
        };
        let by = bound_of(score, most).filter(|_| scores == "scores");
        by.map_or_else(String::new, |(_, limits)| format!(" by {limits} of the configuration"))
    }

    /// What entries give, where one of these parts asks for credentials and the others say whose.
    fn given(&self, parts: &[Part<'_>]) -> Option<String> {
        let asked: Vec<Option<Arc<Expr>>> = parts.iter().map(|part| credentials_in(part.expr)).collect();
        let [credentials] = &asked.iter().flatten().collect::<Vec<_>>()[..] else { return None };
        let mut looking = Looking::new(self.world);
        let mut others = parts.iter().zip(&asked).filter(|(_, asked)| asked.is_none());
        let here = others
            .try_fold(self.here.clone(), |here, (part, _)| looking.narrowed(part.expr, part.truth, &here))?;
        Finding { here: &here, ..*self }.entry(credentials)
    }

    /// What the entries of the agents who are asked give.
    fn entry(&self, credentials: &Expr) -> Option<String> {
        given_by_entries(credentials, self.here, self.world)
    }

    /// These agents, if they are few.
    fn agents(&self, all: impl Iterator<Item = u32>) -> Option<String> {
        let list = self.world.agents()?;
        let few = all.take(MAX_NAMED + 1);
        let names: Vec<String> = few.filter_map(|at| Some(format!("`{}`", list.at(at)?.id))).collect();
        (1..=MAX_NAMED).contains(&names.len()).then(|| one_of(&names))
    }
}

/// What the entries of the agents whose credentials these are give, where it counts today.
pub(super) fn given_by_entries(credentials: &Expr, here: &Where, world: &World<'_>) -> Option<String> {
    let whose = world.whose(credentials, here)?;
    world.told_given(&whose, MAX_NAMED)
}

/// Whether it looks at the clock.
fn asks_the_clock(expr: &Arc<Expr>) -> bool {
    let mut found = false;
    walk::each(expr, &mut |part| {
        found |= path_of(part).is_some_and(|(var, path)| var == Var::Context && path == ["now"]);
    });
    found
}

/// The credentials that an expression asks for first.
pub(super) fn credentials_in(expr: &Arc<Expr>) -> Option<Arc<Expr>> {
    let mut found = None;
    walk::each(expr, &mut |part| {
        if found.is_none() && is_credentials(part) {
            found = Some(Arc::clone(part));
        }
    });
    found
}

/// Several parts that can be so by themselves.
fn together(parts: &[Part<'_>]) -> String {
    let named: Vec<String> = parts.iter().take(MAX_NAMED).map(|part| format!("`{}`", part.shown())).collect();
    let named = match (&named[..], parts.len().saturating_sub(MAX_NAMED)) {
        ([one, other], _) => format!("{one} and {other}"),
        (_, 0) => named.join(", "),
        (_, more) => format!("{}, and {more} more", named.join(", ")),
    };
    let meant = if are_alternatives(parts) { ": did you mean `||`?" } else { "" };
    format!("{named} are never true together{meant}")
}

/// Whether two ask one member for one thing and for another, where one of the two may have been meant. An agent and a group that it is not in
/// are no such two.
fn are_alternatives(parts: &[Part<'_>]) -> bool {
    let agent = |part: &Part<'_>| match &**part.expr {
        Expr::BinaryOp { op, left, .. } if Side::of(left).is_some() => Some(*op),
        _ => None,
    };
    let member = |part: &Part<'_>| match &**part.expr {
        Expr::BinaryOp { op: BinaryOp::Eq | BinaryOp::In, left, .. } if part.truth => path_of(left),
        Expr::Like { expr, .. } if part.truth => path_of(expr),
        _ => None,
    };
    matches!(
        parts,
        [one, other] if member(one).is_some() && member(one) == member(other) && agent(one) == agent(other)
    )
}

impl Part<'_> {
    pub fn shown(&self) -> String {
        if self.truth {
            return shown(self.expr);
        }
        shown(&Expr::UnaryOp { op: UnaryOp::Not, expr: Arc::clone(self.expr) })
    }
}

/// What values are, in words; none where nothing is known of them.
fn described(values: &Values, of_instance: bool) -> Option<String> {
    let numbers = |numbers: &Numbers, places| {
        let text = numbers.described(places);
        let open = numbers.ends() == Numbers::default().ends() && text.starts_with("it is at least");
        (!open).then(|| text.trim_start_matches("it is ").to_owned())
    };
    let text = match values {
        Values::Texts(all) => listed(all),
        Values::Numbers(all) => numbers(all, 0)?,
        Values::Decimals(all) => numbers(all, DECIMAL_PLACES)?,
        // of a length of time it is known that it is none below nothing
        Values::Moments(lengths) if of_instance && lengths.ends().0 == 0 => {
            "no shorter than nothing".to_owned()
        }
        Values::Bool { yes: true, no: false } => "always `true`".to_owned(),
        Values::Bool { yes: false, no: true } => "always `false`".to_owned(),
        _ => return None,
    };
    // of one there is no choice
    let one = text.strip_prefix("one of ").filter(|one| one.starts_with('`') && !one.contains("`, "));
    Some(one.map_or_else(|| text.clone(), str::to_owned))
}

fn one_of(all: &[String]) -> String {
    match all {
        [one] => one.clone(),
        all => format!("one of {}", all.join(", ")),
    }
}
