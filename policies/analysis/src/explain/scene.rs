//! A question with everything in it, and the parts of it that are made up because nobody knows them.

use cedar_policy::pst::Expr;
use semgate_policies::FullQuestion;

use super::truth::{Truth, Unknown};

/// A question of which some parts may be unknown.
pub(crate) struct Scene {
    pub question: FullQuestion,
    pub unknown: Unknown,
}

impl Scene {
    /// The value of an expression of type Bool that reads only known parts.
    pub fn ask(&self, expr: &Expr) -> Truth {
        match self.question.holds(expr) {
            Some(true) => Truth::True,
            Some(false) => Truth::False,
            None => Truth::Error("it cannot be evaluated".into()),
        }
    }
}
