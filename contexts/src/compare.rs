//! Comparing two contexts: does everything that the one accepts pass the other? (`docs/spec/compatibility.md`)
//!
//! The answer is about languages, not keywords. [`Verdict::Compatible`] is a proof that no content is accepted by the one and
//! refused by the other. [`Verdict::Breaking`] comes with such content, which both compiled validators have judged.
//! Everything else is [`Verdict::Unknown`], with the reason that the search stopped. The rules by construct are in
//! `docs/spec/compatibility.md`.
//!
//! The path of a pair: `read` turns the schemas that the validator compiles into formulas (`formula`). `solve` looks for a
//! value that the first takes and the second does not. Work is counted and bounded; the caller's clock is a second bound
//! below the count.

mod approvals;
mod automata;
mod budget;
mod cancel;
mod case_collisions;
mod changes;
mod decimal;
mod document;
mod embeddings;
mod formats;
mod formula;
mod free_text_marks;
mod limits;
mod new_names;
mod pair;
mod read;
mod solve;
mod verdict;

pub use cancel::{CancelOnDrop, CancelToken};
pub use document::{compare, compare_as};
pub use limits::CompareLimits;
pub use verdict::{Change, Comparison, Part, Role, Verdict, Witness};

#[cfg(test)]
pub(crate) mod tests;
