//! The strict JSON reader: the first thing that reads any bytes from outside.
//!
//! It accepts a subset of RFC 8259 on whose meaning all parsers agree. The text is UTF-8 without a byte-order mark, with
//! nothing after the value and nothing past the [`Limits`]. No object has two members of one name, no surrogate is lone, and
//! no double would change a number beyond rounding (RFC 7493). Strings without escapes are borrowed from the input. The
//! rules, each with the code that it answers, are in `docs/spec/strict-json.md`.

mod number;
mod read;
mod scan;
mod value;

pub(crate) use number::Decimal;
pub use number::{DecimalFault, MAX_INTEGER, Number};
pub use read::read;
pub use value::{Json, Object, folded};

/// The deepest nesting that any configuration gets; [`Limits::max_depth`] above it counts as this. The reader recurses. 128
/// levels fit into 512 KiB of stack even without optimisation (a test shows it), and threads get four times that.
pub const DEPTH_CEILING: usize = 128;

/// The longest text of one number. A double needs at most 17 digits, a sign, a point and an exponent. The rest is room for
/// zeroes that some writers add (`0.000…01`).
pub const MAX_NUMBER_TEXT: usize = 128;

/// Bounds on the input of [`read`]. Every bound is inclusive: as much is accepted, one more is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole text, else [`Fault::TooLarge`]. 1 MiB: agents' messages are a few kB; larger payloads are files, and
    /// files do not travel in a message.
    pub max_bytes: usize,
    /// Nesting of arrays and objects, else [`Fault::TooDeep`]; a scalar alone has depth 0, `[]` has 1. 32: an A2A message
    /// wraps its content in 6 levels and no shipped context goes past 4. At most [`DEPTH_CEILING`] in any configuration.
    pub max_depth: usize,
    /// Values of every kind, scalars included, else [`Fault::TooComplex`]. 20 000: bounds the memory of the tree to about 3 MB
    /// and later per-value work to a few milliseconds.
    pub max_nodes: usize,
    /// UTF-8 bytes of one string after unescaping, else [`Fault::TooLarge`]. 256 KiB: far above any text that a concept declares.
    pub max_string_bytes: usize,
    /// UTF-8 bytes of one member name after unescaping, else [`Fault::TooLarge`]. 1 KiB: names are identifiers or URNs.
    pub max_key_bytes: usize,
    /// Takes an integer beyond 2^53 − 1 as the nearest double instead of refusing it. For context documents alone: a bound
    /// may exceed every number of a message.
    pub large_integers: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 20,
            max_depth: 32,
            max_nodes: 20_000,
            max_string_bytes: 256 << 10,
            max_key_bytes: 1 << 10,
            large_integers: false,
        }
    }
}

/// Why bytes were refused. It holds no byte of the input.
///
/// Where several apply, a limit answers before a duplicate key, and a duplicate key before anything malformed
/// (`docs/reference/refusals.md`), as far as the text can be read: behind a fault of grammar nothing has a meaning any more and nothing is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The text, a string or a member name is longer than its limit.
    #[error("json text, string or member name is longer than the limit")]
    TooLarge,
    /// Nested deeper than the limit.
    #[error("json is nested deeper than the limit")]
    TooDeep,
    /// More values than the limit.
    #[error("json has more values than the limit")]
    TooComplex,
    /// Two members of one object have the same name once unescaped.
    #[error("duplicate member name at byte {offset}")]
    DuplicateKey {
        /// Byte offset of the first name in the text that repeats an earlier one of its object (of its opening quote).
        offset: usize,
    },
    /// Not the JSON that this reader accepts.
    #[error("malformed json at byte {offset}: {what}")]
    Malformed {
        /// Byte offset at which the fault was seen.
        offset: usize,
        /// The fault, in words that hold nothing of the input.
        what: &'static str,
    },
}

impl Fault {
    /// The code that a refusal carries for this fault (`docs/reference/refusals.md`).
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::TooDeep => "too_deep",
            Self::TooComplex => "too_complex",
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::Malformed { .. } => "malformed",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
