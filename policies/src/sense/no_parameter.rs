//! Questions about a parameter that no context has: such a message is refused before policies are asked (F0-26). Options may be offered for a
//! name that no context has (F0-31).

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::ResourceConstraint;
use cedar_policy::pst::{BinaryOp, Expr, Var};
use semgate_contexts::Context;

use super::again::parts;
use super::around::QUESTION;
use super::members::path_of;
use super::never::{Literally, compared_with};
use super::walk;
use crate::PolicyFault;
use crate::check::{Texts, closest};
use crate::parse::Written;

/// The member of a question that names what it is about.
const PARAMETER: &str = "parameter";

impl Texts<'_> {
    /// Advice about each text that a policy compares the parameter of a question with, and that is a parameter of none of these contexts: a version
    /// to come may have it.
    pub fn no_parameters(&self, contexts: &[Arc<Context>]) -> Vec<PolicyFault> {
        let (mut found, all) = (Vec::new(), OnceCell::new());
        for written in self.each().filter(|written| is_about(written)) {
            let known: &BTreeSet<&str> = all.get_or_init(|| parameters(contexts));
            for asked in asked(written).into_iter().filter(|asked| !known.contains(asked.text.as_str())) {
                found.push(PolicyFault::NoParameter {
                    place: self.place_of_text(written, &asked),
                    policy: written.id.to_string(),
                    hint: closest(&asked.text, known.iter().copied())
                        .map(|near| format!("did you mean `{near}`?")),
                    name: asked.text,
                });
            }
        }
        found
    }
}

/// Whether it is about questions alone.
fn is_about(written: &Written) -> bool {
    let is_question = |part: &Expr| match part {
        Expr::Is { expr, entity_type, .. } => {
            matches!(**expr, Expr::Var(Var::Resource)) && entity_type.to_string() == QUESTION
        }
        _ => false,
    };
    written.reads.resource.wants(PARAMETER)
        && match written.policy.resource_constraint() {
            ResourceConstraint::Is(name) => name.to_string() == QUESTION,
            _ => parts(&written.judged).iter().any(|part| part.truth && is_question(part.expr)),
        }
}

fn parameters(contexts: &[Arc<Context>]) -> BTreeSet<&str> {
    let mut all = BTreeSet::new();
    for context in contexts {
        context.each_parameter(|name, _| {
            all.insert(name);
        });
    }
    all
}

/// The texts that the parameter is compared with.
fn asked(written: &Written) -> Vec<Literally> {
    let is = |expr: &Expr| path_of(expr) == Some((Var::Resource, vec![PARAMETER.to_owned()]));
    let mut all = Vec::new();
    walk::of_two(&written.judged, |op, left, right| match op {
        BinaryOp::Eq | BinaryOp::NotEq if is(left) => compared_with(right, &mut all),
        BinaryOp::Eq | BinaryOp::NotEq | BinaryOp::Contains if is(right) => compared_with(left, &mut all),
        _ => {}
    });
    all
}
