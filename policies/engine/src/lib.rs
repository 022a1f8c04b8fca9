//! Decisions on messages: agents, Cedar policies over typed concepts, one question in and one verdict out.
//!
//! [`Policies::load`] takes the policy files, the agents and every loaded context document and generates the Cedar
//! schema from the contexts. It refuses what Cedar's strict validation refuses, names that `entities.json` does not
//! declare, unknown annotations and literals that no version of a member takes. [`Policies::decide`] answers one [`Question`] about one concept instance; whatever is
//! not permitted is denied, and any error while a policy is evaluated is a refusal. A [`Policies`] value never
//! changes: a reload builds another one (one *generation*), so a remembered verdict can never outlive what it was
//! computed from.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod agents;
mod analysis_input;
mod annotations;
mod approval;
mod ask;
mod budgets;
mod catalogue;
mod check;
mod circumstances;
mod confidence_members;
mod context_record;
mod convert;
mod credentials;
mod decide;
mod demands;
mod evaluate;
mod fault;
mod fields;
mod fit;
mod full_question;
mod index;
mod json_locations;
mod kinds;
mod limits;
mod may;
mod memory;
mod moments;
mod names;
mod negotiated_terms;
mod nesting;
mod open_objects;
mod pace;
mod parse;
mod partial;
mod parts;
mod plain;
mod policies;
mod policy_text;
mod publishers;
mod rate;
mod reads;
mod record;
mod redactable;
mod rewrite;
mod rule;
mod scope;
mod source;
mod spaces;
mod suggest;
mod type_conflicts;
mod wants;

pub use agents::{AgentEntry, AgentKey, AgentName};
pub use analysis_input::{ContextTypes, ParsedPolicy, parse_set};
pub use annotations::Obligation;
pub use approval::{
    Approval, ApproveWhen, Approvers, Assurance, ConfidenceFloor, Escalation, ReasonRule, Reuse,
};
pub use budgets::{Budget, Budgets, Spoken};
pub use catalogue::{CONTEXT_MEMBERS, TEXT_SCORES};
pub use circumstances::{Circumstances, Scores, Session, TextScores, TextWants};
pub use credentials::{CERTIFICATE_SPACE, Credentials, TOKEN_SPACE, is_shown};
pub use decide::{LineUse, MaySay, NoPolicy, Obligations, Parties, Question, Texts, Verdict};
pub use demands::demands;
pub use fault::{LeftOut, Location, PolicyFault};
pub use fields::{FieldPath, dotted, has_field};
pub use full_question::{ConceptType, FullQuestion, TypedShape};
pub use limits::PolicyLimits;
pub use names::cedar_type;
pub use pace::{gently, rest};
pub use policies::{Floors, Policies, schema_text};
pub use publishers::{PublisherAct, PublisherPolicies, Ruling};
pub use rate::{Period, Rate, RateKey};
pub use record::{Keep, KeepAs, Keeper};
pub use source::{Located, PolicySource};
pub use suggest::closest;
pub use type_conflicts::{Clash, clashes, namesakes, untyped};

#[cfg(test)]
extern crate self as semgate_policies;
#[cfg(test)]
mod tests;
