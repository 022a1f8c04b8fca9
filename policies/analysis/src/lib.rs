//! Offline analysis of a policy set: policies that never apply, that others cover, and parts of conditions that decide nothing.
//! [`Explainer`] gives the policies and clauses behind one verdict, and behind all verdicts as a [`Matrix`].
//!
//! Cedar's symbolic compiler turns each question into SMT-LIB, and a solver decides it. Knowledge of contexts, versions, agents and clock
//! is written as Cedar expressions and given to the solver as further conditions. A finding is a proof; a question without an answer in time
//! is no finding. The command line runs this, the gateway never does.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod analysis;
mod explain;
mod expression;
mod facts;
mod ground;
mod parts;
mod reasons;
mod report;
mod smt;
mod solver;

pub use analysis::Analyser;
pub use explain::{
    Cell, Condition, Explainer, Explanation, Holds, Matrix, MatrixRow, Part, Recalled, Recorded, Weighed,
};
pub use facts::{Lasting, Setting};
pub use report::{Finding, FindingKind, Level, Report};
pub use solver::{Answer, Clock, Solver, SolverFault, SolverLimits};

#[cfg(test)]
#[path = "../../engine/src/tests/house.rs"]
mod house;
