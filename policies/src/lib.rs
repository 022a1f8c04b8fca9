//! Who may say it: agents, Cedar policies over typed concepts, one question in and one verdict out.
//!
//! [`Policies::load`] takes the policy files, the agents and every loaded context document, generates the Cedar
//! schema from the contexts, and refuses to load anything that names a field no version has, compares the wrong
//! type or can never match. [`Policies::decide`] answers one [`Question`] about one concept instance; whatever is
//! not permitted is denied, and any error while a policy is evaluated is a refusal. A [`Policies`] value never
//! changes: a reload builds another one (one *generation*), so a remembered verdict can never outlive what it was
//! computed from.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod agents;
mod analysis_input;
mod annotations;
mod around;
mod ask;
mod beside;
mod budgets;
mod catalogue;
mod check;
mod circumstances;
mod convert;
mod credentials;
mod decide;
mod evaluate;
mod explain;
mod fault;
mod fields;
mod fit;
mod index;
mod judged;
mod kinds;
mod learnt;
mod limits;
mod lived;
mod may;
mod memory;
mod moments;
mod names;
mod nesting;
mod numbers;
mod openness;
mod pace;
mod parse;
mod parts;
mod plain;
mod policies;
mod publishers;
mod rate;
mod reads;
mod record;
mod redactable;
mod rewrite;
mod rule;
mod scope;
mod sense;
mod slips;
mod source;
mod spaces;
mod spots;
mod strings;
mod told;

pub use agents::AgentEntry;
pub use analysis_input::{ContextTypes, ParsedPolicy, parse_set};
pub use annotations::Obligation;
pub use beside::{Clash, clashes, namesakes, untyped};
pub use budgets::{Budget, Budgets, Spoken};
pub use circumstances::{Circumstances, Scores, Session};
pub use credentials::{CERTIFICATE_SPACE, Credentials, TOKEN_SPACE, is_shown};
pub use decide::{LineUse, MaySay, NoPolicy, Obligations, Question, Texts, Verdict};
pub use explain::{
    Cell, Condition, Explainer, Explanation, Holds, Matrix, MatrixRow, Part, Parties, Recalled, Recorded,
    ToPass, Weighed,
};
pub use fault::{LeftOut, Place, PolicyFault};
pub use fields::{FieldPath, has_field};
pub use limits::{PolicyLimits, Route, ScoreBounds};
pub use lived::{Lived, NotLived};
pub use pace::{gently, rest};
pub use policies::{Floors, Policies, schema_text};
pub use publishers::{PublisherAct, PublisherPolicies, Ruling};
pub use rate::{Period, Rate, RateKey};
pub use record::{Keep, KeepAs, Keeper};
pub use source::{Located, PolicySource};

#[cfg(test)]
mod tests;
