//! A question with everything in it, so that any part of any policy can be asked of it alone.

use std::sync::Arc;

use cedar_policy::pst::Expr;
use cedar_policy::{Entities, EvalResult, Request, eval_expression};

use super::truth::{Truth, Unknown};
use crate::rewrite;

/// A question as Cedar takes it, and what of it is made up because it is not known.
pub(crate) struct Scene {
    request: Request,
    entities: Entities,
    unknown: Unknown,
}

impl Scene {
    /// The scene of a request and its entities.
    pub fn new((request, entities): (Request, Entities), unknown: Unknown) -> Self {
        Self { request, entities, unknown }
    }

    /// The unknown part.
    pub const fn unknown(&self) -> &Unknown {
        &self.unknown
    }

    /// The value that Cedar gives an expression of type Bool that reads only known parts.
    pub fn ask(&self, expr: &Arc<Expr>) -> Truth {
        let expression = rewrite::as_expression(Expr::clone(expr));
        match eval_expression(&self.request, &self.entities, &expression) {
            Ok(EvalResult::Bool(true)) => Truth::True,
            Ok(EvalResult::Bool(false)) => Truth::False,
            _ => Truth::Error("it cannot be evaluated".into()),
        }
    }
}
