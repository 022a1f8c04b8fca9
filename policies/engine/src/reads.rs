//! The inputs of a policy, by its syntax alone.
//!
//! Three things rest on it: only attributes that are read are handed to Cedar, a verdict is remembered only if no
//! policy that could apply reads the instance, and the context record holds only members that are read. Every form
//! that is not recognised counts as reading everything, so a newer Cedar can make this slower but never wrong.

use std::collections::BTreeSet;

use cedar_policy::pst::{BinaryOp, Clause, EntityUID, Expr, Literal, Var};

/// A record or entity of which some attributes are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Attributes {
    /// The whole value is used in a way that names no attribute.
    pub all: bool,
    /// Attributes that are read or asked for with `has`.
    pub names: BTreeSet<String>,
}

impl Attributes {
    /// Reads nothing.
    pub fn none(&self) -> bool {
        !self.all && self.names.is_empty()
    }

    /// Reads this attribute.
    pub fn wants(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

/// Everything that the conditions of a policy, or of several, look at besides the action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reads {
    /// Attributes of the concept instance; its type is not one of them.
    pub resource: Attributes,
    /// Attributes of the sender; its id and its groups are not among them.
    pub principal: Attributes,
    /// Members of the context record.
    pub context: Attributes,
    /// Members of `context.scores`.
    pub scores: Attributes,
    /// Agents named in a condition, whose groups and credentials it may ask for.
    pub agents: BTreeSet<String>,
    /// Types that a condition asks for or names an entity of.
    pub types: BTreeSet<String>,
}

impl Reads {
    /// The inputs of the conditions of one policy.
    pub fn of(clauses: &[Clause]) -> Self {
        let mut reads = Self::default();
        for clause in clauses {
            match clause {
                Clause::When(expr) | Clause::Unless(expr) => reads.visit(expr),
            }
        }
        reads
    }

    fn visit(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Var(var) => {
                if let Some(attributes) = self.variable(var) {
                    attributes.all = true;
                }
                self.scores.all |= matches!(var, Var::Context);
            }
            Expr::GetAttr { expr, attr } => self.attribute(expr, attr),
            Expr::HasAttr { expr, attrs } => match (&**expr, attrs.tail.first()) {
                // `context has scores.unusual`
                (Expr::Var(Var::Context), Some(score)) if attrs.first() == SCORES_MEMBER => self.score(score),
                _ => self.attribute(expr, attrs.first()),
            },
            Expr::Is { expr, entity_type, in_expr } => {
                self.types.insert(entity_type.to_string());
                // The type of the instance is part of what a verdict is remembered under.
                if !matches!(&**expr, Expr::Var(_)) {
                    self.visit(expr);
                }
                if let Some(parent) = in_expr {
                    self.compared(expr);
                    self.compared(parent);
                }
            }
            Expr::UnaryOp { expr, .. } | Expr::Like { expr, .. } => self.visit(expr),
            Expr::BinaryOp { op: BinaryOp::Eq | BinaryOp::NotEq | BinaryOp::In, left, right } => {
                self.compared(left);
                self.compared(right);
            }
            Expr::BinaryOp { left, right, .. } => {
                self.visit(left);
                self.visit(right);
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => {
                self.visit(cond);
                self.visit(then_expr);
                self.visit(else_expr);
            }
            Expr::Set(items) => items.iter().for_each(|item| self.visit(item)),
            Expr::Record(members) => members.values().for_each(|member| self.visit(member)),
            _ => self.everything(),
        }
    }

    fn everything(&mut self) {
        for part in [&mut self.resource, &mut self.principal, &mut self.context, &mut self.scores] {
            part.all = true;
        }
    }

    /// Visits an operand of a comparison, which asks for the identity and the groups of an agent and no more.
    fn compared(&mut self, expr: &Expr) {
        if !matches!(expr, Expr::Var(Var::Principal)) {
            self.visit(expr);
        }
    }

    fn attribute(&mut self, of: &Expr, name: &str) {
        match of {
            Expr::Var(var) => {
                if let Some(attributes) = self.variable(var) {
                    attributes.names.insert(name.to_owned());
                }
                // used as a whole
                self.scores.all |= matches!(var, Var::Context) && name == SCORES_MEMBER;
            }
            Expr::GetAttr { expr, attr } if is_context(expr) && attr == SCORES_MEMBER => self.score(name),
            other => self.visit(other),
        }
    }

    fn score(&mut self, name: &str) {
        self.context.names.insert(SCORES_MEMBER.to_owned());
        self.scores.names.insert(name.to_owned());
    }

    /// The action has no attributes.
    fn variable(&mut self, var: &Var) -> Option<&mut Attributes> {
        match var {
            Var::Action => None,
            Var::Principal => Some(&mut self.principal),
            Var::Resource => Some(&mut self.resource),
            Var::Context => Some(&mut self.context),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::EntityUID(EntityUID { ty, eid }) => {
                let name = ty.to_string();
                if name == "Agent" {
                    self.agents.insert(eid.to_string());
                }
                self.types.insert(name);
            }
            Literal::Bool(_) | Literal::Long(_) | Literal::String(_) => {}
            _ => self.everything(),
        }
    }
}

/// The member of the context record that holds the scores.
const SCORES_MEMBER: &str = "scores";

const fn is_context(expr: &Expr) -> bool {
    matches!(expr, Expr::Var(Var::Context))
}

#[cfg(test)]
mod tests;
