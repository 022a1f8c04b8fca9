//! Tokens, counted without a tokenizer.

/// Bytes that count as one token. Prose in English takes about four bytes a token in the tokenizers in use; digests, codes and other scripts
/// come down to two. So a count by this rule errs on the side of too many.
const BYTES_A_TOKEN: usize = 2;

/// The most tokens that a prompt may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Budget(u32);

/// The reason that a budget is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetFault {
    /// Not even the head of the prompt fits.
    #[error("the budget is too small: this context needs at least {least} tokens")]
    TooSmall {
        /// The least budget for this document.
        least: usize,
    },
    /// Zero, or more than [`Budget::MOST`].
    #[error("a budget is a number of tokens from 1 to {}", Budget::MOST)]
    OutOfRange,
}

impl Budget {
    /// The largest budget. No document of 90,000 bytes needs more, even if each character is shown by its number.
    pub const MOST: u32 = 1_000_000;

    /// The budget where none is named: a page or two, which leaves room in any model of today.
    pub const DEFAULT: Budget = Budget(4_096);

    /// A budget of this many tokens.
    ///
    /// # Errors
    /// [`BudgetFault::OutOfRange`].
    pub const fn of(tokens: u32) -> Result<Self, BudgetFault> {
        if tokens == 0 || tokens > Self::MOST { Err(BudgetFault::OutOfRange) } else { Ok(Self(tokens)) }
    }

    /// The budget that decimal digits name, without sign or leading zero.
    ///
    /// # Errors
    /// [`BudgetFault::OutOfRange`].
    pub fn parse(text: &str) -> Result<Self, BudgetFault> {
        let tokens: u32 = text.parse().map_err(|_| BudgetFault::OutOfRange)?;
        if tokens.to_string() == text { Self::of(tokens) } else { Err(BudgetFault::OutOfRange) }
    }

    /// The number of tokens.
    #[must_use]
    pub const fn tokens(self) -> u32 {
        self.0
    }

    /// The bytes that fit.
    #[must_use]
    pub const fn bytes(self) -> usize {
        (self.0 as usize).saturating_mul(BYTES_A_TOKEN)
    }

    /// The tokens that a text counts for: a half of its bytes, rounded up.
    #[must_use]
    pub const fn count(text: &str) -> usize {
        Self::tokens_of(text.len())
    }

    /// The tokens that this many bytes count for.
    pub(super) const fn tokens_of(bytes: usize) -> usize {
        bytes.div_ceil(BYTES_A_TOKEN)
    }
}
