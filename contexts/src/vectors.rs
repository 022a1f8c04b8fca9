//! Vectors in messages (F0-52): the spaces that a context names, the check of a value, and the similarity of two vectors.
//!
//! All of it is arithmetic on integers, so every machine has the same answer. `docs/spec/vectors.md` specifies the rules.

mod fixed;
mod judge;
mod name;
mod reference;
mod space;

pub use judge::{VectorFault, VectorType};
pub use name::{MAX_MODEL_BYTES, ModelName, NotAModel};
pub(crate) use reference::{ReferenceFault, References};
pub use space::{MAX_DIMENSIONS, Metric, Space};
pub(crate) use space::{MAX_MODELS, Spaces, equivalent};

#[cfg(test)]
mod tests;
