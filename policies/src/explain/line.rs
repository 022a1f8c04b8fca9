//! A line that is refused as a whole: the permits of it that come near, though no condition was ever looked at.

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, UnaryOp, Var};
use semgate_contexts::{Line, Performative};

use super::scope::{self, Fit};
use super::{Explainer, Explanation, Part, Recalled, ToPass, Weighed, changes, wish};
use crate::catalogue::TypeInfo;
use crate::parse::Written;

impl Explainer {
    /// For each concept of a line that no policy lets this sender use, the permits that would let somebody else: what of their scope does
    /// not fit, and what they ask beside it. Of the message its line is known, and its performative where that was read. None for a line of
    /// which policies know no concept.
    #[must_use]
    pub fn refused_line(&self, sender: &str, line: &Line, action: Option<Performative>) -> Vec<Recalled> {
        let types = self.policies.asker().catalogue.types.iter().filter(|info| info.line == *line);
        types.map(|info| self.refused_type(sender, &Said { info, action })).collect()
    }

    fn refused_type(&self, sender: &str, said: &Said<'_>) -> Recalled {
        let info = said.info;
        let agents = &self.policies.asker().agents.list;
        let entry = agents.position(sender).and_then(|position| agents.at(position));
        let disabled = entry.is_some_and(|entry| entry.disabled);
        let about = |written: &&Written| {
            !disabled
                && written.permits()
                && scope::resource(written, info) == Fit::Yes
                && !written.clauses.iter().any(|clause| said.clause(clause) == Some(false))
        };
        let misfits = |written: &Written| -> Vec<String> {
            let sender = scope::principal(written, sender, entry).wish().map(str::to_owned);
            let action = match said.action {
                Some(action) => scope::action(written, action).wish().map(str::to_owned),
                None => scope::performatives(written),
            };
            sender.into_iter().chain(action).collect()
        };
        let permits = || self.written.iter().filter(about);
        let needs = |written: &Written| {
            let scope = misfits(written).into_iter();
            let asks = if written.asks() { changes::ASKS } else { "" };
            scope
                .chain(wish::conditions(&written.clauses, |expr| said.holds(expr)))
                .collect::<Vec<_>>()
                .join("; and ")
                + asks
        };
        // nothing passes by one that asks a human, so that it is told where there is no other
        let alike = |written: &&Written| permits().all(Written::asks) || !written.asks();
        let to_pass = if disabled {
            ToPass::just("the sender may not be disabled in `entities.json`")
        } else {
            ToPass::default().with_permits(permits().filter(alike).map(|written| (written, needs(written))))
        };
        let mut policies: Vec<Weighed> =
            permits().map(|written| self.told_of(written, Part::Near, misfits(written), None)).collect();
        policies.sort_by(|a, b| a.id.cmp(&b.id));
        Recalled {
            concept: info.name.clone(),
            then: "denied".to_owned(),
            now: Some("denied"),
            explanation: Explanation { verdict: None, policies, to_pass },
            ..Recalled::default()
        }
    }
}

/// What is known of a message of whose line no condition was looked at.
struct Said<'m> {
    info: &'m TypeInfo,
    action: Option<Performative>,
}

impl Said<'_> {
    /// Whether a clause is met, where what is known says so.
    fn clause(&self, clause: &Clause) -> Option<bool> {
        match clause {
            Clause::When(expr) => self.holds(expr),
            Clause::Unless(expr) => self.holds(expr).map(|holds| !holds),
        }
    }

    /// Whether a condition holds, where what is known says so.
    fn holds(&self, expr: &Arc<Expr>) -> Option<bool> {
        match &**expr {
            Expr::Literal(Literal::Bool(value)) => Some(*value),
            Expr::UnaryOp { op: UnaryOp::Not, expr } => self.holds(expr).map(|holds| !holds),
            Expr::BinaryOp { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let decides = *op == BinaryOp::Or;
                let sides = [self.holds(left), self.holds(right)];
                let decided = sides.contains(&Some(decides)).then_some(decides);
                decided.or_else(|| sides.iter().all(Option::is_some).then_some(!decides))
            }
            Expr::BinaryOp { op: op @ (BinaryOp::Eq | BinaryOp::NotEq), left, right } => {
                let same = self.is_line(left, right).or_else(|| self.is_line(right, left));
                let same =
                    same.or_else(|| self.is_action(left, right)).or_else(|| self.is_action(right, left))?;
                Some(same == (*op == BinaryOp::Eq))
            }
            Expr::BinaryOp { op: BinaryOp::In, left, right } => self.is_one_of(left, right),
            Expr::BinaryOp { op: BinaryOp::Contains, left, right } => self.is_one_of(right, left),
            Expr::Is { expr, entity_type, in_expr: None } if matches!(**expr, Expr::Var(Var::Resource)) => {
                Some(entity_type.to_string() == self.info.name)
            }
            _ => None,
        }
    }

    /// Whether the line is the one that is named.
    fn is_line(&self, member: &Expr, named: &Expr) -> Option<bool> {
        let (Expr::GetAttr { expr, attr }, Expr::Literal(Literal::String(named))) = (member, named) else {
            return None;
        };
        (matches!(**expr, Expr::Var(Var::Context)) && attr == "line")
            .then(|| named.as_str() == self.info.line.as_str())
    }

    /// Whether the performative is one of those that are named.
    fn is_one_of(&self, action: &Expr, named: &Expr) -> Option<bool> {
        let Expr::Set(items) = named else { return self.is_action(action, named) };
        let each: Option<Vec<bool>> = items.iter().map(|item| self.is_action(action, item)).collect();
        each.map(|each| each.contains(&true))
    }

    /// Whether the performative is the one that is named.
    fn is_action(&self, action: &Expr, named: &Expr) -> Option<bool> {
        let (Expr::Var(Var::Action), Expr::Literal(Literal::EntityUID(EntityUID { eid, .. }))) =
            (action, named)
        else {
            return None;
        };
        self.action.map(|action| *eid == action.as_str())
    }
}
