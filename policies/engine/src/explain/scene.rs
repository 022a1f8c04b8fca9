//! A question with everything in it, so that any part of any policy can be asked of it alone.

use std::sync::Arc;

use cedar_policy::pst::{self, Clause, Expr};
use cedar_policy::{Authorizer, Decision, Entities, Policy, PolicySet, Request};

use super::truth::{Truth, Unknown};
use crate::Verdict;

/// A question as Cedar takes it, and what of it is made up because it is not known.
pub(crate) struct Scene {
    request: Request,
    entities: Entities,
    unknown: Unknown,
    authorizer: Authorizer,
    /// A permit of everything, to which conditions are given.
    blank: pst::Template,
}

impl Scene {
    /// The scene of a request and its entities.
    ///
    /// # Errors
    /// Cedar does not take the policy that permits everything, which a test rules out.
    pub fn new((request, entities): (Request, Entities), unknown: Unknown) -> Result<Self, Verdict> {
        let internal = |why: String| Verdict::Errored { policies: crate::Texts::default(), why: why.into() };
        let policy: Policy = "permit (principal, action, resource);"
            .parse()
            .map_err(|e: cedar_policy::ParseErrors| internal(e.to_string()))?;
        let blank = match policy.to_pst().map_err(|e| internal(e.to_string()))? {
            pst::Policy::Static(body) => body.body().clone(),
            _ => return Err(internal("a policy that is no policy".to_owned())),
        };
        Ok(Self { request, entities, unknown, authorizer: Authorizer::new(), blank })
    }

    /// What of it is not known.
    pub const fn unknown(&self) -> &Unknown {
        &self.unknown
    }

    /// What Cedar makes of an expression of type Bool that reads only what is known.
    pub fn ask(&self, expr: &Arc<Expr>) -> Truth {
        let failed = |why: &str| Truth::Error(why.into());
        let Some(set) = self.with(expr) else { return failed("a condition that cannot be asked alone") };
        let response = self.authorizer.is_authorized(&self.request, &set, &self.entities);
        if response.diagnostics().errors().next().is_some() {
            return failed("it cannot be evaluated");
        }
        match response.decision() {
            Decision::Allow => Truth::True,
            Decision::Deny => Truth::False,
        }
    }

    fn with(&self, expr: &Arc<Expr>) -> Option<PolicySet> {
        let body = self.blank.clone().try_with_clauses(vec![Clause::When(Arc::clone(expr))]).ok()?;
        let policy = Policy::from_pst(pst::Policy::Static(pst::StaticPolicy::try_from(body).ok()?)).ok()?;
        PolicySet::from_policies([policy]).ok()
    }
}
