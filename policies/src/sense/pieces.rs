//! Pieces of a condition that say nothing: one that is true for no message, and a whole that is true for every one. Not judged are
//! what versions to come, and changes of groups, decide as a matter of course, and `true` and `false` that are written out.
//!
//! A version to come may take further actions. So what holds only since no version takes an action today is no fault: it says something
//! once one does, and until then it keeps nothing away that was meant to pass. That somebody asks for an action which nothing takes is one.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr, Literal, UnaryOp, Var};
use semgate_contexts::PerformativeSet;

use super::again::{Part, split};
use super::cases::alternatives;
use super::facts::{End, Where};
use super::possible::{Known, Looking};
use super::{World, each_way, implied, walk, why};

/// Characters of a piece that are shown.
const MAX_SHOWN: usize = 100;

/// A piece that says nothing.
#[derive(Debug)]
pub(super) struct Idle<'e> {
    pub piece: &'e Arc<Expr>,
    /// Whether it is so for every message, and not for none.
    pub always: bool,
    /// Whether the policy is for what is true of it.
    wanted: bool,
    /// Why it is true for none, in words.
    pub because: Option<String>,
}

/// The pieces of these conditions that say nothing. `asked` are the actions that the scope leaves open, whichever its type takes today.
pub(super) fn idle<'e>(
    clauses: &'e [Clause],
    here: &Where,
    asked: PerformativeSet,
    world: &World<'_>,
) -> Vec<Idle<'e>> {
    let open = Where { actions: asked, ..here.clone() };
    let mut found = nevers(clauses, &open, world);
    if found.is_empty() && asked != here.actions && ask_for_actions(clauses) {
        found = nevers(clauses, here, world);
        // what keeps away an action that nothing takes keeps it away once something does
        found.retain(|idle| idle.wanted);
    }
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        always(condition, None, &open, world, &mut found);
    }
    found
}

/// Whether they look at the action.
fn ask_for_actions(clauses: &[Clause]) -> bool {
    let mut found = false;
    for clause in clauses {
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        walk::each(condition, &mut |part| found |= matches!(&**part, Expr::Var(Var::Action)));
    }
    found
}

/// The innermost pieces that are never true.
fn nevers<'e>(clauses: &'e [Clause], here: &Where, world: &World<'_>) -> Vec<Idle<'e>> {
    let mut search = Search { standing: Standing::of(clauses, here, world), found: Vec::new() };
    let mut behind = Some(here.clone());
    for clause in clauses {
        let Some(here) = &behind else { break };
        let (Clause::When(condition) | Clause::Unless(condition)) = clause;
        let wanted = matches!(clause, Clause::When(_));
        let place = Place { of: None, wanted, has_to_be: Some(wanted), here };
        if wanted {
            search.never(condition, &place);
        } else {
            search.apart(condition, &place);
        }
        behind = search.looking().behind(clause, here);
        search.standing.before.push(Part { expr: condition, truth: wanted });
    }
    search.found
}

/// Looks for pieces that are never true.
struct Search<'e, 'w, 'a> {
    standing: Standing<'e, 'w, 'a>,
    found: Vec<Idle<'e>>,
}

/// What a piece is judged by as whole conditions are.
pub(super) struct Standing<'e, 'w, 'a> {
    pub world: &'w World<'a>,
    /// What is known where what stands before the piece begins: at the scope, and behind `!` and `unless` there. That these say again what is
    /// kept away before is no mistake.
    pub start: Where,
    /// What is so from there on wherever it comes to the piece.
    before: Vec<Part<'e>>,
    /// Whether conditions look at the direction, and at the binding.
    ways: (bool, bool),
}

/// Where in a condition a piece stands.
struct Place<'h> {
    /// The row that it is in.
    of: Option<BinaryOp>,
    /// Whether the policy is for what is true of it, and not for what is not.
    wanted: bool,
    /// What it has to be wherever the policy applies, if that is one.
    has_to_be: Option<bool>,
    /// What is known there of members as they are.
    here: &'h Where,
}

impl<'e, 'w, 'a> Standing<'e, 'w, 'a> {
    fn of(clauses: &[Clause], scope: &Where, world: &'w World<'a>) -> Self {
        let reads = |name: &str| {
            let mut found = false;
            for clause in clauses {
                let (Clause::When(condition) | Clause::Unless(condition)) = clause;
                walk::each(condition, &mut |part| {
                    found |= matches!(&**part, Expr::GetAttr { expr, attr }
                        if attr == name && matches!(**expr, Expr::Var(Var::Context)));
                });
            }
            found
        };
        let ways = (reads("direction"), reads("binding") || reads("binding_version"));
        Self { world, start: scope.clone(), before: Vec::new(), ways }
    }

    /// Whether these can hold together, by what no change brings as a matter of course.
    pub fn can(&self, clauses: &[Clause], here: &Where) -> bool {
        let reads = |name: &str| match name {
            "direction" => self.ways.0,
            "binding" => self.ways.1,
            _ => false,
        };
        // who is in the group of the scope may be another tomorrow
        let sender = if here.sender.named { here.sender.clone() } else { End::default() };
        let here = Where { sender, ..here.clone() };
        let holds = |here: Where| Looking::knowing(self.world, Known::Lasting).clauses(clauses, &here);
        each_way(reads, &here, self.world).into_iter().any(holds) && !implied::contradict(clauses, self.world)
    }

    /// What stands before a piece and has no alternatives: of several that overlap with others nobody means to say that some are left over.
    pub fn sure(&self) -> Vec<Part<'e>> {
        let mut parts = Vec::new();
        self.before.iter().for_each(|part| split(part.expr, part.truth, &mut parts));
        parts.retain(|part| alternatives(part).is_none());
        parts
    }

    /// Whether a piece is true for no message that comes to it. Where nothing comes to it at all, another piece is why.
    fn is_vain(&self, piece: &Arc<Expr>) -> bool {
        let before: Vec<Clause> = self.sure().iter().map(Part::clause).collect();
        let mut all = before.clone();
        all.push(Clause::When(Arc::clone(piece)));
        self.world.steps().piece_by_piece(|| {
            !self.can(&all, &self.start) && (before.is_empty() || self.can(&before, &self.start))
        })
    }
}

impl<'e, 'w, 'a> Search<'e, 'w, 'a> {
    const fn looking(&self) -> Looking<'w, 'a> {
        Looking::knowing(self.standing.world, Known::Structure)
    }

    /// Notes the innermost pieces that are never true. A row of the same operator is looked at as a whole, and its beginnings where the whole is
    /// never true.
    fn never(&mut self, expr: &'e Arc<Expr>, place: &Place<'_>) {
        let before = self.found.len();
        let Place { wanted, has_to_be, here, .. } = *place;
        let row = row(expr);
        match &**expr {
            Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let all = *op == BinaryOp::And;
                let inner = Place { of: row, has_to_be: has_to_be.filter(|truth| *truth == all), ..*place };
                self.never(left, &inner);
                self.behind((left, all), right, &inner);
            }
            Expr::UnaryOp { op: UnaryOp::Not, expr } => {
                let (wanted, has_to_be) = (!wanted, has_to_be.map(|truth| !truth));
                self.apart(expr, &Place { of: None, wanted, has_to_be, here });
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => {
                self.never(cond, &Place { of: None, wanted: true, has_to_be: None, here });
                let inner = Place { of: None, wanted, has_to_be: None, here };
                // that a branch says again what it is a branch of is no mistake
                self.never(then_expr, &inner);
                self.never(else_expr, &inner);
            }
            _ => {}
        }
        let in_row = place.of.is_some() && row == place.of;
        if self.found.len() == before && !in_row && self.is_never(expr, place) {
            let piece = first_of(expr, |expr| self.is_never(expr, place));
            let because = why::of_piece(piece, here, &self.standing);
            self.found.push(Idle { piece, always: false, wanted, because });
        }
    }

    /// The same behind something that is so, or not, if it ever is. Behind `||` a narrower alternative says nothing new, and hides nothing either: only what
    /// members are counts there.
    fn behind(&mut self, (before, truth): (&'e Arc<Expr>, bool), expr: &'e Arc<Expr>, place: &Place<'_>) {
        let Some(here) = self.looking().narrowed(before, truth, place.here) else { return };
        let place = Place { here: &here, ..*place };
        if truth {
            self.standing.before.push(Part { expr: before, truth });
            self.never(expr, &place);
            self.standing.before.pop();
        } else {
            self.never(expr, &place);
        }
    }

    /// The same of what a policy asks not to be.
    fn apart(&mut self, expr: &'e Arc<Expr>, place: &Place<'_>) {
        let start = std::mem::replace(&mut self.standing.start, place.here.clone());
        let before = std::mem::take(&mut self.standing.before);
        self.never(expr, place);
        self.standing.start = start;
        self.standing.before = before;
    }

    fn is_never(&self, expr: &Arc<Expr>, place: &Place<'_>) -> bool {
        if has_literal(expr) {
            return false;
        }
        let mut looking = self.looking();
        if !looking.values(expr, place.here).truth().0 || !looking.row_again(expr, place.here) {
            return true;
        }
        // what has to be so can be, since the whole can; of `||` each side is looked at, and of `&&` the whole
        let by_others = place.has_to_be == Some(true)
            || place.of == Some(BinaryOp::And)
            || row(expr) == Some(BinaryOp::Or);
        !by_others && self.standing.is_vain(expr)
    }
}

/// The operator of `&&` or `||`, if no `true` or `false` is written out in it.
fn row(expr: &Expr) -> Option<BinaryOp> {
    match expr {
        Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), .. } if !has_literal(expr) => Some(*op),
        _ => None,
    }
}

/// The shortest beginning of a row that is so.
fn first_of(expr: &Arc<Expr>, mut is_so: impl FnMut(&Arc<Expr>) -> bool) -> &Arc<Expr> {
    let mut piece = expr;
    while let Expr::BinaryOp { left, .. } = &**piece
        && row(piece).is_some()
        && row(left) == row(piece)
        && is_so(left)
    {
        piece = left;
    }
    piece
}

/// Notes a condition, or what stands with `||` in it, that is so whatever a message says.
fn always<'e>(
    expr: &'e Arc<Expr>,
    of: Option<BinaryOp>,
    here: &Where,
    world: &World<'_>,
    found: &mut Vec<Idle<'e>>,
) {
    let before = found.len();
    let row = row(expr);
    if let Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } = &**expr {
        always(left, row, here, world, found);
        always(right, row, here, world, found);
    }
    if found.len() > before || has_literal(expr) || (of.is_some() && row == of) {
        return;
    }
    let open = Where {
        of_type: None,
        version: None,
        facts: None,
        sender: End::default(),
        receiver: End::default(),
        ..here.clone()
    };
    let is_always = |expr: &Arc<Expr>| !Looking::knowing(world, Known::Nothing).values(expr, &open).truth().1;
    if is_always(expr) {
        found.push(Idle { piece: first_of(expr, is_always), always: true, wanted: true, because: None });
    }
}

/// Whether somebody wrote `true` or `false` in it, which is meant as it stands.
pub(super) fn has_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(Literal::Bool(_)) => true,
        Expr::UnaryOp { op: UnaryOp::Not, expr } => has_literal(expr),
        Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            has_literal(left) || has_literal(right)
        }
        Expr::IfThenElse { cond, then_expr, else_expr } => {
            [cond, then_expr, else_expr].into_iter().any(|part| has_literal(part))
        }
        _ => false,
    }
}

/// By what a piece is found in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin {
    /// Its first variable.
    pub variable: *const Expr,
    /// The word that it begins with before that: of a written list, of `if`, and of what a function makes of a text.
    pub word: Option<&'static str>,
}

/// Where a piece begins.
pub(super) fn begin(expr: &Arc<Expr>) -> Option<Begin> {
    let mut all = Vec::new();
    variables(expr, &mut all);
    all.first().map(|variable| Begin { variable: *variable, word: first_word(expr) })
}

fn first_word(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::BinaryOp { left, .. } => first_word(left),
        Expr::GetAttr { expr, .. }
        | Expr::HasAttr { expr, .. }
        | Expr::Like { expr, .. }
        | Expr::Is { expr, .. } => first_word(expr),
        Expr::IfThenElse { .. } => Some("if"),
        Expr::Set(_) => Some("["),
        Expr::UnaryOp { op: UnaryOp::Decimal, .. } => Some("decimal"),
        Expr::UnaryOp { op: UnaryOp::Datetime, .. } => Some("datetime"),
        Expr::UnaryOp { op: UnaryOp::Duration, .. } => Some("duration"),
        Expr::UnaryOp { op: UnaryOp::Ip, .. } => Some("ip"),
        Expr::UnaryOp { op: UnaryOp::Not, .. } => None,
        Expr::UnaryOp { expr, .. } => first_word(expr),
        _ => None,
    }
}

/// A piece as policies write it.
pub(super) fn shown(expr: &Expr) -> String {
    let text = expr.to_string();
    let mut shown: String = text.chars().take(MAX_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Every variable in the order of the text.
pub(super) fn variables(expr: &Arc<Expr>, all: &mut Vec<*const Expr>) {
    walk::each(expr, &mut |part| {
        if matches!(&**part, Expr::Var(_)) {
            all.push(Arc::as_ptr(part));
        }
    });
}
