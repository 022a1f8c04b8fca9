//! Offline analysis of a policy set: policies that never apply, that others cover, and parts of conditions that decide nothing.
//!
//! Cedar's symbolic compiler turns each question into SMT-LIB, and a solver decides it. Knowledge of contexts, versions, agents and clock
//! is written as Cedar expressions and given to the solver as further conditions. A finding is a proof; a question without an answer in time
//! is no finding. The command line runs this, the gateway never does.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod analysis;
mod expression;
mod facts;
mod ground;
mod parts;
mod reasons;
mod report;
mod smt;
mod solver;

pub use analysis::Analyser;
pub use facts::{Lasting, Setting};
pub use report::{Finding, FindingKind, Level, Report};
pub use solver::{Answer, Clock, Solver, SolverFault, SolverLimits};
